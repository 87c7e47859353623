"""The audit of classic groups: from their events to the fields of audit events."""

from typing import Any, Final, cast

from coordinator.audit import schema
from coordinator.audit.fields import Fields, connection_fields
from coordinator.audit.group_state import GroupAuditState
from coordinator.audit.kind_audit import KindAudit, Projection, ms_between
from coordinator.audit.partition_owners import AuditedMember
from coordinator.audit.workers import worker_tasks
from coordinator.audit.world import World, ids_of
from coordinator.core.causes import Cause
from coordinator.core.classic import events
from coordinator.core.classic.group import ClassicGroup
from coordinator.core.consumer_protocol import CONSUMER_PROTOCOL_TYPE, read_assignment
from coordinator.core.groups.event import GroupEvent
from coordinator.core.groups.states import COMPLETING_REBALANCE, EMPTY, PREPARING_REBALANCE, STABLE, GroupState


def _joined(
    event: events.MemberJoined, group: ClassicGroup, state: GroupAuditState, before: GroupState, world: World
) -> Fields:
    member = group.members[event.member_id]
    state.remember_member(member, (), 0)
    state.waited_for.pop(event.member_id, None)
    audited = _note_join(event, group, state)
    state.note_trigger(Cause.NEW_MEMBER, audited, event.reason, event.at_ms)
    return {
        "member": audited,
        "session_timeout_ms": event.session_timeout_ms,
        "rebalance_timeout_ms": event.rebalance_timeout_ms,
        "protocols": [protocol.name for protocol in event.protocols],
        "subscribed_topics": audited.topics,
        "unnamed_topics": audited.unnamed_topics,
        "reason": event.reason,
        "join_ms": _since_rebalance(event, state, before),
        "protocol_type": event.protocol_type,
        "subscribed_pattern": "",
        "rack_id": "",
        "fills_group": event.fills_group,
        "rejected_as": event.rejected_as,
    }


def _rejoined(
    event: events.MemberRejoined, group: ClassicGroup, state: GroupAuditState, before: GroupState, world: World
) -> Fields:
    audited = _note_join(event, group, state)
    changed = event.cause is Cause.METADATA_CHANGED
    if changed or before is not PREPARING_REBALANCE:
        state.note_trigger(event.cause, audited, event.reason, event.at_ms)
    return {
        "member": audited,
        "metadata_changed": changed,
        "subscribed_topics": audited.topics,
        "reason": event.reason,
        "unnamed_topics": audited.unnamed_topics,
        "join_ms": _since_rebalance(event, state, before),
        "subscribed_pattern": "",
        "session_timeout_ms": event.session_timeout_ms,
        "rebalance_timeout_ms": event.rebalance_timeout_ms,
        "protocols": [protocol.name for protocol in event.protocols],
        "rack_id": "",
        "last_heard_ms": event.last_heard_ms,
        "has_synced": event.has_synced,
    }


def _note_join(
    event: events.MemberJoined | events.MemberRejoined, group: ClassicGroup, state: GroupAuditState
) -> AuditedMember:
    """Remember the JoinGroup of a member, and what it asks for."""
    existing = state.subscribe(event.member_id, group.protocol_type, event.protocols[0].metadata)
    state.note_join(existing, group.generation_id + 1, event.at_ms)
    return existing


def _since_rebalance(event: GroupEvent, state: GroupAuditState, before: GroupState) -> int | None:
    return ms_between(state.rebalance_started_ms, event.at_ms) if before is PREPARING_REBALANCE else None


def _removed(
    event: events.MemberRemoved, group: ClassicGroup, state: GroupAuditState, before: GroupState, world: World
) -> Fields:
    existing = state.members.pop(event.member_id)
    member = existing.member
    state.note_trigger(event.cause, existing, event.reason, event.at_ms)
    silent_since_ms = None if event.cause is Cause.MEMBER_LEFT else event.last_heard_ms
    state.note_removal(existing, silent_since_ms, before is PREPARING_REBALANCE)
    if before is COMPLETING_REBALANCE:
        state.note_never_synced(existing, group.generation_id)
    return {
        "member": existing,
        "cause": event.cause,
        "reason": event.reason,
        "session_timeout_ms": member.session_timeout_ms,
        "last_heard_ms": event.last_heard_ms,
        "last_joined_ms": member.joined_ms,
        "last_committed_ms": member.committed_ms,
        "requested_by": event.requested_by,
        **connection_fields(event.connection, event.coordinator_paused_ms, member.has_synced),
    }


