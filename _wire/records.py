"""Reads and builds record batches: the names of the modules for batches that most code needs."""

from _wire.batch_builder import build_batch
from _wire.batch_reader import (
    DECOMPRESSED_BYTES_MAX,
    Record,
    find_max_timestamp,
    find_timestamp,
    parse_batch,
    parse_records,
)
from _wire.batch_validator import InvalidBatch, validate_batch
from _wire.batches import (
    BATCH_HEADER_BYTES,
    NO_TIMESTAMP,
    BatchHeader,
    CorruptBatch,
    batch_headers,
    damaged_batch,
    end_of_whole_batches,
    find_batch,
    next_offset_after,
    place_batch,
    place_batches,
    set_batch_position,
    set_log_append_time,
)

__all__ = [
    "BATCH_HEADER_BYTES",
    "DECOMPRESSED_BYTES_MAX",
    "NO_TIMESTAMP",
    "BatchHeader",
    "CorruptBatch",
    "InvalidBatch",
    "Record",
    "batch_headers",
    "build_batch",
    "damaged_batch",
    "end_of_whole_batches",
    "find_batch",
    "find_max_timestamp",
    "find_timestamp",
    "next_offset_after",
    "parse_batch",
    "parse_records",
    "place_batch",
    "place_batches",
    "set_batch_position",
    "set_log_append_time",
    "validate_batch",
]
