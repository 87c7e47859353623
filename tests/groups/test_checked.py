"""Each check is seen to fail on a machine that is broken for it, and none fails on the real one."""

import subprocess
import sys
from collections.abc import Callable
from typing import Any, Final

import pytest
from msgspec.structs import replace

from _wire.messages.heartbeat import HeartbeatResponse
from coordinator.core.causes import Cause
from coordinator.core.classic import records
from coordinator.core.classic.events import GenerationStable, RebalanceStarted
from coordinator.core.classic.group import ClassicGroup, Rebalance, RebalanceReason
from coordinator.core.classic.rebalance import next_deadline_ms
from coordinator.core.decision import NOTHING, Decision, OperationContext, Reply
from coordinator.core.groups.events import GroupCreated, GroupRemoved
from coordinator.core.groups.group import Group
from coordinator.core.groups.states import GroupState
from coordinator.core.kinds import operations, stored
from coordinator.core.kinds.table import new_group
from coordinator.core.offsets.events import OffsetsCommitted, OffsetsDeleted, TransactionalOffsetsCommitted
from coordinator.core.operation import Operation, Scope
from coordinator.core.stored import Producer
from coordinator.groups import transition_log
from coordinator.groups.checked import CheckedStateMachine, CheckFailed, values_of
from coordinator.groups.machines import SWITCH, checks_are_armed
from coordinator.groups.state_machine import GroupStateMachine
from coordinator.internal_topics import OFFSETS_TOPIC
from coordinator.runtime.batch import QueuedOperation, RecordsTooLarge
from coordinator.runtime.key_timers import KeyTimers
from coordinator.runtime.timer_keys import KeyTimerKey
from tests.simulation.generator import history_of
from tests.simulation.instrumented import defects_of
from tests.simulation.playing import play
from tests.simulation.simulation import GROUP_ID, Simulation

REASON: Final = RebalanceReason(Cause.NEW_MEMBER, "", "", "", None, "")


@pytest.fixture
def sim(monkeypatch) -> Simulation:
    monkeypatch.setenv(SWITCH, "1")
    sim = Simulation()
    assert isinstance(sim.shard.machine, CheckedStateMachine)
    return sim


def failure(step: Callable[[], Any]) -> str:
    """What the shard logs as its own defect while it takes the step, which is a check that failed."""
    defects: list[BaseException] = []
    with defects_of(defects):
        step()
    (problem,) = defects
    assert isinstance(problem, CheckFailed), problem
    return str(problem)


def queued(sim: Simulation, decide: Callable[..., Decision], *, scope: Scope = Scope.GROUP) -> QueuedOperation:
    operation = Operation("test", decide, too_large=decide, scope=scope)
    context = OperationContext(None, 0, "", "", sim.environment, sim.now_ms, sim.now_ms)
    return QueuedOperation(operation, None if scope is Scope.SHARD else GROUP_ID, None, context)


# ---- armed or not


@pytest.mark.parametrize(("value", "armed"), [(None, False), ("", False), ("0", False), ("1", True)])
def test_the_checks_are_armed_by_the_environment(monkeypatch, value, armed):
    monkeypatch.delenv(SWITCH, raising=False)
    if value is not None:
        monkeypatch.setenv(SWITCH, value)
    assert checks_are_armed() == armed
    assert type(Simulation().shard.machine) is (CheckedStateMachine if armed else GroupStateMachine)


@pytest.mark.parametrize("seed", range(8))
def test_no_check_fails_in_a_random_history(monkeypatch, seed):
    monkeypatch.setenv(SWITCH, "1")
    seen = play(history_of(seed)).seen
    assert seen["event MemberJoined"] + seen["event ConsumerMemberJoined"] > 0


def test_without_asserts_transitions_and_checks_still_hold():
    """`python -O` leaves out `assert` statements."""
    program = """
from coordinator.core.kinds.table import new_group
from coordinator.core.groups.states import STABLE
from coordinator.core.classic.states import IllegalTransition
from coordinator.groups.checked import CheckFailed, check_derived_fields
assert False, "not left out"
group = new_group("g")
group.membership.pending_sync = {"a"}
for breaks, error in ((lambda: group.membership.move_to(STABLE, 0), IllegalTransition),
                      (lambda: check_derived_fields(group), CheckFailed)):
    try:
        breaks()
    except error:
        continue
    raise SystemExit(f"no {error.__name__}")
"""
    subprocess.run([sys.executable, "-O", "-c", program], check=True)


# ---- decisions change nothing


def change_leader(target: Any, request: object, context: OperationContext) -> Decision:
    group = target if isinstance(target, Group) else target[GROUP_ID]
    group.membership.leader = "somebody"
    return NOTHING


