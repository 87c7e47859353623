"""The audit of consumer groups (KIP-848): from their events to the fields of audit events.

A generation is a group epoch (`consumer_epochs.py`); it is stable when each member has reconciled.
"""

from dataclasses import replace
from typing import Final

from coordinator.audit import classic, consumer_epochs, schema
from coordinator.audit.fields import Fields, connection_fields
from coordinator.audit.group_state import GroupAuditState
from coordinator.audit.kind_audit import KindAudit, Projection, ms_between, whole_group
from coordinator.audit.partition_owners import AuditedMember, grouped, named_partitions, partition_count
from coordinator.audit.world import NO_TOPIC, World
from coordinator.core.causes import Cause
from coordinator.core.classic.group import ClassicGroup
from coordinator.core.consumer import conversion_events as conversions
from coordinator.core.consumer import events
from coordinator.core.consumer.group import ConsumerGroup
from coordinator.core.consumer.member import UNRELEASED_PARTITIONS, ConsumerMember, MemberMetadata
from coordinator.core.consumer.topic_partitions import NO_PARTITIONS, EpochsByPartition
from coordinator.core.consumer_protocol import CONSUMER_PROTOCOL_TYPE
from coordinator.core.groups.membership import Membership
from coordinator.core.groups.states import ASSIGNING, RECONCILING, STABLE, GroupState

Partitions = tuple[tuple[str, int], ...]


def _joined(
    event: events.ConsumerMemberJoined, group: ConsumerGroup, state: GroupAuditState, before: GroupState, world: World
) -> Fields:
    metadata = event.metadata
    state.remember_member(group.members[event.member_id], (), 0)
    existing = state.set_subscription(event.member_id, metadata.topics)
    state.note_epoch_trigger(Cause.NEW_MEMBER, existing, "", event.at_ms)
    return {
        "member": existing,
        "session_timeout_ms": event.session_timeout_ms,
        "rebalance_timeout_ms": metadata.rebalance_timeout_ms,
        "protocols": _assignors(metadata),
        "subscribed_topics": existing.topics,
        "unnamed_topics": existing.unnamed_topics,
        "reason": "",
        "join_ms": None,
        "protocol_type": CONSUMER_PROTOCOL_TYPE,
        "subscribed_pattern": metadata.pattern or "",
        "rack_id": metadata.rack_id or "",
        "fills_group": event.fills_group,
        "rejected_as": event.rejected_as,
    }


def _assignors(metadata: MemberMetadata) -> list[str]:
    """Those that it offers as a member of the classic protocol; else the one that it asks for, if any."""
    if metadata.classic is not None:
        return [protocol.name for protocol in metadata.classic.protocols]
    return [] if metadata.server_assignor is None else [metadata.server_assignor]


def _updated(
    event: events.ConsumerMemberUpdated, group: ConsumerGroup, state: GroupAuditState, before: GroupState, world: World
) -> Fields:
    metadata, had = event.metadata, event.before
    state.replace_member(event.member_id, group.members[event.member_id])
    existing = state.set_subscription(event.member_id, metadata.topics)
    is_changed = (metadata.topics, metadata.pattern or "") != (had.topics, had.pattern or "")
    if is_changed:
        state.note_epoch_trigger(Cause.METADATA_CHANGED, existing, "", event.at_ms)
    return {
        "member": existing,
        "metadata_changed": is_changed,
        "subscribed_topics": existing.topics,
        "reason": "",
        "unnamed_topics": existing.unnamed_topics,
        "join_ms": None,
        "subscribed_pattern": metadata.pattern or "",
        "session_timeout_ms": None if metadata.classic is None else metadata.classic.session_timeout_ms,
        "rebalance_timeout_ms": metadata.rebalance_timeout_ms,
        "protocols": _assignors(metadata),
        "rack_id": metadata.rack_id or "",
        "last_heard_ms": None,
        "has_synced": None,
    }


def _replaced(
    event: events.ConsumerMemberReplaced, group: ConsumerGroup, state: GroupAuditState, before: GroupState, world: World
) -> Fields:
    old = state.members[event.old_member_id]
    described = group.members[event.member_id]
    # Of the group's own member it is known when it commits; one that says something new is updated next.
    is_same = event.returned == event.metadata
    state.replace_member(event.old_member_id, described if is_same else replace(described, metadata=event.returned))
    old_topics, old_unnamed = old.topics, old.unnamed_topics
    existing = state.set_subscription(event.member_id, event.returned.topics)
    return {
        "member": existing,
        "old_member_id": event.old_member_id,
        "reason": "",
        "old_client_id": old.member.client_id,
        "old_client_host": old.member.client_host,
        "described_client_id": described.client_id,
        "described_client_host": described.client_host,
        "subscribed_topics": existing.topics,
        "old_subscribed_topics": old_topics,
        "unnamed_topics": existing.unnamed_topics + old_unnamed,
        "cause": Cause.STATIC_REPLACED,
        "old_last_heard_ms": event.old_last_heard_ms,
    }


