"""A store whose appends complete later: one batch is in flight, everything else waits for it."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from _wire.errors import ErrorCode
from coordinator.core.groups.states import GroupState
from coordinator.core.stored import Stored
from coordinator.groups.audit_stream import AuditStream
from coordinator.groups.offsets_stream import OffsetsStream
from coordinator.log.partition.partition_log import PartitionLog
from coordinator.runtime.interfaces import StoreError
from coordinator.runtime.shard import ShardState
from coordinator.runtime.store import LogStore
from tests.simulation.simulation import GROUP_ID, Simulation


class DelayedStore(LogStore):
    """Completes its appends when a test calls `complete`, while `is_delaying`."""

    def __init__(self, offsets: PartitionLog, audit: AuditStream) -> None:
        super().__init__(OffsetsStream(offsets, 0), audit, appended=lambda log: None)
        self.is_delaying = False
        self.in_flight: list[Callable[[], None]] = []

    def append(
        self,
        projected: Sequence[Any],
        stored: Sequence[Stored],
        now_ms: int,
        completed: Callable[[StoreError | None], None],
    ) -> None:
        append = super().append
        if self.is_delaying:
            self.in_flight.append(lambda: append(projected, stored, now_ms, completed))
        else:
            append(projected, stored, now_ms, completed)

    def complete(self) -> None:
        """Let the append that is in flight complete."""
        (complete,), self.in_flight = self.in_flight, []
        complete()


class DelayedSimulation(Simulation):
    def make_store(self, partition: int, audit: AuditStream) -> DelayedStore:
        self.store = DelayedStore(self.logs["__consumer_offsets", partition], audit)
        return self.store

    def complete(self) -> None:
        self.store.complete()
        self.coordinator.drain(self.now_ms)


@pytest.fixture
def sim() -> DelayedSimulation:
    sim = DelayedSimulation()
    sim.stable_with("a")
    sim.store.is_delaying = True
    return sim


def member_of(sim: Simulation) -> str:
    (member_id,) = sim.group.members
    return member_id


def test_a_response_leaves_when_its_batch_is_appended(sim):
    committed = sim.commit(member_of(sim), generation_id=1, offset=7)
    assert not committed.answered
    sim.complete()
    assert committed.error is ErrorCode.NONE


def test_operations_wait_for_the_batch_in_flight_and_are_decided_in_their_order(sim):
    first = sim.commit(member_of(sim), generation_id=1, offset=1)
    second = sim.commit(member_of(sim), generation_id=1, offset=2)
    assert len(sim.store.in_flight) == 1
    sim.complete()
    assert (first.answered, second.answered) == (True, False)
    assert len(sim.store.in_flight) == 1, "what waited is the next batch"
    sim.complete()
    assert second.answered
    assert next(iter(sim.offsets.by_topic["t"].values())).offset == 2


def test_reads_wait_too(sim):
    """They would see what may yet fail."""
    sim.commit(member_of(sim), generation_id=1, offset=7)
    described = sim.describe()
    assert not described.answered
    sim.complete()
    assert described.error is ErrorCode.NONE


def test_an_append_that_fails_later_fails_its_batch_and_what_waited(sim):
    first = sim.commit(member_of(sim), generation_id=1, offset=1)
    second = sim.commit(member_of(sim), generation_id=1, offset=2)
    sim.disk.is_full = True
    sim.complete()
    assert first.error is second.error is ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert sim.shard.state is ShardState.FAILED
    sim.disk.is_full = sim.store.is_delaying = False
    sim.advance(100)
    assert (sim.shard.state, sim.group.state) == (ShardState.ACTIVE, GroupState.STABLE)
    assert sim.offsets.by_topic == {}


def test_a_generation_takes_heartbeats_at_once_only_when_it_is_stored():
    sim = DelayedSimulation()
    leader = sim.join("a").response.member_id
    sim.store.is_delaying = True
    synced = sim.sync(leader, {leader: b"all"})
    assert not sim.sessions.answer_heartbeat(GROUP_ID, leader, None, 1, sim.now_ms)
    sim.complete()
    assert synced.answered
    assert sim.sessions.answer_heartbeat(GROUP_ID, leader, None, 1, sim.now_ms)


def test_a_partition_that_is_given_up_meanwhile_ignores_the_completion(sim):
    committed = sim.commit(member_of(sim), generation_id=1, offset=7)
    sim.coordinator.unload(0)
    sim.complete()
    assert sim.shard.state is ShardState.INACTIVE
    assert committed.error is ErrorCode.NOT_COORDINATOR


def test_a_partition_serves_when_what_its_load_reports_is_appended(sim, monkeypatch):
    def load(*loaded):
        yield
        sim.shard.projection.records.append((b"g", b"reported", ()))

    monkeypatch.setattr(sim.shard.projection, "load", load)
    sim.coordinator.unload(0)
    sim.coordinator.load([0])
    sim.coordinator.drain(sim.now_ms)
    assert sim.shard.state is ShardState.LOADING
    assert sim.commit().error is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    sim.complete()
    assert sim.shard.state is ShardState.ACTIVE
