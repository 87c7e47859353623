"""Formats that lie inside other bytes behind an int16: records of internal topics, the consumers' own protocol.

For a value and for the consumer protocol the int16 is the version. For a key it is the record type, which we take for
the key's version, as Kafka did until 4.0: the bytes are the same.
"""

from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import TypeVar

from _wire.errors import MalformedMessage
from _wire.messages import RECORD_MODULES
from _wire.primitives import Buffer, Message

PREFIX_BYTES = 2
OFFSETS_TOPIC = "__consumer_offsets"


@dataclass(frozen=True, slots=True)
class RecordFormat:
    """What the records of one type look like; a record without a value is a tombstone."""

    key: type[Message]
    value: type[Message]


def _format(module_name: str) -> RecordFormat:
    module = import_module(f"_wire.messages.{module_name}")
    name = "".join(word.capitalize() for word in module_name.removesuffix("_record").split("_"))
    return RecordFormat(getattr(module, f"{name}Key"), getattr(module, f"{name}Value"))


@cache
def record_formats(topic: str) -> dict[int, RecordFormat]:
    """The formats of an internal topic's records, by record type; imported when they are first asked for."""
    return {record_type: _format(module_name) for record_type, module_name in RECORD_MODULES[topic].items()}


@cache
def _values_by_key() -> dict[type[Message], type[Message]]:
    return {each.key: each.value for topic in RECORD_MODULES for each in record_formats(topic).values()}


def value_of(key: type[Message]) -> type[Message]:
    """The class of the value that goes with a class of keys. Raises KeyError for a class that is no key."""
    return _values_by_key()[key]


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


def decode_key(data: Buffer, topic: str = OFFSETS_TOPIC) -> Message | None:
    """The key of a record of an internal topic; None if its record type is not one of ours."""
    record = record_formats(topic).get(prefix_of(data))
    return None if record is None else decode_versioned(record.key, data)


def decode_value(key: Message, data: Buffer) -> Message:
    """The value of the record that `key`, which decode_key gave, is the key of."""
    return decode_versioned(value_of(type(key)), data)
