"""What was seen of a group, of all kinds, in one order of time; and who its members are by all records."""

from collections import deque
from collections.abc import Iterable, Iterator
from typing import Final

from coordinator.audit.schema.sighted import Asked, Beat, Left
from coordinator.observe.classic_lines import Members
from coordinator.observe.group_so_far import MemberSoFar
from coordinator.observe.logs import statements as said
from coordinator.observe.logs.client_statements import ClientStatement
from coordinator.observe.logs.statements import Statement
from coordinator.observe.places import Place
from coordinator.observe.records.stored import ClassicGroup, ConsumerMember, GroupRecord

Logged = Statement | ClientStatement
"""A line of a broker, or of a client that was refused."""
Seen = tuple[Place, GroupRecord] | Logged

LINE_AHEAD_MS: Final = 30
"""A line is written so much later than its record at most, by the clock of the same broker."""


def in_order(records: Iterable[tuple[Place, GroupRecord]], statements: Iterable[Logged]) -> Iterator[Seen]:
    """What was seen in order of time, each kind in its own order: a line comes before the record that it tells of."""
    lines = deque(statements)
    for place, record in records:
        while lines and _is_before(lines[0], place):
            yield lines.popleft()
        yield place, record
    yield from lines


def _is_before(statement: Logged, record: Place) -> bool:
    return statement.place.time_ms - ahead_ms(statement) <= record.time_ms


def ahead_ms(statement: Logged) -> int:
    """How much later than the record that it tells of a line may be, and still comes before it."""
    if isinstance(statement, said.Sighted):
        sighting = statement.sighting
        is_with_record = isinstance(sighting, Left | Beat) or (isinstance(sighting, Asked) and sighting.has_assignments)
        return LINE_AHEAD_MS if is_with_record else 0
    return LINE_AHEAD_MS if isinstance(statement, _WITH_A_RECORD) else 0


_WITH_A_RECORD: Final = (
    said.GroupStabilized,
    said.GroupsDeleted,
    said.GroupDied,
    said.AssignmentReceived,
    said.GroupEmptied,
    said.ConsumerJoined,
    said.ConsumerReplaced,
    said.ConsumerLate,
    said.SessionExpired,
    said.MemberLeft,
    said.LeftForAMoment,
    said.EpochBumped,
    said.TargetComputed,
)
"""Statements whose record is written at the same time."""


def members_of(records: Iterable[tuple[Place, GroupRecord]]) -> Members:
    """Who had which member id, by all records."""
    found: dict[str, MemberSoFar] = {}
    for _, record in records:
        found.update(members_in(record))
    return Members(found)


def members_in(record: GroupRecord) -> Iterator[tuple[str, MemberSoFar]]:
    """Member id → who has it, by one record."""
    if isinstance(record, ClassicGroup):
        for member in record.members:
            yield (
                member.member_id,
                MemberSoFar(
                    member.member_id,
                    member.client_id,
                    member.client_host,
                    member.group_instance_id,
                    member.topics,
                    member.digest,
                    session_timeout_ms=member.session_timeout_ms or None,
                    rebalance_timeout_ms=member.rebalance_timeout_ms or None,
                ),
            )
    elif isinstance(record, ConsumerMember) and record.topics is not None:
        who = (record.member_id, record.client_id, record.client_host, record.group_instance_id)
        yield record.member_id, MemberSoFar(*who, record.topics, record.digest)
