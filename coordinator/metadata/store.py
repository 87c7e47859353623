"""The metadata log: append first, then apply. Replayed whole at start."""

from collections.abc import Callable, Iterator, Sequence
from typing import Final

import msgspec

from _wire.errors import MalformedMessage
from _wire.records import Record, build_batch, parse_records
from coordinator.log.names import METADATA_LOG, check_topic_name
from coordinator.log.partition_log import PartitionLog
from coordinator.metadata.image import MetadataImage, Topic
from coordinator.metadata.records import (
    MetadataRecord,
    ProducerIdsRecord,
    RemoveTopicRecord,
    TopicRecord,
    decode_record,
    encode_record,
)

PRODUCER_IDS_PER_BLOCK: Final = 1000
"""Ids reserved at once, as Kafka's controller does (KIP-730): a crash wastes at most this many."""


class MetadataError(ValueError):
    """The metadata log cannot be understood; one line that says where."""


class MetadataStore:
    """The image and the log behind it. `new_topic_id` makes 16 random bytes."""

    def __init__(self, log: PartitionLog, new_topic_id: Callable[[], bytes]) -> None:
        """Replay the log. Raises MetadataError for a record that cannot be read."""
        self.image = MetadataImage()
        self._log = log
        self._new_topic_id = new_topic_id
        self._producer_ids: Iterator[int] = iter(())
        try:
            for _, batch in log.batches(log.log_start_offset):
                for record in parse_records(batch):
                    self._replay(record)
        except (MalformedMessage, OSError) as problem:
            raise MetadataError(f"{METADATA_LOG} cannot be read: {problem}") from None

    def _replay(self, record: Record) -> None:
        try:
            self.image.apply(decode_record(record.value or b""))
        except (msgspec.MsgspecError, KeyError, ValueError) as problem:
            said = f"there is no {problem}" if isinstance(problem, KeyError) else str(problem)
            raise MetadataError(f"{METADATA_LOG} offset {record.offset}: {said}") from None

    def create_topic(self, name: str, partitions: int, configs: dict[str, str], now_ms: int) -> Topic:
        """Make a topic that does not exist yet. Raises InvalidTopicName."""
        check_topic_name(name)
        assert name not in self.image.topics, name
        self._append((TopicRecord(name, self._new_topic_id().hex(), partitions, configs),), now_ms)
        return self.image.topics[name]

    def remove_topic(self, name: str, now_ms: int) -> None:
        self._append((RemoveTopicRecord(name),), now_ms)

    def allocate_producer_id(self, now_ms: int) -> int:
        """A producer id that was never given before, over restarts too."""
        producer_id: int | None = next(self._producer_ids, None)
        if producer_id is None:
            first = self.image.next_producer_id
            self._append((ProducerIdsRecord(first + PRODUCER_IDS_PER_BLOCK),), now_ms)
            self._producer_ids = iter(range(first, first + PRODUCER_IDS_PER_BLOCK))
            producer_id = next(self._producer_ids)
        return producer_id

    def _append(self, records: Sequence[MetadataRecord], now_ms: int) -> None:
        """Durable before it counts: a topic that a client was told of is there after a power loss."""
        batch = build_batch([(None, encode_record(record), []) for record in records], timestamp_ms=now_ms)
        self._log.append(bytearray(batch), 0, now_ms)
        self._log.flush()
        for record in records:
            self.image.apply(record)
