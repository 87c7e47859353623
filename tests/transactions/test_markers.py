"""When the markers of a transaction count: durable with `log.flush.policy=always`, and whatever clients noted."""

from collections.abc import Callable
from typing import Any

import pytest

from _wire.errors import ErrorCode
from coordinator.broker.data.producers import Marker
from coordinator.core.topic_partition import TopicPartition
from coordinator.core.transactions.admin import Filter
from coordinator.core.transactions.states import TransactionState
from coordinator.core.transactions.transaction import Transaction
from coordinator.logger import lines_of_this_thread_to
from coordinator.runtime.delays import Delays
from coordinator.runtime.slices import Slices, Steps, at_once
from coordinator.transactions.markers import MarkerSender
from tests.transactions.world import TOPIC, World, orders


class Timers:
    def __init__(self) -> None:
        self.keys: list[object] = []

    def start(self, key: object, deadline_ms: int) -> int:
        self.keys.append(key)
        return 0


def test_a_marker_in_a_directory_that_fails_before_it_is_durable_is_written_again():
    parts = frozenset({TopicPartition("t", 0), TopicPartition("t", 1)})
    transaction = Transaction("id", 5, 1, 60_000, TransactionState.PREPARE_COMMIT, parts)
    written: list[int] = []
    waiting: list[Callable[[None], None]] = []
    offline: set[int] = set()
    completed: list[Transaction] = []
    next_turns: list[Callable[[], None]] = []
    timers = Timers()
    delays = Delays(timers)

    def go_on() -> None:
        """As many turns as the machine needs: a process that was not given the processor ends its turn early."""
        while next_turns:
            next_turns.pop(0)()

    def write(topic: str, partition: int, marker: Marker) -> Steps[ErrorCode]:
        written.append(partition)
        return ErrorCode.NONE
        yield

    markers = MarkerSender(
        write,
        lambda partition, marker, reply: reply(ErrorCode.NONE),
        Slices(next_turns.append),
        delays,
        lambda: 0,
        coordinator_epoch=0,
        when_durable=waiting.append,
        leads=lambda topic, partition: partition not in offline,
    )
    markers.send(transaction, completed.append)
    go_on()
    offline.add(1)
    waiting.pop()(None)
    assert (written, completed) == ([0, 1], [])
    offline.clear()
    (key,) = timers.keys
    delays.due(key, 0)
    go_on()
    waiting.pop()(None)
    assert (written, completed) == ([0, 1, 1], [transaction])


# ---- what others noted in a partition

INT32_MAX = 2**31 - 1
EPOCH_MAX = 32_767


def begin(world: World, *values: bytes) -> int:
    """A producer with an open transaction in partition 0; its id."""
    producer_id: int = world.initialize().producer_id
    assert world.produce("t", producer_id, 0, 0, *values) == ErrorCode.NONE
    return producer_id


def write(world: World, marker: Marker) -> ErrorCode:
    return at_once(world.writer.write(TOPIC, 0, marker))


@pytest.mark.parametrize("version", [3, 5])
def test_the_coordinator_writes_its_marker_whatever_coordinator_epoch_a_client_noted(version):
    world = World()
    producer_id = world.initialize().producer_id
    assert write(world, Marker(producer_id, 0, True, INT32_MAX, 0)) == ErrorCode.NONE
    produce_version = 12 if version == 5 else 9
    epochs_of_their_own = 2 if version == 5 else 0
    world.add("t", producer_id, 0, orders(0), client_version=epochs_of_their_own)
    assert world.produce("t", producer_id, 0, 0, b"a", api_version=produce_version) == ErrorCode.NONE
    assert world.end("t", producer_id, 0, committed=True, api_version=version).error_code == ErrorCode.NONE
    assert world.transaction("t").state is TransactionState.COMPLETE_COMMIT
    assert world.visible() == [b"a"]
    assert world.log().last_stable_offset == world.log().log_end_offset


def test_the_coordinator_writes_its_marker_whatever_producer_epoch_a_client_noted():
    """And the producer may go on: the partition knows the epoch of the coordinator again."""
    world = World()
    producer_id = begin(world, b"a")
    assert write(world, Marker(producer_id, EPOCH_MAX, True, INT32_MAX, 0)) == ErrorCode.NONE
    world.end("t", producer_id, 0, committed=True)
    assert world.produce("t", producer_id, 1, 0, b"b") == ErrorCode.NONE
    world.end("t", producer_id, 1, committed=True)
    assert world.visible() == [b"a", b"b"]


def test_a_marker_that_comes_again_does_not_end_the_next_transaction():
    world = World()
    producer_id = begin(world, b"a")
    world.end("t", producer_id, 0, committed=True)
    world.produce("t", producer_id, 1, 0, b"b")
    for marker in (Marker(producer_id, 1, True, 0, 2), Marker(producer_id, 0, True, 0, 0)):
        assert at_once(world.writer.write_own(TOPIC, 0, marker)) == ErrorCode.INVALID_PRODUCER_EPOCH
    assert world.visible() == [b"a"]


def test_a_transaction_is_prepared_until_its_marker_is_written_and_the_log_says_why():
    world = World()
    producer_id = begin(world, b"a")
    logged: list[dict[str, Any]] = []
    world.marker_error = ErrorCode.UNKNOWN_SERVER_ERROR
    with lines_of_this_thread_to(LogLines(logged)):
        world.end("t", producer_id, 0, committed=True)
        assert [(line["partitions"], line["first"], line["error"]) for line in logged] == [
            (1, "orders-0", "UNKNOWN_SERVER_ERROR")
        ]
        world.advance(1_000)
        assert len(logged) == 1
        world.advance(60_000)
    assert 2 < len(logged) < 10
    listed = at_once(world.coordinator.list_transactions(EVERYTHING, world.now_ms()))
    assert not isinstance(listed, ErrorCode)
    assert [key.transaction_state for key in listed] == ["PrepareCommit"]
    world.marker_error = None
    world.advance(10_000)
    assert world.visible() == [b"a"]
    assert world.transaction("t").state is TransactionState.COMPLETE_COMMIT


class LogLines:
    """Keeps the fields of the error lines."""

    def __init__(self, lines: list[dict[str, Any]]) -> None:
        self._lines = lines

    def is_enabled_for(self, level: int) -> bool:
        return True

    def write(self, level: str, event: str, fields: dict[str, Any]) -> None:
        if level == "error":
            self._lines.append(fields)


EVERYTHING = Filter(frozenset(), frozenset(), -1, None)
