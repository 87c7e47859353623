"""What a kind of group says in its row is what every other part of the coordinator does with its groups.

The second kind is one of the tests. The checks of COORDINATOR_DEBUG run, so each record has to describe its state.
"""

import asyncio
from typing import Any

import msgspec
import pytest

from _wire.errors import ErrorCode
from _wire.messages.describe_groups import DescribeGroupsRequest
from _wire.messages.list_groups import ListGroupsRequest
from _wire.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from _wire.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup
from coordinator.audit import projections
from coordinator.core.classic.group import ClassicGroup
from coordinator.core.consumer.group import FIRST_EPOCH
from coordinator.core.decision import Decision, OperationContext
from coordinator.core.groups.kind import GroupKind
from coordinator.core.groups.states import DEAD, EMPTY
from coordinator.core.kinds import operations, stored
from coordinator.core.kinds.table import KINDS
from coordinator.core.operation import Operation
from coordinator.core.stored_batch import StoredBatch
from coordinator.groups.machines import SWITCH
from coordinator.metrics.census import GroupCensus
from coordinator.metrics.group_meter import GroupMeter
from coordinator.metrics.top_groups import TopGroups
from coordinator.testing.snapshots import snapshot_of
from tests.captured_logs import capture_logs
from tests.core.consumer.world import World
from tests.groups import second_kind
from tests.groups.second_kind import EpochMemberAdded, GroupConverted
from tests.simulation.simulation import GROUP_ID, Sent, Simulation


@pytest.fixture
def sim(monkeypatch: pytest.MonkeyPatch) -> Simulation:
    second_kind.register(monkeypatch)
    monkeypatch.setenv(SWITCH, "1")
    return Simulation()


def decide(sim: Simulation, decision: Decision) -> None:
    """Let a decision about the group be made, as an operation of its kind would."""
    context = OperationContext(None, 0, "", "", sim.environment, 0, 0)
    sim.coordinator.enqueue(Operation("test", lambda *asked: decision), GROUP_ID, None, context)
    sim.coordinator.drain(sim.now_ms)


def add_members(sim: Simulation, *member_ids: str) -> None:
    decide(sim, second_kind.add_members(GROUP_ID, sim.now_ms, *member_ids))


def convert(sim: Simulation) -> None:
    decide(sim, Decision((GroupConverted(group_id=GROUP_ID, at_ms=sim.now_ms),)))


def answer(sim: Simulation, operation: Operation, request: Any, version: int) -> Any:
    sent = Sent()
    sim.submit(operation, GROUP_ID, request, sent, "client", version)
    return sent.response


def members_and_epoch(sim: Simulation) -> tuple[list[str], int]:
    group = sim.whole_group
    assert group.kind is second_kind.KIND
    return list(group.membership.members), group.membership.generation_id


def test_a_group_of_another_kind_is_loaded_as_it_was(sim: Simulation) -> None:
    add_members(sim, "a", "b")
    sim.restart()
    assert members_and_epoch(sim) == (["a", "b"], 2)
    assert set(sim.sessions.members(GROUP_ID)) == {"a", "b"}
    assert sim.kinds() == ["group.created", "member.joined", "member.joined"]


def test_its_own_handler_decides(sim: Simulation) -> None:
    add_members(sim, "a")
    assert sim.heartbeat("a", generation_id=1).error is ErrorCode.FENCED_INSTANCE_ID


def test_an_api_without_a_handler_does_not_know_the_group(sim: Simulation) -> None:
    add_members(sim, "a")
    assert sim.sync("nobody").error is ErrorCode.UNKNOWN_MEMBER_ID
    (left,) = sim.leave("a", client_id="client").response.members
    assert left.error_code == ErrorCode.UNKNOWN_MEMBER_ID
    (described,) = answer(sim, operations.DESCRIBE_GROUPS, DescribeGroupsRequest(groups=[GROUP_ID]), version=6).groups
    assert (described.group_state, described.error_code) == ("Dead", ErrorCode.GROUP_ID_NOT_FOUND)
    assert sim.join("c").error is ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert members_and_epoch(sim) == (["a"], 1)


def test_it_is_listed_by_its_kind(sim: Simulation) -> None:
    add_members(sim, "a")
    (listed,) = answer(
        sim, operations.LIST_GROUPS, ListGroupsRequest(types_filter=[second_kind.NAME], states_filter=["stable"]), 5
    ).groups
    assert (listed.group_type, listed.protocol_type, listed.group_state) == (second_kind.NAME, "consumer", "Stable")
    assert answer(sim, operations.LIST_GROUPS, ListGroupsRequest(types_filter=["classic"]), 5).groups == []


def test_its_rules_for_offsets_count(sim: Simulation) -> None:
    add_members(sim, "a")
    assert sim.commit("a", generation_id=1).error is ErrorCode.NONE
    assert sim.commit("a", generation_id=2).error is ErrorCode.STALE_MEMBER_EPOCH
    asked = OffsetFetchRequestGroup(group_id=GROUP_ID, topics=None, member_id="a", member_epoch=7)
    (fetched,) = answer(sim, operations.OFFSET_FETCH, OffsetFetchRequest(groups=[asked]), 9).groups
    assert fetched.error_code == ErrorCode.STALE_MEMBER_EPOCH
    deleted = answer(sim, operations.OFFSET_DELETE, offset_deletion("t"), 0)
    assert [partition.error_code for partition in deleted.topics[0].partitions] == [ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC]
    sim.restart()
    assert list(sim.offsets.by_topic) == ["t"]


