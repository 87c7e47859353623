"""Appends to some partitions of a topic to which others write, too: the audit of nodes, and what they have seen."""

import threading
from collections.abc import Mapping, Sequence

from coordinator.audit.schema import Record
from coordinator.client.bootstrap import Server
from coordinator.watch.topic_sink import TopicSink


class SharedSink(TopicSink):
    """Who begins to write a partition fences the one before, by a transactional id of the partition.

    Where the batches of others are does not matter: each event and the position after it are in one batch.
    """

    def __init__(
        self, server: Server, name: str, stopped: threading.Event, partitions: Sequence[int], id_prefix: str
    ) -> None:
        """The transactional id of a partition is the prefix with its number. Raises ClientError."""
        self._id_prefix = id_prefix
        super().__init__(server, name, stopped, partitions)

    def _make_producers(self, partitions: Sequence[int]) -> dict[int, tuple[int, int]]:
        return {
            partition: self._fenced_producer(f"{self._id_prefix}{partition}") or self._plain_producer()
            for partition in partitions
        }

    def begin(self, ends: Mapping[int, int]) -> None:
        """Others may have written since."""

    def end_offset(self, partition: int) -> int:
        """Not above that of the next batch."""
        return self._ends.get(partition, 0)

    def _offset_of(self, partition: int, base_offset: int) -> int:
        return base_offset if base_offset >= 0 else self._ends.get(partition, 0)


class PlainSink(SharedSink):
    """Of what each node appends, and nobody has to be fenced for."""

    def __init__(self, server: Server, name: str, stopped: threading.Event, partitions: Sequence[int]) -> None:
        super().__init__(server, name, stopped, partitions, "")

    def _make_producers(self, partitions: Sequence[int]) -> dict[int, tuple[int, int]]:
        return dict.fromkeys(partitions, self._plain_producer())

    def _begin_to_write(self, partitions: Sequence[int]) -> None:
        """Nothing says who writes."""


def sighting_record(value: bytes) -> Record:
    return None, value, ()
