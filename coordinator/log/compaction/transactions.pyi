from _wire.structs import Buffer

class Transactions:
    """What a cleaning knows of the transactions and producers of a log.

    First the whole log is scanned; then it is read once or twice more, each time after `begin_pass`.
    """

    def __init__(self, secret: bytes, live_after_ms: int, producers_max: int) -> None:
        """A producer is live if its last batch has a later timestamp than `live_after_ms`.

        Of more than `producers_max` the others count as expired; a log with transactions of more cannot be cleaned.
        `secret` has 16 random bytes.
        """

    @property
    def aborted_transactions(self) -> list[tuple[int, int, int]]:
        """Producer id, first offset and offset of the marker of each."""

    @property
    def first_open_offset(self) -> int:
        """The first offset of a transaction whose marker was not found; 2^63 - 1 if there is none."""

    @property
    def producers(self) -> int:
        """How many producers there are."""

    def scan(self, data: Buffer) -> int:
        """Read the headers and markers of the next batches; return how many bytes whole batches have.

        Raises:
            CorruptBatch: a batch is damaged; checksums are not verified.
        """

    def begin_pass(self, from_offset: int) -> None:
        """Begin to read again, with the batch that contains `from_offset`. All has been scanned."""
