"""Formats that lie inside other bytes behind an int16: records of the offsets topic, the consumers' own protocol.

For a value and for the consumer protocol the int16 is the version. For a key of the offsets topic it is the record
type, which we take for the key's version, as Kafka did until 4.0: the bytes are the same.
"""

from typing import TypeVar

from _wire.errors import MalformedMessage
from _wire.messages.group_metadata_key import GroupMetadataKey
from _wire.messages.offset_commit_key import OffsetCommitKey
from _wire.primitives import Buffer, Message

PREFIX_BYTES = 2
KEYS: dict[int, type[OffsetCommitKey] | type[GroupMetadataKey]] = {
    version: key
    for key in (OffsetCommitKey, GroupMetadataKey)
    for version in range(key.MIN_VERSION, key.MAX_VERSION + 1)
}

M = TypeVar("M", bound=Message)


def encode_versioned(message: Message, version: int) -> bytes:
    """The int16 and the message behind it; ValueError if the message has no such version."""
    return version.to_bytes(PREFIX_BYTES, "big", signed=True) + message.encode(version)


def prefix_of(data: Buffer) -> int:
    """The int16 at the start: the version, or the record type of a key."""
    if len(data) < PREFIX_BYTES:
        raise MalformedMessage("version", 0, "", len(data), f"truncated: {PREFIX_BYTES} bytes wanted, {len(data)} left")
    return int.from_bytes(data[:PREFIX_BYTES], "big", signed=True)


def decode_versioned(kind: type[M], data: Buffer) -> M:
    """The message of `kind` in the version that the bytes begin with; MalformedMessage if there is no such version."""
    version = prefix_of(data)
    if not kind.MIN_VERSION <= version <= kind.MAX_VERSION:
        raise MalformedMessage(kind.NAME, version, "", 0, f"version is not {kind.MIN_VERSION} to {kind.MAX_VERSION}")
    return kind.decode(data, version, PREFIX_BYTES)


def decode_from_peer(kind: type[M], data: Buffer) -> M:
    """As decode_versioned, for what a client of any age wrote: later versions are read as the latest we know.

    Bytes may follow. So do Kafka's clients with each other's subscriptions and assignments (ConsumerProtocol.java).
    """
    version = prefix_of(data)
    if version < kind.MIN_VERSION:
        raise MalformedMessage(kind.NAME, version, "", 0, f"version is less than {kind.MIN_VERSION}")
    return kind.decode(data, min(version, kind.MAX_VERSION), PREFIX_BYTES, whole=False)


def decode_key(data: Buffer) -> OffsetCommitKey | GroupMetadataKey | None:
    """The key of a record of the offsets topic; None if its record type is not one of ours."""
    kind = KEYS.get(prefix_of(data))
    return None if kind is None else decode_versioned(kind, data)
