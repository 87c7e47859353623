"""The rows of the tables `memberships` and `ownership`, from the events of a group.

Unlike `explain.owners.Owners`, which keeps the last owner of each partition, the rows tell at each moment who consumes.
"""

from collections.abc import Collection, Iterable
from typing import Final, NamedTuple

import msgspec

from coordinator.audit import schema
from coordinator.audit.schema import AuditEvent, MemberRef, TopicPartitions
from coordinator.explain.generation import SHARE
from coordinator.explain.owners import Partition, flat
from coordinator.pipeline import shares, streams
from coordinator.pipeline.names import MEMBERSHIPS, OWNERSHIP
from coordinator.pipeline.rows import NewRows, Row, head

GONE_WITH_ITS_GROUP: Final = "group_removed"
NOT_LOADED: Final = "group_loaded"
CONVERTED: Final = "group_converted"
REPLACED: Final = "static_member_replaced"


class Members(msgspec.Struct):
    """The members of a group, and who owns each partition."""

    rows: dict[str, Row] = {}
    """Member id → the row of its beginning."""
    owner_of: dict[Partition, str] = {}
    revoking: dict[str, TopicPartitions] = {}
    """In a consumer group: member id → what it was asked to give up and still owns."""
    assigned: dict[str, list[Partition]] = {}
    """In a share group, where partitions have no owner: member id → its partitions."""
    tasks: dict[str, streams.Tasks] = {}
    """In a streams group: member id → its tasks, as they were named last."""


class Context(NamedTuple):
    """The event that changes the members, the type of its group, and the rows to add to."""

    event: AuditEvent
    group_type: str
    rows: NewRows


def apply(members: Members, event: AuditEvent, cause: str | None, group_type: str, rows: NewRows) -> None:
    """Apply an event of a group to its members and add the rows.

    `cause` is why a member is gone, if one is; `group_type` is that of the group after the event.
    """
    context = Context(event, group_type, rows)
    match event:
        case schema.MemberAssigned():
            _assign(members, event, context)
        case schema.StreamsTasks():
            member_id = event.member.member_id
            members.tasks[member_id] = streams.add_tasks(members.tasks.get(member_id, {}), event, rows)
        case schema.MemberReconciled():
            _reconcile(members, event, context)
        case schema.MemberJoined():
            _join(members, event.member, context)
        case schema.StaticMemberReplaced():
            _replace(members, event, context)
        case schema.MemberRemoved():
            _leave(members, {event.member.member_id}, (cause, event.reason), context)
        case schema.GroupRemoved():
            _leave(members, members.rows.keys(), (GONE_WITH_ITS_GROUP, None), context)
        case schema.GroupConverted():
            for departed in event.departed:
                _leave(members, {departed.member.member_id}, (departed.cause.value, departed.reason), context)
            _load(members, event, CONVERTED, context)
        case schema.GroupLoaded() | schema.GroupSnapshot():
            _load(members, event, NOT_LOADED, context)


APPLIED: Final[frozenset[type[AuditEvent]]] = frozenset(
    {
        schema.MemberAssigned,
        schema.MemberReconciled,
        schema.StreamsTasks,
        schema.MemberJoined,
        schema.StaticMemberReplaced,
        schema.MemberRemoved,
        schema.GroupRemoved,
        schema.GroupConverted,
        schema.GroupLoaded,
        schema.GroupSnapshot,
    }
)
"""The events that change something here."""


def _join(members: Members, member: MemberRef, context: Context) -> None:
    event = context.event
    row = head(event)
    row["member_id"], row["client_id"], row["client_host"] = member.member_id, member.client_id, member.client_host
    row["group_instance_id"] = member.group_instance_id
    row["client_software_name"] = member.client_software_name
    row["client_software_version"] = member.client_software_version
    row["principal"] = member.principal
    row["joined_seq"], row["joined_ms"], row["group_type"] = event.seq, event.time_ms, context.group_type
    members.rows[member.member_id] = row
    context.rows[MEMBERSHIPS].append(row)


def _leave(members: Members, member_ids: Collection[str], why: tuple[str | None, str | None], context: Context) -> None:
    """Members are gone; `why` is the cause and the reason. Those that nobody saw join are passed over."""
    event, rows = context.event, context.rows
    gone = {member_id: members.rows.pop(member_id) for member_id in list(member_ids) if member_id in members.rows}
    ending = {"seq": event.seq, "left_ms": event.time_ms, "left_cause": why[0], "left_reason": why[1]}
    ending["group_type"] = context.group_type
    rows[MEMBERSHIPS] += [row | ending for row in gone.values()]
    free = [partition for partition, owner in members.owner_of.items() if owner in gone]
    for partition in free:
        del members.owner_of[partition]
    for member_id, row in gone.items():
        members.revoking.pop(member_id, None)
        member = MemberRef(member_id, row["client_id"])
        _share(members, member, (), context)
        streams.end_tasks(members.tasks.pop(member_id, {}), event, member, rows)
    _own(None, sorted(free), context)


