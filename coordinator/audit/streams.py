"""The audit of streams groups (KIP-1071): from their events to the fields of audit events.

A generation is a group epoch, which begins when it rises and starts when its target assignment was computed. It is
stable when each member has its tasks. A task is told by the partitions that it reads.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final, cast

from coordinator.audit import schema
from coordinator.audit.epochs import epoch_projections
from coordinator.audit.fields import Fields, connection_fields
from coordinator.audit.group_state import GroupAuditState
from coordinator.audit.kind_audit import KindAudit, Projection, ms_between
from coordinator.audit.partition_owners import grouped
from coordinator.audit.streams_tasks import (
    internal_topics_answered,
    joined_with_topology,
    remember_tasks,
    shutdown_requested,
    streams_state,
    tasks_assigned,
    topology_compared,
    topology_reported,
    updated_topology,
)
from coordinator.audit.world import Topic, World
from coordinator.core.causes import Cause
from coordinator.core.groups.states import ASSIGNING, RECONCILING, STABLE, GroupState
from coordinator.core.streams import events
from coordinator.core.streams.group import PROTOCOL_TYPE, StreamsGroup
from coordinator.core.streams.member import StreamsMember, TasksState
from coordinator.core.streams.tasks import flat_tasks
from coordinator.core.streams.topology import Topology

Partitions = tuple[tuple[str, int], ...]
TopicsRead = Mapping[str, tuple[str, ...]]
"""Subtopology id → the topics that its tasks read."""


def _topics_read(topology: Topology | None) -> tuple[str, ...]:
    """Source topics and repartition topics."""
    return () if topology is None else tuple(sorted(topology.topics_read()))


def _topics_needed(group: StreamsGroup, world: World) -> dict[str, Topic]:
    """The topics without which the topology cannot run: what it reads, and the changelogs."""
    return world.topics(() if group.topology is None else group.topology.required_topics())


def _topics_by_subtopology(group: StreamsGroup) -> TopicsRead:
    if group.topology is None:
        return {}
    return {part.subtopology_id: tuple(part.topics_read()) for part in group.topology.subtopologies}


def _partitions(read: TopicsRead, tasks: Mapping[str, Iterable[int]], named_max: int) -> tuple[Partitions, int]:
    """(topic, index) of what active tasks read, ascending, or nothing if they are too many; and how many they are."""
    found: set[tuple[str, int]] = set()
    for subtopology_id, numbers in tasks.items():
        for topic in read.get(subtopology_id, ()):
            found.update((topic, number) for number in numbers)
    return (tuple(sorted(found)), len(found)) if len(found) <= named_max else ((), len(found))


def _joined(
    event: events.StreamsMemberJoined, group: StreamsGroup, state: GroupAuditState, before: GroupState, world: World
) -> Fields:
    state.remember_member(group.members[event.member_id], (), 0)
    existing = state.set_subscription(event.member_id, _topics_read(event.topology))
    state.note_epoch_trigger(Cause.NEW_MEMBER, existing, "", event.at_ms)
    return {
        "member": existing,
        "session_timeout_ms": event.session_timeout_ms,
        "rebalance_timeout_ms": event.metadata.rebalance_timeout_ms,
        "protocols": [],
        "subscribed_topics": existing.topics,
        "unnamed_topics": existing.unnamed_topics,
        "reason": "",
        "join_ms": None,
        "protocol_type": PROTOCOL_TYPE,
        "subscribed_pattern": "",
        "rack_id": event.metadata.rack_id or "",
        "fills_group": event.fills_group,
        "rejected_as": "",
    }


def _updated(
    event: events.StreamsMemberUpdated, group: StreamsGroup, state: GroupAuditState, before: GroupState, world: World
) -> Fields:
    state.replace_member(event.member_id, group.members[event.member_id])
    existing = state.set_subscription(event.member_id, _topics_read(group.topology))
    state.note_epoch_trigger(Cause.METADATA_CHANGED, existing, "", event.at_ms)
    return {
        "member": existing,
        "metadata_changed": True,
        "subscribed_topics": existing.topics,
        "reason": "",
        "unnamed_topics": existing.unnamed_topics,
        "join_ms": None,
        "subscribed_pattern": "",
        "session_timeout_ms": None,
        "rebalance_timeout_ms": event.metadata.rebalance_timeout_ms,
        "protocols": [],
        "rack_id": event.metadata.rack_id or "",
        "last_heard_ms": None,
        "has_synced": None,
    }


def _removed(
    event: events.StreamsMemberRemoved, group: StreamsGroup, state: GroupAuditState, before: GroupState, world: World
) -> Fields:
    existing = state.remove_member(event.member_id, event.at_ms)
    streams_state(state).forget_member(event.member_id)
    member = existing.member
    state.note_epoch_trigger(event.cause, existing, event.reason, event.at_ms)
    state.note_removal(existing, event.last_heard_ms, False)
    return {
        "member": existing,
        "cause": event.cause,
        "reason": event.reason,
        "session_timeout_ms": event.session_timeout_ms or member.session_timeout_ms,
        "last_heard_ms": event.last_heard_ms,
        "last_joined_ms": member.joined_ms,
        "last_committed_ms": member.committed_ms,
        "requested_by": None,
        **connection_fields(event.connection, event.coordinator_paused_ms),
    }


def _assigned(
    event: events.StreamsMemberAssigned, group: StreamsGroup, state: GroupAuditState, before: GroupState, world: World
) -> Fields:
    current, member_id, read = event.current, event.member_id, _topics_by_subtopology(group)
    nameable = state.nameable_partitions + len(state.members[member_id].owned)
    partitions, count = _partitions(read, current.assigned.active, nameable)
    revoking, revoking_count = _partitions(read, current.pending.active, schema.PARTITIONS_NAMED_MAX)
    fields = state.reassign_named(
        member_id, current.epoch, current.state.name, partitions, count, revoking, revoking_count, event.at_ms
    )
    if current.state is TasksState.UNRELEASED_TASKS:
        fields["waits_for"] = _waits_for(group, member_id, read, state)
    return fields


def _waits_for(group: StreamsGroup, member_id: str, read: TopicsRead, state: GroupAuditState) -> list[schema.WaitedFor]:
    """Who has not given up the active tasks that the member is to get; nothing if it has too many to name."""
    target, has = group.target(member_id).active, group.members[member_id].current.assigned.active
    if sum(map(len, target.values())) > schema.PARTITIONS_NAMED_MAX:
        return []
    held: dict[str, dict[str, list[int]]] = {}
    for subtopology_id, number in flat_tasks(target):
        holder = group.owners.active_members.get((subtopology_id, number))
        if holder is not None and holder != member_id and number not in has.get(subtopology_id, ()):
            held.setdefault(holder, {}).setdefault(subtopology_id, []).append(number)
    return [
        schema.WaitedFor(cast(Any, state.members[holder]), grouped(partitions))
        for holder, tasks in list(held.items())[: schema.MEMBERS_NAMED_MAX]
        if (partitions := _partitions(read, tasks, schema.PARTITIONS_NAMED_MAX)[0]) and holder in state.members
    ]


def _stable(
    event: events.StreamsMemberAssigned, group: StreamsGroup, state: GroupAuditState, before: GroupState, world: World
) -> Fields | None:
    if group.state is not STABLE or not state.is_rebalancing:
        return None
    started_ms, computed_ms = state.rebalance_started_ms or event.at_ms, state.generation_started_ms or event.at_ms
    read = _topics_by_subtopology(group)
    join_ms, sync_ms = ms_between(started_ms, computed_ms), ms_between(computed_ms, event.at_ms)
    silent_partition_ms, commits_rejected = state.silent_partition_ms, state.commits_rejected
    moved, unowned_partition_ms = state.moved, state.unowned_partition_ms
    state.forget_old_owners()
    state.end_rebalance()
    state.is_rebalancing = False
    return {
        "members": len(group.members),
        "partitions": sum(_partitions(read, member.current.assigned.active, 0)[1] for member in group.members.values()),
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


def _remember(group: StreamsGroup, state: GroupAuditState, world: World) -> None:
    state.is_rebalancing = group.state in (ASSIGNING, RECONCILING)
    if group.state is RECONCILING:
        state.rebalance_started_ms = group.target_computed_ms
        state.start_generation(group.target_computed_ms)
    read, topics = _topics_by_subtopology(group), _topics_read(group.topology)
    for member in group.members.values():
        partitions, count = _partitions(read, member.current.assigned.active, state.nameable_partitions)
        state.remember_member(member, partitions, count - len(partitions))
        revoking, _ = _partitions(read, member.current.pending.active, schema.PARTITIONS_NAMED_MAX)
        state.set_revoking(member.member_id, revoking)
        state.set_subscription(member.member_id, topics)
    state.topics = _topics_needed(group, world)
    remember_tasks(group, state)


def _progress(group: StreamsGroup, state: GroupAuditState) -> dict[str, schema.MemberProgress]:
    read = _topics_by_subtopology(group)
    return {
        member.member_id: schema.MemberProgress(
            member.current.epoch,
            member.current.state.name,
            _partitions(read, member.current.assigned.active, 0)[1],
            grouped(state.members[member.member_id].revoking),
            _partitions(read, member.current.pending.active, 0)[1],
        )
        for member in group.members.values()
    }


def _mark(member: StreamsMember) -> tuple[str, int, str, int, int]:
    current = member.current
    return (
        member.member_id,
        current.epoch,
        current.state.name,
        sum(map(len, current.assigned.active.values())),
        sum(map(len, current.pending.active.values())),
    )


STREAMS: Final = KindAudit(
    projections={
        events.StreamsMemberJoined: (
            Projection(schema.MemberJoined, _joined),
            Projection(schema.StreamsMemberTopology, joined_with_topology),
        ),
        events.StreamsMemberUpdated: (
            Projection(schema.MemberRejoined, _updated),
            Projection(schema.StreamsMemberTopology, updated_topology),
        ),
        events.StreamsMemberRemoved: (Projection(schema.MemberRemoved, _removed),),
        **epoch_projections(
            events.StreamsGroupEpochBumped, events.StreamsTargetComputed, PROTOCOL_TYPE, _topics_needed
        ),
        events.StreamsMemberAssigned: (
            Projection(schema.MemberReconciled, _assigned),
            Projection(schema.StreamsTasks, tasks_assigned),
            Projection(schema.GenerationStable, _stable),
        ),
        events.StreamsTopologyReported: (Projection(schema.StreamsTopology, topology_reported),),
        events.StreamsTopologyConfigured: (Projection(schema.StreamsTopology, topology_compared),),
        events.InternalTopicsAnswered: (Projection(schema.StreamsInternalTopics, internal_topics_answered),),
        events.StreamsShutdownRequested: (Projection(schema.StreamsShutdown, shutdown_requested),),
    },
    remember=_remember,
    mark=_mark,
    progress=_progress,
)