def change_and_raise(group: Group, request: object, context: OperationContext) -> Decision:
    group.membership.members.popitem()
    raise ValueError("as a decision may")


def reorder_members(group: Group, request: object, context: OperationContext) -> Decision:
    members = group.membership.members
    first = next(iter(members))
    members[first] = members.pop(first)
    return NOTHING


def change_offsets(group: Group, request: object, context: OperationContext) -> Decision:
    group.offsets.by_topic["t"].clear()
    return NOTHING


@pytest.mark.parametrize("decide", [change_leader, change_and_raise, reorder_members, change_offsets])
def test_a_decision_that_changes_its_group_is_found(sim, decide):
    sim.stable_with("a", "b")
    sim.commit(sim.group.leader, generation_id=sim.group.generation_id)
    with pytest.raises(CheckFailed, match=f"test changed groups .*{GROUP_ID}"):
        sim.shard.machine.decide(queued(sim, decide))


def test_a_decision_over_the_shard_that_changes_a_group_is_found(sim):
    sim.stable_with("a")
    with pytest.raises(CheckFailed, match="test changed groups"):
        sim.shard.machine.decide(queued(sim, change_leader, scope=Scope.SHARD))


def test_a_decision_about_records_that_are_too_large_may_change_nothing_either(sim):
    sim.stable_with("a")
    with pytest.raises(CheckFailed, match="test changed groups"):
        sim.shard.machine.decide_failed(queued(sim, change_leader), RecordsTooLarge())


def test_a_step_that_changes_the_group_while_it_is_decided_is_found(sim, monkeypatch):
    sim.stable_with("a")

    def advance(machine: GroupStateMachine, key: str, context: OperationContext) -> Decision:
        return change_leader(machine.groups[key], None, context)

    monkeypatch.setattr(GroupStateMachine, "advance", advance)
    assert failure(lambda: sim.leave("a-nobody", *sim.group.members)).startswith("advance changed groups")


def test_encoding_that_changes_the_group_is_found(sim, monkeypatch):
    sim.stable_with("a")
    sim.has_steady_commits = False

    def make(event: GroupRemoved, group: Group, events: object) -> list[Any]:
        group.membership.state_since_ms = 0
        return []

    monkeypatch.setitem(stored.RECORD_MAKERS, OffsetsCommitted, make)
    assert failure(lambda: sim.commit(sim.group.leader, generation_id=sim.group.generation_id)).startswith(
        "encode changed groups"
    )


def test_a_decision_that_changes_members_though_it_says_that_it_keeps_them_is_found(sim, monkeypatch):
    _, follower = sim.stable_with("a", "b")
    leave = operations.LEAVE_GROUP

    def leave_silently(*arguments: Any) -> Decision:
        return replace(leave.decide(*arguments), no_step_follows=True)

    monkeypatch.setattr(operations, "LEAVE_GROUP", replace(leave, decide=leave_silently))
    assert failure(lambda: sim.leave(follower)).startswith(f"group {GROUP_ID} keeps its membership, but ")


# ---- transitions


def test_a_transition_that_is_not_allowed_is_found_however_it_is_made(sim, monkeypatch):
    def go_around_the_guard(event: RebalanceStarted, group: Group) -> None:
        group.membership.state = GroupState.STABLE

    monkeypatch.setattr(RebalanceStarted, "apply", go_around_the_guard)
    assert failure(lambda: sim.join("a")).startswith("Empty became Stable")


def test_a_group_that_does_not_begin_empty_is_found(sim, monkeypatch):
    def begin_in_another_state(event: GroupCreated, group: Group) -> None:
        group.membership.state = GroupState.COMPLETING_REBALANCE

    monkeypatch.setattr(GroupCreated, "apply", begin_in_another_state)
    monkeypatch.setitem(transition_log.REASONS, GroupCreated, lambda event: "")
    assert failure(sim.commit).startswith("Empty became CompletingRebalance")


# ---- records


def test_a_group_record_that_lacks_an_assignment_is_found(sim, monkeypatch):
    member_id = sim.join("a").response.member_id
    make = stored.RECORD_MAKERS[GenerationStable]
    monkeypatch.setitem(stored.RECORD_MAKERS, GenerationStable, lambda event, group, events: make(event, group, ()))
    assert failure(lambda: sim.sync(member_id, {member_id: b"p"})).startswith("records were written that describe no")


