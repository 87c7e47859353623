from collections.abc import Sequence

from _wire.batches import BatchHeader
from _wire.errors import ErrorCode

class InvalidBatch(Exception):
    """A batch that a Produce request may not have. `record_errors` has the index of each record to blame, and why."""

    error: ErrorCode
    record_errors: Sequence[tuple[int, str]]
    names_log_start: bool
    """Whether the response names the first offset of the log: the log has rejected the batch, not the request.

    As in `ReplicaManager.appendToLocalLog`, not if the batch is corrupt or too large.
    """

    def __init__(
        self, error: ErrorCode, why: str, record_errors: Sequence[tuple[int, str]] = (), names_log_start: bool = True
    ) -> None: ...

def validate_batch(
    data: bytes | bytearray | memoryview | None,
    api_version: int,
    batch_bytes_max: int,
    earliest_ms: int,
    latest_ms: int,
    decompressed_bytes_max: int,
    keys_required: bool = False,
) -> tuple[BatchHeader, bytearray]:
    """Check the data of one partition of a Produce request; return the header and a copy of the batch to append.

    The copy has the bytes as they came, without those of an incomplete second batch. Only where its max timestamp is
    not that of its records, or its timestamp type is LogAppendTime, these two and the checksum are corrected, as by
    Kafka. `earliest_ms` and `latest_ms` are inclusive bounds of the timestamps of records; records without one pass.

    Stricter than Kafka 4.3, whose consumers could not read such records or would skip some: the offset deltas must be
    0, 1, 2, ... also in an uncompressed batch, lengths below -1 are not allowed, and the sizes of compressed records
    must be right. The timestamps of a LogAppendTime batch, which is stored as a CreateTime one, are checked too.

    Raises:
        InvalidBatch: with one of these errors:
            CORRUPT_MESSAGE: the checksum or the length of the batch is wrong.
            INVALID_RECORD: no batch or more than one, not of format 2, a control batch, a base offset other than 0, a
                producer id without a sequence, or records that are not what the header says.
                Or records without a key although `keys_required`; the first 1000 are in `record_errors`.
            INVALID_TIMESTAMP: records outside of the bounds; the first 1000 are in `record_errors`.
            MESSAGE_TOO_LARGE: the batch has more than `batch_bytes_max` bytes, or its records have more than
                `decompressed_bytes_max` after decompression.
            UNSUPPORTED_COMPRESSION_TYPE: an unknown compression, or zstd before version 7 of Produce (KIP-110).
    """
