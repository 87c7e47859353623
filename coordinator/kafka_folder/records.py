"""The records of Kafka's metadata log that say what a single node has: topics, configs, quotas, ACLs, producer ids.

Layouts: `common/metadata/*.json` of Kafka 4.3. Each record is a frame: version 1, API key and version of the record, as
unsigned varints, and the record. Other records, and tagged fields, are skipped.
"""

import struct
from dataclasses import dataclass, field
from typing import Final

import msgspec

FRAME_VERSION: Final = 1
VARINT_BYTES_MAX: Final = 5
TOPIC, PARTITION, CONFIG, PARTITION_CHANGE, REMOVE_TOPIC = 2, 3, 4, 5, 9
ACL, REMOVE_ACL = 18, 19
SCRAM_CREDENTIAL, FEATURE_LEVEL, CLIENT_QUOTA, PRODUCER_IDS, REMOVE_SCRAM_CREDENTIAL = 11, 12, 14, 15, 22
BEGIN_TRANSACTION, END_TRANSACTION, ABORT_TRANSACTION = 23, 24, 25
HIGHEST_VERSIONS: Final = {
    TOPIC: 0,
    PARTITION: 2,
    CONFIG: 0,
    PARTITION_CHANGE: 2,
    REMOVE_TOPIC: 0,
    SCRAM_CREDENTIAL: 0,
    REMOVE_SCRAM_CREDENTIAL: 0,
    FEATURE_LEVEL: 0,
    CLIENT_QUOTA: 0,
    PRODUCER_IDS: 0,
    ACL: 0,
    REMOVE_ACL: 0,
    BEGIN_TRANSACTION: 0,
    END_TRANSACTION: 0,
    ABORT_TRANSACTION: 0,
}
"""The record types that are decoded, and up to which version their layout is known."""
REPLICAS_TAG, DIRECTORIES_TAG = 2, 8
"""Of PartitionChangeRecord."""
PARTITION_VERSION: Final = 1
"""With it a partition has directory ids (KIP-858)."""


class KafkaMetadataError(ValueError):
    """A record of Kafka's metadata log cannot be read."""


class KafkaTopic(msgspec.Struct, frozen=True):
    """TopicRecord."""

    name: str
    topic_id: bytes


class KafkaPartition(msgspec.Struct, frozen=True):
    """PartitionRecord. `directories` are ids of 16 bytes."""

    topic_id: bytes
    partition: int
    replicas: tuple[int, ...]
    directories: tuple[bytes, ...] = ()
    leader_epoch: int = 0


class KafkaPartitionChange(msgspec.Struct, frozen=True):
    """PartitionChangeRecord: replicas and directories of a partition; None: they stay."""

    topic_id: bytes
    partition: int
    replicas: tuple[int, ...] | None
    directories: tuple[bytes, ...] | None


class KafkaConfig(msgspec.Struct, frozen=True):
    """ConfigRecord. `resource_type` is that of the protocol: 2 topic, 4 broker, 32 group.

    Without a value the config was removed.
    """

    resource_type: int
    resource_name: str
    name: str
    value: str | None


class KafkaRemovedTopic(msgspec.Struct, frozen=True):
    """RemoveTopicRecord."""

    topic_id: bytes


class KafkaFeature(msgspec.Struct, frozen=True):
    """FeatureLevelRecord."""

    name: str
    level: int


class KafkaQuota(msgspec.Struct, frozen=True):
    """ClientQuotaRecord. Without a value it was removed."""

    entity: tuple[tuple[str, str | None], ...]
    key: str
    value: float | None


@dataclass(frozen=True, slots=True)
class KafkaScramCredential:
    """UserScramCredentialRecord."""

    name: str
    mechanism: int
    salt: bytes = field(repr=False)
    stored_key: bytes = field(repr=False)
    server_key: bytes = field(repr=False)
    iterations: int


class KafkaRemovedScramCredential(msgspec.Struct, frozen=True):
    """RemoveUserScramCredentialRecord."""

    name: str
    mechanism: int


class KafkaProducerIds(msgspec.Struct, frozen=True):
    """ProducerIdsRecord."""

    next_producer_id: int


class KafkaAcl(msgspec.Struct, frozen=True):
    """AccessControlEntryRecord. `acl_id` has 16 bytes."""

    acl_id: bytes
    resource_type: int
    resource_name: str
    pattern_type: int
    principal: str
    host: str
    operation: int
    permission_type: int


class KafkaRemovedAcl(msgspec.Struct, frozen=True):
    """RemoveAccessControlEntryRecord."""

    acl_id: bytes


class KafkaTransaction(msgspec.Struct, frozen=True):
    """Begin-, End- or AbortTransactionRecord of the metadata log itself (KIP-866): its API key."""

    api_key: int


