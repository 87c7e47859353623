"""Where a watcher appends: what it asks of the topic, and how it finds where it was."""

from collections.abc import Mapping, Sequence
from typing import Final, Protocol

from coordinator.audit.schema import Record
from coordinator.audit.schema.observed import PLACES_MARK
from coordinator.client.audit_topic import AuditTopic
from coordinator.client.cluster import EARLIEST, LATEST
from coordinator.watch.positions import PositionError, Restored, read_position

LOOKED_BACK_MAX: Final = 100_000
"""So far before the end a position is looked for: somebody else may write to the topic, too."""


class SinkError(Exception):
    """What is appended is not known to be there: the watcher has to begin again at the last position."""


class Fenced(Exception):
    """Another watcher writes to the topic: this one has to end. The message is one line."""


class Sink(Protocol):
    """A topic with as many partitions as `__consumer_offsets`."""

    def begin(self, ends: Mapping[int, int]) -> None:
        """`ends`: the offset after all that was restored, of each partition."""

    def close(self) -> None:
        """Append nothing more."""

    def end_offset(self, partition: int) -> int:
        """The offset of the next batch."""

    def retain(self, partition: int, offset: int) -> None:
        """Records from this offset on are needed by the next start."""

    def append(self, batches: dict[int, list[Record]]) -> None:
        """Append records as one batch of each partition.

        Raises:
            SinkError: they may be there or not.
            Fenced: somebody else writes.
            ClientError: the topic cannot be written; what was given is not there.
        """


def restored(
    topic: AuditTopic, partitions: Sequence[int], *, is_shared: bool = False
) -> dict[int, tuple[Restored, int | None, int]]:
    """Partition → what was kept there, where the checkpoint of that begins, and the offset after all.

    `is_shared`: others than watchers write there, too, so that it may have records and no position.

    Raises:
        ClientError: the topic cannot be read.
        PositionError: a later version wrote it.
    """
    starts, ends = topic.offsets(partitions, EARLIEST), topic.offsets(partitions, LATEST)
    return {
        partition: _restored(topic, partition, starts[partition], ends[partition], is_shared=is_shared)
        for partition in partitions
    }


def _restored(
    topic: AuditTopic, partition: int, start: int, end: int, *, is_shared: bool
) -> tuple[Restored, int | None, int]:
    found = Restored()
    found.seq_from = end if is_shared else 0
    back = 1
    while start < end:
        first = max(start, end - back)
        last = list(topic.records({partition: first}, _no_key if is_shared else lambda key: True))
        positions = [record for record in last if record.is_position]
        if positions:
            _, checkpoint = read_position(positions[-1].value)
            from_offset = positions[-1].offset if checkpoint is None else max(start, checkpoint)
            for record in topic.records({partition: from_offset}, (lambda key: True) if is_shared else _no_key):
                if record.is_position:
                    found.put(record.value)
                elif record.event is not None and PLACES_MARK not in record.value:
                    found.others[record.group_id] = record.event.seq
            return found, checkpoint, end
        if first == start and (is_shared or all(record.is_of_watcher for record in last)):
            break  # none has got so far as to write a position
        if is_shared and back > LOOKED_BACK_MAX:
            break
        if first == start or back > LOOKED_BACK_MAX:
            raise PositionError(
                f"partition {partition} of the topic has records, and none is of a watcher: give it a topic of its own"
            )
        back *= 8
    return found, None, end


def _no_key(key: bytes) -> bool:
    return key == b""
