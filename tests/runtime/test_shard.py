"""The queue of one partition: what fails, what it takes with it, and how it comes back."""

from collections.abc import Callable
from itertools import pairwise
from typing import Any, Final

import pytest

from _wire.errors import ErrorCode
from _wire.messages.heartbeat import HeartbeatResponse
from _wire.records import build_batch
from coordinator.core.decision import NOTHING, Decision, OperationContext, replying
from coordinator.core.groups.requests import SessionExpired
from coordinator.core.groups.states import GroupState
from coordinator.core.kinds import operations
from coordinator.core.operation import ADVANCE, Operation, Scope
from coordinator.runtime.interfaces import Replay, StoreError
from coordinator.runtime.slices import Steps
from tests.captured_logs import capture_logs
from tests.simulation.simulation import GROUP_ID, Sent, Simulation

RETRIES_MS: Final = [100, 200, 400, 800, 1600, 3200, 6400, 10_000, 10_000]


Decide = Callable[[OperationContext], Decision]


def error_response(request: object, error: ErrorCode, api_version: int) -> HeartbeatResponse:
    return HeartbeatResponse(error_code=error)


def operation(decide: Decide, scope: Scope = Scope.GROUP) -> Operation:
    return Operation("test", lambda target, request, context: decide(context), error_response, scope=scope)


def asked_for(sim: Simulation, decide: Decide, group_id: str = GROUP_ID, scope: Scope = Scope.GROUP) -> Sent:
    """Queue an operation; it is decided at the next drain."""
    asked = Sent()
    sim.is_batching = True
    sim.submit(operation(decide, scope), group_id, None, asked, "client", 0)
    sim.is_batching = False
    return asked


def answering(context: OperationContext) -> Decision:
    return replying(context, HeartbeatResponse())


def failing(context: OperationContext) -> Decision:
    raise ZeroDivisionError("a defect")


def nothing(context: OperationContext) -> Decision:
    return NOTHING


def unasked(sim: Simulation, decide: Decide, group_id: str = GROUP_ID) -> None:
    """Queue an operation that nobody waits for."""
    context = OperationContext(None, 0, "", "", sim.environment, 0, 0)
    sim.coordinator.enqueue(operation(decide), group_id, None, context)


def drain(sim: Simulation) -> list[Any]:
    with capture_logs() as logs:
        sim.coordinator.drain(sim.now_ms)
    return logs


# ---- one batch


class Broken(Sent):
    """Cannot be answered, by a defect."""

    def send_response(self, response: Any) -> None:
        raise ZeroDivisionError("a defect")


def test_an_answer_that_cannot_be_given_holds_up_no_other():
    sim = Simulation()
    broken = Broken()
    sim.is_batching = True
    sim.submit(operation(answering), "first", None, broken, "client", 0)
    same_group, other_group = asked_for(sim, answering, "first"), asked_for(sim, answering, "second")
    (line,) = drain(sim)
    assert line["log_level"] == "error"
    assert [asked.response for asked in (same_group, other_group)] == [HeartbeatResponse()] * 2


def test_a_decision_that_raises_fails_its_own_request_alone():
    sim = Simulation()
    sim.stable_with("a", "b")
    before = asked_for(sim, answering)
    failed = asked_for(sim, failing)
    after = asked_for(sim, answering)
    (line,) = drain(sim)
    assert (line["log_level"], line["operation"], line["key"]) == ("error", "test", GROUP_ID)
    assert line["exc_info"]
    assert failed.error is ErrorCode.UNKNOWN_SERVER_ERROR
    assert before.error is after.error is ErrorCode.NONE
    assert sim.shard.is_active
    assert sim.group.state is GroupState.STABLE


def test_a_decision_that_nobody_waits_for_may_fail_too():
    sim = Simulation()
    unasked(sim, failing)
    asked = asked_for(sim, answering)
    assert len(drain(sim)) == 1
    assert asked.error is ErrorCode.NONE


def test_what_is_asked_of_all_groups_may_fail_too():
    sim = Simulation()
    asked = asked_for(sim, failing, scope=Scope.SHARD)
    assert len(drain(sim)) == 1
    assert asked.error is ErrorCode.UNKNOWN_SERVER_ERROR


def test_a_batch_is_answered_when_it_is_stored():
    sim = Simulation()
    commits = [sim_commit(sim, offset) for offset in range(5)]
    assert not any(asked.answered for asked in commits)
    written = sim.offsets_log.log_end_offset
    sim.coordinator.drain(sim.now_ms)
    assert all(asked.answered for asked in commits)
    assert sim.offsets_log.log_end_offset > written