def _pending_added(
    event: events.PendingMemberAdded, group: ClassicGroup, state: GroupAuditState, before: GroupState, world: World
) -> None:
    if before is PREPARING_REBALANCE:
        state.note_pending(event.member_id)


def _pending_removed(
    event: events.PendingMemberRemoved, group: ClassicGroup, state: GroupAuditState, before: GroupState, world: World
) -> None:
    if event.cause is Cause.MEMBER_LEFT and before in (STABLE, COMPLETING_REBALANCE):
        member = schema.MemberRef(event.member_id, event.client_id, event.client_host)
        state.note_trigger(event.cause, member, event.reason, event.at_ms)


def _assignment_rejected(
    event: events.AssignmentRejected, group: ClassicGroup, state: GroupAuditState, before: GroupState, world: World
) -> None:
    state.note_trigger(Cause.ASSIGNMENT_TOO_LARGE, state.members[event.member_id], "", event.at_ms)


def _replaced(
    event: events.StaticMemberReplaced, group: ClassicGroup, state: GroupAuditState, before: GroupState, world: World
) -> Fields:
    member = group.members[event.new_member_id]
    old = state.members[event.old_member_id]
    state.replace_member(event.old_member_id, member)
    existing = state.subscribe(event.new_member_id, group.protocol_type, event.protocols[0].metadata)
    if event.request_id is not None:
        state.note_join(existing, group.generation_id + 1, event.at_ms)
        state.note_trigger(event.cause, existing, event.reason, event.at_ms)
    return {
        "member": schema.MemberRef(
            event.new_member_id,
            event.client_id,
            event.client_host,
            event.group_instance_id,
            *event.client_details,
        ),
        "old_member_id": event.old_member_id,
        "reason": event.reason,
        "old_client_id": old.member.client.client_id,
        "old_client_host": old.member.client.client_host,
        "described_client_id": member.client_id,
        "described_client_host": member.client_host,
        "subscribed_topics": existing.topics,
        "old_subscribed_topics": old.topics,
        "unnamed_topics": existing.unnamed_topics + old.unnamed_topics,
        "cause": event.cause,
        "old_last_heard_ms": event.old_last_heard_ms,
    }


def _superseded(
    event: events.RebalanceStarted, group: ClassicGroup, state: GroupAuditState, before: GroupState, world: World
) -> Fields | None:
    if before is not COMPLETING_REBALANCE:
        return None
    never_synced, unnamed = state.pop_never_synced(group, group.generation_id)
    return {
        "rebalance_ms": ms_between(state.rebalance_started_ms, event.at_ms),
        "never_synced": never_synced,
        "unnamed_members": unnamed,
        "awaits_target": False,
    }


def _rebalance_started(
    event: events.RebalanceStarted, group: ClassicGroup, state: GroupAuditState, before: GroupState, world: World
) -> Fields:
    state.start_rebalance(group.pending_members, event.at_ms)
    reason = event.rebalance_reason
    audited = state.members.get(reason.member_id)
    is_unchanged = audited is not None and audited.member.client_details is reason.client_details
    member = audited if is_unchanged else reason if reason.member_id else None
    topics = {} if before is EMPTY else state.topics  # what changed while nobody was there began no rebalance
    first = state.triggers[0] if state.triggers else None
    if first is None or first.cause is not reason.cause:
        # What made it necessary is not among the events since the group was loaded.
        state.note_first_trigger(schema.Trigger(reason.cause, cast(Any, member), reason.reason, event.at_ms))
    return {
        "cause": reason.cause,
        "member": member,
        "reason": reason.reason,
        "members": len(group.members),
        "triggers": state.triggers,
        "topic_changes": world.topic_changes(topics),
        "lag": world.lag(),
        "recreated_topics": world.recreated_topics(topics),
    }


def _generation_started(
    event: events.GenerationStarted, group: ClassicGroup, state: GroupAuditState, before: GroupState, world: World
) -> Fields:
    state.start_generation(event.at_ms)
    triggers, unnamed_triggers = state.pop_triggers()
    slowest, slowest_ms = state.slowest_to_join(group.generation_id)
    gone = world.gone_topics(state.topics)
    state.topics = world.topics(state.subscribed_topics())
    return {
        "protocol_type": group.protocol_type or "",
        "protocol_name": event.protocol_name,
        "leader": event.leader,
        "members": len(group.members),
        "join_ms": ms_between(state.rebalance_started_ms, event.at_ms),
        "triggers": triggers,
        "unnamed_triggers": unnamed_triggers,
        "pending_members": state.pop_waited_for(),
        "slowest_member": slowest,
        "slowest_join_ms": slowest_ms,
        "target_epoch": None,
        "gone_topics": gone,
        "topic_ids": ids_of(state.topics),
        "absent": [schema.AbsentMember(*absent) for absent in event.absent[: schema.MEMBERS_NAMED_MAX]],
    }


