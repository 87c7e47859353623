"""How much one turn of the event loop handles of what is queued."""

import pytest

from _wire.messages.heartbeat import HeartbeatResponse
from coordinator.core.decision import OperationContext, replying
from coordinator.core.operation import Operation, Scope
from coordinator.runtime.turns import APPEND_OPERATIONS, KEYS_PER_OPERATION, OPERATIONS_AT_ONCE
from tests.groups.failing_groups import commit_for, committed
from tests.simulation.simulation import Sent, Simulation


@pytest.fixture
def handled():
    return []


@pytest.fixture
def sim():
    simulation = Simulation()
    simulation.is_batching = True
    return simulation


def queue(sim, handled, name, scope=Scope.GROUP):
    def decide(target: object, request: object, context: OperationContext):
        handled.append(name)
        return replying(context, HeartbeatResponse())

    sim.submit(Operation("test", decide, lambda *_: HeartbeatResponse(), scope=scope), f"g{name}", None, Sent(), "c", 0)


def test_a_turn_handles_so_many_operations_and_the_next_ones_go_on_in_order(sim, handled):
    for number in range(2 * OPERATIONS_AT_ONCE + 5):
        queue(sim, handled, number)
    for turns in (1, 2):
        sim.coordinator.drain(sim.now_ms)
        assert handled == list(range(turns * OPERATIONS_AT_ONCE))
    sim.coordinator.drain(sim.now_ms)
    assert handled == list(range(2 * OPERATIONS_AT_ONCE + 5))


def test_a_turn_that_leaves_something_requests_the_next_one(sim, handled, monkeypatch):
    for number in range(OPERATIONS_AT_ONCE + 1):
        queue(sim, handled, number)
    requested: list[int] = []
    monkeypatch.setattr(sim.coordinator, "_request_iteration", lambda: requested.append(len(handled)))
    for _ in range(2):
        sim.coordinator.drain(sim.now_ms)
    assert requested == [OPERATIONS_AT_ONCE]


def test_an_operation_over_all_groups_counts_as_several(sim, handled):
    groups = 80
    for number in range(groups):
        commit_for(sim, f"g{number}", "t", 1)
    while sim.shard.queue_size:
        sim.coordinator.drain(sim.now_ms)
    for number in range(OPERATIONS_AT_ONCE):
        queue(sim, handled, number, Scope.SHARD)
    sim.coordinator.drain(sim.now_ms)
    assert len(handled) <= OPERATIONS_AT_ONCE // (1 + groups // KEYS_PER_OPERATION) + 1


def test_a_batch_that_is_stored_counts_as_an_operation_too(sim):
    """A client that sends its next request with each answer makes a batch of each."""
    commit_for(sim, "g", "t", 0)
    stored: list[int] = []

    class Answered(Sent):
        def send_response(self, response):
            stored.append(1)
            ask()

    def ask():
        def decide(target: object, request: object, context: OperationContext):
            return replying(context, HeartbeatResponse(), committed("g", "t", len(stored), context.wall_ms))

        sim.submit(Operation("test", decide, lambda *_: HeartbeatResponse()), "g", None, Answered(), "c", 0)

    ask()
    sim.coordinator.drain(sim.now_ms)
    assert len(stored) == OPERATIONS_AT_ONCE // (1 + APPEND_OPERATIONS)
