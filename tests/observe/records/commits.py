"""Records of `__consumer_offsets` as Kafka writes them, made here."""

from _wire.embedded import encode_versioned
from _wire.messages.group_metadata_record import GroupMetadataKey, GroupMetadataValue
from _wire.messages.offset_commit_record import OffsetCommitKey, OffsetCommitValue

KeyAndValue = tuple[bytes, bytes | None]


def commit_key(group_id: str, topic: str = "orders", partition: int = 0, version: int = 1) -> bytes:
    return encode_versioned(OffsetCommitKey(group=group_id, topic=topic, partition=partition), version)


def commit(
    group_id: str, topic: str = "orders", partition: int = 0, offset: int = 0, version: int = 3, at_ms: int = 1
) -> KeyAndValue:
    value = OffsetCommitValue(offset=offset, metadata="", commit_timestamp=at_ms)
    return commit_key(group_id, topic, partition), encode_versioned(value, version)


def generation(group_id: str, generation_id: int) -> KeyAndValue:
    """Of an empty classic group."""
    value = GroupMetadataValue(protocol_type="consumer", generation=generation_id, members=[])
    return encode_versioned(GroupMetadataKey(group=group_id), 2), encode_versioned(value, 3)