def test_a_group_that_is_read_back_differently_is_found(sim, monkeypatch):
    member_id = sim.join("a").response.member_id
    load_group = records.load_group

    def forget_assignments(group_id: str, value: Any) -> ClassicGroup:
        for member in value.members:
            member.assignment = b""
        return load_group(group_id, value)

    monkeypatch.setattr(records, "load_group", forget_assignments)
    assert failure(lambda: sim.sync(member_id, {member_id: b"p"})).startswith(f"group {GROUP_ID} is stored as")


@pytest.mark.parametrize("event", [OffsetsCommitted, OffsetsDeleted, TransactionalOffsetsCommitted])
def test_offsets_that_are_not_stored_are_found(sim, monkeypatch, event):
    sim.commit()
    monkeypatch.setitem(stored.RECORD_MAKERS, event, lambda *arguments: [])
    change = {
        OffsetsCommitted: lambda: sim.commit(offset=2),
        OffsetsDeleted: lambda: sim.delete_topic("t"),
        TransactionalOffsetsCommitted: lambda: sim.commit_in_transaction(Producer(1, 0)),
    }[event]
    assert failure(change).startswith(f"group {GROUP_ID} has offsets")


def test_a_marker_that_is_not_stored_is_found(sim, monkeypatch):
    producer = Producer(1, 0)
    sim.commit_in_transaction(producer)
    complete = operations.COMPLETE_TRANSACTION

    def without_marker(groups: Any, marker: Any, context: OperationContext) -> Decision:
        return replace(complete.decide(groups, marker, context), marker=None)

    monkeypatch.setattr(operations, "COMPLETE_TRANSACTION", replace(complete, decide=without_marker))
    assert failure(lambda: sim.end_transaction(producer)).startswith(f"group {GROUP_ID} has offsets")


@pytest.mark.parametrize("event", [GroupCreated, GroupRemoved])
def test_a_group_that_is_there_in_memory_alone_or_in_its_records_alone_is_found(sim, monkeypatch, event):
    if event is GroupRemoved:
        sim.stable_with("a")
        sim.leave(*sim.group.members)
    monkeypatch.setitem(stored.RECORD_MAKERS, event, lambda *arguments: [])
    change = sim.delete_group if event is GroupRemoved else lambda: sim.join("a", version=4)
    expected = " in memory, and " if event is GroupRemoved else "is not stored by GroupCreated"
    assert expected in failure(change)


def test_what_was_loaded_is_known(sim):
    """The checks go on where a load ended: also with offsets that the records of before a restart hold."""
    sim.commit()
    sim.restart()
    defects: list[BaseException] = []
    with defects_of(defects):
        sim.commit_in_transaction(Producer(1, 0), offset=5)
        sim.shard.unload()
        sim.coordinator.load([0])
        sim.end_iteration()
        sim.end_transaction(Producer(1, 0))
    assert defects == []
    assert sim.offsets.by_topic["t"][0].offset == 5


def test_a_group_that_was_rebuilt_is_known_as_it_is_stored(sim):
    producer = Producer(7, 0)
    (leader, _) = sim.stable_with("a", "b")
    sim.commit(leader, generation_id=2, offset=5)
    sim.commit_in_transaction(producer, offset=6)

    def break_group(group: Group | None, request: object, context: OperationContext) -> Decision:
        return Decision((GenerationStable(group_id=GROUP_ID, at_ms=context.now_ms, generation_id=-1),))

    def enqueue() -> None:
        sim.coordinator.enqueue(Operation("test", break_group), GROUP_ID, None, queued(sim, break_group).context)
        sim.coordinator.drain(sim.now_ms)

    defects: list[BaseException] = []
    with defects_of(defects):
        enqueue()
        sim.end_transaction(producer)
        sim.advance(1_000)
        sim.commit(leader, generation_id=2, offset=7)
        assert sim.offsets.by_topic["t"][0].offset == 7
        sim.commit_in_transaction(producer, offset=8)
        sim.end_transaction(producer)
    assert sim.offsets.by_topic["t"][0].offset == 8
    assert [type(defect) for defect in defects] == [AssertionError], "the group broke once"


# ---- requests that wait


def without_replies(decide: Callable[..., Decision]) -> Callable[..., Decision]:
    def decide_silently(*arguments: Any) -> Decision:
        return replace(decide(*arguments), replies=())

    return decide_silently


def test_a_waiting_request_that_is_forgotten_is_found(sim, monkeypatch):
    _, follower = sim.stable_with("a", "b")
    sim.join("b", follower, metadata=b"changed")
    leave = operations.LEAVE_GROUP
    monkeypatch.setattr(operations, "LEAVE_GROUP", replace(leave, decide=without_replies(leave.decide)))
    assert failure(lambda: sim.leave(follower)).startswith(f"group {GROUP_ID} forgot ('{follower}', 'JoinGroup')")


