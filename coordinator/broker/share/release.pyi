from typing import Any

from coordinator.broker.share.in_flight import InFlightWindow
from coordinator.broker.share.share_states import StateBatch

NOT_ACQUIRED: int
"""Somebody else has acquired a record, or nobody, or its new state is being stored."""
BEYOND_THE_WINDOW: int
UNKNOWN_TYPE: int

def acknowledge(
    window: InFlightWindow,
    member: str,
    batches: list[Any],
    changes: list[StateBatch],
    delivery_count_limit: int,
    renewed_until_ms: int | None,
) -> int:
    """Acknowledge `batches` (AcknowledgementBatch); return 0, or what is wrong.

    The new states are added to `changes`. They count once they are stored: the caller then calls `complete`, also if a
    batch is wrong. Locks are renewed until `renewed_until_ms`; None: they may not be.
    """

def release(window: InFlightWindow, member: str, delivery_count_limit: int) -> list[StateBatch]:
    """Make available what a member has acquired; as `acknowledge` that is to be completed."""

def expire(window: InFlightWindow, now_ms: int, delivery_count_limit: int, most: int = ...) -> list[StateBatch]:
    """Make available the records whose locks have ended. It holds at once; what is returned is to be stored.

    With `most` there may be more locks that have ended: those are as many pieces and single records at most.
    """

def complete(
    window: InFlightWindow, changes: list[StateBatch], is_stored: bool, now_ms: int, delivery_count_limit: int
) -> None:
    """The changes were stored, or they are undone."""