def _removed(
    event: events.ConsumerMemberRemoved, group: ConsumerGroup, state: GroupAuditState, before: GroupState, world: World
) -> Fields:
    existing = state.remove_member(event.member_id, event.at_ms)
    state.note_epoch_trigger(event.cause, existing, event.reason, event.at_ms)
    state.note_removal(existing, event.last_heard_ms, False)
    return _removal_fields(event, existing)


def _removal_fields(event: events.ConsumerMemberRemoved, audited: AuditedMember) -> Fields:
    member = audited.member
    return {
        "member": audited,
        "cause": event.cause,
        "reason": event.reason,
        "session_timeout_ms": event.session_timeout_ms or member.session_timeout_ms,
        "last_heard_ms": event.last_heard_ms,
        "last_joined_ms": member.joined_ms,
        "last_committed_ms": member.committed_ms,
        "requested_by": event.requested_by,
        **connection_fields(event.connection, event.coordinator_paused_ms),
    }


# ---- what members may use


def _reconciled(
    event: events.ConsumerMemberAssigned | events.StaticMemberLeft,
    group: ConsumerGroup,
    state: GroupAuditState,
    before: GroupState,
    world: World,
) -> Fields:
    current, member_id = event.current, event.member_id
    fields = state.reassign(
        member_id,
        current.epoch,
        current.state._name_,  # `name` is a property in Python
        current.assigned,
        current.pending,
        world.topic_name,
        event.at_ms,
    )
    if current.state is UNRELEASED_PARTITIONS:
        target = group.target(member_id)
        fields["waits_for"] = state.waits_for(member_id, target, current.assigned, group.owners, world.topic_name)
    if type(event) is events.ConsumerMemberAssigned:
        fields["last_heard_ms"] = event.last_heard_ms
        if event.unclaimed:
            fields["unclaimed"] = grouped(_named(event.unclaimed, schema.PARTITIONS_NAMED_MAX, world))
    return fields


def _named(partitions: EpochsByPartition, named_max: int, world: World) -> Partitions:
    """(topic name, index) of each partition; nothing if they are too many."""
    few = partitions if partition_count(partitions) <= named_max else NO_PARTITIONS
    return named_partitions(few, world.topic_name)


def _stable(
    event: events.ConsumerMemberAssigned, group: ConsumerGroup, state: GroupAuditState, before: GroupState, world: World
) -> Fields | None:
    if group.state is not STABLE or not state.is_rebalancing:
        return None
    started_ms, computed_ms = state.rebalance_started_ms or event.at_ms, state.generation_started_ms or event.at_ms
    join_ms, sync_ms = ms_between(started_ms, computed_ms), ms_between(computed_ms, event.at_ms)
    silent_partition_ms, commits_rejected = state.silent_partition_ms, state.commits_rejected
    moved, unowned_partition_ms = state.moved, state.unowned_partition_ms
    state.forget_old_owners()
    if not group.is_resolving and group.patterns.keys() >= group.pattern_subscribers.keys():
        # Who came with a regular expression raises no epoch but with the topics that it finds.
        state.forget_epoch_triggers()
    state.end_rebalance()
    state.is_rebalancing = False
    return {
        "members": len(group.members),
        "partitions": sum(partition_count(member.current.assigned) for member in group.members.values()),
        "partitions_moved": moved,
        "join_ms": join_ms,
        "sync_ms": sync_ms,
        "rebalance_ms": join_ms + sync_ms,
        "unowned_partition_ms": unowned_partition_ms,
        "partitions_moved_needed": None,
        "silent_partition_ms": silent_partition_ms,
        "commits_rejected": commits_rejected,
        "lag": world.lag(),
        "slowest_member": state.members[event.member_id] if sync_ms else None,
        "slowest_sync_ms": sync_ms,
    }


# ---- the group as a whole


def _patterns_resolved(
    event: events.PatternsResolved, group: ConsumerGroup, state: GroupAuditState, before: GroupState, world: World
) -> Fields | None:
    if not event.raises_epoch:
        state.forget_epoch_triggers()  # who came with a regular expression that finds nothing new
    if not event.resolved:
        return None
    for topic in sorted(event.appeared)[: schema.TOPICS_NAMED_MAX]:
        if len(state.topics) < schema.TOPICS_NAMED_MAX:
            state.topics = {topic: NO_TOPIC, **state.topics}  # the epoch that rises now tells that it appeared
    count = sum(len(resolved.topics) for resolved in event.resolved.values())
    is_named = count <= schema.TOPICS_NAMED_MAX
    patterns = {pattern: list(resolved.topics) for pattern, resolved in event.resolved.items()} if is_named else {}
    return {"patterns": patterns, "unnamed_topics": 0 if is_named else count}


