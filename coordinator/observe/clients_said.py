"""What clients' own logs add: why a member left, which most brokers' lines and no record say."""

from collections.abc import Iterable, Mapping, Sequence
from statistics import median_low
from typing import Final

import msgspec

from coordinator.core.causes import Cause
from coordinator.explain.leaving import CLOSED, POLL_TIMEOUT
from coordinator.observe.group_so_far import Removed
from coordinator.observe.logs import statements as said
from coordinator.observe.logs.client_statements import (
    ClientStatement,
    GenerationJoined,
    Leaving,
    PollTimeoutExceeded,
)
from coordinator.observe.logs.statements import OfGroup, Statement
from coordinator.observe.places import Place

NEAR_MS: Final = 10_000
"""A client says that it leaves so shortly before its coordinator does, by clocks that agree."""
SKEW_MIN_MS: Final = 1_000
"""Clocks that differ less are taken to agree."""
SAID_KEPT: Final = 100
GENERATIONS_KEPT: Final = 20
"""By which the clocks of clients and brokers are compared, the newest."""


class Said(msgspec.Struct, frozen=True, array_like=True):
    """Why a member left, in the words of Java's consumer where the library has none.

    `who` is its member id, or its client id where the line has no member id.
    """

    who: str
    at_ms: int
    reason: str
    place: Place


def aligned_clients(clients: Sequence[ClientStatement], statements: Iterable[Statement]) -> list[ClientStatement]:
    """Move the times of each client's log to the clock of the brokers, by the generations that both tell of."""
    joined: dict[tuple[str, int], list[int]] = {}
    for statement in statements:
        if isinstance(statement, said.GroupStabilized):
            joined.setdefault((statement.group_id, statement.generation_id), []).append(statement.place.time_ms)
    apart: dict[str, list[int]] = {}
    for client in clients:
        if isinstance(client, GenerationJoined) and client.group_id is not None:
            times = joined.get((client.group_id, client.generation_id), ())
            if len(times) == 1:
                apart.setdefault(client.place.name, []).append(times[0] - client.place.time_ms)
    shifts = {name: median_low(differences_ms) for name, differences_ms in apart.items()}
    return [_moved(client, shifts.get(client.place.name, 0)) for client in clients]


def _moved(statement: ClientStatement, shift_ms: int) -> ClientStatement:
    if abs(shift_ms) < SKEW_MIN_MS:
        return statement
    place = msgspec.structs.replace(statement.place, time_ms=statement.place.time_ms + shift_ms)
    return msgspec.structs.replace(statement, place=place)


def goodbyes(clients: Iterable[ClientStatement], group_id: str) -> dict[str, list[Said]]:
    """Member id, or client id where a line has no member id → why it left, in order of time."""
    found: dict[str, list[Said]] = {}
    for client in clients:
        said_so = _said(client) if client.group_id in (None, group_id) else None
        if said_so is not None:
            found.setdefault(said_so.who, []).append(said_so)
    return found


def _said(statement: ClientStatement) -> Said | None:
    reason, who = _reason(statement), statement.member_id or statement.client_id
    if statement.is_doubtful or reason is None or who is None:
        return None
    return Said(who, statement.place.time_ms, reason, statement.place)


def _reason(statement: ClientStatement) -> str | None:
    match statement:
        case PollTimeoutExceeded(is_over=False):
            return POLL_TIMEOUT
        case Leaving():
            return statement.reason or CLOSED
    return None


def explained(statements: Iterable[Statement], found: Mapping[str, list[Said]]) -> list[Statement]:
    """Add to lines of members that left without a reason what their clients said."""
    return [_explained(statement, found) for statement in statements] if found else list(statements)


def _explained(statement: Statement, found: Mapping[str, list[Said]]) -> Statement:
    if not isinstance(statement, said.MemberLeft) or statement.client_reason not in (None, "", "not provided"):
        return statement
    why = _why(statement.member_id, statement.place.time_ms, found)
    if why is None:
        return statement
    return msgspec.structs.replace(statement, client_reason=why.reason, also=(why.place,))


def _why(member_id: str, at_ms: int, found: Mapping[str, list[Said]]) -> Said | None:
    """What the client of a member said last before it was gone; an exceeded poll interval is why it leaves then."""
    client_id = member_id[:-37]  # NAME-UUID
    near = [
        line
        for line in (*found.get(member_id, ()), *(found.get(client_id, ()) if client_id else ()))
        if -NEAR_MS <= line.at_ms - at_ms <= NEAR_MS
    ]
    timeouts = [said for said in near if said.reason == POLL_TIMEOUT]
    return max(timeouts or near, key=lambda said: said.at_ms, default=None)


def removed_by_clients(found: Mapping[str, list[Said]]) -> dict[str, Removed]:
    """Member id → how it went, for records that no broker's line explains."""
    return {who: Removed(Cause.MEMBER_LEFT, said[-1].reason) for who, said in found.items()}


class ClientsSaid(msgspec.Struct, array_like=True):
    """What the clients of one group said lately, as their logs are followed. The newest of each is kept."""

    said: list[Said] = []
    joined: list[tuple[str, int, int]] = []
    """Log, generation, and when its client joined it, by its clock (ms)."""
    stabilized: list[tuple[int, int]] = []
    """Generation, and when its join phase was over by the broker's clock (ms)."""

    def put(self, statement: ClientStatement) -> Said | None:
        """Take a line; return why its member left, if it says so."""
        if isinstance(statement, GenerationJoined):
            place = statement.place
            self.joined = [*self.joined, (place.name, statement.generation_id, place.time_ms)][-GENERATIONS_KEPT:]
            return None
        found = _said(statement)
        if found is not None:
            self.said = [*self.said, found][-SAID_KEPT:]
        return found

    def explained(self, statement: OfGroup) -> OfGroup:
        """A line of a broker, with what the client of a member that left said."""
        if isinstance(statement, said.GroupStabilized):
            pair = statement.generation_id, statement.place.time_ms
            self.stabilized = [*self.stabilized, pair][-GENERATIONS_KEPT:]
        if not isinstance(statement, said.MemberLeft) or not self.said:
            return statement
        found: dict[str, list[Said]] = {}
        for line in self.said:
            place = msgspec.structs.replace(line.place, time_ms=line.at_ms + self._shift_ms(line.place.name))
            found.setdefault(line.who, []).append(Said(line.who, place.time_ms, line.reason, place))
        by_client = _explained(statement, found)
        assert isinstance(by_client, said.MemberLeft)
        return by_client

    def _shift_ms(self, log: str) -> int:
        """What is to be added to times of this log, by the generations that it and the broker's tell of."""
        apart = [
            broker_ms - client_ms
            for name, joined, client_ms in self.joined
            for generation, broker_ms in self.stabilized
            if name == log and joined == generation
        ]
        shift_ms = median_low(apart) if apart else 0
        return shift_ms if abs(shift_ms) >= SKEW_MIN_MS else 0
