from _wire.structs import Buffer
from coordinator.log.compaction.offset_map import OffsetMap
from coordinator.log.compaction.transactions import Transactions

class KeyScan:
    """Puts the keys of records into an offset map; those of aborted transactions are left out."""

    def __init__(self, map: OffsetMap, transactions: Transactions, from_offset: int) -> None:
        """Records before `from_offset` are passed over. The transactions begin another pass."""

    @property
    def is_full(self) -> bool:
        """Whether a key had no room: nothing is added any more."""

    def add(self, data: Buffer) -> int:
        """Add the records of the next batches; return how many bytes whole batches have.

        Raises:
            CorruptBatch: a batch is damaged.
            MemoryError: the map cannot grow.
        """

    def end_segment(self, next_base_offset: int) -> None:
        """Note that no record comes any more before this offset."""