KafkaRecord = (
    KafkaTopic
    | KafkaPartition
    | KafkaPartitionChange
    | KafkaConfig
    | KafkaRemovedTopic
    | KafkaFeature
    | KafkaQuota
    | KafkaScramCredential
    | KafkaRemovedScramCredential
    | KafkaProducerIds
    | KafkaAcl
    | KafkaRemovedAcl
    | KafkaTransaction
)


def decode_kafka_record(data: bytes) -> KafkaRecord | None:
    """Decode the value of a record of the metadata log; None if it is none of those above.

    Raises:
        KafkaMetadataError: it is damaged, or of a version that is not known.
    """
    reader = _Reader(data)
    if (version := reader.unsigned()) != FRAME_VERSION:
        raise KafkaMetadataError(f"a frame of version {version}")
    api_key, version = reader.unsigned(), reader.unsigned()
    if version > HIGHEST_VERSIONS.get(api_key, version):
        raise KafkaMetadataError(f"a record of type {api_key} has version {version}, of a newer Kafka")
    try:
        return _decode_body(api_key, version, reader)
    except (struct.error, UnicodeDecodeError) as problem:
        raise KafkaMetadataError(f"a record of type {api_key} is damaged: {problem}") from None


def _decode_body(api_key: int, version: int, reader: "_Reader") -> KafkaRecord | None:
    match api_key:
        case 2:
            return KafkaTopic(reader.text(), reader.read(16))
        case 3:
            partition, topic_id, replicas = reader.int32(), reader.read(16), reader.int32s()
            for _ in range(3):  # Isr, RemovingReplicas, AddingReplicas
                reader.int32s()
            _, leader_epoch, _ = reader.int32(), reader.int32(), reader.int32()  # Leader, LeaderEpoch, PartitionEpoch
            directories = reader.uuids() if version >= PARTITION_VERSION else ()
            return KafkaPartition(topic_id, partition, replicas, directories, leader_epoch)
        case 5:
            partition, topic_id, tags = reader.int32(), reader.read(16), reader.tags()
            new_replicas, new_directories = tags.get(REPLICAS_TAG), tags.get(DIRECTORIES_TAG)
            return KafkaPartitionChange(
                topic_id,
                partition,
                None if new_replicas is None else _Reader(new_replicas).int32s(),
                None if new_directories is None else _Reader(new_directories).uuids(),
            )
        case 4:
            return KafkaConfig(reader.int8(), reader.text(), reader.text(), reader.nullable_text())
        case 9:
            return KafkaRemovedTopic(reader.read(16))
        case 11:
            return KafkaScramCredential(
                reader.text(),
                reader.int8(),
                reader.sized_bytes(),
                reader.sized_bytes(),
                reader.sized_bytes(),
                reader.int32(),
            )
        case 22:
            return KafkaRemovedScramCredential(reader.text(), reader.int8())
        case 12:
            return KafkaFeature(reader.text(), reader.int16())
        case 14:
            entity = []
            for _ in range(reader.count()):
                entity.append((reader.text(), reader.nullable_text()))
                reader.tags()
            key, value, is_removed = reader.text(), reader.float64(), reader.int8()
            return KafkaQuota(tuple(entity), key, None if is_removed else value)
        case 15:
            reader.read(12)  # BrokerId, BrokerEpoch
            return KafkaProducerIds(reader.int64())
        case 18:
            acl_id, resource_type, resource_name = reader.read(16), reader.int8(), reader.text()
            pattern_type, principal, host = reader.int8(), reader.text(), reader.text()
            return KafkaAcl(
                acl_id, resource_type, resource_name, pattern_type, principal, host, reader.int8(), reader.int8()
            )
        case 19:
            return KafkaRemovedAcl(reader.read(16))
        case 23 | 24 | 25:
            return KafkaTransaction(api_key)
    return None


