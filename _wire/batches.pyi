from _wire.errors import MalformedMessage

NO_TIMESTAMP: int
BATCH_HEADER_BYTES: int

class CorruptBatch(MalformedMessage):
    """The bytes are not record batches: a checksum or length is wrong, or the records do not fill their batch."""

class BatchHeader:
    """The header of a batch. Only this module creates it.

    The older formats (magic 0 and 1) have messages instead of batches. A single one is a batch of one record. Of a
    compressed one only the last offset is known before it is parsed: `batch_headers` gives it as `base_offset` too,
    and -1 as `record_count`; `parse_batch` gives the real ones.
    """

    @property
    def position(self) -> int:
        """The index of the first byte in the data that was parsed."""
    @property
    def size_in_bytes(self) -> int:
        """The size of the batch, with its offset and length fields."""
    @property
    def base_offset(self) -> int: ...
    @property
    def last_offset(self) -> int: ...
    @property
    def next_offset(self) -> int:
        """The offset after the last record of the batch."""
    @property
    def partition_leader_epoch(self) -> int: ...
    @property
    def magic(self) -> int: ...
    @property
    def crc(self) -> int: ...
    @property
    def compression(self) -> str:
        """One of `_wire.compression.COMPRESSIONS`."""
    @property
    def timestamp_type(self) -> str:
        """CreateTime, LogAppendTime, or NoTimestampType (magic 0)."""
    @property
    def base_timestamp_ms(self) -> int: ...
    @property
    def max_timestamp_ms(self) -> int: ...
    @property
    def delete_horizon_ms(self) -> int | None:
        """The time from which compaction may remove the tombstones of the batch (KIP-534)."""
    @property
    def producer_id(self) -> int: ...
    @property
    def producer_epoch(self) -> int: ...
    @property
    def base_sequence(self) -> int: ...
    @property
    def last_sequence(self) -> int:
        """The sequence wraps from 2^31 - 1 to 0; -1 if there is none."""
    @property
    def record_count(self) -> int: ...
    @property
    def is_transactional(self) -> bool: ...
    @property
    def is_control(self) -> bool: ...

def batch_headers(data: bytes | bytearray | memoryview, start: int = 0, check_crc: bool = True) -> list[BatchHeader]:
    """Parse the headers of all batches in `data`. An incomplete last batch is left out.

    Raises:
        CorruptBatch: a batch with an impossible length, an unknown format, or a wrong checksum.
    """

def set_batch_position(buffer: bytearray, start: int, base_offset: int, partition_leader_epoch: int) -> None:
    """Set the two fields of the batch at `start` that depend on its log; the checksum does not cover them.

    Raises:
        CorruptBatch: no whole header of format 2 at `start`.
    """

def set_log_append_time(buffer: bytearray, start: int, timestamp_ms: int) -> None:
    """Set the append time of the records of the batch at `start`, and compute its checksum again.

    Raises:
        CorruptBatch: no whole batch of format 2 at `start`.
    """

def place_batches(
    buffer: bytearray, base_offset: int, partition_leader_epoch: int, check_crc: bool = True
) -> list[BatchHeader]:
    """Assign offsets from `base_offset` on to all batches of `buffer`, in place; return their new headers.

    Raises:
        CorruptBatch: `buffer` is not one or more whole batches of format 2 and nothing else.
    """

def place_batch(
    header: BatchHeader,
    buffer: bytearray,
    base_offset: int,
    partition_leader_epoch: int,
    log_append_time_ms: int = -1,
) -> None:
    """Assign offsets from `base_offset` on to the one batch in `buffer`, in place, and in its header.

    `log_append_time_ms` is that of its records, unless it is -1.

    Raises:
        CorruptBatch: `buffer` has another size than the header says, or no offset is left. Nothing is changed.
    """

def find_batch(
    data: bytes | bytearray | memoryview, offset: int, lowest_offset: int = -1, may_have_gaps: bool = True
) -> tuple[int, bool]:
    """The position of the first batch of format 2 whose last offset is `offset` or later, from the headers alone.

    False with it when that was not found: the search then has to go on at that position, which may lie beyond `data`.
    The first batch begins at `lowest_offset` (-1: not known) or later.

    Raises:
        CorruptBatch: a batch with an impossible length, of another format, or with offsets that go backwards; or a gap
            between offsets unless there `may_have_gaps`.
    """

def end_of_whole_batches(data: bytes | bytearray | memoryview, before_offset: int = ...) -> int:
    """The end of the last complete batch of format 2 in `data` that begins before `before_offset`.

    A batch with an impossible length ends the search, too.
    """

def next_offset_after(data: bytes | bytearray | memoryview) -> int:
    """The offset after the last of the whole batches of format 2 in `data`; 0 if there are none."""

def damaged_batch(data: bytes | memoryview, offset: int) -> int:
    """Return the position of the first batch that seems damaged; -1 if there is none.

    Its checksum is wrong, it is not whole, it lies before the batch that it follows, or it is the first one and ends
    before `offset` (2**63 - 1: any may be the first), or lies after it, as only in a compacted log.
    """
