"""Kafka's metadata log (`__cluster_metadata-0`, KRaft): reads it with its newest snapshot, and writes a snapshot."""

import re
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec

from _wire.errors import MalformedMessage
from _wire.records import BatchHeader, build_batch, parse_records
from coordinator.config.key import INT64_MAX
from coordinator.kafka_folder.records import (
    ABORT_TRANSACTION,
    BEGIN_TRANSACTION,
    KafkaAcl,
    KafkaConfig,
    KafkaFeature,
    KafkaMetadataError,
    KafkaPartition,
    KafkaPartitionChange,
    KafkaProducerIds,
    KafkaQuota,
    KafkaRecord,
    KafkaRemovedAcl,
    KafkaRemovedScramCredential,
    KafkaRemovedTopic,
    KafkaScramCredential,
    KafkaTopic,
    KafkaTransaction,
    decode_kafka_record,
    encode_kafka_record,
)
from coordinator.log.config import LogConfig
from coordinator.log.files import FileSystem, read_file, write_file
from coordinator.log.recovery.damage import INCOMPLETE, Damage, scan
from coordinator.log.segments.files import base_offsets
from coordinator.log.segments.segment import Segment

SNAPSHOT: Final = re.compile(r"([0-9]{20})-[0-9]{10}\.checkpoint")
"""End offset and epoch of a snapshot (Snapshots.java)."""
TOPIC_RESOURCE: Final = 2
BROKER_RESOURCE: Final = 4
GROUP_RESOURCE: Final = 32
SNAPSHOT_OFFSET: Final = 1
SNAPSHOT_EPOCH: Final = 1
SNAPSHOT_HEADER: Final = struct.pack(">hh", 0, 3)
SNAPSHOT_FOOTER: Final = struct.pack(">hh", 0, 4)
RECORDS_PER_BATCH: Final = 500
BATCH_HEADER_BYTES: Final = 12
"""Base offset and length, which says how many bytes follow."""


class KafkaImage:
    """What the records of Kafka's metadata log say, applied one after the other."""

    def __init__(self) -> None:
        self.topics: dict[bytes, str] = {}
        """Id → name."""
        self.partitions: dict[bytes, dict[int, KafkaPartition]] = {}
        self.configs: dict[str, dict[str, str]] = {}
        """Those of topics."""
        self.group_configs: dict[str, dict[str, str]] = {}
        self.broker_configs: dict[str, dict[str, str]] = {}
        """By node id; those of all brokers at the empty name."""
        self.quotas: dict[tuple[tuple[str, str | None], ...], dict[str, float]] = {}
        self.scram_credentials: dict[tuple[str, int], KafkaScramCredential] = {}
        """By user and mechanism."""
        self.next_producer_id = 0
        self.features: dict[str, int] = {}
        """Feature → its level, as it was set last."""
        self.acls: dict[bytes, KafkaAcl] = {}
        """By their ids."""
        self._transaction: list[KafkaRecord] | None = None
        """The records of a metadata transaction that has not ended; they do not count yet."""

    def apply(self, record: KafkaRecord) -> None:
        """Apply a record; those between a begin and an end count at the end."""
        if isinstance(record, KafkaTransaction):
            held, self._transaction = self._transaction or [], None
            if record.api_key == BEGIN_TRANSACTION:
                self._transaction = []
            elif record.api_key != ABORT_TRANSACTION:
                for kafka_topic in held:
                    self._apply(kafka_topic)
        elif self._transaction is not None:
            self._transaction.append(record)
        else:
            self._apply(record)

    def _apply(self, record: KafkaRecord) -> None:
        match record:
            case KafkaTopic():
                self.topics[record.topic_id] = record.name
            case KafkaPartition():
                self.partitions.setdefault(record.topic_id, {})[record.partition] = record
            case KafkaPartitionChange():
                partitions = self.partitions.get(record.topic_id, {})
                before = partitions.get(record.partition)
                if before is not None:
                    partitions[record.partition] = msgspec.structs.replace(
                        before,
                        replicas=before.replicas if record.replicas is None else record.replicas,
                        directories=before.directories if record.directories is None else record.directories,
                    )
            case KafkaRemovedTopic():
                self.configs.pop(self.topics.pop(record.topic_id, ""), None)
                self.partitions.pop(record.topic_id, None)
            case KafkaConfig() if record.resource_type == TOPIC_RESOURCE:
                _change_config(self.configs, record)
            case KafkaConfig() if record.resource_type == GROUP_RESOURCE:
                _change_config(self.group_configs, record)
            case KafkaConfig() if record.resource_type == BROKER_RESOURCE:
                _change_config(self.broker_configs, record)
            case KafkaQuota():
                quotas = self.quotas.setdefault(record.entity, {})
                quotas.pop(record.key, None)
                if record.value is not None:
                    quotas[record.key] = record.value
            case KafkaFeature():
                self.features[record.name] = record.level
            case KafkaAcl():
                self.acls[record.acl_id] = record
            case KafkaRemovedAcl():
                self.acls.pop(record.acl_id, None)
            case KafkaScramCredential():
                self.scram_credentials[record.name, record.mechanism] = record
            case KafkaRemovedScramCredential():
                self.scram_credentials.pop((record.name, record.mechanism), None)
            case KafkaProducerIds():
                self.next_producer_id = record.next_producer_id


