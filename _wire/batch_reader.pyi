from collections.abc import Iterable

from _wire.batches import BatchHeader

DECOMPRESSED_BYTES_MAX: int

class Record:
    """One record. Read from the log it has its absolute offset; timestamps are ms since the epoch, -1 for none."""

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
    """The batch at `start` and its records, of any format.

    Raises:
        CorruptBatch: as `batch_headers`; also an incomplete batch, records that do not fill it or are fewer than it
            says, and more than `decompressed_bytes_max` bytes of them.
    """

def parse_records(
    data: bytes | bytearray | memoryview, start: int = 0, decompressed_bytes_max: int = ...
) -> list[Record]:
    """The records of all batches, which lie whole in `data`; the limit holds for each batch. Raises CorruptBatch."""
