"""From core events to the fields of audit events: the table of projections, and the function of each."""

from collections.abc import Callable
from typing import Any, Final, NamedTuple

from coordinator.audit import schema
from coordinator.audit.group_state import GroupAuditState, by_topic
from coordinator.core import events, offset_events
from coordinator.core.causes import Cause
from coordinator.core.classic_group import ClassicGroup, Member
from coordinator.core.consumer_protocol import count_claimed, read_assignment, read_subscription
from coordinator.core.offset_events import DeletionCause
from coordinator.core.states import COMPLETING_REBALANCE, EMPTY, STABLE, GroupState

Fields = dict[str, Any]
"""The fields of an event without those of the envelope, in the order of its struct.

A member may be any object with the attributes of `schema.MemberRef`.
"""


class Projection(NamedTuple):
    """Makes one audit event from a core event."""

    event_class: type[schema.AuditEvent]
    fields: Callable[[Any, ClassicGroup, GroupAuditState, GroupState], Fields | None]
    """(core event, group after it, audit state, group state before it) → fields, or None for no audit event."""
    is_stored: bool | Callable[[ClassicGroup], bool] = False
    """Whether the group is stored in `__consumer_offsets` after the event, as in `core.stored`."""


def _created(event: events.GroupCreated, group: ClassicGroup, state: GroupAuditState, before: GroupState) -> Fields:
    return {}


def _joined(event: events.MemberJoined, group: ClassicGroup, state: GroupAuditState, before: GroupState) -> Fields:
    member = group.members[event.member_id]
    state.remember_member(member, (), 0)
    topics, unnamed = read_subscription(group.protocol_type, event.protocols[0].metadata, schema.TOPICS_NAMED_MAX)
    return {
        "member": member,
        "session_timeout_ms": event.session_timeout_ms,
        "rebalance_timeout_ms": event.rebalance_timeout_ms,
        "protocols": [protocol.name for protocol in event.protocols],
        "subscribed_topics": topics,
        "unnamed_topics": unnamed,
        "reason": "",
        "join_ms": None,
    }


def _rejoined(event: events.MemberRejoined, group: ClassicGroup, state: GroupAuditState, before: GroupState) -> Fields:
    topics, unnamed = read_subscription(group.protocol_type, event.protocols[0].metadata, schema.TOPICS_NAMED_MAX)
    return {
        "member": group.members[event.member_id],
        "metadata_changed": event.metadata_changed,
        "subscribed_topics": topics,
        "reason": event.reason,
        "unnamed_topics": unnamed,
        "join_ms": None,
    }


def _removed(event: events.MemberRemoved, group: ClassicGroup, state: GroupAuditState, before: GroupState) -> Fields:
    return {
        "member": state.members.pop(event.member_id).member,
        "cause": event.cause,
        "reason": event.reason,
        "session_timeout_ms": 0,
        "last_heard_ms": None,
        "last_joined_ms": None,
        "last_committed_ms": None,
        "requested_by": None,
    }


def _replaced(
    event: events.StaticMemberReplaced, group: ClassicGroup, state: GroupAuditState, before: GroupState
) -> Fields:
    member = group.members[event.new_member_id]
    state.replace_member(event.old_member_id, member)
    return {
        "member": member,
        "old_member_id": event.old_member_id,
        "reason": "",
        "old_client_id": "",
        "old_client_host": "",
        "described_client_id": "",
        "described_client_host": "",
        "subscribed_topics": [],
        "old_subscribed_topics": [],
        "unnamed_topics": 0,
    }


def _superseded(
    event: events.RebalanceStarted, group: ClassicGroup, state: GroupAuditState, before: GroupState
) -> Fields | None:
    if before is not COMPLETING_REBALANCE:
        return None
    return {"rebalance_ms": event.at_ms - state.rebalance_started_ms, "never_synced": [], "unnamed_members": 0}


def _rebalance_started(
    event: events.RebalanceStarted, group: ClassicGroup, state: GroupAuditState, before: GroupState
) -> Fields:
    state.rebalance_started_ms = event.at_ms
    trigger = event.rebalance_reason
    return {
        "cause": trigger.cause,
        "member": trigger,
        "reason": trigger.reason,
        "members": len(group.members),
        "triggers": [],
        "topic_changes": {},
        "lag": None,
    }


def _generation_started(
    event: events.GenerationStarted, group: ClassicGroup, state: GroupAuditState, before: GroupState
) -> Fields:
    state.start_generation(event.at_ms)
    return {
        "protocol_type": group.protocol_type or "",
        "protocol_name": event.protocol_name,
        "leader": event.leader,
        "members": len(group.members),
        "join_ms": event.at_ms - state.rebalance_started_ms,
        "triggers": [],
        "unnamed_triggers": 0,
        "pending_members": [],
        "slowest_member": None,
        "slowest_join_ms": 0,
    }


def _assigned(event: events.MemberAssigned, group: ClassicGroup, state: GroupAuditState, before: GroupState) -> Fields:
    member = group.members[event.member_id]
    readable, partitions, unnamed = read_assignment(group.protocol_type, event.assignment, state.nameable_partitions)
    metadata = member.metadata_for(group.protocol_name)
    claimed = count_claimed(group.protocol_type, metadata, partitions, schema.PARTITIONS_NAMED_MAX)
    gained, lost, kept = state.assign(event.member_id, partitions, unnamed, claimed)
    return {
        "member": member,
        "readable": readable,
        "partitions": by_topic(partitions) if gained and kept else gained or kept,
        "gained": gained,
        "lost": lost,
        "kept": kept,
        "unnamed_partitions": unnamed,
        "join_ms": None,
        "sync_ms": None,
    }


