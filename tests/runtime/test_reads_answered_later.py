"""A log that is not local: each read of it is asked for, and answered later."""

from collections.abc import Callable

import pytest

from _wire.errors import ErrorCode
from coordinator.core.groups.states import GroupState
from coordinator.groups.audit_stream import AuditStream
from coordinator.groups.offsets_stream import OffsetsStream
from coordinator.log.partition.partition_log import PartitionLog
from coordinator.runtime.interfaces import Replay
from coordinator.runtime.shard import ShardState
from coordinator.runtime.slices import Steps, awaited
from coordinator.runtime.store import LogStore
from tests.groups.failing_groups import OTHER, break_group, commit_for, make_due, offset_of
from tests.simulation.simulation import Simulation


class RemoteStore(LogStore):
    """Before each step of a replay somebody is asked, while `is_remote`; a test answers with `answer`."""

    def __init__(self, offsets: PartitionLog, audit: AuditStream) -> None:
        super().__init__(OffsetsStream(offsets, 0), audit, appended=lambda log: None)
        self.is_remote = False
        self.asked: list[Callable[[None], None]] = []

    def replay(self, replay: Replay, from_offset: int = 0) -> Steps[None]:
        steps = super().replay(replay, from_offset)
        while True:
            if self.is_remote:
                yield from awaited(self.asked.append)
            try:
                yield next(steps)
            except StopIteration:
                return

    def answer(self) -> None:
        (answer,), self.asked = self.asked, []
        answer(None)


class RemoteSimulation(Simulation):
    def make_store(self, partition: int, audit: AuditStream) -> RemoteStore:
        self.store = RemoteStore(self.logs["__consumer_offsets", partition], audit)
        return self.store


@pytest.fixture
def sim() -> RemoteSimulation:
    sim = RemoteSimulation()
    sim.stable_with("a", "b")
    commit_for(sim, OTHER, "t", 7)
    sim.store.is_remote = True
    return sim


def load(sim: RemoteSimulation) -> None:
    """Load the partition up to the first read that somebody is asked for."""
    sim.coordinator.unload(0)
    sim.coordinator.load([0])
    sim.end_iteration()
    assert len(sim.store.asked) == 1


def test_a_load_waits_for_each_read_and_serves_nothing_before(sim):
    load(sim)
    answers = 0
    while sim.store.asked:
        assert sim.shard.state is ShardState.LOADING
        assert sim.commit().error is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
        assert len(sim.store.asked) == 1, "one read at a time"
        sim.store.answer()
        sim.end_iteration()
        answers += 1
    assert answers > 1
    assert sim.shard.is_active
    assert sim.group.state is GroupState.STABLE
    assert offset_of(sim, OTHER, "t") == 7


def test_the_loop_sleeps_until_a_read_is_answered(sim, monkeypatch):
    load(sim)
    requested: list[None] = []
    monkeypatch.setattr(sim.coordinator, "_request_iteration", lambda: requested.append(None))
    sim.end_iteration()
    assert requested == []
    sim.store.answer()
    assert requested


def test_a_read_that_is_answered_after_the_partition_was_unloaded_changes_nothing(sim):
    load(sim)
    sim.coordinator.unload(0)
    sim.store.answer()
    sim.end_iteration()
    assert sim.shard.state is ShardState.INACTIVE
    assert not sim.store.asked


def test_a_read_of_an_earlier_load_is_no_answer_to_the_next_one(sim):
    load(sim)
    (earlier,), sim.store.asked = sim.store.asked, []
    load(sim)
    earlier(None)
    sim.end_iteration()
    assert len(sim.store.asked) == 1
    assert sim.shard.state is ShardState.LOADING


def test_the_other_groups_are_served_while_the_rebuild_of_one_waits(sim, monkeypatch):
    break_group(sim)
    make_due(sim)
    sim.end_iteration()
    requested: list[None] = []
    monkeypatch.setattr(sim.coordinator, "_request_iteration", lambda: requested.append(None))
    sim.end_iteration()
    assert len(sim.store.asked) == 1
    assert requested == [], "the loop sleeps"
    monkeypatch.undo()
    commit_for(sim, OTHER, "t", 8)
    while sim.store.asked:
        sim.store.answer()
        sim.end_iteration()
    sim.end_iteration()
    assert sim.shard.failed_keys.by_key == {}
    assert sim.group.state is GroupState.STABLE
    assert offset_of(sim, OTHER, "t") == 8


def test_a_rebuild_that_waits_ends_with_its_partition(sim):
    break_group(sim)
    make_due(sim)
    sim.end_iteration()
    assert len(sim.store.asked) == 1
    sim.coordinator.unload(0)
    sim.store.answer()
    sim.end_iteration()
    assert sim.shard.state is ShardState.INACTIVE
    assert not sim.store.asked
