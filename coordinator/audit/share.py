"""The audit of share groups (KIP-932): from their events to the fields of audit events.

A generation is a group epoch, which begins when it rises and starts when its target assignment was computed. It is
stable when each member has it. As partitions are shared, none moves from one member to another, and none is without an
owner in between.
"""

from typing import Any, Final, cast

from coordinator.audit import schema
from coordinator.audit.epochs import epoch_projections
from coordinator.audit.fields import Fields, connection_fields
from coordinator.audit.group_state import GroupAuditState
from coordinator.audit.kind_audit import KindAudit, Projection, ms_between
from coordinator.audit.partition_owners import named_partitions, partition_count
from coordinator.audit.world import Topic, World
from coordinator.core.causes import Cause
from coordinator.core.groups.states import GroupState
from coordinator.core.share import events
from coordinator.core.share.group import PROTOCOL_TYPE, ShareGroup
from coordinator.core.share.member import NO_PARTITIONS, ShareMember
from coordinator.core.share_records import PartitionReport

STABLE_MEMBER: Final = "STABLE"
NO_REBALANCE_TIMEOUT: Final = -1
"""Members of share groups have nothing to give up in time."""


def _subscribed_topics(group: ShareGroup, world: World) -> dict[str, Topic]:
    return world.topics(group.named_topics.counts.keys())


def _joined(
    event: events.ShareMemberJoined, group: ShareGroup, state: GroupAuditState, before: GroupState, world: World
) -> Fields:
    state.remember_member(group.members[event.member_id], (), 0)
    existing = state.set_subscription(event.member_id, event.metadata.topics)
    state.note_epoch_trigger(Cause.NEW_MEMBER, existing, "", event.at_ms)
    return {
        "member": existing,
        "session_timeout_ms": event.session_timeout_ms,
        "rebalance_timeout_ms": NO_REBALANCE_TIMEOUT,
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
    event: events.ShareMemberUpdated, group: ShareGroup, state: GroupAuditState, before: GroupState, world: World
) -> Fields:
    state.replace_member(event.member_id, group.members[event.member_id])
    existing = state.set_subscription(event.member_id, event.metadata.topics)
    is_changed = event.metadata.topics != event.before.topics
    if is_changed:
        state.note_epoch_trigger(Cause.METADATA_CHANGED, existing, "", event.at_ms)
    return {
        "member": existing,
        "metadata_changed": is_changed,
        "subscribed_topics": existing.topics,
        "reason": "",
        "unnamed_topics": existing.unnamed_topics,
        "join_ms": None,
        "subscribed_pattern": "",
        "session_timeout_ms": None,
        "rebalance_timeout_ms": NO_REBALANCE_TIMEOUT,
        "protocols": [],
        "rack_id": event.metadata.rack_id or "",
        "last_heard_ms": None,
        "has_synced": None,
    }


def _removed(
    event: events.ShareMemberRemoved, group: ShareGroup, state: GroupAuditState, before: GroupState, world: World
) -> Fields:
    existing = state.remove_member(event.member_id, event.at_ms)
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
        "last_committed_ms": None,
        "requested_by": None,
        **connection_fields(event.connection, event.coordinator_paused_ms),
    }


def _assigned(
    event: events.ShareMemberAssigned, group: ShareGroup, state: GroupAuditState, before: GroupState, world: World
) -> Fields:
    current = event.current
    return state.reassign(
        event.member_id, current.epoch, STABLE_MEMBER, current.partitions, {}, world.topic_name, event.at_ms
    )