def _stable(event: events.GenerationStable, group: ClassicGroup, state: GroupAuditState, before: GroupState) -> Fields:
    join_ms = state.generation_started_ms - state.rebalance_started_ms
    sync_ms = event.at_ms - state.generation_started_ms
    rebalance_ms = join_ms + sync_ms
    state.forget_old_owners()
    return {
        "members": len(group.members),
        "partitions": state.partitions,
        "partitions_moved": state.moved,
        "join_ms": join_ms,
        "sync_ms": sync_ms,
        "rebalance_ms": rebalance_ms,
        "unowned_partition_ms": state.unowned * rebalance_ms,
        "partitions_moved_needed": None,
        "silent_partition_ms": 0,
        "commits_rejected": 0,
        "lag": None,
        "slowest_member": None,
        "slowest_sync_ms": 0,
    }


def _emptied(event: events.GroupEmptied, group: ClassicGroup, state: GroupAuditState, before: GroupState) -> Fields:
    return {"rebalance_ms": event.at_ms - state.rebalance_started_ms, "triggers": [], "unnamed_triggers": 0}


def _group_removed(
    event: events.GroupRemoved, group: ClassicGroup, state: GroupAuditState, before: GroupState
) -> Fields:
    return {"cause": event.cause, "requested_by": None}


def _offsets_expired(
    event: offset_events.OffsetsDeleted, group: ClassicGroup, state: GroupAuditState, before: GroupState
) -> Fields | None:
    return _partitions(event) if event.cause is DeletionCause.EXPIRED else None


def _offsets_deleted(
    event: offset_events.OffsetsDeleted, group: ClassicGroup, state: GroupAuditState, before: GroupState
) -> Fields | None:
    if event.cause is DeletionCause.EXPIRED:
        return None
    return _partitions(event) | {"requested_by": None, "cause": Cause.ADMIN}


def _partitions(event: offset_events.OffsetsDeleted) -> Fields:
    if len(event.partitions) > schema.PARTITIONS_NAMED_MAX:
        return {"partitions": {}, "unnamed_partitions": len(event.partitions)}
    return {"partitions": by_topic(event.partitions), "unnamed_partitions": 0}


def _unless_a_rebalance_follows(group: ClassicGroup) -> bool:
    """True unless a rebalance follows, which would store the new member id with its generation."""
    return group.state is STABLE and group.rebalance_reason is None


PROJECTIONS: Final[dict[type, tuple[Projection, ...]]] = {
    events.GroupCreated: (Projection(schema.GroupCreated, _created, True),),
    events.MemberJoined: (Projection(schema.MemberJoined, _joined),),
    events.MemberRejoined: (Projection(schema.MemberRejoined, _rejoined),),
    events.MemberRemoved: (Projection(schema.MemberRemoved, _removed),),
    events.StaticMemberReplaced: (Projection(schema.StaticMemberReplaced, _replaced, _unless_a_rebalance_follows),),
    events.RebalanceStarted: (
        Projection(schema.RebalanceSuperseded, _superseded),
        Projection(schema.RebalanceStarted, _rebalance_started),
    ),
    events.GenerationStarted: (Projection(schema.GenerationStarted, _generation_started),),
    events.MemberAssigned: (Projection(schema.MemberAssigned, _assigned),),
    events.GenerationStable: (Projection(schema.GenerationStable, _stable, True),),
    events.GroupEmptied: (Projection(schema.GroupEmptied, _emptied, True),),
    events.GroupRemoved: (Projection(schema.GroupRemoved, _group_removed),),
    offset_events.OffsetsDeleted: (
        Projection(schema.OffsetsExpired, _offsets_expired),
        Projection(schema.OffsetsDeleted, _offsets_deleted),
    ),
}
"""Class of core events → its projections. Offset commits are counted instead; other classes have no audit event."""


def whole_group(group: ClassicGroup, state: GroupAuditState) -> Fields:
    """The fields that describe a group as a whole, in `group.loaded` and `group.snapshot`."""
    return {
        "protocol_type": group.protocol_type or "",
        "protocol_name": group.protocol_name or "",
        "leader": group.leader or "",
        "members": [_member_snapshot(member, group, state) for member in group.members.values()],
    }


def _member_snapshot(member: Member, group: ClassicGroup, state: GroupAuditState) -> schema.MemberSnapshot:
    known = state.members[member.member_id]
    metadata = member.metadata_for(group.protocol_name)
    topics, unnamed_topics = read_subscription(group.protocol_type, metadata, schema.TOPICS_NAMED_MAX)
    return schema.MemberSnapshot(_member_ref(member), topics, by_topic(known.owned), unnamed_topics, known.unnamed_partitions)


def _member_ref(member: Member) -> schema.MemberRef:
    return schema.MemberRef(
        member.member_id,
        member.client_id,
        member.client_host,
        member.group_instance_id,
        member.client_software_name,
        member.client_software_version,
    )


def snapshot(group: ClassicGroup, state: GroupAuditState, checkpoint_offset: int | None) -> Fields:
    """The fields of `group.snapshot`. Only the last snapshot of a checkpoint has a `checkpoint_offset`."""
    stored = None
    if group.state not in (EMPTY, STABLE) and state.stored_state is not None:
        member_ids = list(state.stored_member_ids)
        stored = schema.StoredState(state.stored_seq, state.stored_generation_id, state.stored_state, member_ids)
    return whole_group(group, state) | {"stored": stored, "checkpoint_offset": checkpoint_offset}


def remember_group(group: ClassicGroup, state: GroupAuditState) -> None:
    """Rebuild the audit state of a group that was loaded from `__consumer_offsets`."""
    for member in group.members.values():
        _, partitions, unnamed = read_assignment(group.protocol_type, member.assignment, state.nameable_partitions)
        state.remember_member(member, partitions, unnamed)