def _change_config(resources: dict[str, dict[str, str]], record: KafkaConfig) -> None:
    configs = resources.setdefault(record.resource_name, {})
    configs.pop(record.name, None)
    if record.value is not None:
        configs[record.name] = record.value


def read_kafka_metadata(fs: FileSystem, folder: Path) -> KafkaImage:
    """Read a `__cluster_metadata-0` that Kafka wrote. The records of other brokers' changes of leaders are left out.

    Raises:
        KafkaMetadataError: a batch or a record is damaged or missing, or of a version that is not known.
        OSError: a file cannot be read.
    """
    try:
        return _read(fs, folder)
    except KafkaMetadataError as problem:
        raise KafkaMetadataError(f"{folder} cannot be read: {problem}") from None


def _read(fs: FileSystem, folder: Path) -> KafkaImage:
    image = KafkaImage()
    snapshots = [(int(match[1]), name) for name in fs.names(folder) if (match := SNAPSHOT.fullmatch(name))]
    next_offset, newest = max(snapshots, default=(0, ""))
    if newest:
        for batch in _batches_of_snapshot(read_file(fs, folder / newest), newest):
            _apply_batch(image, batch)
    for header, batch in _batches_of_log(fs, folder):
        if header.next_offset <= next_offset:
            continue
        if header.base_offset > next_offset:
            raise KafkaMetadataError(f"the records from offset {next_offset} to {header.base_offset - 1} are missing")
        next_offset = header.next_offset
        _apply_batch(image, batch)
    if not newest and not next_offset:
        raise KafkaMetadataError("it has no records")  # a Kafka that was started has some, also without topics
    return image


def _apply_batch(image: KafkaImage, batch: bytes) -> None:
    if _is_control(batch):
        return
    try:
        for record in parse_records(batch):
            if record.value is not None and (decoded := decode_kafka_record(record.value)) is not None:
                image.apply(decoded)
    except MalformedMessage as problem:
        raise KafkaMetadataError(f"a batch is damaged: {problem}") from None


CONTROL_FLAG: Final = 0x20
ATTRIBUTES: Final = 21
"""Where the attributes of a batch are."""


def _is_control(batch: bytes) -> bool:
    return bool(int.from_bytes(batch[ATTRIBUTES : ATTRIBUTES + 2], "big") & CONTROL_FLAG)


def _batches_of_snapshot(data: bytes, name: str) -> Iterator[bytes]:
    position, batch = 0, b""
    while position < len(data):
        size = BATCH_HEADER_BYTES + int.from_bytes(
            data[position + 8 : position + BATCH_HEADER_BYTES], "big", signed=True
        )
        batch = data[position : position + size]
        if not BATCH_HEADER_BYTES < size == len(batch):
            raise KafkaMetadataError(f"the snapshot {name} ends within a batch")
        yield batch
        position += size
    if not _is_control(batch):  # the footer
        raise KafkaMetadataError(f"the snapshot {name} is incomplete")


def _batches_of_log(fs: FileSystem, folder: Path) -> Iterator[tuple[BatchHeader, bytes]]:
    for base_offset in base_offsets(fs, folder):
        segment = Segment(fs, folder, base_offset, LogConfig())
        try:
            end = segment.file_size()
            for item in scan(segment, 0, end, base_offset, next_base_offset=INT64_MAX, may_have_gaps=True):
                if not isinstance(item, Damage):
                    yield item.header, segment.read_exactly(item.position, item.header.size_in_bytes)
                elif item.why != INCOMPLETE or item.end != end:
                    raise KafkaMetadataError(str(item.error()))
        finally:
            segment.close()


def write_kafka_snapshot(fs: FileSystem, folder: Path, records: list[KafkaRecord], node_id: int, now_ms: int) -> None:
    """Make a `__cluster_metadata-0` that consists of a snapshot, which Kafka continues.

    Raises:
        OSError: a file cannot be written.
    """
    values = [encode_kafka_record(record, node_id) for record in records]
    content, offset = bytearray(), 0

    def add(pairs: list[tuple[bytes | None, bytes]], *, is_control: bool) -> None:
        nonlocal offset
        content.extend(
            build_batch(
                [(key, value, []) for key, value in pairs],
                base_offset=offset,
                timestamp_ms=now_ms,
                is_control=is_control,
                partition_leader_epoch=SNAPSHOT_EPOCH,
            )
        )
        offset += len(pairs)

    add([(SNAPSHOT_HEADER, struct.pack(">hqb", 0, now_ms, 0))], is_control=True)
    for first in range(0, len(values), RECORDS_PER_BATCH):
        add([(None, value) for value in values[first : first + RECORDS_PER_BATCH]], is_control=False)
    add([(SNAPSHOT_FOOTER, struct.pack(">hb", 0, 0))], is_control=True)
    fs.make_directory(folder)
    name = f"{max(offset, SNAPSHOT_OFFSET):020d}-{SNAPSHOT_EPOCH:010d}.checkpoint"
    write_file(fs, folder / name, bytes(content), flush=True)
    fs.flush_directory(folder)
