from collections.abc import Callable
from typing import Any

from coordinator.broker.share.in_flight import InFlightWindow
from coordinator.broker.share.record_counts import RecordCounts
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
    counts: RecordCounts | None = None,
) -> int:
    """Acknowledge `batches` (AcknowledgementBatch); return 0, or what is wrong.

    The new states are added to `changes`. They count once they are stored: the caller then calls `complete`, also if a
    batch is wrong. Locks are renewed until `renewed_until_ms`; None: they may not be. What becomes of the records is
    added to `counts`.
    """

def release(
    window: InFlightWindow,
    member: str,
    delivery_count_limit: int,
    counts: RecordCounts | None = None,
    ended_by: int = ...,
) -> list[StateBatch]:
    """Make available what a member has acquired; as `acknowledge` that is to be completed.

    The records are added to `counts` as ended by CLOSED or DISCONNECTED (`record_counts`).
    """

def expire(
    window: InFlightWindow,
    now_ms: int,
    delivery_count_limit: int,
    most: int = ...,
    counts_of: Callable[[str], RecordCounts] | None = None,
) -> list[StateBatch]:
    """Make available the records whose locks have ended. It holds at once; what is returned is to be stored.

    With `most` there may be more locks that have ended: those are as many pieces and single records at most.
    `counts_of` says for a member to what its records are added.
    """

def complete(
    window: InFlightWindow, changes: list[StateBatch], is_stored: bool, now_ms: int, delivery_count_limit: int
) -> None:
    """The changes were stored, or they are undone."""
