"""Work of consumer groups beside requests that fails, at each step: the group gets its assignment afterwards."""

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any, Final

import msgspec
import pytest

from _wire.errors import NONE, ErrorCode
from coordinator.core.assignment import decode_assignment
from coordinator.core.consumer import large_targets
from coordinator.core.consumer.events import PatternsResolved
from coordinator.core.consumer.failed_work import RETRY_MS_AT_FIRST, RETRY_MS_AT_MOST
from coordinator.core.consumer.kind import CONSUMER
from coordinator.core.consumer.target_events import TargetComputationStarted
from coordinator.core.consumer.workers import COMPUTE_TARGET, RESOLVE_PATTERNS
from coordinator.core.decision import Environment
from coordinator.core.groups.background_work import Worker, WorkSteps
from coordinator.core.groups.session_expiry import RETRY_MS
from coordinator.core.kinds import operations
from coordinator.core.stored_batch import StoredBatch
from coordinator.groups.state_machine import GroupStateMachine
from coordinator.log.errors import LogAppendError
from coordinator.log.partition.partition_log import PartitionLog
from coordinator.log.segments.segment_file import PrebuiltBatch
from coordinator.runtime.failed_keys import REBUILD_RETRY_MS_AT_FIRST
from coordinator.runtime.interfaces import StoreError
from coordinator.runtime.shard import LOAD_RETRY_MS_AT_FIRST
from coordinator.runtime.store import LogStore
from tests.captured_logs import capture_logs
from tests.core.consumer.classic_bytes import subscription
from tests.core.consumer.delayed_work import DelayedTargets, DelayedWork
from tests.core.consumer.world import World
from tests.simulation.simulation import GROUP_ID

NAMES: Final = [f"{number:02}-" + "n" * 200 for number in range(20)]
"""Topics whose names make a regular expression larger than `LIMIT`, and all else smaller."""
PARTITIONS: Final = 400
LIMIT: Final = 1_500
BEATS: Final = 40
BEAT_MS: Final = 500

HasFailed = Callable[[], bool]


