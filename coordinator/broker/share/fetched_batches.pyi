from collections.abc import Iterable

class FetchedBatches:
    """The bounds of whole batches of format 2. What follows the last whole one is ignored."""

    data: bytes | memoryview
    def __init__(self, data: bytes | memoryview) -> None: ...
    def __len__(self) -> int: ...
    @property
    def last_offset(self) -> int:
        """That of the last batch; -1 if there is none."""

    def bytes_before(self, offset: int) -> int:
        """The bytes of the batches that end before an offset."""

    def bytes_through(self, offset: int) -> int:
        """The bytes of the batches that begin at an offset or before it."""

    def around(self, first: int, last: int) -> bytes | memoryview:
        """The batches that have the offsets from `first` to `last`."""

    def aborted(self, transactions: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
        """First and last offset of each batch of records that belongs to an aborted transaction.

        `transactions` are producer id and first offset of each aborted transaction that has records among them.
        """