def test_a_request_that_is_answered_and_goes_on_waiting_is_found(sim):
    _, follower = sim.stable_with("a", "b")
    sim.join("b", follower, metadata=b"changed")
    request_id = sim.group.members[follower].awaiting_join

    def answer(group: Group | None, request: object, context: OperationContext) -> Decision:
        return Decision(replies=(Reply(request_id, HeartbeatResponse()),))

    def ask() -> None:
        sim.coordinator.enqueue(Operation("test", answer), GROUP_ID, None, queued(sim, answer).context)
        sim.coordinator.drain(sim.now_ms)

    assert " was answered and waits: " in failure(ask)


def test_a_newer_request_of_a_member_takes_the_place_of_the_one_before(sim):
    _, follower = sim.stable_with("a", "b")
    defects: list[BaseException] = []
    with defects_of(defects):
        first = sim.join("b", follower, metadata=b"changed")
        sim.join("b", follower, metadata=b"changed")
    assert (defects, first.answered) == ([], False)


# ---- sessions and timers


def test_a_member_that_leaves_its_session_behind_is_found(sim, monkeypatch):
    (member_id,) = sim.stable_with("a")
    leave = operations.LEAVE_GROUP

    def without_sessions(group: Group, request: Any, context: OperationContext) -> Decision:
        return replace(leave.decide(group, request, context), effects=())

    monkeypatch.setattr(operations, "LEAVE_GROUP", replace(leave, decide=without_sessions))
    assert failure(lambda: sim.leave(member_id)).startswith(f"group {GROUP_ID} has sessions of {{'{member_id}'}}")


def test_a_member_without_a_session_is_found(sim):
    member_ids = sim.stable_with("a", "b")
    sim.sessions.end(GROUP_ID, member_ids[0])
    assert " has sessions of " in failure(lambda: sim.commit(member_ids[1], generation_id=sim.group.generation_id))


def test_a_timer_that_is_not_armed_is_found(sim, monkeypatch):
    monkeypatch.setattr(KeyTimers, "arm", lambda timers, group_id, deadline_ms: None)
    sim.join("a")
    assert failure(lambda: sim.join("b")).startswith(f"the timer of group {GROUP_ID} is armed for None")


def test_a_timer_that_an_earlier_operation_forgot_is_found_by_the_next(sim):
    (member_id,) = sim.stable_with("a")
    sim.timers.arm(GROUP_ID, sim.now_ms + 5)
    assert failure(lambda: sim.leave(member_id)).startswith(f"the timer of group {GROUP_ID} is armed for")


def test_a_timer_that_has_fired_need_not_be_armed_until_the_group_has_advanced(sim):
    joined = sim.join("a", version=4).response.member_id
    sim.join("a", joined, version=4)
    deadline_ms = sim.timers.deadline_ms(GROUP_ID)
    sim.timers.fired(KeyTimerKey(OFFSETS_TOPIC, GROUP_ID))
    decide = queued(sim, lambda *arguments: NOTHING)
    with pytest.raises(CheckFailed):
        sim.shard.machine.decide(decide)
    decide.context.now_ms = deadline_ms
    assert sim.shard.machine.decide(decide) is NOTHING


# ---- fields that follow from others


def pending_member_that_joined(group: ClassicGroup) -> None:
    group.pending_members[next(iter(group.members))] = 1


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (lambda group: group.static_members.update(i="a"), "static members"),
        (lambda group: group.protocol_support.update(range=7), "protocols"),
        (lambda group: setattr(group, "awaiting_join_count", 1), "members that wait to join"),
        (pending_member_that_joined, "members that are pending too"),
        (lambda group: group.pending_sync.add("nobody"), "pending syncs of others"),
        (lambda group: setattr(group, "leader", "nobody"), "leader"),
        (lambda group: setattr(group, "rebalance", Rebalance(REASON, 0, False)), "join phase"),
    ],
)
def test_a_field_that_does_not_follow_from_the_others_is_found(sim, change, what):
    (member_id,) = sim.stable_with("a")
    change(sim.group)
    sim.timers.arm(GROUP_ID, next_deadline_ms(sim.group))
    assert failure(lambda: sim.commit(member_id, generation_id=1)).startswith(f"group {GROUP_ID}, {what}: ")


def test_values_are_kept_when_the_original_changes():
    group = new_group("g")
    group.membership.pending_members["a"] = 1
    before = values_of(group)
    assert values_of(group) == before
    group.membership.pending_members["b"] = 1
    assert values_of(group) != before
