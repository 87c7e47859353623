"""Formats that are embedded in other bytes after an int16: records of internal topics, and the consumer protocol.

For a value and for the consumer protocol the int16 is the version. For a key it is the record type, which we take for
the key's version, as Kafka did until 4.0: the bytes are the same.
"""

from functools import cache
from importlib import import_module
from typing import TypeVar

import msgspec

from _wire.errors import MalformedMessage
from _wire.messages import RECORD_MODULES
from _wire.structs import Buffer, Message

PREFIX_BYTES = 2
OFFSETS_TOPIC = "__consumer_offsets"


class RecordFormat(msgspec.Struct, frozen=True):
    """The formats of the records of one type. A record without a value is a tombstone."""

    key: type[Message]
    value: type[Message]


def _format(module_name: str) -> RecordFormat:
    module = import_module(f"_wire.messages.{module_name}")
    name = "".join(word.capitalize() for word in module_name.removesuffix("_record").split("_"))
    return RecordFormat(getattr(module, f"{name}Key"), getattr(module, f"{name}Value"))


@cache
def record_formats(topic: str) -> dict[int, RecordFormat]:
    """Record type → formats of the records of an internal topic, imported at their first use."""
    return {record_type: _format(module_name) for record_type, module_name in RECORD_MODULES[topic].items()}


@cache
def _values_by_key() -> dict[type[Message], type[Message]]:
    return {
        record_format.key: record_format.value
        for topic in RECORD_MODULES
        for record_format in record_formats(topic).values()
    }


def value_of(key: type[Message]) -> type[Message]:
    """The class of the values for a class of keys. Raises KeyError for any other class."""
    return _values_by_key()[key]


M = TypeVar("M", bound=Message)

PREFIXES = tuple(version.to_bytes(PREFIX_BYTES, "big") for version in range(32))
"""Those of all versions and record types that there are."""


def encode_versioned(message: Message, version: int) -> bytes:
    """Encode the version as an int16, followed by the message. Raises ValueError for an unknown version."""
    encoded = message.encode(version)
    return PREFIXES[version] + encoded


def prefix_of(data: Buffer) -> int:
    """Read the int16 at the start: a version, or the record type of a key."""
    if len(data) < PREFIX_BYTES:
        raise MalformedMessage("version", 0, "", len(data), f"truncated: {PREFIX_BYTES} bytes wanted, {len(data)} left")
    return int.from_bytes(data[:PREFIX_BYTES], "big", signed=True)


def decode_versioned(kind: type[M], data: Buffer) -> M:
    """Decode a message in the version that the bytes begin with. Raises MalformedMessage for an unknown version."""
    version = prefix_of(data)
    if not kind.MIN_VERSION <= version <= kind.MAX_VERSION:
        raise MalformedMessage(kind.NAME, version, "", 0, f"version is not {kind.MIN_VERSION} to {kind.MAX_VERSION}")
    return kind.decode(data, version, PREFIX_BYTES)


def decode_key(data: Buffer, topic: str = OFFSETS_TOPIC) -> Message | None:
    """Decode the key of a record of an internal topic; None for an unknown record type."""
    record = record_formats(topic).get(prefix_of(data))
    return None if record is None else decode_versioned(record.key, data)


def decode_value(key: Message, data: Buffer) -> Message:
    """Decode the value of a record with `key`, which `decode_key` returned."""
    return decode_versioned(value_of(type(key)), data)
