"""A store that appends later, as a replicated one does: until then nothing of the batch may be seen."""

from collections.abc import Callable, Sequence
from typing import Final

import pytest

from _wire.errors import ErrorCode
from coordinator.core.states import GroupState
from coordinator.core.stored import Stored
from coordinator.runtime.interfaces import AuditRecord, StoreError
from coordinator.runtime.shard import LOAD_RETRY_MS_AT_FIRST, ShardState
from coordinator.runtime.store import LogStore
from tests.simulation.server import AUDIT, OFFSETS
from tests.simulation.simulation import Simulation

Append = Callable[[], None]


class LaterStore(LogStore):
    """Holds each append back while `is_slow`, until the test completes it or lets it fail."""

    is_slow = False

    def __init__(self, sim: Simulation) -> None:
        super().__init__(sim.logs[OFFSETS, 0], sim.logs[AUDIT, 0], 0, lambda log: None)
        self.held: list[tuple[Append, Append]] = []

    def append(
        self,
        audit: list[AuditRecord],
        stored: Sequence[Stored],
        now_ms: int,
        completed: Callable[[StoreError | None], None],
    ) -> None:
        def succeed() -> None:
            super(LaterStore, self).append(audit, stored, now_ms, completed)

        if self.is_slow:
            self.held.append((succeed, lambda: completed(StoreError("no majority"))))
        else:
            succeed()

    def complete(self) -> None:
        """Append the batch that was held back."""
        ((succeed, _),) = self.held
        self.held = []
        succeed()

    def fail(self) -> None:
        ((_, fail),) = self.held
        self.held = []
        fail()


class SlowSimulation(Simulation):
    """A simulation whose store can be slow."""

    def make_store(self, partition: int) -> LaterStore:
        self.store = LaterStore(self)
        return self.store


@pytest.fixture
def sim() -> SlowSimulation:
    return SlowSimulation()


PENDING: Final[list[object]] = []


def test_replies_leave_when_their_batch_is_appended(sim: SlowSimulation) -> None:
    sim.store.is_slow = True
    asked = sim.commit(offset=1)
    sim.end_turn()
    assert asked.responses == PENDING
    sim.store.complete()
    sim.shard.release()
    assert asked.error is ErrorCode.NONE
    sim.restart()
    assert sim.offsets.by_topic["t"][0].offset == 1


def test_operations_wait_while_a_batch_is_in_flight_and_make_the_next_one(sim: SlowSimulation) -> None:
    sim.store.is_slow = True
    first = sim.commit(offset=1)
    second, third = sim.commit(offset=2), sim.commit(offset=3)
    assert sim.offsets.by_topic["t"][0].offset == 1
    assert len(sim.store.held) == 1
    sim.store.complete()
    sim.end_turn()
    assert first.error is ErrorCode.NONE
    assert second.responses == third.responses == PENDING
    assert sim.offsets.by_topic["t"][0].offset == 3
    sim.store.complete()
    sim.shard.release()
    assert second.error is third.error is ErrorCode.NONE


def test_heartbeats_come_to_the_core_until_the_generation_is_appended(sim: SlowSimulation) -> None:
    member_id = sim.join("a").response.member_id
    sim.store.is_slow = True
    sim.sync(member_id, {member_id: b"all"})
    heartbeat = (sim.group.group_id, member_id, None, sim.group.generation_id, sim.now_ms)
    assert sim.group.state is GroupState.STABLE
    assert not sim.sessions.take_heartbeat(*heartbeat)
    sim.store.complete()
    sim.shard.release()
    assert sim.sessions.take_heartbeat(*heartbeat)


# ---- an append that fails


def test_an_append_that_fails_later_fails_its_batch_and_all_that_wait(sim: SlowSimulation) -> None:
    (leader,) = sim.stable_with("a")
    parked = sim.join("b")
    sim.store.is_slow = True
    in_flight = sim.commit(leader, generation_id=sim.group.generation_id)
    queued = sim.commit(leader, generation_id=sim.group.generation_id)
    assert sim.store.held
    sim.store.fail()
    sim.end_turn()
    for asked in (parked, in_flight, queued):
        assert asked.error is ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert sim.shard.state is ShardState.FAILED


