"""What the header of a batch tells of its records without them (DefaultRecordBatch)."""

from collections.abc import Iterator
from struct import Struct
from typing import Final, NamedTuple

_HEAD: Final = Struct(">16xb4xh4xqq")  # magic, attributes, base timestamp, largest timestamp
HEAD_BYTES: Final = _HEAD.size
"""The part of a batch that is read."""

_PLACE: Final = Struct(">qi4xb4xhi")  # base offset, length, magic, attributes, last offset delta
LENGTH_END: Final = 12
RECORD_FORMAT: Final = 2
CONTROL_FLAG: Final = 0x20
LOG_APPEND_TIME_FLAG: Final = 0x08
DELETE_HORIZON_FLAG: Final = 0x40
"""The field of the base timestamp has another time (KIP-534)."""


def batch_timestamp(batch: bytes | memoryview) -> int | None:
    """The timestamp of the records of a batch, in ms; None if they have none, or are of an old format.

    With LogAppendTime it is that of all of them, otherwise that of the first one, or, where compaction has replaced
    that, the largest.
    """
    if len(batch) < HEAD_BYTES:
        return None
    magic, attributes, base_ms, largest_ms = _HEAD.unpack_from(batch)
    if magic != RECORD_FORMAT:
        return None
    has_base = not attributes & (LOG_APPEND_TIME_FLAG | DELETE_HORIZON_FLAG)
    timestamp_ms: int = base_ms if has_base else largest_ms
    return timestamp_ms if timestamp_ms >= 0 else None


class Placed(NamedTuple):
    """Where a batch is: the offset after its last record, and whether it has only a marker of a transaction."""

    base_offset: int
    next_offset: int
    is_control: bool
    position: int
    size_bytes: int


def placed_batches(data: bytes | memoryview) -> Iterator[Placed]:
    """The batches of which at least the header is there, up to the first one of an old format."""
    position = 0
    while len(data) - position >= HEAD_BYTES:
        base_offset, length, magic, attributes, last_delta = _PLACE.unpack_from(data, position)
        if magic != RECORD_FORMAT or length < HEAD_BYTES - LENGTH_END:
            return
        size_bytes = LENGTH_END + length
        is_control = bool(attributes & CONTROL_FLAG)
        yield Placed(base_offset, base_offset + last_delta + 1, is_control, position, size_bytes)
        position += size_bytes
