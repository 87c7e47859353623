"""What the committed offsets of a group say beside the ends of the logs, now: nothing of it is among its events."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, Protocol

from coordinator.explain.claims.claim import SEEN
from coordinator.explain.claims.findings import (
    DeletedUnread,
    Found,
    Kind,
    OutOfRange,
    PartitionOffsets,
    UnownedPartitions,
    WaitingFor,
    WaitsForTransaction,
)
from coordinator.explain.folded_group import STABLE

OPEN_REPORTED_MS: Final = 10_000
"""From this age on a transaction that consumers wait for makes a finding: most end within milliseconds."""


class Transaction(Protocol):
    """A transaction that is open. Times are wall-clock ms since the epoch."""

    @property
    def transactional_id(self) -> str: ...
    @property
    def started_ms(self) -> int | None: ...
    @property
    def until_ms(self) -> int | None: ...


class Standing(Protocol):
    """How long a partition has been as it is, see `client/standing_offsets.py`."""

    @property
    def since_ms(self) -> int: ...
    @property
    def is_longer(self) -> bool: ...
    @property
    def moved_ms(self) -> int | None: ...
    @property
    def committed_ms(self) -> int | None: ...


class Position(Protocol):
    """A partition of a group, see `client/group_description.py`."""

    @property
    def topic(self) -> str: ...
    @property
    def partition(self) -> int: ...
    @property
    def committed_offset(self) -> int | None: ...
    @property
    def log_end_offset(self) -> int | None: ...
    @property
    def log_start_offset(self) -> int | None: ...
    @property
    def deleted_unread(self) -> int: ...
    @property
    def lag(self) -> int | None: ...
    @property
    def member_id(self) -> str | None: ...
    @property
    def is_subscribed(self) -> bool: ...
    @property
    def last_stable_offset(self) -> int | None: ...
    @property
    def has_pending_commit(self) -> bool: ...
    @property
    def waits_for_transaction(self) -> bool: ...
    @property
    def transaction(self) -> Transaction | None: ...
    @property
    def oldest_ms(self) -> int | None: ...
    @property
    def standing(self) -> Standing | None: ...


def found_in_positions(positions: Iterable[Position], state: str, now_ms: int) -> Iterator[Found]:
    """What is wrong with these partitions of a group now. `state` is that of the group."""
    listed = list(positions)
    for found in (out_of_range(listed, now_ms), deleted_unread(listed, now_ms), unowned(listed, state, now_ms)):
        if found is not None:
            yield found
    waiting = waits_for_transaction([position for position in listed if _is_old(position, now_ms)], now_ms)
    if waiting is not None:
        yield waiting


def out_of_range(positions: Sequence[Position], now_ms: int) -> OutOfRange | None:
    """Those whose committed offset is beyond the end of the log."""
    beyond = tuple(offsets_of(position) for position in positions if (position.lag or 0) < 0)
    if not beyond:
        return None
    return OutOfRange(kind=Kind.OUT_OF_RANGE, from_ms=now_ms, until_ms=now_ms, partitions=beyond, evidence=SEEN)


def deleted_unread(positions: Sequence[Position], now_ms: int) -> DeletedUnread | None:
    """Those whose committed offset is before the start of the log."""
    found = [position for position in positions if position.deleted_unread]
    if not found:
        return None
    return DeletedUnread(
        kind=Kind.DELETED_UNREAD,
        from_ms=now_ms,
        until_ms=now_ms,
        partitions=tuple(offsets_of(position) for position in found),
        records=sum(position.deleted_unread for position in found),
        evidence=SEEN,
    )


def unowned(positions: Sequence[Position], state: str, now_ms: int) -> UnownedPartitions | None:
    """Those that nobody owns. While a group rebalances, partitions are between two owners."""
    found = (
        [position for position in positions if position.is_subscribed and position.member_id is None]
        if state == STABLE
        else []
    )
    if not found:
        return None
    return UnownedPartitions(
        kind=Kind.UNOWNED_PARTITIONS,
        from_ms=now_ms,
        until_ms=now_ms,
        partitions=tuple(offsets_of(position) for position in found),
        of=len(positions),
        unread=sum(max(0, position.lag or 0) for position in found),
        evidence=SEEN,
    )


def waits_for_transaction(positions: Sequence[Position], now_ms: int) -> WaitsForTransaction | None:
    """Those whose readers wait for the end of a transaction."""
    waiting = [position for position in positions if position.waits_for_transaction]
    if not waiting:
        return None
    started = [position.transaction.started_ms or now_ms for position in waiting if position.transaction is not None]
    return WaitsForTransaction(
        kind=Kind.WAITS_FOR_TRANSACTION,
        from_ms=min(started, default=now_ms),
        until_ms=now_ms,
        waits=tuple(_waiting(position) for position in waiting),
        evidence=SEEN,
    )


def _is_old(position: Position, now_ms: int) -> bool:
    """Whether the transaction has been open for long; what no coordinator knows ends by itself never."""
    found = position.transaction
    return found is None or (found.started_ms is not None and now_ms - found.started_ms >= OPEN_REPORTED_MS)


def _waiting(position: Position) -> WaitingFor:
    found = position.transaction
    return WaitingFor(
        offsets_of(position),
        position.has_pending_commit,
        None if found is None else found.transactional_id,
        None if found is None else found.started_ms,
        None if found is None else found.until_ms,
    )


def offsets_of(position: Position) -> PartitionOffsets:
    """The partition with its offsets, as far as they are known."""
    return PartitionOffsets(
        position.topic,
        position.partition,
        position.committed_offset,
        position.log_end_offset,
        position.last_stable_offset,
        position.log_start_offset,
    )
