"""Compresses a produced batch again where `compression.type` asks for another compression (LogValidator.java)."""

import struct
from typing import Final

from _wire.checksums import checksum
from _wire.compression import COMPRESSIONS, BadCompression, DecompressedTooLarge, compress_at_level, decompress
from _wire.errors import ErrorCode
from _wire.records import BATCH_HEADER_BYTES, BatchHeader, InvalidBatch, batch_headers
from coordinator.log.config import TargetCompression
from coordinator.log.partition.partition_log import PartitionLog

LENGTH: Final = struct.Struct(">i")
LENGTH_AT: Final = 8
LENGTH_END: Final = 12
CHECKSUM: Final = struct.Struct(">I")
CHECKSUM_AT: Final = 17
ATTRIBUTES: Final = struct.Struct(">h")
ATTRIBUTES_AT: Final = 21
"""In a record batch (KIP-98). The checksum covers what comes from the attributes on."""
TRANSACTIONAL_FLAG: Final = 0x10

SMALL_BYTES: Final = 16 * 1024
"""Of records: compressing more takes longer than 0.5 ms with some compression and level, and so is done in a thread."""
SLOW_SMALL_BYTES: Final = 1024
SLOW_ZSTD_LEVEL: Final = 10
"""From this level on zstd takes up to 100 times as long as usual: a ms for 4 KiB."""


class Recompression:
    """A batch that was validated, and is appended when its records have the compression of its topic."""

    def __init__(
        self,
        log: PartitionLog,
        header: BatchHeader,
        batch: bytearray,
        target: TargetCompression,
        decompressed_bytes_max: int,
    ) -> None:
        self.log = log
        """That of the partition when the batch was validated."""
        self._header = header
        self._batch = batch
        self._target = target
        self._batch_bytes_max = log.config.max_message_bytes
        self._decompressed_bytes_max = decompressed_bytes_max
        self._result: tuple[BatchHeader, bytearray] | Exception | None = None

    def run_if_small(self) -> bool:
        """Do the work if it takes less than about a ms; return whether it is done."""
        is_slow = self._target.compression == "zstd" and self._target.level >= SLOW_ZSTD_LEVEL
        bytes_max = SLOW_SMALL_BYTES if is_slow else SMALL_BYTES
        if len(self._batch) - BATCH_HEADER_BYTES > bytes_max:
            return False
        try:
            plain = self._plain_records(min(bytes_max, self._decompressed_bytes_max))
        except DecompressedTooLarge:
            return False
        except BadCompression as problem:
            self._result = _undecompressable(problem)
            return True
        self._finish(plain)
        return True

    def run(self) -> None:
        """Do the work, in any thread. `result` raises what fails."""
        try:
            self._finish(self._plain_records(self._decompressed_bytes_max))
        except BadCompression as problem:
            self._result = _undecompressable(problem)
        except Exception as problem:
            self._result = problem

    def result(self) -> tuple[BatchHeader, bytearray]:
        """Return the header and the batch to append, after `run`.

        Raises:
            InvalidBatch: MESSAGE_TOO_LARGE: the batch has more than max.message.bytes now, as Kafka checks it too.
        """
        assert self._result is not None, "it has not run"
        if isinstance(self._result, Exception):
            raise self._result
        return self._result

    def _plain_records(self, bytes_max: int) -> bytes | bytearray | memoryview:
        records = memoryview(self._batch)[BATCH_HEADER_BYTES:]
        compression = self._header.compression
        if compression != "none":
            return decompress(compression, records, bytes_max)
        return records

    def _finish(self, plain: bytes | bytearray | memoryview) -> None:
        target = self._target
        records = compress_at_level(target.compression, plain, target.level)
        size_bytes = BATCH_HEADER_BYTES + len(records)
        if size_bytes > self._batch_bytes_max:
            self._result = InvalidBatch(
                ErrorCode.MESSAGE_TOO_LARGE,
                f"a batch has {size_bytes} bytes with compression.type={target.compression}, "
                f"but max.message.bytes is {self._batch_bytes_max}",
            )
            return
        batch = self._batch[:BATCH_HEADER_BYTES] + records
        # Only these mean something in the attributes of a batch that a client sends: Kafka drops the others here, too.
        attributes = COMPRESSIONS.index(target.compression) | self._header.is_transactional * TRANSACTIONAL_FLAG
        LENGTH.pack_into(batch, LENGTH_AT, size_bytes - LENGTH_END)
        ATTRIBUTES.pack_into(batch, ATTRIBUTES_AT, attributes)
        CHECKSUM.pack_into(batch, CHECKSUM_AT, checksum(memoryview(batch)[ATTRIBUTES_AT:]))
        (header,) = batch_headers(batch, 0, False)
        self._result = header, batch


def _undecompressable(problem: BadCompression) -> InvalidBatch:
    return InvalidBatch(ErrorCode.INVALID_RECORD, f"the records cannot be decompressed: {problem}")