def _stable(
    event: events.ShareMemberAssigned, group: ShareGroup, state: GroupAuditState, before: GroupState, world: World
) -> Fields | None:
    if not state.is_rebalancing or not group.is_settled:
        return None
    started_ms, computed_ms = state.rebalance_started_ms or event.at_ms, state.generation_started_ms or event.at_ms
    join_ms, sync_ms = ms_between(started_ms, computed_ms), ms_between(computed_ms, event.at_ms)
    state.forget_old_owners()
    state.end_rebalance()
    state.is_rebalancing = False
    return {
        "members": len(group.members),
        "partitions": sum(partition_count(member.current.partitions) for member in group.members.values()),
        "partitions_moved": 0,
        "join_ms": join_ms,
        "sync_ms": sync_ms,
        "rebalance_ms": join_ms + sync_ms,
        "unowned_partition_ms": 0,
        "partitions_moved_needed": None,
        "silent_partition_ms": 0,
        "commits_rejected": 0,
        "lag": None,
        "slowest_member": state.members[event.member_id] if sync_ms else None,
        "slowest_sync_ms": sync_ms,
    }


def _records_reported(
    event: events.ShareRecordsReported, group: ShareGroup, state: GroupAuditState, before: GroupState, world: World
) -> Fields:
    report = event.report

    def member(member_id: str) -> Any:
        """Who fetches may be no member of the group."""
        return state.members.get(member_id) or schema.MemberRef(member_id)

    def first_of(partition: PartitionReport) -> schema.FirstRecord | None:
        first = partition.first
        if first is None:
            return None
        return schema.FirstRecord(
            first.since_ms, first.delivery_count, member(first.member_id) if first.member_id else None
        )

    return {
        "interval_ms": report.interval_ms,
        "lock_duration_ms": report.lock_duration_ms,
        "delivery_count_limit": report.delivery_count_limit,
        "counts": report.counts,
        "partitions": [
            schema.SharePartitionRecords(
                world.topic_name(partition.topic_id),
                partition.partition,
                cast(Any, partition.counts),
                partition.start_offset,
                partition.in_flight,
                partition.lag,
                first_of(partition),
                [schema.EndedRecords(*ended[:4], member(ended.member_id)) for ended in partition.records],
            )
            for partition in report.partitions
        ],
        "unnamed_partitions": report.unnamed_partitions,
        "members": [schema.ShareMemberRecords(member(one.member_id), cast(Any, one.counts)) for one in report.members],
        "unnamed_members": report.unnamed_members,
    }


def _remember(group: ShareGroup, state: GroupAuditState, world: World) -> None:
    state.is_rebalancing = bool(group.members) and not group.is_settled
    if state.is_rebalancing and group.target_epoch == group.epoch:
        state.rebalance_started_ms = group.target_computed_ms
        state.start_generation(group.target_computed_ms)
    for member in group.members.values():
        count = partition_count(member.current.partitions)
        few = member.current.partitions if count <= state.nameable_partitions else NO_PARTITIONS
        partitions = named_partitions(few, world.topic_name)
        state.remember_member(member, partitions, count - len(partitions))
        state.set_subscription(member.member_id, member.metadata.topics)
    state.topics = _subscribed_topics(group, world)


def _progress(group: ShareGroup, state: GroupAuditState) -> dict[str, schema.MemberProgress]:
    return {
        member.member_id: schema.MemberProgress(
            member.current.epoch, STABLE_MEMBER, partition_count(member.current.partitions), {}, 0
        )
        for member in group.members.values()
    }


def _mark(member: ShareMember) -> tuple[str, int, str, int, int]:
    return member.member_id, member.current.epoch, STABLE_MEMBER, partition_count(member.current.partitions), 0


SHARE: Final = KindAudit(
    projections={
        events.ShareMemberJoined: (Projection(schema.MemberJoined, _joined),),
        events.ShareMemberUpdated: (Projection(schema.MemberRejoined, _updated),),
        events.ShareMemberRemoved: (Projection(schema.MemberRemoved, _removed),),
        **epoch_projections(
            events.ShareGroupEpochBumped, events.ShareTargetComputed, PROTOCOL_TYPE, _subscribed_topics
        ),
        events.ShareMemberAssigned: (
            Projection(schema.MemberReconciled, _assigned),
            Projection(schema.GenerationStable, _stable),
        ),
        events.ShareRecordsReported: (Projection(schema.ShareRecords, _records_reported),),
    },
    remember=_remember,
    mark=_mark,
    progress=_progress,
)