def sim_commit(sim: Simulation, offset: int) -> Sent:
    """A commit that waits for the next drain."""
    drain_now, sim.coordinator.drain = sim.coordinator.drain, lambda now_ms: None  # type: ignore[method-assign]
    try:
        return sim.commit(offset=offset)
    finally:
        sim.coordinator.drain = drain_now  # type: ignore[method-assign]


def test_a_large_group_is_stored_though_produce_would_refuse_it():
    sim = Simulation()
    metadata = bytes(800_000)
    (member_id,) = sim.make_stable([sim.join("a", metadata=metadata)])
    sim.join("a", member_id, metadata=metadata + b"!")
    sim.sync_all()
    assert sim.shard.is_active
    sim.restart()
    assert len(sim.group.members[member_id].protocols[0].metadata) == 800_001


# ---- heartbeats that need not come here


def is_taken(sim: Simulation, member_id: str) -> bool:
    return sim.sessions.answer_heartbeat(GROUP_ID, member_id, None, sim.group.generation_id, sim.now_ms)


def test_heartbeats_are_taken_from_leases_while_a_group_is_stable():
    sim = Simulation()
    leader, follower = sim.stable_with("a", "b")
    assert is_taken(sim, leader)
    sim.restart()
    assert not is_taken(sim, follower), "after a load the first one tells who the client is"
    sim.heartbeat(follower)
    assert is_taken(sim, follower)
    sim.join("a", leader)
    assert not is_taken(sim, follower)


def test_a_group_that_was_stable_for_a_moment_within_one_turn_does_not_open_them():
    sim = Simulation()
    leader = sim.join("a").response.member_id
    with sim.one_turn():
        sim.sync(leader, {leader: b""})
        sim.join("newcomer")
    assert sim.group.state is GroupState.PREPARING_REBALANCE
    assert not is_taken(sim, leader)


# ---- a disk that fails


def fail_append(sim: Simulation) -> Sent:
    """Ask for something that has to be stored, while the disk is full; it stays so."""
    sim.disk.is_full = True
    return sim.join("newcomer")


def test_a_full_disk_fails_all_that_was_asked_and_all_that_waits():
    sim = Simulation()
    leader, _follower = sim.stable_with("a", "b")
    waiting = sim.join("a", leader, metadata=b"changed")
    assert not waiting.answered
    read = asked_for(sim, answering)
    with capture_logs() as logs:
        joining = fail_append(sim)
    (line,) = logs
    assert (line["log_level"], line["partition"]) == ("error", 0)
    assert "No space left" in line["problem"]
    for asked in (waiting, read, joining):
        assert asked.error is ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert not sim.shard.is_active


def test_a_waiting_sync_is_failed_too():
    sim = Simulation()
    leader, follower = sim.stable_with("a", "b")
    joins = [sim.join("a", leader, metadata=b"x"), sim.join("b", follower)]
    assert all(asked.answered for asked in joins)
    waiting = sim.sync(follower)
    fail_append(sim)
    assert waiting.error is ErrorCode.COORDINATOR_NOT_AVAILABLE


def test_requests_to_a_failed_partition_are_rejected_without_a_log_line():
    sim = Simulation()
    (member_id,) = sim.stable_with("a")
    fail_append(sim)
    with capture_logs() as logs:
        for asked in (sim.commit(), sim.join("b"), sim.heartbeat(member_id, generation_id=1)):
            assert asked.error is ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert logs == []


def test_no_heartbeat_is_taken_from_leases_while_nothing_is_loaded():
    sim = Simulation()
    (member_id,) = sim.stable_with("a")
    fail_append(sim)
    assert not sim.sessions.answer_heartbeat(GROUP_ID, member_id, None, 1, sim.now_ms)
    assert len(sim.sessions) == 0
    assert sim.timers.deadline_ms(GROUP_ID) is None


def test_the_group_is_there_again_when_the_disk_has_room():
    sim = Simulation()
    (member_id,) = sim.stable_with("a")
    sim.disk.is_full = True
    assert sim.commit(member_id, generation_id=1, offset=7).error is ErrorCode.COORDINATOR_NOT_AVAILABLE
    sim.disk.is_full = False
    sim.advance(100)
    assert sim.shard.is_active
    assert (sim.group.generation_id, sim.group.state) == (1, GroupState.STABLE)
    assert sim.offsets.by_topic == {}, "what was refused is not there"
    assert sim.heartbeat(member_id, generation_id=1).error is ErrorCode.NONE
    assert sim.commit(member_id, generation_id=1, offset=8).response.topics[0].partitions[0].error_code == 0


def test_sessions_begin_anew_when_a_partition_is_loaded():
    sim = Simulation()
    (member_id,) = sim.stable_with("a")
    sim.advance(9_000)
    fail_append(sim)
    sim.disk.is_full = False
    sim.advance(100)
    assert sim.sessions.deadline_ms(GROUP_ID, member_id) == sim.now_ms + 10_000


