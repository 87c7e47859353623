"""The metadata log. A change is appended first, then applied to the image. All of it is replayed at start.

Its records have no keys, so it is not compacted as other logs are: when it has grown, a snapshot of the image takes the
place of its records (`compaction.py`).
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from _wire.errors import MalformedMessage
from _wire.records import Record, build_batch, parse_records
from coordinator.log.errors import LogAppendError
from coordinator.log.names import METADATA_LOG, check_topic_name
from coordinator.log.partition_log import PartitionLog
from coordinator.log.rewrite import batches_of
from coordinator.metadata.image import MetadataImage, Topic
from coordinator.metadata.records import (
    FeatureRecord,
    LogDirectoriesRecord,
    MetadataRecord,
    PartitionDirectoriesRecord,
    PartitionsRecord,
    ProducerIdsRecord,
    QuotaRecord,
    RemoveTopicRecord,
    TopicConfigsRecord,
    TopicRecord,
    decode_record,
    encode_record,
)

PRODUCER_IDS_PER_BLOCK: Final = 1000
"""Producer ids that are reserved at a time, as in Kafka's controller (KIP-730). A crash loses at most this many ids."""

WHAT_TO_DO: Final = "see `coordinator log verify`, and restore the data folder or use `coordinator log repair`"


class NewTopic(NamedTuple):
    """A topic to be created."""

    name: str
    partitions: int
    configs: dict[str, str]


class MetadataError(ValueError):
    """The metadata log cannot be read. The message is one line with the offset."""


class MetadataStore:
    """The metadata image and its log. `new_topic_id` returns 16 random bytes."""

    def __init__(self, log: PartitionLog, new_topic_id: Callable[[], bytes]) -> None:
        """Replay the log.

        Raises:
            MetadataError: the log or a record cannot be read.
        """
        self.image = MetadataImage()
        self._log = log
        self._new_topic_id = new_topic_id
        self._producer_ids: Iterator[int] = iter(())
        self.on_change: Callable[[], None] = lambda: None
        """Is called after each change."""
        self.on_disk_error: Callable[[Exception, Path], object] = lambda problem, path: None
        """Is called when a change cannot be appended, with the folder of the log."""
        self.place: Callable[[Sequence[NewTopic]], list[list[str]]] = lambda topics: [[] for _ in topics]
        """Returns the ids of the log directories for the partitions of new topics (TopicRecord.directories)."""
        try:
            for _, batch in log.batches(log.log_start_offset):
                for record in parse_records(batch):
                    self._replay(record)
        except (MalformedMessage, OSError) as problem:
            raise MetadataError(f"{METADATA_LOG} cannot be read: {problem}; {WHAT_TO_DO}") from None

    def _replay(self, record: Record) -> None:
        try:
            self.image.apply(decode_record(record.value or b""))
        except (msgspec.MsgspecError, KeyError, ValueError) as problem:
            reason = f"{problem} does not exist" if isinstance(problem, KeyError) else str(problem)
            raise MetadataError(f"{METADATA_LOG} offset {record.offset}: {reason}; {WHAT_TO_DO}") from None

    @property
    def log(self) -> PartitionLog:
        """The metadata log."""
        return self._log

    @property
    def end_offset(self) -> int:
        """The log end offset of the metadata log."""
        return self._log.log_end_offset

    def create_topic(self, name: str, partitions: int, configs: dict[str, str], now_ms: int) -> Topic:
        """Create a topic, which must not exist.

        Raises:
            InvalidTopicName: no topic may have this name.
        """
        self.create_topics([NewTopic(name, partitions, configs)], now_ms)
        return self.image.topics[name]

    def create_topics(self, topics: Sequence[NewTopic], now_ms: int) -> None:
        """Create topics, none of which may exist, with one append and one flush.

        Raises:
            InvalidTopicName: no topic may have one of the names; none was created.
        """
        for topic in topics:
            check_topic_name(topic.name)
            assert topic.name not in self.image.topics, topic.name
        if topics:
            placed = zip(topics, self.place(topics), strict=True)
            self._append(
                [TopicRecord(each.name, self._new_topic_id().hex(), *each[1:], ids) for each, ids in placed], now_ms
            )

    def add_partitions(self, name: str, partitions: int, now_ms: int) -> None:
        """Give a topic more partitions, so many in all."""
        topic = self.image.topics[name]
        assert partitions > topic.partitions, (name, partitions)
        (added,) = self.place([NewTopic(name, partitions - topic.partitions, {})])
        directories = [*topic.directories, *added] if added else []
        self._append((PartitionsRecord(name, partitions, directories),), now_ms)

    def assign_directories(
        self, moved: Mapping[str, list[str]], log_directories: Mapping[str, str], now_ms: int
    ) -> None:
        """Store the log directories, id → path, and topic → the ids for all of its partitions."""
        for name, ids in moved.items():
            # There may be as many as partitions may be on a node, so each topic has a batch of its own.
            self._append((PartitionDirectoriesRecord(name, ids),), now_ms)
        if log_directories != self.image.log_directories:
            self._append((LogDirectoriesRecord(dict(log_directories)),), now_ms)

    def change_topic_configs(self, changes: Mapping[str, dict[str, str]], now_ms: int) -> None:
        """Give topics, which must exist, other configs, with one append and one flush. Name → all that it has then."""
        if changes:
            self._append([TopicConfigsRecord(name, configs) for name, configs in changes.items()], now_ms)

    def remove_topics(self, names: Sequence[str], now_ms: int) -> None:
        """Remove topics, which must exist, with one append and one flush."""
        if names:
            self._append([RemoveTopicRecord(name) for name in names], now_ms)

    def change_quotas(self, records: Sequence[QuotaRecord], now_ms: int) -> None:
        """Set and remove quotas with one append and one flush."""
        if records:
            self._append(records, now_ms)

    def append_all(self, records: Sequence[MetadataRecord], now_ms: int) -> None:
        """Append records that describe what another server has."""
        self._append(records, now_ms)

    def change_features(self, levels: Mapping[str, int], now_ms: int) -> None:
        """Let features have other levels from now on, with one append and one flush."""
        if levels:
            epoch = self.image.features_epoch + 1
            self._append([FeatureRecord(name, level, epoch) for name, level in levels.items()], now_ms)

    def allocate_producer_id(self, now_ms: int) -> int:
        """Return a new producer id. An id is never returned twice, also after a restart."""
        producer_id: int | None = next(self._producer_ids, None)
        if producer_id is None:
            first = self.image.next_producer_id
            self._append((ProducerIdsRecord(first + PRODUCER_IDS_PER_BLOCK),), now_ms)
            self._producer_ids = iter(range(first, first + PRODUCER_IDS_PER_BLOCK))
            producer_id = next(self._producer_ids)
        return producer_id

    def _append(self, records: Sequence[MetadataRecord], now_ms: int) -> None:
        """Append, flush and apply records: a change must survive a power loss before a client learns of it."""
        batches = bytearray()
        for values in batches_of([encode_record(record) for record in records]):
            batches += build_batch([(None, value, []) for value in values], timestamp_ms=now_ms)
        try:
            self._log.append(batches, 0, now_ms)
        except LogAppendError as problem:
            self.on_disk_error(problem, self._log.folder)
            raise
        self._log.flush()
        for record in records:
            self.image.apply(record)
        self.on_change()
