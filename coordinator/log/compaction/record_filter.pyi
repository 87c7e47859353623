from _wire.structs import Buffer
from coordinator.log.compaction.offset_map import OffsetMap
from coordinator.log.compaction.transactions import Transactions

class RecordFilter:
    """Reads the batches of a log in order, and writes what stays of them, segment by segment."""

    def __init__(
        self,
        map: OffsetMap,
        transactions: Transactions,
        now_ms: int,
        delete_retention_ms: int,
        index_interval_bytes: int,
    ) -> None:
        """Records after `map.latest_offset` stay. The transactions begin another pass."""

    @property
    def size_bytes(self) -> int:
        """Of all batches written to this segment; so are the following."""

    @property
    def next_offset(self) -> int: ...
    @property
    def first_timestamp_ms(self) -> int: ...
    @property
    def max_timestamp_ms(self) -> int: ...
    @property
    def offset_of_max_timestamp(self) -> int: ...
    @property
    def records_read(self) -> int:
        """Of all segments."""

    @property
    def records_kept(self) -> int:
        """Of all segments."""

    @property
    def output(self) -> memoryview:
        """The batches that the last `filter` kept. The next call overwrites this memory."""

    def begin_segment(self, base_offset: int, keep_batch_before: int) -> None:
        """Begin another segment. The batch that ends before `keep_batch_before` stays, if necessary empty."""

    def filter(self, data: Buffer) -> int:
        """Filter the next batches into `output`; return how many bytes whole batches have.

        Raises:
            CorruptBatch: a batch is damaged, or what is left of the segment has more than 2^31 - 1 bytes.
            MemoryError: there is no memory.
        """

    def pop_index_entries(self) -> list[tuple[int, int, int, int]]:
        """Return the index entries that came since the last call, in order.

        Last offset and position of a batch; the greatest timestamp up to it, and the offset of that timestamp.
        """
