RELEASED: int
"""Why a record is no longer acquired: its member released it."""
REJECTED: int
LOCK_ENDED: int
CLOSED: int
"""The member closed its share session."""
DISCONNECTED: int
"""The connection of the share session of the member was closed."""

class RecordCounts:
    """Records of a share partition, counted as a member acquires them and as that ends."""

    acquired: int
    delivered_again: int
    """Those of `acquired` that had been delivered before."""
    accepted: int
    released: int
    rejected: int
    lock_ended: int
    closed: int
    disconnected: int
    archived: int
    """Those of `released`, `lock_ended`, `closed` and `disconnected` that had been delivered as often as may be."""
    late: int
    """Requests with acknowledgements of records that the member had not acquired, or no longer."""
    renewed: int
    """Records whose lock was made longer."""
    noted: list[tuple[int, int, int, int]]
    """First and last offset, delivery count, and why they ended, of the first records that were rejected or archived:
    five ranges at most."""

    def __init__(self) -> None: ...
    def deliver(self, acquired: list[tuple[int, int, int]]) -> None:
        """Count records that were acquired: first and last offset, delivery count."""

    def add(self, other: RecordCounts) -> None: ...
