"""Brings lines and records of a group together: in which zone a log was written, and which lines a record confirms."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final

import msgspec

from coordinator.observe.logs import statements as said
from coordinator.observe.logs.statements import OfGroup, RebalancePrepared, Statement
from coordinator.observe.places import Place
from coordinator.observe.records.stored import ClassicGroup, ConsumerMember, GroupEpoch, GroupRecord, TargetEpoch

ZONE_STEP_MS: Final = 15 * 60_000
"""Zones differ from UTC by multiples of a quarter of an hour."""
ZONE_MAX_MS: Final = 15 * 3_600_000
APART_MS: Final = 5_000
"""A line and its record are written at the same time: within 0.3 s under load."""
CONFIRMED_WITHIN_MS: Final = 10 * 60_000
"""A rebalance takes no longer than this from its first line to its record."""

Records = Sequence[tuple[Place, GroupRecord]]


class Aligned(msgspec.Struct, frozen=True):
    statements: list[Statement]
    shifts_ms: dict[str, int]
    """Log → by how much its times were moved. 0: the records show that they are right as they are."""


def aligned(records: Records, statements: Sequence[Statement]) -> Aligned:
    """Move the times of lines whose zone is assumed to those of the records of the same generations or epochs."""
    times = _record_times(records)
    of_logs: dict[str, list[Statement]] = {}
    for statement in statements:
        if statement.is_zone_assumed:
            of_logs.setdefault(statement.place.name, []).append(statement)
    shifts: dict[str, int] = {}
    for name, of_log in of_logs.items():
        shift_ms = _shift(times, of_log)
        if shift_ms is not None:
            shifts[name] = shift_ms
    return Aligned([_moved(statement, shifts) for statement in statements], shifts)


def _moved(statement: Statement, shifts: dict[str, int]) -> Statement:
    shift_ms = shifts.get(statement.place.name, 0) if statement.is_zone_assumed else 0
    if not shift_ms:
        return statement
    place = msgspec.structs.replace(statement.place, time_ms=statement.place.time_ms + shift_ms)
    return msgspec.structs.replace(statement, place=place)


def _record_times(records: Records) -> dict[tuple[str, int], list[int]]:
    """What a line names → when its records were written."""
    found: dict[tuple[str, int], list[int]] = {}
    for place, record in records:
        key = record_key(record)
        if key is not None:
            found.setdefault(key, []).append(place.time_ms)
    return found


def record_key(record: GroupRecord) -> tuple[str, int] | None:
    """What a line about the same names."""
    match record:
        case ClassicGroup():
            return "generation", record.generation_id
        case GroupEpoch(epoch=int() as epoch):
            return "epoch", epoch
        case TargetEpoch():
            return "target", record.epoch
    return None


def _key(statement: Statement) -> tuple[str, int] | None:
    match statement:
        case said.AssignmentReceived() | said.GroupEmptied():
            return "generation", statement.generation_id
        case said.EpochBumped():
            return "epoch", statement.epoch
        case said.TargetComputed():
            return "target", statement.epoch
    return None


def _shift(times: dict[tuple[str, int], list[int]], statements: Iterable[Statement]) -> int | None:
    """The multiple of a quarter of an hour by which most lines differ from records; None: none match."""
    votes: Counter[int] = Counter()
    for statement in statements:
        key = _key(statement)
        found: set[int] = set()
        for time_ms in times.get(key, ()) if key is not None else ():
            apart_ms = time_ms - statement.place.time_ms
            shift_ms = round(apart_ms / ZONE_STEP_MS) * ZONE_STEP_MS
            if abs(apart_ms - shift_ms) <= APART_MS and abs(shift_ms) <= ZONE_MAX_MS:
                found.add(shift_ms)
        votes.update(found)
    return votes.most_common(1)[0][0] if votes else None


def credible(records: Records, statements: Iterable[Statement]) -> Iterator[Statement]:
    """Leave out lines that may be forged or cut, unless a record shows the same.

    Line feeds of ids and reasons are written as they are, so clients can forge lines; records they cannot.
    """
    members = {member_id for _, record in records for member_id in member_ids(record)}
    times = _record_times(records)
    for statement in statements:
        if not statement.is_doubtful or is_confirmed(statement, members.__contains__, times):
            yield statement


def member_ids(record: GroupRecord) -> frozenset[str]:
    """The ids of the members that a record describes."""
    match record:
        case ClassicGroup():
            return frozenset(member.member_id for member in record.members)
        case ConsumerMember():
            return frozenset((record.member_id,))
    return frozenset()


def is_confirmed(
    statement: Statement, is_member: Callable[[str], bool], times: Mapping[tuple[str, int], Sequence[int]]
) -> bool:
    """Whether a record shows the same. `is_member`: whether records have an id. `times`: what a line names → when."""
    at_ms = statement.place.time_ms
    key = _key(statement)
    if isinstance(statement, RebalancePrepared):
        key = "generation", statement.generation_before + 1
    elif isinstance(statement, said.GroupStabilized):
        key = "generation", statement.generation_id
    if key is not None:
        is_near = any(-APART_MS <= time_ - at_ms <= CONFIRMED_WITHIN_MS for time_ in times.get(key, ()))
        return is_near and (not isinstance(statement, RebalancePrepared) or all(map(is_member, statement.member_ids)))
    member_id = getattr(statement, "member_id", None) if isinstance(statement, OfGroup) else None
    return member_id is not None and is_member(member_id)