def test_a_request_that_the_batch_would_have_answered_fails_with_it(sim: SlowSimulation) -> None:
    leader, follower = sim.stable_with("a", "b")
    parked = sim.join("a", leader)
    sim.store.is_slow = True
    last = sim.join("b", follower)
    assert sim.group.state is GroupState.COMPLETING_REBALANCE
    assert parked.responses == last.responses == PENDING
    sim.store.fail()
    sim.end_turn()
    assert parked.error is last.error is ErrorCode.COORDINATOR_NOT_AVAILABLE


def test_a_partition_is_loaded_again_after_an_append_that_failed_later(sim: SlowSimulation) -> None:
    sim.commit(offset=1)
    sim.store.is_slow = True
    sim.commit(offset=2)
    sim.store.fail()
    sim.end_turn()
    sim.store.is_slow = False
    sim.advance(LOAD_RETRY_MS_AT_FIRST)
    assert sim.shard.is_active
    assert sim.offsets.by_topic["t"][0].offset == 1


# ---- an append that completes when it is not waited for any more


@pytest.mark.parametrize("outcome", [LaterStore.complete, LaterStore.fail])
def test_an_append_that_completes_after_the_partition_was_unloaded_changes_nothing(
    sim: SlowSimulation, outcome: Callable[[LaterStore], None]
) -> None:
    sim.store.is_slow = True
    asked = sim.commit(offset=1)
    sim.coordinator.unload(0)
    before = list(asked.responses)
    outcome(sim.store)
    sim.end_turn()
    assert sim.shard.state is ShardState.INACTIVE
    assert asked.responses == before
    assert sim.shard.machine.groups == {}


def test_topics_are_not_forgotten_before_that_is_appended(sim: SlowSimulation) -> None:
    """The tombstones are lost, the topic is created again, and the reload has to remember."""
    sim.commit(offset=1)
    sim.store.is_slow = True
    sim.delete_topic("t")
    sim.create_topic("t")
    sim.store.fail()
    sim.end_turn()
    sim.store.is_slow = False
    sim.advance(LOAD_RETRY_MS_AT_FIRST)
    assert sim.shard.is_active
    assert sim.offsets.by_topic == {}


# ---- the audit of a load


def load_slowly(sim: SlowSimulation) -> None:
    """Load a partition whose audit ends with a rebalance that was not stored, up to the append that says so."""
    sim.stable_with("a")
    sim.join("b")
    sim.coordinator.unload(0)
    sim.store.is_slow = True
    sim.shard.start_loading()
    while not sim.store.held:
        assert not sim.shard.load_next_slice(sim.now_ms)


def test_a_partition_is_served_when_the_audit_of_its_load_is_appended(sim: SlowSimulation) -> None:
    load_slowly(sim)
    assert not sim.shard.load_next_slice(sim.now_ms)
    assert len(sim.store.held) == 1
    assert sim.shard.state is ShardState.LOADING
    asked = sim.commit(offset=1)
    assert asked.error is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    sim.store.complete()
    assert sim.shard.is_active
    assert sim.group.state is GroupState.STABLE
    assert sim.kinds()[-1] == "group.loaded"


def test_a_load_whose_audit_cannot_be_appended_fails(sim: SlowSimulation) -> None:
    load_slowly(sim)
    sim.store.fail()
    assert sim.shard.state is ShardState.FAILED
    assert sim.shard.needs_retry


@pytest.mark.parametrize("outcome", [LaterStore.complete, LaterStore.fail])
def test_the_audit_of_a_load_that_was_given_up_changes_nothing(
    sim: SlowSimulation, outcome: Callable[[LaterStore], None]
) -> None:
    load_slowly(sim)
    sim.coordinator.unload(0)
    outcome(sim.store)
    assert sim.shard.state is ShardState.INACTIVE
    assert not sim.shard.needs_retry
    assert sim.commit(offset=1).error is ErrorCode.NOT_COORDINATOR
