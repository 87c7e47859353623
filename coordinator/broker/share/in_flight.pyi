from collections.abc import Iterable

from coordinator.broker.share.share_states import StateBatch

class InFlightWindow:
    """The records from `start_offset` on of which something is known, up to `end_offset`."""

    start_offset: int
    """The first record that is not done (SPSO)."""
    end_offset: int
    """The last record of the window (SPEO); if nothing is known, the next one to be fetched."""
    complete_count: int
    """How many records from `start_offset` on are acknowledged or archived."""
    deadline_ms: int
    """No lock ends before it."""

    def __init__(self, start_offset: int, stored: Iterable[StateBatch] = ()) -> None:
        """`stored` are the states after `start_offset` in the order of their offsets.

        Raises:
            ValueError: they overlap, or begin before `start_offset`.
        """

    @property
    def record_count(self) -> int:
        """How many records there are from `start_offset` to `end_offset`."""

    @property
    def piece_count(self) -> int: ...
    def records(self) -> list[tuple[int, int, int, str | None]]:
        """Offset, state, delivery count of each record, and the member that has acquired it."""

    def first_record(self) -> tuple[int, int, str | None] | None:
        """State and delivery count of the record at `start_offset`, and the member that has acquired it; None: nothing
        is known of it."""

    def next_fetch_offset(self) -> int:
        """The first record that may be acquired."""

    def can_acquire(self, record_locks_max: int) -> bool:
        """Whether there is a record that may be acquired, or room for new ones."""

    def move_start(self, log_start_offset: int) -> None:
        """What lies before the start of the log cannot be read: archive it, unless somebody has acquired it."""

    def advance(self) -> bool:
        """Move the start over what is done; return whether it has moved."""