def offset_deletion(topic: str) -> OffsetDeleteRequest:
    partitions = [OffsetDeleteRequestPartition(partition_index=0)]
    return OffsetDeleteRequest(group_id=GROUP_ID, topics=[OffsetDeleteRequestTopic(name=topic, partitions=partitions)])


def test_it_is_removed_with_all_its_records(sim: Simulation) -> None:
    add_members(sim)
    assert sim.delete_group().error is ErrorCode.NONE
    sim.restart()
    assert not sim.exists
    add_members(sim, "a")
    assert sim.delete_group().error is ErrorCode.NON_EMPTY_GROUP


def test_a_group_that_changes_its_kind_keeps_its_offsets_and_members(sim: Simulation) -> None:
    (member_id,) = sim.stable_with("a")
    assert sim.commit(member_id, generation_id=1).error is ErrorCode.NONE
    convert(sim)
    assert members_and_epoch(sim) == ([member_id], 1)
    sim.restart()
    assert members_and_epoch(sim) == ([member_id], 1)
    assert list(sim.offsets.by_topic) == ["t"]


def test_a_heartbeat_after_the_change_is_not_answered_from_the_session(sim: Simulation) -> None:
    """State and generation stay as they are, but the kind answers otherwise."""
    (member_id,) = sim.stable_with("a")
    assert sim.heartbeat(member_id, generation_id=1).error is ErrorCode.NONE
    convert(sim)
    assert sim.heartbeat(member_id, generation_id=1).error is ErrorCode.FENCED_INSTANCE_ID


def test_the_log_names_the_event_of_the_change(sim: Simulation) -> None:
    sim.stable_with("a")
    with capture_logs() as logs:
        convert(sim)
    assert [line["reason"] for line in logs if line["event"] == "group transition"] == ["converted"]


def test_the_log_has_one_line_for_each_decision() -> None:
    """A join of a consumer group changes its state several times: epoch, target, assignment."""
    world = World()
    with capture_logs() as logs:
        world.enter("a")
    (line,) = [log for log in logs if log["event"] == "group transition"]
    assert (line["before"], line["after"], line["generation"]) == ("Empty", "Stable", 2)
    assert line["reason"] == "member a joined"


def test_a_snapshot_shows_what_its_members_are_assigned(sim: Simulation) -> None:
    add_members(sim, "a")
    snapshot = snapshot_of(GROUP_ID, sim.whole_group, sim.topics.topic_name)
    assert (snapshot.kind, snapshot.state, snapshot.generation_id) == (second_kind.NAME, "Stable", 1)
    assert [(member.member_id, member.partitions) for member in snapshot.members] == [("a", {"a": [0]})]


def test_the_census_counts_each_kind_by_itself(sim: Simulation) -> None:
    async def pause() -> None:
        """No other work waits."""

    add_members(sim, "a", "b")
    census = asyncio.run(
        GroupCensus(sim.coordinator, GroupMeter(keeps_records=False), TopGroups([], 0)).count(sim.now_ms, pause)
    )
    assert (census.groups_of(second_kind.NAME), census.groups_of("classic"), census.members) == (1, 0, 2)


def test_a_record_of_another_kind_does_not_change_the_group(sim: Simulation) -> None:
    """A tombstone that a compaction has kept of the classic group that it was."""
    add_members(sim, "a")
    tombstones = KINDS["classic"].records.of_removal(ClassicGroup(GROUP_ID))
    sim.shard.store.append([], [StoredBatch(None, tombstones)], sim.now_ms, lambda problem: None)
    sim.restart()
    assert members_and_epoch(sim) == (["a"], 1)


def test_a_row_that_says_something_else_than_the_records_is_found(
    sim: Simulation, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What counts as stored is said once; the checks compare it with what is written."""
    records = stored.EVENT_RECORDS[EpochMemberAdded]
    monkeypatch.setitem(stored.EVENT_RECORDS, EpochMemberAdded, msgspec.structs.replace(records, stores_group=False))
    with capture_logs() as logs:
        add_members(sim, "a")
    (failed,) = [line["exc_info"] for line in logs if line["log_level"] == "error"]
    assert failed


# ---- the tables that have a line for each kind


def test_each_kind_has_an_audit() -> None:
    assert projections.KIND_AUDITS.keys() == KINDS.keys()


def test_each_audit_event_of_a_stored_core_event_counts_as_stored() -> None:
    for event, several in projections.PROJECTIONS.items():
        records = stored.EVENT_RECORDS.get(event)
        is_stored = records is not None and records.stores_group is not False
        for name, kind in projections.KIND_AUDITS.items():
            is_of_other = any(event in other.projections for other in projections.KIND_AUDITS.values())
            if event in kind.projections or not is_of_other:
                found = {each.event_class in projections.STORED_EVENTS[name] for each in several}
                assert found == {is_stored}, (name, event)


@pytest.mark.parametrize("kind", list(KINDS.values()), ids=list(KINDS))
def test_a_kind_agrees_with_itself(kind: GroupKind) -> None:
    assert set(kind.stored_states) | set(kind.rebalance_states) <= set(kind.states)
    assert kind.checks.legal_predecessors.keys() == set(kind.states)
    assert {DEAD, EMPTY} <= set(kind.states)
    assert kind.handlers.keys() <= operations.OPERATIONS.keys()
    assert kind.too_large_handlers.keys() <= kind.handlers.keys()
    new = kind.new_membership("g")
    assert (new.state, dict(new.members)) == (EMPTY, {})
    assert new.generation_id in (0, FIRST_EPOCH)