class Unreadable:
    """A group whose log cannot be read while it is `broken`; `attempts` are the times at which it was tried."""

    def __init__(self) -> None:
        self.sim = Simulation()
        self.sim.stable_with("a")
        self.attempts: list[int] = []
        self.broken = True
        self._replay_whole = self.sim.shard.store.replay
        self.sim.shard.store.replay = self._replay  # type: ignore[method-assign]

    def _replay(self, replay: Replay, from_offset: int = 0) -> Steps[None]:
        self.attempts.append(self.sim.now_ms)
        if self.broken:
            raise StoreError("Input/output error")
        return self._replay_whole(replay, from_offset)


@pytest.fixture
def unreadable() -> Unreadable:
    return Unreadable()


def test_loading_is_tried_again_ever_more_rarely_until_it_works(unreadable):
    sim = unreadable.sim
    failed_at = sim.now_ms
    fail_append(sim)
    sim.disk.is_full = False
    with capture_logs() as logs:
        sim.advance(sum(RETRIES_MS))
    times = [failed_at, *unreadable.attempts]
    assert [later - earlier for earlier, later in pairwise(times)] == RETRIES_MS
    assert [line["event"] for line in logs] == ["cannot load partition"] * len(RETRIES_MS)
    assert not sim.shard.is_active
    unreadable.broken = False
    sim.advance(10_000)
    assert sim.shard.is_active
    assert sim.group.state is GroupState.STABLE


def test_after_a_load_that_worked_the_next_wait_is_short_again(unreadable):
    sim = unreadable.sim
    for _ in range(2):
        unreadable.broken = True
        fail_append(sim)
        sim.disk.is_full = False
        sim.advance(500)
        unreadable.broken = False
        sim.advance(10_000)
        assert sim.shard.is_active
        assert sim.shard.retry_ms == 100


def lead_again(sim):
    """Give the partition up and take it back: what is on the disk is loaded."""
    sim.coordinator.unload(0)
    sim.coordinator.load([0])
    sim.coordinator.drain(sim.now_ms)


def test_a_partition_that_cannot_be_read_at_the_start_says_so_and_tries_again():
    sim = Simulation()
    sim.stable_with("a")
    (path,) = (path for path in sim.disk.paths() if path.match("__consumer_offsets-0/*.log"))
    content = sim.disk.content(path)
    content[-1] ^= 0xFF
    with capture_logs() as logs:
        lead_again(sim)
    assert (logs[0]["file"], logs[0]["offset"]) == (str(path), 1)
    assert logs[1]["partition"] == 0
    assert sim.commit().error is ErrorCode.COORDINATOR_NOT_AVAILABLE
    content[-1] ^= 0xFF
    sim.advance(1_000)
    assert sim.shard.is_active
    assert sim.group.state is GroupState.STABLE


@pytest.mark.parametrize(
    ("topic", "record"),
    [
        ("__consumer_offsets", (b"\0\2\0\1g", b"\0\x63no such version", ())),
        ("__consumer_offsets", (b"\0\1", b"", ())),
        ("__group_audit", (b"g", b"no json", ())),
        ("__group_audit", (b"\xff", b"{}", ())),
        ("__group_audit", (b"g", b'{"kind":"x","seq":1,"generation_id":1,"state":"NoState"}', ())),
    ],
)
def test_a_record_that_cannot_be_understood_fails_the_load_and_nothing_else(topic, record):
    sim = Simulation()
    log = sim.offsets_log if topic == "__consumer_offsets" else sim.audit_log
    log.append(bytearray(build_batch([record])), 0, sim.now_ms)
    with capture_logs() as logs:
        lead_again(sim)
    assert not sim.shard.is_active
    (line,) = logs
    assert (line["event"], line["partition"]) == ("cannot load partition", 0)


@pytest.mark.parametrize(
    ("due", "request_of_it"),
    [
        (ADVANCE, None),
        (operations.EXPIRE_SESSION, SessionExpired("gone")),
        (operations.EXPIRE_OFFSETS, None),
        (operations.REBALANCE_OVERSIZED_GROUP, None),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_what_is_due_for_a_group_that_is_gone_changes_nothing(due, request_of_it):
    sim = Simulation()
    before = (sim.offsets_log.log_end_offset, sim.audit_log.log_end_offset)
    context = OperationContext(None, 0, "", "", sim.environment, 0, 0)
    sim.coordinator.enqueue(due, "gone", request_of_it, context)
    assert drain(sim) == []
    assert sim.shard.is_idle
    assert sim.shard.machine.groups == {}
    assert (sim.offsets_log.log_end_offset, sim.audit_log.log_end_offset) == before
