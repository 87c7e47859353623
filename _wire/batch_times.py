"""The timestamp of a record as far as the header of its batch tells it, without its records (DefaultRecordBatch)."""

from struct import Struct
from typing import Final

_HEAD: Final = Struct(">16xb4xh4xqq")  # magic, attributes, base timestamp, largest timestamp
HEAD_BYTES: Final = _HEAD.size
"""The part of a batch that is read."""

RECORD_FORMAT: Final = 2
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
