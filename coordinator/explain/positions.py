"""What the committed offsets of a group say beside the ends of the logs, now: nothing of it is among its events."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, Protocol

from coordinator.explain.findings import Finding, Kind
from coordinator.explain.folded_group import STABLE
from coordinator.explain.words import Clock, counted, listed, plain, were

NAMED: Final = 10
"""Partitions that are named."""
OPEN_TOLD_MS: Final = 10_000
"""From this age on a transaction that consumers wait for makes a finding: most end within milliseconds."""


class Transaction(Protocol):
    """A transaction that is open. Times are wall-clock ms since the epoch."""

    @property
    def transactional_id(self) -> str: ...
    @property
    def started_ms(self) -> int | None: ...
    @property
    def until_ms(self) -> int | None: ...


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


def position_findings(positions: Iterable[Position], state: str, now_ms: int, clock: Clock) -> list[Finding]:
    """What is wrong with these partitions of a group now. `state` is that of the group."""
    known = list(positions)
    return [
        *_out_of_range(known, now_ms),
        *_deleted(known, now_ms),
        *_nobodys(known, state, now_ms),
        *_waiting(known, now_ms, clock),
    ]


def notes(positions: Iterable[Position], state: str, clock: Clock) -> Iterator[str]:
    """Sentences about single partitions."""
    known = list(positions)
    if unowned := _unowned(known, state):
        yield f"{_which(unowned)}: {_UNOWNED}."
    if beyond := _beyond(known):
        yield f"{_which(beyond)}: {_OUT_OF_RANGE}."
    if deleted := _before_the_start(known):
        yield f"{_deleted_unread(deleted)}."
    waiting = [each for each in known if each.waits_for_transaction]
    yield from (f"{_wait(each, clock)}." for each in waiting[:NAMED])
    if len(waiting) > NAMED:
        yield f"{counted(len(waiting) - NAMED, 'more partition waits', 'more partitions wait')} for transactions."


_OUT_OF_RANGE: Final = (
    "the committed offset is beyond the end of the log, so the position of its consumer will be out of range, and it"
    " goes on where auto.offset.reset says"
)


def _beyond(positions: Iterable[Position]) -> list[Position]:
    return [each for each in positions if (each.lag or 0) < 0]


def _out_of_range(positions: Sequence[Position], now_ms: int) -> Iterator[Finding]:
    beyond = _beyond(positions)
    if beyond:
        yield Finding(
            Kind.OUT_OF_RANGE,
            f"{_which(beyond)}: {_OUT_OF_RANGE}",
            tuple(
                f"{_name(each)}: committed {each.committed_offset:,}, log end {each.log_end_offset:,}"
                for each in beyond[:NAMED]
            ),
            "look whether the topic was created again or its log lost records, and who committed that; then set the"
            " offsets (coordinator groups reset-offsets)",
            now_ms,
            now_ms,
        )


def _before_the_start(positions: Iterable[Position]) -> list[Position]:
    return [each for each in positions if each.deleted_unread]


def _deleted_unread(positions: Sequence[Position]) -> str:
    count = sum(each.deleted_unread for each in positions)
    return (
        f"{_which(positions)}: {counted(count, 'record')} from the committed offset on {were(count)} deleted unread, so"
        " a consumer that begins there is out of range, and goes on where auto.offset.reset says"
    )


def _deleted(positions: Sequence[Position], now_ms: int) -> Iterator[Finding]:
    deleted = _before_the_start(positions)
    if deleted:
        yield Finding(
            Kind.DELETED_UNREAD,
            _deleted_unread(deleted),
            tuple(
                f"{_name(each)}: committed {each.committed_offset:,}, log start {each.log_start_offset:,}"
                for each in deleted[:NAMED]
            ),
            "if the group is to read all, keep records for longer than it may be away or behind (retention.ms,"
            " retention.bytes of the topic), and choose what auto.offset.reset does: latest skips all that is left",
            now_ms,
            now_ms,
        )


_UNOWNED: Final = "nobody owns what members subscribe to, so nobody reads it"


def _unowned(positions: Iterable[Position], state: str) -> list[Position]:
    """While a group rebalances, partitions are between two owners."""
    return [each for each in positions if each.is_subscribed and each.member_id is None] if state == STABLE else []


def _nobodys(positions: Sequence[Position], state: str, now_ms: int) -> Iterator[Finding]:
    unowned = _unowned(positions, state)
    if unowned:
        unread = sum(max(0, each.lag or 0) for each in unowned)
        yield Finding(
            Kind.UNOWNED_PARTITIONS,
            f"{_which(unowned)}: {_UNOWNED}",
            (
                f"{counted(len(unowned), 'partition')} of {counted(len(positions), 'partition')}",
                *([f"{counted(unread, 'record')} behind the committed offsets there"] if unread else []),
            ),
            "new partitions are assigned once the leader has learned of them (metadata.max.age.ms); if they stay"
            " without an owner, look whether the leader is away (a static member), or at the assignor; a restart of one"
            " member without group.instance.id makes the group rebalance",
            now_ms,
            now_ms,
        )


def _waiting(positions: Sequence[Position], now_ms: int, clock: Clock) -> Iterator[Finding]:
    waiting = [each for each in positions if each.waits_for_transaction and _is_old(each, now_ms)]
    if waiting:
        started = [each.transaction.started_ms or now_ms for each in waiting if each.transaction is not None]
        yield Finding(
            Kind.WAITS_FOR_TRANSACTION,
            f"{_which(waiting)}: read_committed waits for the end of a transaction",
            tuple(_wait(each, clock) for each in waiting[:NAMED]),
            "look at the producer with that transactional.id: it neither commits nor aborts; a shorter"
            " transaction.timeout.ms ends what it leaves open",
            min(started, default=now_ms),
            now_ms,
        )


def _is_old(position: Position, now_ms: int) -> bool:
    """Whether the transaction has been open for long; what no coordinator knows ends by itself never."""
    found = position.transaction
    return found is None or (found.started_ms is not None and now_ms - found.started_ms >= OPEN_TOLD_MS)


def _wait(position: Position, clock: Clock) -> str:
    whose = "a transaction that no coordinator tells of" if position.transaction is None else _whose(position, clock)
    if position.has_pending_commit:
        return f"{_name(position)}: a newer offset waits for {whose}; until then it is UNSTABLE_OFFSET_COMMIT"
    upto = f"up to offset {position.last_stable_offset:,} of {position.log_end_offset:,}"
    return f"{_name(position)}: read_committed reads {upto}, and waits for {whose}"


def _whose(position: Position, clock: Clock) -> str:
    found = position.transaction
    assert found is not None
    since = "" if found.started_ms is None else f", open since {clock(found.started_ms)}"
    until = "" if found.until_ms is None else f", until {clock(found.until_ms)} at the latest"
    return f"the transaction of {plain(found.transactional_id)}{since}{until}"


def _which(positions: Sequence[Position]) -> str:
    named = [_name(each) for each in positions[:3]]
    return listed(named, more=max(0, len(positions) - 3))


def _name(position: Position) -> str:
    return plain(f"{position.topic}-{position.partition}")
