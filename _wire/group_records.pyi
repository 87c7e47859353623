from collections.abc import Container

from _wire.batch_reader import Record
from _wire.group_table import GroupTable

FOUND_BYTES_MAX: int
"""Keys and values after which a scan returns what it has found, at the end of a batch."""
PRODUCERS_MAX: int
"""Transactions that are open at the same time, whose commits are remembered."""
PROBLEMS_MAX: int
"""Problems that are kept; further ones are counted."""

class CommitCounts:
    """Committed offsets, and the timestamps of the first and last (ms since the epoch; -1: there is none)."""

    @property
    def commits(self) -> int: ...
    @property
    def first_ms(self) -> int: ...
    @property
    def last_ms(self) -> int: ...

class GroupRecordScan:
    """Finds the records of one group, or of several, in batches of one partition; counts all that it passes over.

    With `group`, records of that id; its commits are counted, and with `offsets_max` the last committed offset is kept
    for that many partitions. Commits of a transaction count when it is committed. Without `group`, the records of all
    groups whose id is in `group_ids` (None: of all); `table` gets the commits of all groups, those of transactions too.
    """

    def __init__(
        self,
        group: bytes | None = None,
        *,
        group_ids: Container[bytes] | None = None,
        table: GroupTable | None = None,
        offsets_max: int = 0,
    ) -> None:
        """Raises ValueError: `group` together with `group_ids` or `table`."""

    def scan(
        self,
        data: bytes | bytearray | memoryview,
        position: int = 0,
        from_offset: int = 0,
        end_offset: int = ...,
        high_watermark: int = ...,
    ) -> tuple[list[Record], int]:
        """The records of groups (no commits) in the batches from `position` on, and the position at which to go on.

        That is the size of `data` when all is scanned; a last batch that is cut short counts as scanned. Offsets below
        `from_offset`, or below those of an earlier call, and from `end_offset` on are passed over. A batch that cannot
        be read is a problem, and passed over; none can begin at `high_watermark` or later.

        Raises:
            ValueError: `position` lies outside of `data`.
        """
    def go_back_to(self, offset: int) -> None:
        """Take offsets from this one on again, as other records may have them by now."""
    @property
    def next_offset(self) -> int:
        """The offset after all that was scanned."""
    @property
    def is_stuck(self) -> bool:
        """Whether the last call ended at a batch that cannot be read, and nothing tells where the next one begins."""
    @property
    def skip_to(self) -> int:
        """If it is stuck: the offset after that batch, as far as the batch can be believed; -1 if it cannot."""
    @property
    def problems(self) -> list[tuple[int, str]]:
        """Offset and what is wrong there, of the first PROBLEMS_MAX."""
    @property
    def problem_count(self) -> int: ...
    @property
    def commits(self) -> CommitCounts:
        """Of `group`."""
    @property
    def offsets(self) -> dict[bytes, tuple[int, int]]:
        """Topic and partition, as in the key of the record, → offset committed last, and when (ms since the epoch)."""
    @property
    def offsets_left_out(self) -> int:
        """Commits of partitions beyond `offsets_max`."""
    @property
    def deleted(self) -> int:
        """Committed offsets of `group` that were deleted or expired."""
    @property
    def aborted(self) -> int:
        """Commits of `group` in transactions that were aborted."""
    @property
    def pending(self) -> int:
        """Commits of `group` in transactions that have not ended."""
    @property
    def markers(self) -> int:
        """Ends of transactions."""
    @property
    def keyless(self) -> int:
        """Records without a key that has a type and a group."""
    @property
    def records(self) -> int: ...
    @property
    def batches(self) -> int: ...
    @property
    def committed(self) -> int:
        """Committed offsets of all groups, with those that were deleted."""
    @property
    def types(self) -> dict[int, int]:
        """Record type → records of all groups. 63 stands for itself and all later ones."""
    @property
    def types_of_group(self) -> dict[int, int]:
        """Record type → records of `group`."""