def _assigned(
    event: events.MemberAssigned, group: ClassicGroup, state: GroupAuditState, before: GroupState, world: World
) -> Fields:
    metadata = group.members[event.member_id].metadata_for(group.protocol_name)
    fields = state.assign(event.member_id, group.protocol_type, metadata, event.assignment, group.generation_id)
    fields["worker"] = worker_tasks(group.protocol_type, event.assignment, len(group.members))
    return fields


def _stable(
    event: events.GenerationStable, group: ClassicGroup, state: GroupAuditState, before: GroupState, world: World
) -> Fields:
    join_ms = ms_between(state.rebalance_started_ms, state.generation_started_ms)
    sync_ms = ms_between(state.generation_started_ms, event.at_ms)
    rebalance_ms = join_ms + sync_ms
    is_consumer = group.protocol_type == CONSUMER_PROTOCOL_TYPE
    moved_needed = state.moved_needed(group) if is_consumer else None
    silent_partition_ms, commits_rejected = state.silent_partition_ms, state.commits_rejected
    slowest, slowest_ms = state.slowest_to_sync(group.generation_id)
    state.forget_old_owners()
    state.end_rebalance()
    return {
        "members": len(group.members),
        "partitions": state.partitions,
        "partitions_moved": state.moved,
        "join_ms": join_ms,
        "sync_ms": sync_ms,
        "rebalance_ms": rebalance_ms,
        "unowned_partition_ms": state.unowned * rebalance_ms,
        "partitions_moved_needed": moved_needed,
        "silent_partition_ms": silent_partition_ms,
        "commits_rejected": commits_rejected,
        "lag": world.lag(),
        "slowest_member": slowest,
        "slowest_sync_ms": slowest_ms,
    }


def _emptied(
    event: events.GroupEmptied, group: ClassicGroup, state: GroupAuditState, before: GroupState, world: World
) -> Fields:
    triggers, unnamed_triggers = state.pop_triggers()
    state.pop_waited_for()
    state.end_rebalance()
    return {
        "rebalance_ms": ms_between(state.rebalance_started_ms, event.at_ms),
        "triggers": triggers,
        "unnamed_triggers": unnamed_triggers,
    }


def _synced(
    event: events.MemberSynced, group: ClassicGroup, state: GroupAuditState, before: GroupState, world: World
) -> None:
    state.note_sync(event.member_id, group.generation_id, event.at_ms)


def _remember(group: ClassicGroup, state: GroupAuditState, world: World) -> None:
    for member in group.members.values():
        _, partitions, unnamed = read_assignment(group.protocol_type, member.assignment, state.nameable_partitions)
        state.remember_member(member, partitions, unnamed)
        state.subscribe(member.member_id, group.protocol_type, member.metadata_for(group.protocol_name))
    state.topics = world.topics(state.subscribed_topics())


CLASSIC: Final = KindAudit(
    projections={
        events.MemberJoined: (Projection(schema.MemberJoined, _joined),),
        events.MemberRejoined: (Projection(schema.MemberRejoined, _rejoined),),
        events.MemberRemoved: (Projection(schema.MemberRemoved, _removed),),
        events.PendingMemberAdded: (Projection(None, _pending_added),),
        events.PendingMemberRemoved: (Projection(None, _pending_removed),),
        events.AssignmentRejected: (Projection(None, _assignment_rejected),),
        events.StaticMemberReplaced: (Projection(schema.StaticMemberReplaced, _replaced),),
        events.RebalanceStarted: (
            Projection(schema.RebalanceSuperseded, _superseded),
            Projection(schema.RebalanceStarted, _rebalance_started),
        ),
        events.GenerationStarted: (Projection(schema.GenerationStarted, _generation_started),),
        events.MemberSynced: (Projection(None, _synced),),
        events.MemberAssigned: (Projection(schema.MemberAssigned, _assigned),),
        events.GenerationStable: (Projection(schema.GenerationStable, _stable),),
        events.GroupEmptied: (Projection(schema.GroupEmptied, _emptied),),
    },
    remember=_remember,
    mark=lambda member: member.member_id,
)
