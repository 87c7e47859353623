"""A group that breaks an invariant fails alone."""

from typing import Any

import pytest

from _wire.errors import ErrorCode
from _wire.messages.heartbeat import HeartbeatResponse
from _wire.messages.list_groups import ListGroupsRequest
from coordinator.core.classic.events import GenerationStable, GenerationStarted, JoinPhaseExtended, MemberJoined
from coordinator.core.classic.group import ClassicGroup
from coordinator.core.decision import NOTHING, Decision, OperationContext, replying
from coordinator.core.event import Event
from coordinator.core.groups.group import Group
from coordinator.core.groups.requests import SessionExpired
from coordinator.core.kinds import operations
from coordinator.core.offsets.events import OffsetsCommitted
from coordinator.core.offsets.records import CommittedOffset
from coordinator.core.operation import ADVANCE, Scope
from coordinator.groups.state_machine import GroupStateMachine
from coordinator.runtime.batch import ProjectionWrite
from coordinator.runtime.failed_keys import REBUILD_RETRY_MS_AT_FIRST
from coordinator.runtime.shard import LOAD_RETRY_MS_AT_FIRST, ShardState
from coordinator.runtime.turns import STEPS_AT_ONCE_MAX
from tests.captured_logs import capture_logs
from tests.groups.failing_groups import (
    GENERATION,
    OTHER,
    break_group,
    breaking,
    commit_for,
    committed,
    is_taken,
    offset_of,
    rebuild,
    removed,
    simulation,
)
from tests.groups.kinds import change_kind
from tests.runtime.test_shard import answering, asked_for, drain
from tests.simulation.simulation import GROUP_ID, Sent, Simulation


@pytest.fixture
def sim() -> Simulation:
    return simulation()


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
        valid: list[Event] = [committed(group_id, "t", 9, now_ms), removed(group_id, now_ms, member_id)]
        return [*valid, removed(group_id, now_ms, "nobody")]

    sim.queue_events(GROUP_ID, events_of)
    drain(sim)
    assert (sim.offsets_log.log_end_offset, sim.audit_log.log_end_offset) == ends
    assert sim.shard.projection.next_offset == ends[1]
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


@pytest.mark.parametrize("name", ["advance", "records"])
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
            change_kind(monkeypatch, sim.shard.machine, advance=fail)
        else:
            records = GroupStateMachine.records
            monkeypatch.setattr(
                GroupStateMachine,
                "records",
                lambda machine, key, decision: (
                    fail()
                    if type(decision.events[0]).__name__ == "RebalanceStarted"
                    else records(machine, key, decision)
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
    change_kind(monkeypatch, sim.shard.machine, advance=extend)
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

    change_kind(monkeypatch, sim.shard.machine, advance=extend_some_times)
    with capture_logs() as logs:
        sim.join("d")
    assert [line for line in logs if line["log_level"] == "error"] == []
    assert sim.exists


def test_a_defect_outside_of_any_group_still_fails_the_partition(sim):
    def write(groups: object, now_ms: int) -> None:
        raise ZeroDivisionError("a defect")

    asked = asked_for(sim, answering, OTHER)
    sim.shard.submit_first(ProjectionWrite(write))
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
        return replying(
            context,
            HeartbeatResponse(),
            committed(OTHER, "t", 8, context.now_ms),
            removed(GROUP_ID, context.now_ms, first),
            committed(OTHER, "u", 8, context.now_ms),
            removed(GROUP_ID, context.now_ms, "nobody"),
        )

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


def test_a_topic_is_forgotten_in_groups_whose_records_fit_into_no_batch_together(sim, monkeypatch):
    for number in range(8):
        commit_for(sim, f"group-{number}", "t", 5)
    monkeypatch.setattr(type(sim.shard.store), "batch_bytes_max", 150)
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
    [(ADVANCE, None), (operations.EXPIRE_OFFSETS, None), (operations.EXPIRE_SESSION, SessionExpired("?"))],
    ids=lambda value: getattr(value, "name", ""),
)
def test_what_is_due_for_the_group_meanwhile_is_dropped(sim, due, request_of_it):
    break_group(sim)
    ends = sim.offsets_log.log_end_offset, sim.audit_log.log_end_offset
    sim.coordinator.enqueue(due, GROUP_ID, request_of_it, OperationContext(None, 0, "", "", sim.environment, 0, 0))
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
    assert not sim.sessions.answer_heartbeat(GROUP_ID, leader, None, GENERATION + 1, sim.now_ms)
    assert sim.sessions.members(GROUP_ID) == []
    rebuild(sim)
    assert sim.heartbeat(leader).error is ErrorCode.NONE
    assert sim.sessions.answer_heartbeat(GROUP_ID, leader, None, GENERATION + 1, sim.now_ms)


def test_what_a_batch_would_do_for_the_group_once_it_is_stored_is_taken_out(sim):
    machine = sim.shard.machine
    machine._newly_stable.update({GROUP_ID: 2, OTHER: 1})
    machine.discard(GROUP_ID)
    assert machine._newly_stable == {OTHER: 1}
