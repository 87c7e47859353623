"""From core events to the fields of audit events: what all kinds of groups share, and the table of projections."""

from collections.abc import Mapping
from typing import Any, Final

from coordinator.audit import classic, consumer, schema, share, streams
from coordinator.audit.fields import Fields
from coordinator.audit.group_state import GroupAuditState
from coordinator.audit.kind_audit import KindAudit, Projection, ms_between, whole_group
from coordinator.audit.partition_owners import by_topic
from coordinator.audit.rejected_requests import rejected
from coordinator.audit.world import World
from coordinator.core.causes import Cause
from coordinator.core.groups.events import GroupCreated, GroupRemoved, RequestRejected
from coordinator.core.groups.group import Group
from coordinator.core.groups.kind import CLASSIC_NAME, CONSUMER_NAME, SHARE_NAME, STREAMS_NAME
from coordinator.core.groups.membership import Membership
from coordinator.core.groups.states import GroupState
from coordinator.core.kinds.stored import EVENT_RECORDS
from coordinator.core.offsets import events as offset_events
from coordinator.core.offsets.events import DeletionCause


def _created(
    event: GroupCreated, group: Membership, state: GroupAuditState, before: GroupState, world: World
) -> Fields:
    return {"group_type": event.kind}


def _group_removed(
    event: GroupRemoved, group: Membership, state: GroupAuditState, before: GroupState, world: World
) -> Fields:
    return {"cause": event.cause, "requested_by": event.requested_by}


def _offsets_expired(
    event: offset_events.OffsetsDeleted, group: Membership, state: GroupAuditState, before: GroupState, world: World
) -> Fields | None:
    return _partitions(event) if event.cause is DeletionCause.EXPIRED else None


def _offsets_deleted(
    event: offset_events.OffsetsDeleted, group: Membership, state: GroupAuditState, before: GroupState, world: World
) -> Fields | None:
    cause = DELETION_CAUSES.get(event.cause)
    if cause is None:
        return None
    return _partitions(event) | {
        "requested_by": event.requested_by,
        "cause": cause,
        "offsets": _deleted_offsets(event),
    }


DELETION_CAUSES: Final = {
    DeletionCause.REQUESTED: Cause.ADMIN,
    DeletionCause.TOPIC_DELETED: Cause.TOPIC_DELETED,
    DeletionCause.GROUP_REMOVED: Cause.GROUP_REMOVED,
}


def _offsets_reset(
    event: offset_events.OffsetsReset, group: Membership, state: GroupAuditState, before: GroupState, world: World
) -> Fields | None:
    apart_ms = ms_between(state.reset_ms, event.at_ms)
    is_going_on = state.reset_by == event.requested_by and apart_ms < schema.RESET_APART_MS
    state.reset_by, state.reset_ms = event.requested_by, event.at_ms
    if is_going_on and event.is_back_alone:
        return None  # a consumer that reads the same again and again commits each time
    if is_going_on and not any(now < before for of_topic in event.partitions.values() for _, before, now in of_topic):
        return None
    count = sum(map(len, event.partitions.values()))
    is_named = count <= schema.PARTITIONS_NAMED_MAX
    return {
        "requested_by": event.requested_by,
        "partitions": event.partitions if is_named else {},
        "unnamed_partitions": 0 if is_named else count,
        "member": state.members.get(event.member_id),
    }


def _deleted_offsets(event: offset_events.OffsetsDeleted) -> dict[str, list[list[int]]]:
    found: dict[str, list[list[int]]] = {}
    if len(event.partitions) <= schema.PARTITIONS_NAMED_MAX:
        for tp, offset in zip(event.partitions, event.offsets, strict=False):
            found.setdefault(tp.topic, []).append([tp.partition, offset])
    return found


def _partitions(event: offset_events.OffsetsDeleted) -> Fields:
    if len(event.partitions) > schema.PARTITIONS_NAMED_MAX:
        return {"partitions": {}, "unnamed_partitions": len(event.partitions)}
    named = by_topic(event.partitions)
    return {
        "partitions": named | {topic: [] for topic in event.topics} if event.topics else named,
        "unnamed_partitions": 0,
    }


KIND_AUDITS: Final[dict[str, KindAudit]] = {
    CLASSIC_NAME: classic.CLASSIC,
    CONSUMER_NAME: consumer.CONSUMER,
    SHARE_NAME: share.SHARE,
    STREAMS_NAME: streams.STREAMS,
}
"""Name of a kind of group → its audit. Each kind of the coordinator has one line here."""

PROJECTIONS: Final[dict[type, tuple[Projection, ...]]] = {
    GroupCreated: (Projection(schema.GroupCreated, _created),),
    GroupRemoved: (Projection(schema.GroupRemoved, _group_removed),),
    RequestRejected: (Projection(schema.RequestRejected, rejected),),
    offset_events.OffsetsReset: (Projection(schema.OffsetsReset, _offsets_reset),),
    offset_events.OffsetsDeleted: (
        Projection(schema.OffsetsExpired, _offsets_expired),
        Projection(schema.OffsetsDeleted, _offsets_deleted),
    ),
} | {event: projections for kind in KIND_AUDITS.values() for event, projections in kind.projections.items()}
"""Class of core events → its projections. Offset commits are counted instead; other classes have no audit event."""


def _stored_events(of_kind: Mapping[type, tuple[Projection, ...]]) -> frozenset[type[schema.AuditEvent]]:
    """The audit events of stored core events that are common to all kinds or `of_kind`, or that make groups of it."""
    of_others = {
        event
        for kind in KIND_AUDITS.values()
        for event, projections in kind.projections.items()
        if event not in of_kind
        and all(projection.event_class is not schema.GroupConverted for projection in projections)
    }
    return frozenset(
        projection.event_class
        for event, records in EVENT_RECORDS.items()
        if records.stores_group is not False and event not in of_others
        for projection in PROJECTIONS.get(event, ())
        if projection.event_class is not None
    )


STORED_EVENTS: Final = {name: _stored_events(kind.projections) for name, kind in KIND_AUDITS.items()}
"""Kind of group → the audit events after which `__consumer_offsets` may have the current state of such a group."""


def type_and_progress(group: Group[Any], state: GroupAuditState) -> Fields:
    """The last fields of `group.loaded` and `group.snapshot`."""
    progress = KIND_AUDITS[group.kind.name].progress
    return {
        "group_type": group.kind.name,
        "progress": {} if progress is None else progress(group.membership, state),
    }


def marks_have_progress(group_type: str) -> bool:
    """Whether the marks of the members of such groups have how far they are."""
    audit = KIND_AUDITS.get(group_type)
    return audit is not None and audit.progress is not None


def snapshot(group: Group[Any], state: GroupAuditState, checkpoint_offset: int | None) -> Fields:
    """The fields of `group.snapshot`. Only the last snapshot of a checkpoint has a `checkpoint_offset`."""
    stored = None
    if group.membership.state not in group.kind.stored_states and state.stored_state is not None:
        member_ids = list(state.stored_member_ids)
        stored = schema.StoredState(state.stored_seq, state.stored_generation_id, state.stored_state, member_ids)
    return (
        whole_group(group.membership, state)
        | {"stored": stored, "checkpoint_offset": checkpoint_offset}
        | type_and_progress(group, state)
        | {"rebalance_started_ms": (state.rebalance_started_ms or None) if state.is_rebalancing else None}
    )


def remember_group(group: Group[Any], state: GroupAuditState, world: World) -> None:
    """Make the audit state of a group that was loaded from `__consumer_offsets`."""
    KIND_AUDITS[group.kind.name].remember(group.membership, state, world)
