"""Groups that nodes adopt and give back, between the thread of a node and that of its watcher.

Both number the events of a group, one after the other. Whoever begins has numbers above all that the other one has
given: so a history goes on in the same topic, and no number is there twice.
"""

from collections.abc import Callable, Iterable
from threading import Lock
from typing import Final, Protocol

import msgspec

from coordinator.core.partitioning import partition_for

MOVES_MAX: Final = 100_000
"""Groups that wait for a watcher; beyond that the oldest are forgotten."""


class Adopted(msgspec.Struct, frozen=True):
    """The nodes coordinate the group. The events of the watcher have numbers up to `seq_max`."""

    seq_max: int
    at_ms: int


class Released(msgspec.Struct, frozen=True):
    """The cluster coordinates the group. The events of the watcher have numbers above `seq`."""

    seq: int


class Numbers(Protocol):
    """Which numbers a watcher gives. Asked from the thread of the node."""

    def seq_of(self, group_id: str) -> int:
        """That of the last event that it has made of a group, whether it is appended or not; 0: none."""

    def end_offset(self, partition: int) -> int:
        """Of a partition of the audit. No event there has a number above it."""


class Handover:
    """Filled by the node, emptied by the watcher between what it makes and what it appends."""

    def __init__(self, node: str, partition_count: int, wall_ms: Callable[[], int]) -> None:
        """`node`: how places name it."""
        self.node: Final = node
        self._partition_count = partition_count
        self._wall_ms = wall_ms
        self._lock = Lock()
        self._moves: dict[str, Adopted | Released] = {}
        self.numbers: Numbers | None = None
        """Those of the watcher that runs."""

    def adopted(self, group_id: str) -> int:
        """The nodes coordinate the group from now on; return the number above which those of its events have to be."""
        numbers = self.numbers
        seq_max = 0
        if numbers is not None:
            partition = partition_for(group_id, self._partition_count)
            seq_max = max(numbers.end_offset(partition), numbers.seq_of(group_id))
        self._put(group_id, Adopted(seq_max, self._wall_ms()))
        return seq_max

    def released(self, group_id: str, seq: int) -> None:
        """The cluster coordinates the group from now on. `seq`: no event of the nodes has a number above it."""
        self._put(group_id, Released(seq))

    def _put(self, group_id: str, move: Adopted | Released) -> None:
        with self._lock:
            self._moves.pop(group_id, None)
            self._moves[group_id] = move
            if len(self._moves) > MOVES_MAX:
                del self._moves[next(iter(self._moves))]

    def pop(self) -> Iterable[tuple[str, Adopted | Released]]:
        """What has come since, the last of each group."""
        while True:
            with self._lock:
                group_id = next(iter(self._moves), None)
                if group_id is None:
                    return
                move = self._moves.pop(group_id)
            yield group_id, move
