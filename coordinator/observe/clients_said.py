"""What clients' own logs add: why a member left, which most brokers' lines and no record say."""

from collections.abc import Iterable, Mapping, Sequence
from statistics import median_low
from typing import Final

import msgspec

from coordinator.core.causes import Cause
from coordinator.explain.leaving import CLOSED, POLL_TIMEOUT
from coordinator.observe.known import Removed
from coordinator.observe.logs import statements as said
from coordinator.observe.logs.client_statements import (
    ClientStatement,
    GenerationJoined,
    Leaving,
    PollTimeoutExceeded,
)
from coordinator.observe.logs.statements import Statement

NEAR_MS: Final = 10_000
"""A client says that it leaves so shortly before its coordinator does, by clocks that agree."""
SKEW_MIN_MS: Final = 1_000
"""Clocks that differ less are taken to agree."""


class Said(msgspec.Struct, frozen=True):
    """Why a member left, in the words of Java's consumer where the library has none."""

    at_ms: int
    reason: str
    statement: ClientStatement


def aligned_clients(clients: Sequence[ClientStatement], statements: Iterable[Statement]) -> list[ClientStatement]:
    """Move the times of each client's log to the clock of the brokers, by the generations that both tell of."""
    joined: dict[tuple[str, int], list[int]] = {}
    for each in statements:
        if isinstance(each, said.GroupStabilized):
            joined.setdefault((each.group_id, each.generation_id), []).append(each.place.time_ms)
    apart: dict[str, list[int]] = {}
    for client in clients:
        if isinstance(client, GenerationJoined) and client.group_id is not None:
            times = joined.get((client.group_id, client.generation_id), ())
            if len(times) == 1:
                apart.setdefault(client.place.name, []).append(times[0] - client.place.time_ms)
    shifts = {name: median_low(each) for name, each in apart.items()}
    return [_moved(each, shifts.get(each.place.name, 0)) for each in clients]


def _moved(statement: ClientStatement, shift_ms: int) -> ClientStatement:
    if abs(shift_ms) < SKEW_MIN_MS:
        return statement
    place = msgspec.structs.replace(statement.place, time_ms=statement.place.time_ms + shift_ms)
    return msgspec.structs.replace(statement, place=place)


def goodbyes(clients: Iterable[ClientStatement], group_id: str) -> dict[str, list[Said]]:
    """Member id, or client id where a line has no member id → why it left, in order of time."""
    found: dict[str, list[Said]] = {}
    for each in clients:
        if each.group_id not in (None, group_id) or each.is_doubtful:
            continue
        reason = _reason(each)
        who = each.member_id or each.client_id
        if reason is not None and who is not None:
            found.setdefault(who, []).append(Said(each.place.time_ms, reason, each))
    return found


def _reason(statement: ClientStatement) -> str | None:
    match statement:
        case PollTimeoutExceeded(is_over=False):
            return POLL_TIMEOUT
        case Leaving():
            return statement.reason or CLOSED
    return None


def explained(statements: Iterable[Statement], found: Mapping[str, list[Said]]) -> list[Statement]:
    """Add to lines of members that left without a reason what their clients said."""
    return [_explained(each, found) for each in statements] if found else list(statements)


def _explained(statement: Statement, found: Mapping[str, list[Said]]) -> Statement:
    if not isinstance(statement, said.MemberLeft) or statement.client_reason not in (None, "", "not provided"):
        return statement
    why = _why(statement.member_id, statement.place.time_ms, found)
    if why is None:
        return statement
    return msgspec.structs.replace(statement, client_reason=why.reason, also=(why.statement.place,))


def _why(member_id: str, at_ms: int, found: Mapping[str, list[Said]]) -> Said | None:
    """What the client of a member said last before it was gone; an exceeded poll interval is why it leaves then."""
    client_id = member_id[:-37]  # NAME-UUID
    near = [
        each
        for each in (*found.get(member_id, ()), *(found.get(client_id, ()) if client_id else ()))
        if -NEAR_MS <= each.at_ms - at_ms <= NEAR_MS
    ]
    timeouts = [each for each in near if each.reason == POLL_TIMEOUT]
    return max(timeouts or near, key=lambda each: each.at_ms, default=None)


def removed_by_clients(found: Mapping[str, list[Said]]) -> dict[str, Removed]:
    """Member id → how it went, for records that no broker's line explains."""
    return {who: Removed(Cause.MEMBER_LEFT, each[-1].reason) for who, each in found.items()}
