"""`log.flush.policy=always` at a shard: answers wait for the fsync, and survive a power loss."""

from collections.abc import Callable

import pytest

from _wire.errors import ErrorCode
from coordinator.core.topic_partition import TopicPartition
from coordinator.groups.audit_stream import AuditStream
from coordinator.groups.offsets_stream import OffsetsStream
from coordinator.runtime.store import LogStore
from tests.simulation.simulation import Simulation


class FlushedSimulation(Simulation):
    """Appends are durable when a test calls `fsync`, while `is_delaying`; before, at once."""

    def make_store(self, partition: int, audit: AuditStream) -> LogStore:
        self.is_delaying = False
        self.waiting: list[Callable[[None], None]] = []
        offsets = OffsetsStream(self.logs["__consumer_offsets", partition], 0)
        return LogStore(offsets, audit, appended=lambda log: None, when_durable=self.when_durable)

    def when_durable(self, completed: Callable[[None], None]) -> None:
        if self.is_delaying:
            self.waiting.append(completed)
        else:
            self.flush()
            completed(None)

    def fsync(self) -> None:
        self.flush()
        waiting, self.waiting = self.waiting, []
        for completed in waiting:
            completed(None)
        self.coordinator.drain(self.now_ms)


@pytest.fixture
def sim() -> FlushedSimulation:
    sim = FlushedSimulation()
    sim.is_delaying = True
    return sim


def test_a_commit_is_answered_after_the_fsync(sim):
    sent = sim.commit(offset=7)
    assert not sent.answered
    sim.fsync()
    assert sent.error is ErrorCode.NONE


def test_one_batch_is_in_flight_and_the_next_one_collects(sim):
    sent = [sim.commit(offset=offset) for offset in (7, 8, 9)]
    assert len(sim.waiting) == 1
    sim.fsync()
    assert [each.answered for each in sent] == [True, False, False]
    assert len(sim.waiting) == 1
    sim.fsync()
    assert [each.answered for each in sent] == [True, True, True]


def test_what_was_not_flushed_is_lost_with_the_power_and_was_not_answered(sim):
    first = sim.commit(offset=7)
    sim.fsync()
    second = sim.commit(offset=8)
    sim.disk.lose_power(lambda size: 0)
    sim.restart()
    assert (first.answered, second.answered) == (True, False)
    committed = sim.offsets.get(TopicPartition("t", 0))
    assert committed is not None
    assert committed.offset == 7
