"""A group that breaks an invariant fails alone, and comes back as it is stored."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest
from structlog.testing import capture_logs

from _wire.errors import ErrorCode
from _wire.messages.heartbeat import HeartbeatResponse
from _wire.messages.list_groups import ListGroupsRequest
from coordinator.audit import schema
from coordinator.config import Config
from coordinator.core import operations
from coordinator.core.causes import Cause
from coordinator.core.classic_group import ClassicGroup
from coordinator.core.committed_offsets import Producer
from coordinator.core.decision import NOTHING, Decision, OperationContext, replying
from coordinator.core.events import (
    Event,
    GenerationStable,
    GenerationStarted,
    GroupCreated,
    JoinPhaseExtended,
    MemberJoined,
    MemberRemoved,
)
from coordinator.core.group import Group
from coordinator.core.members import SessionExpired
from coordinator.core.offset_events import OffsetsCommitted
from coordinator.core.offset_records import CommittedOffset
from coordinator.core.operation import Scope
from coordinator.core.states import GroupState
from coordinator.core.stored import Stored
from coordinator.runtime import group_state_machine
from coordinator.runtime.batch import AuditWrite, Batch
from coordinator.runtime.failed_keys import REBUILD_RETRY_MS_AT_FIRST, REBUILD_RETRY_MS_AT_MOST
from coordinator.runtime.interfaces import StoreError
from coordinator.runtime.shard import LOAD_RETRY_MS_AT_FIRST, STEPS_AT_ONCE_MAX, ShardState
from tests.runtime.test_asynchronous_append import DelayedSimulation
from tests.runtime.test_shard import answering, asked_for, drain
from tests.simulation.server import SimulatedServer
from tests.simulation.simulation import GROUP_ID, SESSION_TIMEOUT_MS, Sent, Simulation

OTHER = "billing"
GENERATION = 2
"""Of the group when a test begins."""
RETRIES_MS = [100, 200, 400, 800, 1600, 3200, 6400, 10_000, 10_000]


def committed(group_id: str, topic: str, offset: int, now_ms: int) -> OffsetsCommitted:
    return OffsetsCommitted(
        group_id=group_id, at_ms=now_ms, offsets={topic: {0: CommittedOffset(offset, -1, "", now_ms)}}
    )


def removed(group_id: str, now_ms: int, member_id: str) -> MemberRemoved:
    """Cannot be applied if there is no such member."""
    return MemberRemoved(group_id=group_id, at_ms=now_ms, member_id=member_id, cause=Cause.MEMBER_LEFT, reason="")


def commit_for(sim: Simulation, group_id: str, topic: str, offset: int) -> None:
    """Commit an offset of any group; a group that does not exist is created."""

    def events_of(group_id: str, now_ms: int) -> list[Event]:
        created = [] if group_id in sim.shard.machine.groups else [GroupCreated(group_id=group_id, at_ms=now_ms)]
        return [*created, committed(group_id, topic, offset, now_ms)]

    sim.queue_events(group_id, events_of)
    sim.coordinator.drain(sim.now_ms)


def offset_of(sim: Simulation, group_id: str, topic: str) -> int | None:
    found = sim.shard.machine.groups[group_id].offsets.by_topic.get(topic, {}).get(0)
    return None if found is None else found.offset


def break_group(sim: Simulation, group_id: str = GROUP_ID) -> list[Any]:
    """Let a group break an invariant; returns what is logged."""
    sim.queue_events(group_id, lambda group_id, now_ms: [removed(group_id, now_ms, "?")])
    return drain(sim)


def breaking(context: OperationContext) -> Decision:
    """An event that cannot be applied."""
    decision = answering(context)
    decision.events = (removed(GROUP_ID, 0, "nobody"),)
    return decision


def rebuild(sim: Simulation) -> None:
    sim.advance(REBUILD_RETRY_MS_AT_FIRST)
    assert sim.shard.failed_keys.by_key == {}


def make_due(sim: Simulation) -> None:
    """The time of the rebuild comes; it begins in the next iteration of the loop."""
    sim.clock.advance(REBUILD_RETRY_MS_AT_FIRST)
    sim.end_iteration()
    assert sim.shard.failed_keys.due == [GROUP_ID]


def is_taken(sim: Simulation, member_id: str) -> bool:
    return sim.sessions.take_heartbeat(GROUP_ID, member_id, None, GENERATION, sim.now_ms)


@pytest.fixture
def sim() -> Simulation:
    """One Stable group of two members and one with a committed offset, in the same partition."""
    sim = Simulation()
    sim.stable_with("a", "b")
    commit_for(sim, OTHER, "t", 7)
    return sim


# ---- what fails


def test_the_other_groups_of_the_partition_do_not_notice(sim):
    other = sim.shard.machine.groups[OTHER]
    before = asked_for(sim, answering, OTHER)
    broken = asked_for(sim, breaking)
    after = asked_for(sim, answering, OTHER)
    (line,) = drain(sim)
    assert (line["log_level"], line["partition"], line["key"], line["retry_ms"]) == ("error", 0, GROUP_ID, 100)
    assert line["exc_info"]
    assert broken.error is ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert before.error is after.error is ErrorCode.NONE
    assert sim.shard.state is ShardState.ACTIVE
    assert sim.shard.machine.groups == {OTHER: other}
    assert sim.shard.machine.groups[OTHER] is other


def test_what_the_group_was_asked_before_in_the_same_batch_is_stored_and_answered(sim):
    with sim.one_turn():
        first = sim.commit(next(iter(sim.group.members)), generation_id=GENERATION, offset=5)
        sim.queue_events(GROUP_ID, lambda *_: [removed(GROUP_ID, 0, "nobody")])
        last = sim.commit(offset=6)
    assert first.error is ErrorCode.NONE
    assert last.error is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    rebuild(sim)
    assert offset_of(sim, GROUP_ID, "t") == 5


def test_nothing_of_the_decision_is_stored_or_audited(sim):
    ends = sim.offsets_log.log_end_offset, sim.audit_log.log_end_offset
    (member_id, _) = sim.group.members

    def events_of(group_id: str, now_ms: int) -> list[Event]:
        valid = [committed(group_id, "t", 9, now_ms), removed(group_id, now_ms, member_id)]
        return [*valid, removed(group_id, now_ms, "nobody")]

    sim.queue_events(GROUP_ID, events_of)
    drain(sim)
    assert (sim.offsets_log.log_end_offset, sim.audit_log.log_end_offset) == ends
    assert sim.shard.machine.audit.next_offset == ends[1]
    rebuild(sim)
    assert member_id in sim.group.members
    assert sim.offsets.by_topic == {}


def test_all_that_wait_in_the_group_are_answered(sim):
    leader, _ = sim.group.members
    joining = [sim.join("a", leader, metadata=b"changed"), sim.join("c")]
    assert not any(asked.answered for asked in joining)
    break_group(sim)
    assert [asked.error for asked in joining] == [ErrorCode.COORDINATOR_NOT_AVAILABLE] * 2


def test_members_that_wait_for_their_assignment_are_answered(sim):
    leader, follower = sim.group.members
    sim.join("a", leader, metadata=b"changed")
    sim.join("b", follower)
    syncing = sim.sync(follower)
    break_group(sim)
    assert syncing.error is ErrorCode.COORDINATOR_NOT_AVAILABLE


def test_a_request_that_would_have_waited_is_answered(sim, monkeypatch):
    """The decision has no reply for it, and the group does not know it."""

    def fail(event: object, group: Group) -> None:
        raise ZeroDivisionError("a defect")

    monkeypatch.setattr(MemberJoined, "apply", fail)
    assert sim.join("c").error is ErrorCode.COORDINATOR_NOT_AVAILABLE


@pytest.mark.parametrize("event_class", [GenerationStarted, GenerationStable])
def test_those_that_the_decision_would_have_answered_are_told_that_it_failed(sim, monkeypatch, event_class):
    """By then they wait in the group no more."""
    apply = event_class.apply

    def apply_and_fail(event: Any, group: Group) -> None:
        apply(event, group)
        raise ZeroDivisionError("a defect")

    monkeypatch.setattr(event_class, "apply", apply_and_fail)
    leader, follower = sim.group.members
    asked = [sim.join("a", leader, metadata=b"changed"), sim.join("b", follower)]
    if event_class is GenerationStable:
        asked = [sim.sync(follower), sim.sync(leader, {})]
    assert [each.error for each in asked] == [ErrorCode.COORDINATOR_NOT_AVAILABLE] * 2
    assert sim.shard.is_active


@pytest.mark.parametrize("name", ["advance", "records_of"])
def test_a_step_that_raises_fails_its_group_alone(sim, monkeypatch, name):
    """Here the operation itself is valid: it is stored and answered."""
    (member_id, _) = sim.group.members

    def fail(*arguments: object) -> None:
        raise ZeroDivisionError("a defect")

    with capture_logs() as logs, sim.one_turn():
        left = sim.leave(member_id)
        described = sim.describe()
        other = asked_for(sim, answering, OTHER)
        if name == "advance":
            monkeypatch.setattr(group_state_machine, "advance", fail)
        else:
            records_of = group_state_machine.records_of
            monkeypatch.setattr(
                group_state_machine,
                "records_of",
                lambda events, group: (
                    fail() if type(events[0]).__name__ == "RebalanceStarted" else records_of(events, group)
                ),
            )
    assert [line["key"] for line in logs if line["log_level"] == "error"] == [GROUP_ID]
    assert left.error is other.error is ErrorCode.NONE
    assert described.error is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS


def extend(group: ClassicGroup, context: OperationContext) -> Decision:
    now_ms = context.now_ms
    extended = JoinPhaseExtended(
        group_id=group.group_id, at_ms=now_ms, deadline_ms=now_ms, delay_ms=0, remaining_delay_ms=0
    )
    return Decision((extended,))


def test_steps_that_do_not_end_fail_their_group_alone(sim, monkeypatch):
    waiting = sim.join("c")
    monkeypatch.setattr(group_state_machine, "advance", extend)
    with capture_logs() as logs, sim.one_turn():
        joining, queued = sim.join("d"), sim.commit()
        other = asked_for(sim, answering, OTHER)
    assert [each.error for each in (waiting, joining)] == [ErrorCode.COORDINATOR_NOT_AVAILABLE] * 2
    assert queued.error is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    assert other.error is ErrorCode.NONE
    (line,) = logs
    assert (line["log_level"], line["key"], bool(line["exc_info"])) == ("error", GROUP_ID, True)


def test_as_many_steps_as_are_allowed_are_taken(sim, monkeypatch):
    sim.join("c")
    left = [STEPS_AT_ONCE_MAX]

    def extend_some_times(group: ClassicGroup, context: OperationContext) -> Decision:
        left[0] -= 1
        return extend(group, context) if left[0] >= 0 else NOTHING

    monkeypatch.setattr(group_state_machine, "advance", extend_some_times)
    with capture_logs() as logs:
        sim.join("d")
    assert [line for line in logs if line["log_level"] == "error"] == []
    assert sim.exists


def test_a_defect_outside_of_any_group_still_fails_the_partition(sim):
    def write(groups: object, now_ms: int) -> list[Any]:
        raise ZeroDivisionError("a defect")

    asked = asked_for(sim, answering, OTHER)
    sim.shard.submit_first(AuditWrite(write))
    (line,) = drain(sim)
    assert line["exc_info"]
    assert asked.error is ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert sim.shard.state is ShardState.FAILED
    sim.advance(LOAD_RETRY_MS_AT_FIRST)
    assert set(sim.shard.machine.groups) == {GROUP_ID, OTHER}


# ---- decisions over the whole shard


def test_an_event_of_a_decision_over_the_shard_fails_its_own_group(sim):
    first, second = sim.group.members

    def for_all(context: OperationContext) -> Decision:
        decision = replying(context, HeartbeatResponse())
        decision.events = (
            committed(OTHER, "t", 8, context.now_ms),
            removed(GROUP_ID, context.now_ms, first),
            committed(OTHER, "u", 8, context.now_ms),
            removed(GROUP_ID, context.now_ms, "nobody"),
        )
        return decision

    asked = asked_for(sim, for_all, scope=Scope.SHARD)
    (line,) = drain(sim)
    assert line["key"] == GROUP_ID
    assert asked.error is ErrorCode.NONE
    assert (offset_of(sim, OTHER, "t"), offset_of(sim, OTHER, "u")) == (8, 8)
    sim.restart()
    assert (offset_of(sim, OTHER, "t"), list(sim.group.members)) == (8, [first, second])


def test_a_group_whose_part_of_a_decision_cannot_be_stored_keeps_its_state(sim):
    def for_all(context: OperationContext) -> Decision:
        too_long = CommittedOffset(1, -1, "m" * 40_000, context.now_ms)
        unstorable = OffsetsCommitted(group_id=GROUP_ID, at_ms=context.now_ms, offsets={"t": {0: too_long}})
        return Decision((unstorable, committed(OTHER, "t", 8, context.now_ms)))

    asked_for(sim, for_all, scope=Scope.SHARD)
    (line,) = drain(sim)
    assert (line["key"], bool(line["exc_info"])) == (GROUP_ID, True)
    assert (offset_of(sim, GROUP_ID, "t"), offset_of(sim, OTHER, "t")) == (None, 8)


def test_a_topic_is_forgotten_in_groups_whose_records_fit_into_no_batch_together(sim):
    for number in range(8):
        commit_for(sim, f"group-{number}", "t", 5)
    sim.shard.store.batch_bytes_max = 150
    with capture_logs() as logs:
        sim.delete_topic("t")
    assert logs == []
    sim.restart()
    assert {offset_of(sim, group_id, "t") for group_id in sim.shard.machine.groups} == {None}


# ---- until it is rebuilt


def test_the_group_is_refused_until_it_is_rebuilt(sim):
    leader, _ = sim.group.members
    break_group(sim)
    with capture_logs() as logs:
        refused = [sim.commit(leader, generation_id=GENERATION), sim.join("c"), sim.describe(), sim.delete_group()]
    assert [asked.error for asked in refused] == [ErrorCode.COORDINATOR_LOAD_IN_PROGRESS] * 4
    assert logs == []
    assert not is_taken(sim, leader)
    assert sim.sessions.members(GROUP_ID) == []
    assert sim.heartbeat(leader, generation_id=GENERATION).error is ErrorCode.NONE, "as during a load"


def test_the_group_is_not_listed_until_it_is_rebuilt(sim):
    def listed() -> list[str]:
        asked = Sent()
        sim.submit(operations.LIST_GROUPS, GROUP_ID, ListGroupsRequest(), asked, "admin", 4)
        assert asked.response.error_code == ErrorCode.NONE
        return [group.group_id for group in asked.response.groups]

    break_group(sim)
    assert listed() == [OTHER]
    rebuild(sim)
    assert sorted(listed()) == [OTHER, GROUP_ID]


@pytest.mark.parametrize(
    ("due", "request_of_it"),
    [(operations.ADVANCE, None), (operations.EXPIRE_OFFSETS, None), (operations.EXPIRE_SESSION, SessionExpired("?"))],
    ids=lambda value: getattr(value, "name", ""),
)
def test_what_is_due_for_the_group_meanwhile_is_dropped(sim, due, request_of_it):
    break_group(sim)
    ends = sim.offsets_log.log_end_offset, sim.audit_log.log_end_offset
    sim.coordinator.enqueue(due, GROUP_ID, request_of_it, OperationContext(None, 0, "", "", sim.environment, 0))
    assert drain(sim) == []
    assert (sim.offsets_log.log_end_offset, sim.audit_log.log_end_offset) == ends
    assert sim.timers.deadline_ms(GROUP_ID) == sim.now_ms + REBUILD_RETRY_MS_AT_FIRST


def test_a_generation_that_became_stable_in_the_batch_takes_no_heartbeats(sim):
    leader, follower = sim.group.members
    sim.join("a", leader, metadata=b"changed")
    sim.join("b", follower)
    sim.sync(follower)
    with sim.one_turn():
        synced = sim.sync(leader, {})
        sim.queue_events(GROUP_ID, lambda *_: [removed(GROUP_ID, 0, "nobody")])
    assert synced.error is ErrorCode.NONE
    assert not sim.sessions.take_heartbeat(GROUP_ID, leader, None, GENERATION + 1, sim.now_ms)
    assert sim.sessions.members(GROUP_ID) == []
    rebuild(sim)
    assert sim.sessions.take_heartbeat(GROUP_ID, leader, None, GENERATION + 1, sim.now_ms)


def test_what_a_batch_would_do_for_the_group_once_it_is_stored_is_taken_out(sim):
    batch = Batch(1_000)
    batch.newly_stable.update({GROUP_ID: 2, OTHER: 1})
    sim.shard.machine.discard(GROUP_ID, batch, 0)
    assert batch.newly_stable == {OTHER: 1}


# ---- what comes back


def test_the_group_comes_back_as_it_is_stored(sim):
    leader, follower = sim.group.members
    sim.commit(leader, generation_id=GENERATION, offset=5)
    sim.commit_in_transaction(Producer(7, 0), offset=6)
    stored = sim.whole_group
    sim.advance(5_000)
    break_group(sim)
    rebuild(sim)
    assert sim.whole_group is not stored
    assert sim.whole_group == replayed(sim)
    assert (sim.group.state, sim.group.generation_id) == (GroupState.STABLE, GENERATION)
    assert list(sim.group.members) == [leader, follower]
    assert sim.offsets == stored.offsets
    assert len(sim.offsets.pending) == 1
    assert sim.sessions.deadline_ms(GROUP_ID, leader) == sim.now_ms + SESSION_TIMEOUT_MS
    assert is_taken(sim, follower)
    assert sim.commit(leader, generation_id=GENERATION, offset=8).error is ErrorCode.NONE


def replayed(sim: Simulation) -> Group:
    """The group as a restart finds it."""
    twin = group_state_machine.StoredGroups()
    for stored in sim.make_store(0).replay():
        twin.apply(stored)
    return twin.groups[GROUP_ID]


def test_a_rebalance_that_was_under_way_is_forgotten_as_after_a_restart(sim):
    sim.join("c")
    break_group(sim)
    rebuild(sim)
    assert (sim.group.state, sim.group.generation_id, len(sim.group.members)) == (GroupState.STABLE, GENERATION, 2)
    assert sim.timers.deadline_ms(GROUP_ID) is None


def test_a_group_that_its_failing_decision_created_does_not_exist(sim):
    def events_of(group_id: str, now_ms: int) -> list[Event]:
        return [GroupCreated(group_id=group_id, at_ms=now_ms), removed(group_id, now_ms, "nobody")]

    sim.queue_events("new", events_of)
    drain(sim)
    assert set(sim.shard.failed_keys.by_key) == {"new"}
    rebuild(sim)
    assert "new" not in sim.shard.machine.groups
    assert "new" not in sim.shard.machine.audit.groups
    commit_for(sim, "new", "t", 1)
    (created,) = [event for event in sim.audited() if event.group_id == "new"]
    assert (created.seq, created.created_seq) == (sim.audit_log.log_end_offset,) * 2


def test_a_transaction_that_ends_meanwhile_takes_effect(sim):
    producer, unfinished = Producer(7, 0), Producer(8, 0)
    sim.commit_in_transaction(producer, offset=6)
    sim.commit_in_transaction(unfinished, offset=9)
    break_group(sim)
    assert sim.end_transaction(producer).error is ErrorCode.NONE
    rebuild(sim)
    assert offset_of(sim, GROUP_ID, "t") == 6
    assert sim.whole_group == replayed(sim)


def test_a_transaction_that_ends_while_the_log_is_read_takes_effect(sim):
    producer = Producer(7, 0)
    sim.commit_in_transaction(producer, offset=6)
    break_group(sim)
    sim.shard.failed_keys.steps_at_once = 1
    sim.advance(REBUILD_RETRY_MS_AT_FIRST)
    slices = 0
    while sim.shard.failed_keys.by_key:
        slices += 1
        sim.end_transaction(producer if slices == 5 else Producer(slices + 100, 0))
        assert slices < 1_000
        if slices > 20:
            sim.end_iteration()
    assert slices > 5
    assert offset_of(sim, GROUP_ID, "t") == 6


def test_a_topic_that_is_deleted_meanwhile_is_forgotten_in_the_group_alone(sim):
    """Others commit to the topic of that name that is created next; theirs stay."""
    sim.commit(next(iter(sim.group.members)), generation_id=GENERATION, offset=5)
    break_group(sim)
    sim.delete_topic("t")
    sim.create_topic("t")
    commit_for(sim, OTHER, "t", 8)
    rebuild(sim)
    assert sim.offsets.by_topic == {}
    assert offset_of(sim, OTHER, "t") == 8
    assert replayed(sim).offsets.by_topic == {}


def test_a_topic_is_forgotten_before_what_is_asked_of_the_rebuilt_group(sim):
    (leader, _) = sim.group.members
    sim.commit(leader, generation_id=GENERATION, offset=5)
    break_group(sim)
    sim.delete_topic("t")
    sim.create_topic("t")
    make_due(sim)
    assert sim.commit(leader, generation_id=GENERATION, offset=9).error is ErrorCode.NONE
    assert offset_of(sim, GROUP_ID, "t") == 9


def test_a_topic_whose_deletion_broke_the_group_is_tried_once_more(sim, monkeypatch):
    sim.commit(next(iter(sim.group.members)), generation_id=GENERATION, offset=5)

    def fail(event: object, group: Group) -> None:
        raise ZeroDivisionError("a defect")

    monkeypatch.setattr("coordinator.core.offset_events.OffsetsDeleted.apply", fail)
    with capture_logs() as logs:
        sim.delete_topic("t")
        assert set(sim.shard.failed_keys.by_key) == {GROUP_ID, OTHER}
        rebuild_ms = sim.now_ms + REBUILD_RETRY_MS_AT_FIRST
        sim.advance(REBUILD_RETRY_MS_AT_FIRST)
        assert {failed.rebuild_ms for failed in sim.shard.failed_keys.by_key.values()} == {rebuild_ms + 200}
        sim.advance(200)
    assert len([line for line in logs if line["log_level"] == "error"]) == 4
    assert offset_of(sim, GROUP_ID, "t") == 5


def test_topics_are_forgotten_though_the_rebuilt_group_fails_on_the_way(sim, monkeypatch):
    for topic in "tu":
        commit_for(sim, GROUP_ID, topic, 5)
    break_group(sim)
    for topic in "tu":
        sim.delete_topic(topic)
        sim.create_topic(topic)
    failures = failing_again(sim, monkeypatch, 1)
    sim.advance(REBUILD_RETRY_MS_AT_FIRST)
    assert len(failures) == 1
    assert offset_of_stored(sim) == {"u": 5}, "what followed the failure was missed again"
    pass_time(sim, 200)
    assert sim.offsets.by_topic == {}


def offset_of_stored(sim: Simulation) -> dict[str, int]:
    return {topic: offsets[0].offset for topic, offsets in replayed(sim).offsets.by_topic.items()}


def test_a_group_larger_than_allowed_by_now_rebalances(sim):
    break_group(sim)
    sim.coordinator.environment = sim.environment._replace(
        config=Config({"group.max.size": "1", "group.initial.rebalance.delay.ms": "0"})
    )
    rebuild(sim)
    assert sim.group.state is GroupState.PREPARING_REBALANCE
    assert sim.timers.deadline_ms(GROUP_ID) is not None


def test_groups_that_fail_together_are_rebuilt_in_one_reading(sim, monkeypatch):
    break_group(sim)
    break_group(sim, OTHER)
    readings = readings_of(sim, monkeypatch)
    rebuild(sim)
    assert set(sim.shard.machine.groups) == {GROUP_ID, OTHER}
    assert [offset for offset in readings if offset == 0] == [0]


def readings_of(sim: Simulation, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """From which offset the log is read from now on, each time."""
    readings = []
    replay = sim.shard.store.replay

    def note(from_offset: int = 0) -> Iterator[Stored]:
        readings.append(from_offset)
        return replay(from_offset)

    monkeypatch.setattr(sim.shard.store, "replay", note)
    return readings


def test_a_long_log_is_read_in_slices_while_others_are_served(sim):
    for offset in range(20):
        commit_for(sim, OTHER, "t", offset)
    break_group(sim)
    sim.shard.failed_keys.steps_at_once = 5
    sim.advance(REBUILD_RETRY_MS_AT_FIRST)
    turns = 0
    while sim.shard.failed_keys.by_key:
        assert asked_and_answered(sim)
        turns += 1
    assert turns > 5
    assert sim.group.state is GroupState.STABLE


def test_the_loop_goes_on_until_the_rebuild_ends(sim, monkeypatch):
    break_group(sim)
    sim.shard.failed_keys.steps_at_once = 1
    requested: list[None] = []
    monkeypatch.setattr(sim.coordinator, "_request_iteration", lambda: requested.append(None))
    sim.clock.advance(REBUILD_RETRY_MS_AT_FIRST)
    (timer,) = sim.wheel.advance(sim.now_ms)
    sim.coordinator.due(timer, sim.now_ms)
    iterations = 0
    while sim.shard.failed_keys.by_key:
        requested.clear()
        sim.coordinator.drain(sim.now_ms)
        iterations += 1
        assert requested
    assert iterations > 5


def asked_and_answered(sim: Simulation) -> bool:
    asked = asked_for(sim, answering, OTHER)
    sim.coordinator.drain(sim.now_ms)
    return asked.error is ErrorCode.NONE


# ---- the audit


def loaded_of(sim: Simulation) -> schema.GroupLoaded:
    (loaded,) = [event for event in sim.audited() if isinstance(event, schema.GroupLoaded)]
    return loaded


def test_the_audit_says_that_the_group_was_rebuilt(sim):
    seq = max(event.seq for event in sim.audited() if event.group_id == GROUP_ID)
    break_group(sim)
    rebuild(sim)
    loaded = loaded_of(sim)
    assert (loaded.cause, loaded.lost) == ("invariant_violated", False)
    assert loaded.group_id == GROUP_ID
    assert loaded.void_from_seq == loaded.seq == seq + 1, "nothing was void"


def test_what_the_audit_says_of_a_rebalance_that_was_lost_is_void(sim):
    stable_seq = max(event.seq for event in sim.audited() if event.group_id == GROUP_ID)
    sim.join("c")
    break_group(sim)
    rebuild(sim)
    loaded = loaded_of(sim)
    assert (loaded.void_from_seq, loaded.state_before, loaded.state) == (
        stable_seq + 1,
        "PreparingRebalance",
        "Stable",
    )
    before = len(sim.audited())
    sim.restart()
    assert len(sim.audited()) == before, "that is where the audit left the group"


def test_expired_offsets_of_the_last_batch_are_not_void(sim):
    sim.commit(next(iter(sim.group.members)), generation_id=GENERATION, offset=5)
    with sim.one_turn():
        sim.delete_topic("t")
    deleted_seq = max(event.seq for event in sim.audited() if event.group_id == GROUP_ID)
    break_group(sim)
    rebuild(sim)
    assert loaded_of(sim).void_from_seq == deleted_seq + 1


def test_a_snapshot_is_written_before_what_the_rebuilt_group_missed(sim):
    sim.commit(next(iter(sim.group.members)), generation_id=GENERATION, offset=5)
    break_group(sim)
    sim.delete_topic("t")
    make_due(sim)
    known = len(sim.audited())
    assert sim.shard.failed_keys.next_slice(sim.now_ms)
    sim.shard.submit_first(AuditWrite(sim.shard.machine.audit.write_snapshots))
    sim.shard.drain(sim.now_ms)
    told = [(event.group_id, type(event).__struct_config__.tag) for event in sim.audited()[known:]]
    assert told[0] == (GROUP_ID, "group.loaded")
    assert told[-1] == (GROUP_ID, "offsets.deleted")
    assert (OTHER, "group.snapshot") in told


def test_a_start_from_a_checkpoint_that_left_the_group_out_knows_it_all_the_same(sim):
    sim = Simulation(checkpoint_records=10)
    (member_id,) = sim.stable_with("a")
    commit_for(sim, OTHER, "t", 7)
    break_group(sim)
    while not sim.shard.machine.audit.is_checkpoint_due:
        sim.queue_events(OTHER, lambda group_id, now_ms: [])
        write_something(sim)
    sim.advance(2)
    checkpoint = sim.shard.machine.audit.checkpoint_offset
    assert checkpoint > 0
    sim.coordinator.stop(sim.now_ms)
    known = len(sim.audited())
    sim.restart()
    assert sim.shard.machine.audit.checkpoint_offset == checkpoint
    assert list(sim.group.members) == [member_id]
    assert len(sim.audited()) == known, "the audit knows the group"


def write_something(sim: Simulation) -> None:
    """An event of the other group in the audit."""
    commit_for(sim, OTHER, "u", 1)
    sim.delete_topic("u")
    sim.create_topic("u")


# ---- failures that come again


def failing_again(sim: Simulation, monkeypatch: pytest.MonkeyPatch, times: int) -> list[int]:
    """When the group failed: at first, and after each of its next rebuilds at its first step."""
    failures = []

    def fail(group: ClassicGroup, context: OperationContext) -> Decision:
        if group.group_id != GROUP_ID or len(failures) == times:
            return NOTHING
        failures.append(context.now_ms)
        raise ZeroDivisionError("a defect")

    monkeypatch.setattr(group_state_machine, "advance", fail)
    context = OperationContext(None, 0, "", "", sim.environment, 0)
    sim.coordinator.enqueue(operations.ADVANCE, GROUP_ID, None, context)
    sim.coordinator.drain(sim.now_ms)
    return failures


def pass_time(sim: Simulation, *delays_ms: int) -> None:
    """The loop has as many iterations as it needs after each delay."""
    for delay_ms in delays_ms:
        sim.advance(delay_ms)
        sim.end_iteration()


def test_a_group_that_fails_again_is_rebuilt_ever_more_rarely(sim, monkeypatch):
    with capture_logs() as logs:
        failures = failing_again(sim, monkeypatch, len(RETRIES_MS) + 1)
        pass_time(sim, *RETRIES_MS)
        assert [later - earlier for earlier, later in pairwise(failures)] == RETRIES_MS
        assert [line["retry_ms"] for line in logs if line["log_level"] == "error"] == [*RETRIES_MS, 10_000]
        assert sim.shard.is_active
        sim.advance(REBUILD_RETRY_MS_AT_MOST)
    assert sim.group.state is GroupState.STABLE


def test_the_delay_is_short_again_when_the_group_was_served_for_a_while(sim, monkeypatch):
    failing_again(sim, monkeypatch, 3)
    pass_time(sim, 100, 200, 400)
    assert sim.exists
    sim.advance(REBUILD_RETRY_MS_AT_MOST - 1)
    (line,) = break_group(sim)
    assert line["retry_ms"] == 800
    sim.advance(800)
    sim.advance(REBUILD_RETRY_MS_AT_MOST)
    (line,) = break_group(sim)
    assert line["retry_ms"] == 100


@pytest.mark.parametrize("problem", [StoreError("Input/output error"), ZeroDivisionError("a defect")])
def test_a_rebuild_that_cannot_read_the_log_is_tried_again(sim, monkeypatch, problem):
    break_group(sim)
    times = []

    def unreadable(from_offset: int = 0) -> Iterator[Stored]:
        times.append(sim.now_ms)
        raise problem

    failed_at = sim.now_ms
    monkeypatch.setattr(sim.shard.store, "replay", unreadable)
    with capture_logs() as logs:
        pass_time(sim, 100, 200, 400)
    assert [line["log_level"] for line in logs] == ["error"] * 3
    assert {bool(line.get("exc_info")) for line in logs} == {isinstance(problem, ZeroDivisionError)}
    assert [(line["keys"], line["count"]) for line in logs] == [([GROUP_ID], 1)] * 3
    assert times == [failed_at + 100, failed_at + 300, failed_at + 700]
    assert asked_and_answered(sim)
    monkeypatch.undo()
    sim.advance(800)
    assert sim.group.state is GroupState.STABLE


def test_a_group_that_cannot_be_served_is_rebuilt_again_without_the_others(sim, monkeypatch):
    break_group(sim)
    break_group(sim, OTHER)
    start = group_state_machine.sessions_of_loaded_group

    def fail_once(group: ClassicGroup) -> Any:
        if group.group_id == GROUP_ID:
            monkeypatch.setattr(group_state_machine, "sessions_of_loaded_group", start)
            raise ZeroDivisionError("a defect")
        return start(group)

    monkeypatch.setattr(group_state_machine, "sessions_of_loaded_group", fail_once)
    sim.advance(REBUILD_RETRY_MS_AT_FIRST)
    assert list(sim.shard.machine.groups) == [OTHER]
    sim.delete_topic("t")
    sim.advance(200)
    assert (sim.group.state, len(sim.sessions.members(GROUP_ID))) == (GroupState.STABLE, 2)


# ---- the partition goes meanwhile


@pytest.mark.parametrize("being_rebuilt", [False, True])
def test_a_partition_that_is_given_up_drops_the_rebuild(sim, being_rebuilt):
    break_group(sim)
    if being_rebuilt:
        sim.shard.failed_keys.steps_at_once = 1
        sim.advance(REBUILD_RETRY_MS_AT_FIRST)
        sim.end_iteration()
    sim.coordinator.unload(0)
    assert sim.timers.deadline_ms(GROUP_ID) is None
    sim.advance(60_000)
    assert sim.shard.machine.groups == {}
    assert sim.commit().error is ErrorCode.NOT_COORDINATOR
    sim.coordinator.load([0])
    sim.end_iteration()
    assert set(sim.shard.machine.groups) == {GROUP_ID, OTHER}
    assert sim.group.state is GroupState.STABLE


def test_a_rebuild_that_was_read_is_dropped_with_the_partition(sim):
    break_group(sim)
    make_due(sim)
    assert sim.shard.failed_keys.next_slice(sim.now_ms)
    sim.coordinator.unload(0)
    sim.coordinator.load([0])
    sim.end_iteration()
    assert sim.shard.failed_keys.rebuilt == []
    assert set(sim.shard.machine.groups) == {GROUP_ID, OTHER}


def test_an_append_that_fails_meanwhile_brings_the_group_back_with_its_partition(sim):
    break_group(sim)
    sim.disk.is_full = True
    sim.queue_events(OTHER, lambda group_id, now_ms: [committed(group_id, "t", 9, now_ms)])
    drain(sim)
    assert sim.shard.state is ShardState.FAILED
    sim.disk.is_full = False
    sim.advance(LOAD_RETRY_MS_AT_FIRST)
    assert sim.shard.failed_keys.by_key == {}
    assert set(sim.shard.machine.groups) == {GROUP_ID, OTHER}


# ---- appends that complete later


@pytest.fixture
def delayed() -> DelayedSimulation:
    sim = DelayedSimulation()
    sim.stable_with("a", "b")
    commit_for(sim, OTHER, "t", 7)
    sim.store.is_delaying = True
    return sim


def fail_in_flight(sim: DelayedSimulation) -> Sent:
    """A batch is in flight in which the group committed, and then broke an invariant."""
    with sim.one_turn():
        first = sim.commit(next(iter(sim.group.members)), generation_id=GENERATION, offset=5)
        sim.queue_events(GROUP_ID, lambda *_: [removed(GROUP_ID, 0, "nobody")])
    return first


def test_a_rebuild_waits_until_the_batch_of_the_failure_is_appended(delayed):
    committing = fail_in_flight(delayed)
    delayed.advance(10 * REBUILD_RETRY_MS_AT_FIRST)
    assert not committing.answered
    assert delayed.shard.failed_keys.by_key
    delayed.store.is_delaying = False
    delayed.complete()
    assert committing.error is ErrorCode.NONE
    delayed.end_iteration()
    assert offset_of(delayed, GROUP_ID, "t") == 5


def test_a_batch_of_the_failure_that_cannot_be_appended_takes_the_partition_with_it(delayed):
    committing = fail_in_flight(delayed)
    delayed.disk.is_full = True
    delayed.complete()
    delayed.disk.is_full = delayed.store.is_delaying = False
    assert committing.error is ErrorCode.COORDINATOR_NOT_AVAILABLE
    delayed.advance(LOAD_RETRY_MS_AT_FIRST)
    assert delayed.offsets.by_topic == {}
    assert delayed.group.state is GroupState.STABLE


def test_no_slice_is_read_while_a_batch_is_in_flight(delayed, monkeypatch):
    """And the loop sleeps until it is appended."""
    delayed.store.is_delaying = False
    break_group(delayed)
    delayed.shard.failed_keys.steps_at_once = 1
    delayed.advance(REBUILD_RETRY_MS_AT_FIRST)
    delayed.store.is_delaying = True
    other = asked_for(delayed, lambda context: Decision((committed(OTHER, "t", 9, context.now_ms),)), OTHER)
    delayed.coordinator.drain(delayed.now_ms)
    slices: list[int] = []
    requested: list[None] = []
    next_slice = delayed.shard.failed_keys.next_slice
    monkeypatch.setattr(delayed.shard.failed_keys, "next_slice", lambda now_ms: slices.append(0) or next_slice(now_ms))
    monkeypatch.setattr(delayed.coordinator, "_request_iteration", lambda: requested.append(None))
    delayed.end_iteration()
    assert (slices, requested) == ([], [])
    delayed.store.is_delaying = False
    delayed.store.complete()
    assert requested
    while delayed.shard.failed_keys.by_key:
        delayed.end_iteration()
    assert slices
    assert not other.answered, "it was decided without a reply"
    assert delayed.group.state is GroupState.STABLE


def test_one_partition_is_rebuilt_at_a_time():
    server = SimulatedServer(Config({}), partitions=2)
    coordinator = server.coordinator
    group_ids = [next(name for name in "abcdef" if coordinator.partition_of(name) == each) for each in range(2)]
    for group_id in group_ids:
        server.queue_events(group_id, lambda group_id, now_ms: [GroupCreated(group_id=group_id, at_ms=now_ms)])
        server.queue_events(
            group_id, lambda group_id, now_ms: [GenerationStable(group_id=group_id, at_ms=now_ms, generation_id=5)]
        )
    with capture_logs():
        coordinator.drain(server.now_ms)
    server.advance(REBUILD_RETRY_MS_AT_FIRST - 1)
    server.clock.advance(1)
    server.end_iteration()
    left = []
    for _ in range(2):
        server.end_iteration()
        left.append(sum(len(shard.failed_keys.by_key) for shard in coordinator.shards))
    assert left == [1, 0]
