from collections.abc import Callable, Iterable

from _wire.batches import BatchHeader

DECOMPRESSED_BYTES_MAX: int

class Record:
    """One record. `offset` is absolute if it was read from a log. Timestamps are ms since the epoch, or -1."""

    def __init__(
        self,
        *,
        offset: int = 0,
        timestamp_ms: int = -1,
        key: bytes | None = None,
        value: bytes | None = None,
        headers: Iterable[tuple[str, bytes | None]] = (),
    ) -> None: ...
    @property
    def offset(self) -> int: ...
    @property
    def timestamp_ms(self) -> int: ...
    @property
    def key(self) -> bytes | None: ...
    @property
    def value(self) -> bytes | None: ...
    @property
    def headers(self) -> tuple[tuple[str, bytes | None], ...]: ...

def parse_batch(
    data: bytes | bytearray | memoryview, start: int = 0, decompressed_bytes_max: int = ...
) -> tuple[BatchHeader, list[Record]]:
    """Parse the batch at `start` and its records, in any format.

    Raises:
        CorruptBatch: as `batch_headers`; also an incomplete batch, records that do not fill it or are fewer than it
            says, and more than `decompressed_bytes_max` bytes of them.
    """

def find_timestamp(
    data: bytes | bytearray | memoryview,
    timestamp_ms: int,
    from_offset: int = 0,
    pause: Callable[[], object] | None = None,
) -> tuple[int, int, int] | None:
    """Return offset, timestamp and leader epoch of the first record with this timestamp or a later one.

    `data` is one batch of format 2; records before `from_offset` are passed over. None if there is no such record.
    `pause` is called after some thousand records, as in `Message.decode`. Raises CorruptBatch.
    """

def find_max_timestamp(
    data: bytes | bytearray | memoryview, pause: Callable[[], object] | None = None
) -> tuple[int, int, int] | None:
    """Return offset, timestamp and leader epoch of the first record with the greatest timestamp of a batch of format 2.

    Raises CorruptBatch.
    """

def parse_records(
    data: bytes | bytearray | memoryview, start: int = 0, decompressed_bytes_max: int = ...
) -> list[Record]:
    """Parse the records of all batches in `data`, which are complete. The limit is per batch. Raises CorruptBatch."""