def _replace(members: Members, event: schema.StaticMemberReplaced, context: Context) -> None:
    """A static member came back under a new id, or the same one: it owns what it owned."""
    old = members.rows.pop(event.old_member_id, None)
    _join(members, event.member, context)
    if old is not None:
        ending = {"seq": event.seq, "left_ms": event.time_ms, "left_cause": REPLACED, "group_type": context.group_type}
        context.rows[MEMBERSHIPS].append({**old, **ending})
        owned = [partition for partition, owner in members.owner_of.items() if owner == event.old_member_id]
        members.owner_of.update(dict.fromkeys(owned, event.member.member_id))
        revoking = members.revoking.pop(event.old_member_id, None)
        if revoking:
            members.revoking[event.member.member_id] = revoking
        _own(event.member, sorted(owned), context)


def _assign(members: Members, event: schema.MemberAssigned, context: Context) -> None:
    _know(members, event.member, context)
    if event.lost:
        _free(members, event.member.member_id, flat(event.lost), context)
    if event.gained:
        _give(members, event.member, flat(event.gained), context)


def _reconcile(members: Members, event: schema.MemberReconciled, context: Context) -> None:
    """A step of a member of a consumer group: what it was asked to give up is its own until it has done so."""
    member_id = event.member.member_id
    _know(members, event.member, context)
    if context.group_type == SHARE:
        before = members.assigned.get(member_id, ())
        _share(members, event.member, {*before, *flat(event.gained)} - {*flat(event.lost)}, context)
        return
    revoking = event.revoking
    if event.revoking_count and not revoking:  # too many to name: they are among those that it lost
        revoking = event.lost
    given_up = {*flat(event.lost), *flat(members.revoking.pop(member_id, {}))}
    given_up -= {*flat(revoking), *flat(event.partitions)}
    if revoking:
        members.revoking[member_id] = revoking
    _free(members, member_id, given_up, context)
    gained = (tp for tp in flat(event.gained) if members.owner_of.get(tp) != member_id)
    _give(members, event.member, list(gained), context)


def _know(members: Members, member: MemberRef, context: Context) -> None:
    if member.member_id not in members.rows:  # its joining is missing
        described = msgspec.structs.asdict(member)
        members.rows[member.member_id] = {**head(context.event), **described, "group_type": context.group_type}


def _free(members: Members, member_id: str, partitions: Iterable[Partition], context: Context) -> None:
    """Nobody owns these partitions of a member any more."""
    freed = sorted({partition for partition in partitions if members.owner_of.get(partition) == member_id})
    for partition in freed:
        del members.owner_of[partition]
    _own(None, freed, context)


def _give(members: Members, member: MemberRef, partitions: Iterable[Partition], context: Context) -> None:
    given = dict.fromkeys(partitions, member.member_id)
    members.owner_of.update(given)
    _own(member, given, context)


def _share(members: Members, member: MemberRef, partitions: Iterable[Partition], context: Context) -> None:
    """A member of a share group has these partitions from now on, beside others who may have them."""
    before, after = {*members.assigned.pop(member.member_id, ())}, {*partitions}
    if after:
        members.assigned[member.member_id] = sorted(after)
    shares.add_assignments(context.event, member, sorted(before - after), False, context.rows)
    shares.add_assignments(context.event, member, sorted(after - before), True, context.rows)


def _own(member: MemberRef | None, partitions: Iterable[Partition], context: Context) -> None:
    """Add a row per partition, in the order of the columns: there are more of them than of events."""
    event, group_type, rows = context
    member_id, client_id = (None, None) if member is None else (member.member_id, member.client_id)
    group_id, created_seq, seq, time_ms = event.group_id, event.created_seq, event.seq, event.time_ms
    before = group_id, created_seq, seq, time_ms, event.generation_id
    after = time_ms, member_id, client_id, group_type
    add = rows[OWNERSHIP].append
    for topic, partition in partitions:
        add((*before, topic, partition, *after))


def _load(
    members: Members,
    event: schema.GroupLoaded | schema.GroupSnapshot | schema.GroupConverted,
    why_gone: str,
    context: Context,
) -> None:
    """The group as it was stored, or is now: what the events since then said did not take effect."""
    present = {member.member.member_id: member for member in event.members}
    _leave(members, [row for row in members.rows if row not in present], (why_gone, None), context)
    owned_by: dict[str, set[Partition]] = {}
    for partition, owner in members.owner_of.items():
        owned_by.setdefault(owner, set()).add(partition)
    for member_id, snapshot in present.items():
        if member_id not in members.rows:
            _join(members, snapshot.member, context)
        if context.group_type == SHARE:
            if not isinstance(event, schema.GroupSnapshot) or member_id not in members.assigned:
                _share(members, snapshot.member, flat(snapshot.partitions), context)
            continue
        progress = event.progress.get(member_id)
        revoking = {} if progress is None else progress.revoking
        tracked, owned = owned_by.get(member_id, set()), {*flat(snapshot.partitions), *flat(revoking)}
        if tracked != owned and (not isinstance(event, schema.GroupSnapshot) or not tracked):
            for partition in tracked - owned:
                if members.owner_of.get(partition) == member_id:
                    del members.owner_of[partition]
            members.owner_of.update(dict.fromkeys(owned, member_id))
            members.revoking[member_id] = revoking
            _own(None, sorted(tracked - owned), context)
            _own(snapshot.member, sorted(owned - tracked), context)
