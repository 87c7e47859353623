"""The rows of the tables `memberships` and `ownership`, from the events of a group.

Unlike `explain.owners.Owners`, which keeps the last owner of each partition, the rows tell at each moment who consumes.
"""

from collections.abc import Collection, Iterable
from typing import Any, Final

import msgspec

from coordinator.audit import schema
from coordinator.audit.schema import AuditEvent, MemberRef
from coordinator.explain.owners import Partition, flat
from coordinator.pipeline.names import MEMBERSHIPS, OWNERSHIP
from coordinator.pipeline.rows import NewRows

Row = dict[str, Any]

GONE_WITH_ITS_GROUP: Final = "group_removed"
NOT_LOADED: Final = "group_loaded"
REPLACED: Final = "static_member_replaced"


class Members(msgspec.Struct):
    """The members of a group, and who owns each partition."""

    rows: dict[str, Row] = {}
    """Member id → the row of its beginning."""
    owner_of: dict[Partition, str] = {}


def apply(members: Members, event: AuditEvent, cause: str | None, rows: NewRows) -> None:
    """Apply an event of a group to its members and add the rows. `cause` is why a member is gone, if one is."""
    match event:
        case schema.MemberAssigned():
            _assign(members, event, rows)
        case schema.MemberJoined():
            _join(members, event, event.member, rows)
        case schema.StaticMemberReplaced():
            _replace(members, event, rows)
        case schema.MemberRemoved():
            _leave(members, event, {event.member.member_id}, (cause, event.reason), rows)
        case schema.GroupRemoved():
            _leave(members, event, members.rows.keys(), (GONE_WITH_ITS_GROUP, None), rows)
        case schema.GroupLoaded() | schema.GroupSnapshot():
            _load(members, event, rows)


APPLIED: Final[frozenset[type[AuditEvent]]] = frozenset(
    {
        schema.MemberAssigned,
        schema.MemberJoined,
        schema.StaticMemberReplaced,
        schema.MemberRemoved,
        schema.GroupRemoved,
        schema.GroupLoaded,
        schema.GroupSnapshot,
    }
)
"""The events that change something here."""


def head(event: AuditEvent) -> Row:
    return {
        "group_id": event.group_id,
        "created_seq": event.created_seq,
        "seq": event.seq,
        "time_ms": event.time_ms,
        "generation_id": event.generation_id,
    }


def _join(members: Members, event: AuditEvent, member: MemberRef, rows: NewRows) -> None:
    row = head(event)
    row["member_id"], row["client_id"], row["client_host"] = member.member_id, member.client_id, member.client_host
    row["group_instance_id"] = member.group_instance_id
    row["client_software_name"] = member.client_software_name
    row["client_software_version"] = member.client_software_version
    row["joined_seq"], row["joined_ms"] = event.seq, event.time_ms
    members.rows[member.member_id] = row
    rows[MEMBERSHIPS].append(row)


def _leave(
    members: Members, event: AuditEvent, member_ids: Collection[str], why: tuple[str | None, str | None], rows: NewRows
) -> None:
    """Members are gone; `why` is the cause and the reason. Those that nobody saw join are passed over."""
    gone = {each: members.rows.pop(each) for each in list(member_ids) if each in members.rows}
    ending = {"seq": event.seq, "left_ms": event.time_ms, "left_cause": why[0], "left_reason": why[1]}
    rows[MEMBERSHIPS] += [row | ending for row in gone.values()]
    free = [partition for partition, owner in members.owner_of.items() if owner in gone]
    for partition in free:
        del members.owner_of[partition]
    _own(event, None, sorted(free), rows)


def _replace(members: Members, event: schema.StaticMemberReplaced, rows: NewRows) -> None:
    """A static member came back under a new id: it owns what it owned."""
    old = members.rows.pop(event.old_member_id, None)
    _join(members, event, event.member, rows)
    if old is not None:
        rows[MEMBERSHIPS].append({**old, "seq": event.seq, "left_ms": event.time_ms, "left_cause": REPLACED})
        owned = [partition for partition, owner in members.owner_of.items() if owner == event.old_member_id]
        members.owner_of.update(dict.fromkeys(owned, event.member.member_id))
        _own(event, event.member, sorted(owned), rows)


def _assign(members: Members, event: schema.MemberAssigned, rows: NewRows) -> None:
    member, owner_of = event.member, members.owner_of
    member_id = member.member_id
    if member_id not in members.rows:  # its joining is missing
        members.rows[member_id] = {**head(event), **msgspec.structs.asdict(member)}
    if event.lost:
        lost = sorted({each for each in flat(event.lost) if owner_of.get(each) == member_id})
        for partition in lost:
            del owner_of[partition]
        _own(event, None, lost, rows)
    if event.gained:
        gained = dict.fromkeys(flat(event.gained), member_id)
        owner_of.update(gained)
        _own(event, member, gained, rows)


def _own(event: AuditEvent, member: MemberRef | None, partitions: Iterable[Partition], rows: NewRows) -> None:
    """Add a row per partition, in the order of the columns: there are more of them than of events."""
    member_id, client_id = (None, None) if member is None else (member.member_id, member.client_id)
    group_id, created_seq, seq, time_ms = event.group_id, event.created_seq, event.seq, event.time_ms
    generation_id = event.generation_id
    add = rows[OWNERSHIP].append
    for topic, partition in partitions:
        add((group_id, created_seq, seq, time_ms, generation_id, topic, partition, time_ms, member_id, client_id))


def _load(members: Members, event: schema.GroupLoaded | schema.GroupSnapshot, rows: NewRows) -> None:
    """The group as it was stored: what the events since then said did not take effect."""
    present = {each.member.member_id: each for each in event.members}
    _leave(members, event, [each for each in members.rows if each not in present], (NOT_LOADED, None), rows)
    owned_by: dict[str, set[Partition]] = {}
    for partition, owner in members.owner_of.items():
        owned_by.setdefault(owner, set()).add(partition)
    for member_id, each in present.items():
        if member_id not in members.rows:
            _join(members, event, each.member, rows)
        known, owned = owned_by.get(member_id, set()), set(flat(each.partitions))
        if known != owned and (isinstance(event, schema.GroupLoaded) or not known):
            for partition in known - owned:
                if members.owner_of.get(partition) == member_id:
                    del members.owner_of[partition]
            members.owner_of.update(dict.fromkeys(owned, member_id))
            _own(event, None, sorted(known - owned), rows)
            _own(event, each.member, sorted(owned - known), rows)