class Faults:
    """What fails while `are_there`."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.are_there = True
        self.patch = patch

    def raise_in(self, owner: Any, name: str, is_meant: Callable[..., bool]) -> None:
        """Have a method raise for the calls that are meant."""
        unpatched = getattr(owner, name)

        def method(*arguments: Any) -> Any:
            if self.are_there and is_meant(*arguments):
                raise ValueError(f"fault in {name}")
            return unpatched(*arguments)

        self.patch.setattr(owner, name, method)


@pytest.fixture
def faults(monkeypatch: pytest.MonkeyPatch) -> Iterator[Faults]:
    monkeypatch.setattr(large_targets, "WORK_AT_ONCE", 0)
    monkeypatch.setattr("coordinator.groups.machines.checks_are_armed", lambda: True)
    made = Faults(monkeypatch)
    yield made
    made.are_there = False


def is_own_work(machine: Any, queued: Any, *_: Any) -> bool:
    return queued.operation.name in ("resolve patterns", "install target")


def has_own_work(machine: Any, key: str, decision: Any, *_: Any) -> bool:
    names = {type(event).__name__ for event in decision.events}
    return bool(names & {"PatternsResolved", "TargetAssignmentComputed"})


def too_large(faults: Faults, world: World) -> None:
    unpatched = LogStore.batch_bytes_max.__get__
    limited = property(lambda store: LIMIT if faults.are_there else unpatched(store))
    faults.patch.setattr(LogStore, "batch_bytes_max", limited)


def decision_raises(faults: Faults, world: World) -> None:
    faults.raise_in(GroupStateMachine, "decide", is_own_work)


def records_raise(faults: Faults, world: World) -> None:
    faults.raise_in(GroupStateMachine, "records", has_own_work)


def measuring_raises(faults: Faults, world: World) -> None:
    """The records are there, and cannot be divided among batches."""
    unpatched = GroupStateMachine.records

    def records(machine: Any, key: str, decision: Any) -> list[StoredBatch]:
        made = unpatched(machine, key, decision)
        return Unreadable(made) if faults.are_there and has_own_work(machine, key, decision) else made

    faults.patch.setattr(GroupStateMachine, "records", records)


class Unreadable(list[StoredBatch]):
    def __iter__(self) -> Iterator[StoredBatch]:
        raise ValueError("fault in the records")


def giving_up_raises(faults: Faults, world: World) -> None:
    records_raise(faults, world)
    faults.raise_in(GroupStateMachine, "decide_failed", is_own_work)


def applying_raises(faults: Faults, world: World) -> None:
    faults.raise_in(GroupStateMachine, "apply", has_own_work)


def append_fails(faults: Faults, world: World) -> None:
    unpatched = LogStore._append

    def append(store: LogStore, projected: Any, stored: Any, now_ms: int) -> StoreError | None:
        is_meant = any(key[:2] in (b"\x00\x10", b"\x00\x07") for each in stored for key, _ in each.records)
        return StoreError("fault") if faults.are_there and is_meant else unpatched(store, projected, stored, now_ms)

    faults.patch.setattr(LogStore, "_append", append)


def unloaded(faults: Faults, world: World) -> None:
    """The work is under way when the partition goes elsewhere and comes back."""
    work = DelayedWork(world)

    def end() -> None:
        world.coordinator.unload(0)
        world.coordinator.load([0])
        world.coordinator.drain(world.now_ms)
        while world.coordinator.is_loading:
            world.coordinator.drain(world.now_ms)
        while work.asked:
            work.finish()
        work.end()

    world.heal = end  # type: ignore[attr-defined]


def steps_raise(faults: Faults, world: World) -> None:
    for name in (RESOLVE_PATTERNS, COMPUTE_TARGET):
        worker = CONSUMER.workers[name]

        def steps(request: Any, environment: Environment, worker: Worker = worker) -> WorkSteps:
            if faults.are_there:
                raise ValueError("fault in the steps")
            assert worker.steps is not None
            return (yield from worker.steps(request, environment))

        faults.patch.setitem(CONSUMER.workers, name, msgspec.structs.replace(worker, steps=steps))


def group_fails(faults: Faults, world: World) -> None:
    """The work is under way when the group fails, and is rebuilt."""
    work = DelayedWork(world)

    def end() -> None:
        world.shard.failed_keys.fail(GROUP_ID, world.now_ms)
        while not world.exists:
            world.advance(REBUILD_RETRY_MS_AT_FIRST)
        while work.asked:
            work.finish()
        work.end()

    world.heal = end  # type: ignore[attr-defined]


def group_is_deleted(faults: Faults, world: World) -> None:
    """The work is under way when the last member leaves, and the group is deleted and made again."""
    work = DelayedWork(world)

    def end() -> None:
        world.depart("a")
        world.delete_group()
        while work.asked:
            work.finish()
        work.end()

    world.heal = end  # type: ignore[attr-defined]


FAULTS: Final = [
    steps_raise,
    too_large,
    decision_raises,
    records_raise,
    measuring_raises,
    giving_up_raises,
    applying_raises,
    append_fails,
    unloaded,
    group_fails,
    group_is_deleted,
]
LOSES_STATE: Final = [giving_up_raises, applying_raises, append_fails, unloaded, group_fails, group_is_deleted]


class Client:
    """A member that goes on whatever it is told."""

    def __init__(self, world: World, member_id: str, **subscription: Any) -> None:
        self.world, self.member_id, self.subscription = world, member_id, subscription
        self.epoch = 0
        self.errors: list[ErrorCode] = []

    def beat(self) -> None:
        joining: dict[str, Any] = self.subscription | {"owned": {}, "timeout_ms": 60_000} if self.epoch == 0 else {}
        answer = self.world.beat(self.member_id, self.epoch, **joining)
        error = ErrorCode(answer.error_code)
        self.errors.append(error)
        if error is ErrorCode.NONE:
            self.epoch = answer.member_epoch
        elif error in (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_MEMBER_EPOCH, ErrorCode.GROUP_ID_NOT_FOUND):
            self.epoch = 0
        self.world.advance(BEAT_MS)


def assigned(world: World, member_id: str) -> int:
    if not world.exists or member_id not in world.consumer.members:
        return 0
    return sum(map(len, world.assigned(member_id).values()))


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
@pytest.mark.parametrize("work", ["patterns", "target"])
def test_the_group_gets_its_assignment_after_a_fault(
    faults: Faults, work: str, fault: Callable[[Faults, World], None]
) -> None:
    subscription: dict[str, Any]
    if work == "patterns":
        world, subscription, all_of_them = World(topics=dict.fromkeys(NAMES, 1)), {"pattern": ".*"}, len(NAMES)
    else:
        world, subscription, all_of_them = World(topics={"t": PARTITIONS}), {"names": ["t"]}, PARTITIONS
    world.heal = lambda: None  # type: ignore[attr-defined]
    fault(faults, world)
    client = Client(world, "a", **subscription)
    with capture_logs() as logs:
        for _ in range(6):
            client.beat()
    assert not assigned(world, "a")
    if fault not in LOSES_STATE:
        assert client.errors[1:] == [ErrorCode.UNKNOWN_SERVER_ERROR] * 5, "the next heartbeat is told"
        (line, *_) = [log for log in logs if log["event"] == "a group gets no new assignment"]
        assert line["group"] == "orders" and line["retry_ms"] == RETRY_MS_AT_FIRST
        assert not (fault is too_large and any("rejected" in log["event"] for log in logs))
    faults.are_there = False
    world.heal()  # type: ignore[attr-defined]
    for _ in range(BEATS):
        client.beat()
        if assigned(world, "a") == all_of_them and client.errors[-1] is ErrorCode.NONE:
            break
    assert assigned(world, "a") == all_of_them, client.errors
    assert client.errors[-1] is ErrorCode.NONE
    assert world.consumer.failed_target is None and world.consumer.failed_resolution is None
    world.restart()
    assert assigned(world, "a") == all_of_them


def test_the_line_and_the_answer_name_what_is_too_large(faults: Faults) -> None:
    world = World(topics=dict.fromkeys(NAMES, 1))
    too_large(faults, world)
    with capture_logs() as logs:
        world.enter("a", pattern=".*")
    answer = world.beat("a", 0, pattern=".*", owned={}, timeout_ms=1)
    (line,) = [log for log in logs if log["log_level"] == "warning"]
    expected = "The 20 topics of the regular expression .*: a record batch of "
    assert line["reason"].startswith(expected) and f"message.max.bytes is {LIMIT}" in line["reason"]
    assert answer.error_message == line["reason"]


def test_it_is_tried_again_at_growing_distances(faults: Faults) -> None:
    world = World(topics={"t": PARTITIONS})
    too_large(faults, world)
    tried: list[int] = []
    world.enter("a")
    for _ in range(240):
        started = any(isinstance(event, TargetComputationStarted) for event in world.events)
        if started:
            tried.append(world.now_ms)
            world.events.clear()
        world.advance(50)
        world.beat("a", 1)
    distances = [after - before for before, after in pairwise(tried)]
    assert distances[:4] == [RETRY_MS_AT_FIRST << number for number in range(4)]
    assert max(distances) == RETRY_MS_AT_MOST


def test_a_member_that_subscribes_to_less_is_assigned_though_all_was_too_large(faults: Faults) -> None:
    world = World(topics={"t": PARTITIONS, "u": 2})
    too_large(faults, world)
    world.enter("a")
    assert world.beat("a", 1).error_code == ErrorCode.UNKNOWN_SERVER_ERROR
    assert world.beat("a", 1, names=["u"]).error_code == ErrorCode.UNKNOWN_SERVER_ERROR
    world.advance(RETRY_MS_AT_MOST)
    world.beat("a", 1)
    answer = world.beat("a", 1)
    assert (answer.error_code, world.given(answer)) == (ErrorCode.NONE, {"u": [0, 1]})


def test_members_without_the_regular_expression_that_failed_are_told_nothing(faults: Faults) -> None:
    world = World(topics=dict.fromkeys(NAMES, 1) | {"u": 2})
    too_large(faults, world)
    world.enter("a", pattern=".*")
    world.enter("b", "u")
    assert world.beat("b", 1).error_code == ErrorCode.NONE
    assert world.beat("a", 1).error_code == ErrorCode.UNKNOWN_SERVER_ERROR


def test_a_new_member_whose_id_the_coordinator_makes_is_not_added_at_each_attempt(faults: Faults) -> None:
    world = World(topics={"t": PARTITIONS})
    too_large(faults, world)
    world.enter("a")
    for _ in range(3):
        assert world.enter("", version=0).error_code == ErrorCode.UNKNOWN_SERVER_ERROR
    assert list(world.consumer.members) == ["a"]


# ---- members of the classic protocol


def test_a_classic_member_without_partitions_is_told_when_it_joins_again(faults: Faults) -> None:
    world = World(topics={"t": PARTITIONS, "u": 2})
    too_large(faults, world)
    world.enter("a")
    assert world.join("c", "c", metadata=subscription("u")).error is ErrorCode.UNKNOWN_SERVER_ERROR
    assert "c" in world.consumer.members, "what it asks for counts"
    generation_id = world.epoch("c")
    assert world.heartbeat("c", generation_id=generation_id).error is ErrorCode.REBALANCE_IN_PROGRESS
    faults.are_there = False
    world.advance(RETRY_MS_AT_MOST)
    assert world.join("c", "c", metadata=subscription("u")).error in (NONE, ErrorCode.UNKNOWN_SERVER_ERROR)
    joined = world.join("c", "c", metadata=subscription("u"))
    assert joined.error is NONE
    generation_id = joined.response.generation_id
    sent = world.sync("c", {}, generation_id=generation_id)
    assert decode_assignment(sent.response.assignment) == {"u": [0, 1]}
    assert world.heartbeat("c", generation_id=generation_id).error is NONE


def test_a_classic_member_that_joined_before_the_failure_is_told_too(faults: Faults) -> None:
    world = World(topics={"t": PARTITIONS})
    world.enter("a", "none")
    too_large(faults, world)
    joined = world.join("c", "c", metadata=subscription("t"))
    assert joined.error is NONE
    assert world.heartbeat("c", generation_id=joined.response.generation_id).error is ErrorCode.REBALANCE_IN_PROGRESS
    assert world.join("c", "c", metadata=subscription("t")).error is ErrorCode.UNKNOWN_SERVER_ERROR


def test_a_classic_member_with_partitions_keeps_them(faults: Faults) -> None:
    world = World(topics={"t": PARTITIONS, "u": 2})
    world.enter("a", "none")
    world.join("c", "c", metadata=subscription("u"))
    generation_id = world.join("c", "c", metadata=subscription("u")).response.generation_id
    world.sync("c", {}, generation_id=generation_id)
    too_large(faults, world)
    world.enter("b", "t")
    assert world.consumer.failed_target is not None
    assert world.heartbeat("c", generation_id=generation_id).error is NONE


def test_a_new_classic_member_whose_id_the_coordinator_makes_is_not_added_at_each_attempt(faults: Faults) -> None:
    world = World(topics={"t": PARTITIONS})
    too_large(faults, world)
    world.enter("a")
    for _ in range(3):
        assert world.join("c", "", metadata=subscription("t")).error is ErrorCode.UNKNOWN_SERVER_ERROR
    assert list(world.consumer.members) == ["a"]


def test_a_classic_member_that_joins_again_and_again_is_not_removed(faults: Faults) -> None:
    """Its rebalance timeout begins again with each JoinGroup, whatever that is answered."""
    world = World(topics={"t": PARTITIONS})
    too_large(faults, world)
    world.enter("a")
    for _ in range(20):
        assert world.join("c", "c", metadata=subscription("t")).error is ErrorCode.UNKNOWN_SERVER_ERROR
        world.advance(BEAT_MS)
        assert world.heartbeat("c", generation_id=world.epoch("c")).error is ErrorCode.REBALANCE_IN_PROGRESS
        world.beat("a", world.epoch("a"))
    assert "c" in world.consumer.members


def test_a_group_that_was_emptied_begins_anew(faults: Faults) -> None:
    world = World(topics={"t": PARTITIONS, "u": 2})
    too_large(faults, world)
    world.enter("a")
    assert world.beat("a", 1).error_code == ErrorCode.UNKNOWN_SERVER_ERROR
    world.depart("a")
    assert world.enter("b", "u").error_code == ErrorCode.NONE
    assert world.given(world.beat("b", world.epoch("b"))) == {"u": [0, 1]}


# ---- several batches


def test_targets_of_many_members_are_stored_in_several_batches(faults: Faults) -> None:
    world = World(topics={"t": PARTITIONS})
    computer = DelayedTargets(world)
    members = [f"member-{number}" for number in range(40)]
    for member_id in members:
        world.enter(member_id)
    computer.finish()  # the target of the first one
    world.beat(members[0], 1)
    too_large(faults, world)
    batches = [batch for _, batch in world.offsets_log.batches(0)]
    computer.finish()
    written = [batch for _, batch in world.offsets_log.batches(0)][len(batches) :]
    assert len(written) > 2
    assert max(map(len, written)) <= LIMIT
    assert world.consumer.failed_target is None
    epoch = world.consumer.target_epoch
    assert len(world.consumer.targets) == len(members)
    world.restart()
    assert (world.consumer.target_epoch, len(world.consumer.targets)) == (epoch, len(members))


@pytest.mark.parametrize("kept", [1, 2, 3])
def test_a_target_of_which_a_part_is_stored_is_computed_again(faults: Faults, kept: int) -> None:
    world = World(topics={"t": PARTITIONS})
    computer = DelayedTargets(world)
    members = [f"member-{number}" for number in range(40)]
    for member_id in members:
        world.enter(member_id)
    computer.finish()
    world.beat(members[0], 1)
    too_large(faults, world)
    append = PartitionLog.append_prebuilt

    def append_some(log: PartitionLog, batches: list[PrebuiltBatch], at_ms: int) -> None:
        if faults.are_there and len(batches) > kept and log is world.offsets_log:
            append(log, batches[:kept], at_ms)
            raise LogAppendError("fault")
        append(log, batches, at_ms)

    faults.patch.setattr(PartitionLog, "append_prebuilt", append_some)
    computer.finish()
    assert not world.shard.is_active
    faults.are_there = False
    world.advance(LOAD_RETRY_MS_AT_FIRST)
    assert world.consumer.target_epoch < world.consumer.epoch
    computer.end()
    for _ in range(2):
        for member_id in members:
            world.enter(member_id)
    for member_id in members:
        world.beat(member_id, world.epoch(member_id), owned=world.assigned(member_id))
    for member_id in members:
        world.beat(member_id, world.epoch(member_id))
    owners = [index for member_id in members for index in world.assigned(member_id)["t"]]
    assert sorted(owners) == list(range(PARTITIONS))


# ---- what else nobody waits for


def test_a_session_whose_end_could_not_be_stored_ends_later(faults: Faults) -> None:
    world = World()
    world.enter("a")
    world.enter("b")
    faults.raise_in(GroupStateMachine, "decide", lambda machine, queued: queued.operation is operations.EXPIRE_SESSION)
    world.advance(60_000)
    assert set(world.consumer.members) == {"a", "b"}
    faults.are_there = False
    world.advance(RETRY_MS)
    assert not world.consumer.members


def test_a_resolution_that_was_taken_in_clears_what_had_failed(faults: Faults) -> None:
    world = World(topics=dict.fromkeys(NAMES, 1))
    decision_raises(faults, world)
    world.enter("a", pattern=".*")
    assert world.consumer.failed_resolution is not None and not world.consumer.is_resolving
    faults.are_there = False
    world.advance(RETRY_MS_AT_FIRST)
    world.beat("a", 1)
    assert world.consumer.failed_resolution is None
    assert any(isinstance(event, PatternsResolved) for event in world.events)


def test_a_heartbeat_whose_records_do_not_fit_keeps_the_session(
    faults: Faults, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(large_targets, "WORK_AT_ONCE", 1_500)
    world = World(topics={"t": PARTITIONS})
    world.enter("a")
    world.fixed.grow("t", 2 * PARTITIONS)
    too_large(faults, world)
    for _ in range(200):
        answer = world.beat("a", world.epoch("a"))
        assert answer.error_code == ErrorCode.UNKNOWN_SERVER_ERROR
        world.advance(BEAT_MS)
    assert list(world.consumer.members) == ["a"]
    faults.are_there = False
    assert world.beat("a", world.epoch("a")).error_code == ErrorCode.NONE
    assert assigned(world, "a") == 2 * PARTITIONS
