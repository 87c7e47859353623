from coordinator.core.kinds.stored import StoredGroups

class BatchReplay:
    """Applies the batches of `__consumer_offsets` to groups, in their order and in steps.

    The metadata of groups is decoded at the end, by `StoredGroups.decode_groups`.
    """

    def __init__(self, groups: StoredGroups, next_offset: int = 0) -> None:
        """`next_offset`: no batch may begin before it."""

    @property
    def next_offset(self) -> int:
        """The offset after the last batch that was applied completely."""

    def open(self, data: bytes, end_offset: int) -> None:
        """Go on with whole batches of format 2, which end before `end_offset`.

        What was opened before has to be at its end.
        """

    def step(self, records_max: int) -> bool:
        """Apply up to so many records; return False when there are none left. Checksums are verified.

        Raises:
            MalformedMessage: a batch or a record of a known type is damaged.
        """