def encode_kafka_record(record: KafkaRecord, node_id: int) -> bytes:
    """Encode a record for a metadata log whose only broker is `node_id`, which leads all partitions."""
    match record:
        case KafkaTopic():
            return _frame(TOPIC, 0, _text(record.name) + record.topic_id)
        case KafkaPartition():
            replicas = _unsigned(len(record.replicas) + 1) + b"".join(
                struct.pack(">i", replica) for replica in record.replicas
            )
            body = struct.pack(">i", record.partition) + record.topic_id + replicas + replicas + b"\x01\x01"
            body += struct.pack(">iii", node_id, record.leader_epoch, 0)
            body += _unsigned(len(record.directories) + 1) + b"".join(record.directories)
            return _frame(PARTITION, PARTITION_VERSION, body)
        case KafkaPartitionChange():
            body = struct.pack(">i", record.partition) + record.topic_id
            ids = _unsigned(len(record.directories or ()) + 1) + b"".join(record.directories or ())
            tags = _unsigned(1) + _unsigned(DIRECTORIES_TAG) + _unsigned(len(ids)) + ids
            return _frame(PARTITION_CHANGE, 2, body, tags)
        case KafkaConfig():
            names = struct.pack(">b", record.resource_type) + _text(record.resource_name) + _text(record.name)
            return _frame(CONFIG, 0, names + _text(record.value))
        case KafkaRemovedTopic():
            return _frame(REMOVE_TOPIC, 0, record.topic_id)
        case KafkaFeature():
            return _frame(FEATURE_LEVEL, 0, _text(record.name) + struct.pack(">h", record.level))
        case KafkaQuota():
            entity = b"".join(_text(kind) + _text(name) + b"\x00" for kind, name in record.entity)
            value = struct.pack(">d?", record.value or 0.0, record.value is None)
            return _frame(CLIENT_QUOTA, 0, _unsigned(len(record.entity) + 1) + entity + _text(record.key) + value)
        case KafkaScramCredential():
            body = _text(record.name) + struct.pack(">b", record.mechanism)
            body += _bytes(record.salt) + _bytes(record.stored_key) + _bytes(record.server_key)
            return _frame(SCRAM_CREDENTIAL, 0, body + struct.pack(">i", record.iterations))
        case KafkaRemovedScramCredential():
            return _frame(REMOVE_SCRAM_CREDENTIAL, 0, _text(record.name) + struct.pack(">b", record.mechanism))
        case KafkaProducerIds():
            return _frame(PRODUCER_IDS, 0, struct.pack(">iqq", node_id, -1, record.next_producer_id))
        case KafkaAcl():
            body = record.acl_id + struct.pack(">b", record.resource_type) + _text(record.resource_name)
            body += struct.pack(">b", record.pattern_type) + _text(record.principal) + _text(record.host)
            return _frame(ACL, 0, body + struct.pack(">bb", record.operation, record.permission_type))
        case KafkaRemovedAcl():
            return _frame(REMOVE_ACL, 0, record.acl_id)
        case KafkaTransaction():
            return _frame(record.api_key, 0, b"")


def _frame(api_key: int, version: int, body: bytes, tags: bytes = b"\x00") -> bytes:
    """A frame around a record, by default without tagged fields."""
    return _unsigned(FRAME_VERSION) + _unsigned(api_key) + _unsigned(version) + body + tags


def _unsigned(value: int) -> bytes:
    encoded = bytearray()
    while value >= 0x80:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)


def _text(value: str | None) -> bytes:
    """A compact nullable string."""
    if value is None:
        return b"\x00"
    encoded = value.encode()
    return _unsigned(len(encoded) + 1) + encoded


def _bytes(value: bytes) -> bytes:
    """Compact bytes."""
    return _unsigned(len(value) + 1) + value


class _Reader:
    """Reads fields in turn. Raises KafkaMetadataError at the end of the bytes."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._position = 0

    def read(self, size: int) -> bytes:
        field_bytes = self._data[self._position : self._position + size]
        if len(field_bytes) < size:
            raise KafkaMetadataError(f"a record ends after {len(self._data)} bytes, within a field")
        self._position += size
        return field_bytes

    def unsigned(self) -> int:
        value = 0
        for place in range(VARINT_BYTES_MAX):
            (byte,) = self.read(1)
            value |= (byte & 0x7F) << 7 * place
            if byte < 0x80:
                return value
        raise KafkaMetadataError("a number of too many bytes")

    def count(self) -> int:
        """The length of a compact array, which may be null."""
        count = max(self.unsigned() - 1, 0)
        if count > len(self._data):
            raise KafkaMetadataError(f"an array of {count} elements in {len(self._data)} bytes")
        return count

    def tags(self) -> dict[int, bytes]:
        """The tagged fields, which end a record or an element."""
        tags = {}
        for _ in range(self.unsigned()):
            tag, size = self.unsigned(), self.unsigned()
            tags[tag] = self.read(size)
        return tags

    def uuids(self) -> tuple[bytes, ...]:
        return tuple(self.read(16) for _ in range(self.count()))

    def int8(self) -> int:
        return int.from_bytes(self.read(1), "big", signed=True)

    def int16(self) -> int:
        return int.from_bytes(self.read(2), "big", signed=True)

    def int32(self) -> int:
        return int.from_bytes(self.read(4), "big", signed=True)

    def int64(self) -> int:
        return int.from_bytes(self.read(8), "big", signed=True)

    def int32s(self) -> tuple[int, ...]:
        return tuple(self.int32() for _ in range(self.count()))

    def float64(self) -> float:
        value: float = struct.unpack(">d", self.read(8))[0]
        return value

    def sized_bytes(self) -> bytes:
        return self.read(max(self.unsigned() - 1, 0))

    def nullable_text(self) -> str | None:
        length = self.unsigned()
        return None if length == 0 else self.read(length - 1).decode()

    def text(self) -> str:
        text = self.nullable_text()
        if text is None:
            raise KafkaMetadataError("a text is null")
        return text