def _converted(
    event: conversions.GroupConverted, group: Membership, state: GroupAuditState, before: GroupState, world: World
) -> Fields:
    """One without members."""
    consumer_epochs.forget_asked_target(state)
    return {"group_type": event.kind.name, **whole_group(group, state), "progress": {}, "departed": []}


def _upgraded(
    event: conversions.GroupUpgraded,
    group: ConsumerGroup,
    state: GroupAuditState,
    before: GroupState,
    world: World,
) -> Fields:
    state.members.clear()
    _remember(group, state, world)
    progress_fields = {"progress": _progress(group, state), "departed": []}
    return {"group_type": event.kind.name, **whole_group(group, state), **progress_fields}


def _downgraded(
    event: conversions.GroupDowngraded,
    group: ClassicGroup,
    state: GroupAuditState,
    before: GroupState,
    world: World,
) -> Fields:
    departed = []
    for removed in event.departed:
        existing = state.members[removed.member_id]
        departed.append(schema.DepartedMember(at_ms=event.at_ms, **_removal_fields(removed, existing)))
        state.note_trigger(removed.cause, existing, removed.reason, event.at_ms)
        state.note_removal(existing, removed.last_heard_ms, False)
    state.members.clear()
    state.is_rebalancing = False
    consumer_epochs.forget_asked_target(state)
    classic.CLASSIC.remember(group, state, world)
    progress_fields = {"progress": {}, "departed": departed[: schema.MEMBERS_NAMED_MAX]}
    return {"group_type": event.kind.name, **whole_group(group, state), **progress_fields}


def _remember(group: ConsumerGroup, state: GroupAuditState, world: World) -> None:
    state.is_rebalancing = group.state in (ASSIGNING, RECONCILING)
    if group.state is RECONCILING:
        state.rebalance_started_ms = group.target_computed_ms
        state.start_generation(group.target_computed_ms)
    for member in group.members.values():
        current = member.current
        partitions = _named(current.assigned, state.nameable_partitions, world)
        state.remember_member(member, partitions, partition_count(current.assigned) - len(partitions))
        state.set_revoking(member.member_id, _named(current.pending, schema.PARTITIONS_NAMED_MAX, world))
        state.set_subscription(member.member_id, member.metadata.topics)
    state.topics = world.topics(group.named_topics.counts.keys(), group.pattern_topics.keys())


def _progress(group: ConsumerGroup, state: GroupAuditState) -> dict[str, schema.MemberProgress]:
    return {
        member.member_id: _progress_of(member, state.members[member.member_id]) for member in group.members.values()
    }


def _progress_of(member: ConsumerMember, audited: AuditedMember) -> schema.MemberProgress:
    current = member.current
    revoking = grouped(audited.revoking)
    return schema.MemberProgress(
        current.epoch, current.state.name, partition_count(current.assigned), revoking, partition_count(current.pending)
    )


def _mark(member: ConsumerMember) -> tuple[str, int, str, int, int]:
    current = member.current
    return (
        member.member_id,
        current.epoch,
        current.state.name,
        partition_count(current.assigned),
        partition_count(current.pending),
    )


RECONCILED: Final = Projection(schema.MemberReconciled, _reconciled)

CONSUMER: Final = KindAudit(
    projections={
        events.ConsumerMemberJoined: (Projection(schema.MemberJoined, _joined),),
        events.ConsumerMemberUpdated: (Projection(schema.MemberRejoined, _updated),),
        events.ConsumerMemberReplaced: (Projection(schema.StaticMemberReplaced, _replaced),),
        events.ConsumerMemberRemoved: (Projection(schema.MemberRemoved, _removed),),
        events.StaticMemberLeft: (RECONCILED,),
        events.ConsumerMemberAssigned: (RECONCILED, Projection(schema.GenerationStable, _stable)),
        **consumer_epochs.PROJECTIONS,
        events.PatternsResolved: (Projection(schema.PatternsResolved, _patterns_resolved),),
        conversions.GroupConverted: (Projection(schema.GroupConverted, _converted),),
        conversions.GroupUpgraded: (Projection(schema.GroupConverted, _upgraded),),
        conversions.GroupDowngraded: (Projection(schema.GroupConverted, _downgraded),),
    },
    remember=_remember,
    mark=_mark,
    progress=_progress,
)
