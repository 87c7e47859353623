"""When the markers of a transaction count, with `log.flush.policy=always`."""

from collections.abc import Callable

from _wire.errors import ErrorCode
from coordinator.broker.producers import Marker
from coordinator.broker.slices import Slices, Steps
from coordinator.core.committed_offsets import TopicPartition
from coordinator.transactions.markers import MarkerSender
from coordinator.transactions.states import TransactionState
from coordinator.transactions.transaction import Transaction


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
    timers = Timers()

    def write(topic: str, partition: int, marker: Marker) -> Steps[ErrorCode]:
        written.append(partition)
        return ErrorCode.NONE
        yield

    markers = MarkerSender(
        write,
        lambda partition, marker, reply: reply(ErrorCode.NONE),
        Slices(lambda callback: None),
        timers,
        lambda: 0,
        0,
        waiting.append,
        lambda topic, partition: partition not in offline,
    )
    markers.on_complete = completed.append
    markers.send(transaction)
    offline.add(1)
    waiting.pop()(None)
    assert (written, completed) == ([0, 1], [])
    offline.clear()
    (key,) = timers.keys
    markers.due(key, 0)
    waiting.pop()(None)
    assert (written, completed) == ([0, 1, 1], [transaction])
