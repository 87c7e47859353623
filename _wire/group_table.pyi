from collections.abc import Iterator

IDS_BYTES_MAX: int
"""Of all ids of a table."""

class GroupTable:
    """Groups by id, and what they committed, as a `GroupRecordScan` finds them."""

    def __init__(self, groups_max: int) -> None:
        """Raises ValueError: `groups_max` is not 1 to 2^30 - 1."""
    @property
    def groups_max(self) -> int: ...
    @property
    def left_out(self) -> int:
        """Records of groups that found no place."""
    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[tuple[bytes, int, int]]:
        """Id, committed offsets, and when the last one was committed (ms since the epoch; -1: none was)."""
