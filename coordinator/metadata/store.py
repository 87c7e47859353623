"""The metadata log. A change is checked, appended, made durable, then applied to the image. A start replays all of it.

There are two images. `image` has what is durable; everybody reads it. `latest_image` also has what is appended and not
committed yet (`commits.py`). A change is checked against it, so that it can follow the changes before it at once. A
client that is answered from it would know what a crash takes back, so its answer waits: `when_committed`.

Its records have no keys, so it is not compacted as other logs are: when it has grown, a snapshot of the image takes the
place of its records (`compaction.py`).
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from _wire.errors import MalformedMessage
from _wire.records import Record, build_batch, parse_records
from coordinator.log.compaction.rewrite import batches_of
from coordinator.log.disk_threads import DiskThreads, InLine
from coordinator.log.errors import LogAppendError, LogFlushError
from coordinator.log.names import METADATA_LOG, check_topic_name
from coordinator.log.partition.partition_log import PartitionLog
from coordinator.metadata.commits import CallSoon, MetadataCommits
from coordinator.metadata.image import MetadataImage, Topic
from coordinator.metadata.records import (
    AclBinding,
    AclRecord,
    BrokerConfigsRecord,
    FeatureRecord,
    GroupConfigsRecord,
    LogDirectoriesRecord,
    MetadataRecord,
    PartitionDirectoriesRecord,
    PartitionsRecord,
    ProducerIdsRecord,
    QuotaRecord,
    RemoveAclRecord,
    RemoveScramCredentialRecord,
    RemoveTopicRecord,
    ScramCredentialRecord,
    TopicConfigsRecord,
    TopicRecord,
    decode_record,
    encode_record,
)

RECORD_BYTES: Final = 32
"""What a record takes of a batch beside its value, at most."""
WHAT_TO_DO: Final = "see `coordinator log verify`, and restore the data folder or use `coordinator log repair`"


class NewTopic(NamedTuple):
    """A topic to be created."""

    name: str
    partitions: int
    configs: dict[str, str]


Place = Callable[[MetadataImage, Sequence[NewTopic]], list[list[str]]]
"""(the newest image, new topics) → the ids of the log directories for their partitions (TopicRecord.directories)."""


def in_the_only_directory(image: MetadataImage, topics: Sequence[NewTopic]) -> list[list[str]]:
    """Where there is one directory, nothing is stored of it."""
    return [[] for _ in topics]


Applied = Callable[[], None]
"""Is called when a change is durable and in the image, before later changes are."""


def _nothing() -> None:
    """Nobody has to know."""


class AclChange(msgspec.Struct, frozen=True):
    """That an ACL is created or deleted, encoded: to encode thousands takes longer than to append them."""

    record: AclRecord | RemoveAclRecord
    value: bytes


class ChangeTooLarge(ValueError):
    """A change does not fit into one batch of the metadata log."""


class MetadataError(ValueError):
    """The metadata log cannot be read. The message is one line with the offset."""


class MetadataStore:
    """The metadata image and its log. `new_uuid` returns 16 random bytes.

    Each change is committed when its call returns, until `commit_in` is called. All of them may raise LogAppendError:
    nothing has changed.
    """

    def __init__(
        self,
        log: PartitionLog,
        new_uuid: Callable[[], bytes],
        *,
        place: Place = in_the_only_directory,
        on_disk_error: Callable[[Exception, Path], object] = lambda problem, path: None,
    ) -> None:
        """Replay the log. `place` says where the partitions of new topics are to be.

        `on_disk_error` is called when a change cannot be appended, with the folder of the log.

        Raises:
            MetadataError: the log or a record cannot be read.
            LogFlushError: an fsync of what a killed process has left failed.
        """
        self.image = MetadataImage()
        self._log = log
        self._new_uuid = new_uuid
        self._place = place
        self._on_disk_error = on_disk_error
        self._commit_listeners: list[Callable[[], None]] = []
        self._record_listeners: list[Callable[[], None]] = []
        self._acl_listeners: list[Callable[[AclRecord | RemoveAclRecord], None]] = []
        try:
            for _, batch in log.batches(log.log_start_offset):
                for record in parse_records(batch):
                    self._replay(record)
        except (MalformedMessage, OSError) as problem:
            raise MetadataError(f"{METADATA_LOG} cannot be read: {problem}; {WHAT_TO_DO}") from None
        # After a kill there may be changes that no flush has covered. Clients are about to see them.
        log.flush()
        self.latest_image: Final = self.image.copy()
        """The image with all changes that were appended. Who answers from it waits: `when_committed`."""
        self._commits = MetadataCommits(log, self._apply, self._committed)

    def _replay(self, record: Record) -> None:
        try:
            self.image.apply(decode_record(record.value or b""))
        except (msgspec.MsgspecError, KeyError, ValueError) as problem:
            reason = f"{problem} does not exist" if isinstance(problem, KeyError) else str(problem)
            raise MetadataError(f"{METADATA_LOG} offset {record.offset}: {reason}; {WHAT_TO_DO}") from None

    def add_commit_listener(self, listener: Callable[[], None]) -> None:
        """Call `listener` after each commit."""
        self._commit_listeners.append(listener)

    def add_record_listener(self, listener: Callable[[], None]) -> None:
        """Call `listener` whenever `image` has changed, before anybody is answered."""
        self._record_listeners.append(listener)

    def add_acl_listener(self, listener: Callable[[AclRecord | RemoveAclRecord], None]) -> None:
        """Call `listener` with each ACL that was created or deleted in `image`, before anybody is answered."""
        self._acl_listeners.append(listener)

    def _apply(self, record: MetadataRecord) -> None:
        self.image.apply(record)
        if isinstance(record, AclRecord | RemoveAclRecord):
            for on_acl in self._acl_listeners:
                on_acl(record)
        for listener in self._record_listeners:
            listener()

    def _committed(self) -> None:
        for listener in self._commit_listeners:
            listener()

    @property
    def log(self) -> PartitionLog:
        """The metadata log."""
        return self._log

    @property
    def end_offset(self) -> int:
        """The log end offset of the metadata log."""
        return self._log.log_end_offset

    def commit_in(
        self,
        threads: DiskThreads | InLine,
        call_soon: CallSoon | None,
        on_flush_failure: Callable[[LogFlushError], None],
    ) -> None:
        """Make changes durable in these threads from now on: a change may return before it is committed.

        `on_flush_failure` is called when an fsync failed: the process has to stop. `call_soon` calls back in the next
        iteration of the event loop; without it, very many changes are applied at once.
        """
        self._commits.run_in(threads, call_soon, on_flush_failure)

    @property
    def is_pending(self) -> bool:
        """Whether `latest_image` is ahead of `image`."""
        return self._commits.is_pending

    def when_committed(self, call: Callable[[], None]) -> None:
        """Call when `image` has all changes that `latest_image` has now; at once if it has. Never if an fsync fails."""
        self._commits.when_committed(call)

    def finish(self) -> None:
        """Before a clean stop, after the threads have ended: commit what is left.

        Raises:
            LogFlushError: an fsync failed.
        """
        self._commits.finish()

    def abandon(self) -> None:
        """Commit nothing any more: the log is closed, or about to be."""
        self._commits.abandon()

    def create_topic(self, name: str, partitions: int, configs: dict[str, str], now_ms: int) -> Topic:
        """Create a topic, which must not exist.

        Raises:
            InvalidTopicName: no topic may have this name.
        """
        self.create_topics([NewTopic(name, partitions, configs)], now_ms)
        return self.latest_image.topics[name]

    def create_topics(self, topics: Sequence[NewTopic], now_ms: int) -> None:
        """Create topics, none of which may exist, with one append.

        Raises:
            InvalidTopicName: no topic may have one of the names; none was created.
        """
        for topic in topics:
            check_topic_name(topic.name)
            assert topic.name not in self.latest_image.topics, topic.name
        if topics:
            placed = zip(topics, self._place(self.latest_image, topics), strict=True)
            self._append(
                [TopicRecord(new_topic.name, self._new_uuid().hex(), *new_topic[1:], ids) for new_topic, ids in placed],
                now_ms,
            )

    def add_partitions(self, name: str, partitions: int, now_ms: int) -> None:
        """Give a topic more partitions, so many in all."""
        topic = self.latest_image.topics[name]
        assert partitions > topic.partitions, (name, partitions)
        (added,) = self._place(self.latest_image, [NewTopic(name, partitions - topic.partitions, {})])
        directories = [*topic.directories, *added] if added else []
        self._append((PartitionsRecord(name, partitions, directories),), now_ms)

    def assign_directories(
        self, moved: Mapping[str, list[str]], log_directories: Mapping[str, str], now_ms: int
    ) -> None:
        """Store the log directories, id → path, and topic → the ids for all of its partitions."""
        for name, ids in moved.items():
            # There may be as many as partitions may be on a node, so each topic has a batch of its own.
            self._append((PartitionDirectoriesRecord(name, ids),), now_ms)
        if log_directories != self.latest_image.log_directories:
            self._append((LogDirectoriesRecord(dict(log_directories)),), now_ms)

    def change_topic_configs(
        self, changes: Mapping[str, dict[str, str]], now_ms: int, applied: Applied = _nothing
    ) -> None:
        """Give topics, which must exist, other configs, with one append. Name → all that it has then."""
        if changes:
            self._append([TopicConfigsRecord(name, configs) for name, configs in changes.items()], now_ms, applied)

    def change_group_configs(self, changes: Mapping[str, dict[str, str]], now_ms: int) -> None:
        """Give groups other configs, with one append. Group id → all that it has then; none: they are removed."""
        if changes:
            self._append([GroupConfigsRecord(name, configs) for name, configs in changes.items()], now_ms)

    def change_broker_configs(
        self, changes: Mapping[str, dict[str, str]], now_ms: int, applied: Applied = _nothing
    ) -> None:
        """Give brokers other configs, with one append. Node id, or empty for all → all that are set then."""
        if changes:
            self._append([BrokerConfigsRecord(name, configs) for name, configs in changes.items()], now_ms, applied)

    def remove_topics(self, names: Sequence[str], now_ms: int, applied: Applied = _nothing) -> None:
        """Remove topics, which must exist, with one append."""
        if names:
            self._append([RemoveTopicRecord(name) for name in names], now_ms, applied)

    def change_quotas(self, records: Sequence[QuotaRecord], now_ms: int, applied: Applied = _nothing) -> None:
        """Set and remove quotas with one append."""
        if records:
            self._append(records, now_ms, applied)

    def change_scram_credentials(
        self, records: Sequence[ScramCredentialRecord | RemoveScramCredentialRecord], now_ms: int
    ) -> None:
        """Set and remove SCRAM credentials with one append."""
        if records:
            self._append(records, now_ms)

    def append_all(self, records: Sequence[MetadataRecord], now_ms: int) -> None:
        """Append records that describe what another server has."""
        self._append(records, now_ms)

    def change_features(self, levels: Mapping[str, int], now_ms: int) -> None:
        """Let features have other levels from now on, with one append."""
        if levels:
            epoch = self.latest_image.features_epoch + 1
            self._append([FeatureRecord(name, level, epoch) for name, level in levels.items()], now_ms)

    def created_acl(self, acl: AclBinding) -> AclChange:
        """For `change_acls`. The ACL must not exist then."""
        record = AclRecord(self._new_uuid().hex(), *acl)
        return AclChange(record, encode_record(record))

    @staticmethod
    def deleted_acl(acl: AclBinding) -> AclChange:
        """For `change_acls`."""
        record = RemoveAclRecord(*acl)
        return AclChange(record, encode_record(record))

    def change_acls(self, changes: Sequence[AclChange], now_ms: int) -> None:
        """Create and delete ACLs with one batch: after a crash there are all of the changes, or none.

        Raises:
            ChangeTooLarge: they do not fit into one; nothing has changed.
        """
        if changes:
            values = [change.value for change in changes]
            if not self._fits(values):
                raise ChangeTooLarge(f"{len(values)} ACLs are too large for one batch")
            self._append_encoded([change.record for change in changes], values, now_ms)

    def reserve_producer_ids(self, count: int, now_ms: int, reserved: Callable[[range], None]) -> None:
        """Reserve producer ids that were never reserved before; `reserved` gets them when that is durable."""
        first = self.latest_image.next_producer_id
        ids = range(first, first + count)
        self._append((ProducerIdsRecord(ids.stop),), now_ms, lambda: reserved(ids))

    def _append(self, records: Sequence[MetadataRecord], now_ms: int, applied: Applied = _nothing) -> None:
        """Append records, and have them committed: a change must survive a power loss before a client learns of it.

        The append is a write to the page cache, in the event loop as that of any other log; only the flush is not.
        """
        self._append_encoded(records, [encode_record(record) for record in records], now_ms, applied)

    def _fits(self, values: Sequence[bytes]) -> bool:
        """Whether they fit into one batch."""
        return sum(map(len, values)) + RECORD_BYTES * len(values) <= self._log.config.max_message_bytes

    def _append_encoded(
        self, records: Sequence[MetadataRecord], values: list[bytes], now_ms: int, applied: Applied = _nothing
    ) -> None:
        batches = bytearray()
        # Of one batch a crash leaves all or nothing. Only what another server has is larger.
        for batch in [values] if self._fits(values) else batches_of(values):
            batches += build_batch([(None, value, []) for value in batch], timestamp_ms=now_ms)
        try:
            self._log.append(batches, 0, now_ms)
        except LogAppendError as problem:
            self._on_disk_error(problem, self._log.folder)
            raise
        for record in records:
            self.latest_image.apply(record)
        self._commits.add(records, applied)
