"""What must be true of a group before an event may happen to it, whoever decided it."""

from typing import Final

from coordinator.core.causes import Cause
from coordinator.core.classic import events
from coordinator.core.classic.group import ClassicGroup
from coordinator.core.consumer import events as consumer_events
from coordinator.core.consumer.group import ConsumerGroup
from coordinator.core.consumer.member import MemberState
from coordinator.core.event import Event
from coordinator.core.groups.group import Group
from coordinator.core.groups.states import GroupState
from coordinator.core.offsets.events import DeletionCause, OffsetsDeleted
from coordinator.core.topic_partition import TopicPartition
from tests.simulation.consumers import topics_of

RETENTION_MS: Final = 60_000
"""`offsets.retention.minutes` of every simulated server."""


def check_event(event: Event, whole: Group, now_ms: int) -> None:
    """What must be true of the group before the event may happen. `now_ms` is the time of deadlines."""
    group = whole.membership
    match event:
        case consumer_events.GroupEpochBumped():
            assert event.epoch == group.epoch + 1, event
        case consumer_events.TargetAssignmentComputed():
            assert group.target_epoch < event.epoch <= group.epoch, event
        case consumer_events.ConsumerMemberAssigned():
            _check_step(event, group)
        case consumer_events.ConsumerMemberRemoved(cause=Cause.REBALANCE_TIMEOUT | Cause.SYNC_TIMEOUT):
            deadlines_ms = [at_ms for (who, _), at_ms in group.deadlines.by_key.items() if who == event.member_id]
            assert now_ms >= min(deadlines_ms), event
        case events.GenerationStarted():
            _check_generation(event, group, now_ms)
        case events.RebalanceStarted(from_empty=False):
            longest_ms = max((member.rebalance_timeout_ms for member in group.members.values()), default=0)
            assert event.deadline_ms == now_ms + longest_ms, event
        case events.JoinPhaseExtended():
            assert group.rebalance is not None
            assert now_ms >= group.rebalance.deadline_ms, event
        case events.MemberRemoved(cause=Cause.REBALANCE_TIMEOUT):
            assert group.rebalance is not None
            assert now_ms >= group.rebalance.deadline_ms, event
            member = group.members[event.member_id]
            assert (member.awaiting_join, member.group_instance_id) == (None, None), event
        case OffsetsDeleted(cause=DeletionCause.EXPIRED):
            assert event.partitions
            for where in event.partitions:
                _check_age(event, whole, where)
        case events.MemberRemoved(cause=Cause.SYNC_TIMEOUT):
            assert now_ms >= group.sync_deadline_ms, event
            assert event.member_id in group.pending_sync, event


def _check_generation(event: events.GenerationStarted, group: ClassicGroup, now_ms: int) -> None:
    assert group.rebalance is not None, event
    members = group.members.values()
    if now_ms < group.rebalance.deadline_ms:
        assert not group.rebalance.from_empty, (event, "the initial delay is waited for")
        assert not group.pending_members, (event, "a reserved id holds up the rebalance")
        assert all(member.awaiting_join is not None for member in members), (event, "not all have joined")
    assert group.members[event.leader].awaiting_join is not None, (event, "the leader is one of those who joined")
    joined = {member.member_id for member in members if member.awaiting_join is not None}
    assert group.leader not in joined or event.leader == group.leader, (event, "a leader that joined stays leader")
    assert all(event.protocol_name in {protocol.name for protocol in member.protocols} for member in members), event
    assert all(member.awaiting_join or member.group_instance_id for member in members), (event, "late members go")
    longest_ms = max(member.rebalance_timeout_ms for member in members)
    assert event.sync_deadline_ms == now_ms + longest_ms, event


def _check_step(event: consumer_events.ConsumerMemberAssigned, group: ConsumerGroup) -> None:
    """A member's epoch never falls, and what it may use is nobody else's."""
    current, before = event.current, group.members[event.member_id].current
    assert current.epoch >= before.epoch, event
    assert current.epoch <= group.target_epoch, event
    for partitions in (current.assigned, current.pending):
        for topic_id, indexes in partitions.items():
            for index in indexes:
                assert group.owner(topic_id, index) in (None, event.member_id), (event, topic_id, index)
    if current.state is MemberState.UNREVOKED_PARTITIONS:
        assert current.pending, event
        assert current.epoch == before.epoch, (event, "it gets no epoch before it has given up partitions")


def _check_age(event: OffsetsDeleted, whole: Group, where: TopicPartition) -> None:
    group, committed = whole.membership, whole.offsets.get(where)
    assert committed is not None, event
    assert not whole.offsets.has_pending(where), event
    if committed.expire_timestamp_ms is not None:
        assert event.at_ms >= committed.expire_timestamp_ms, event
        return
    if isinstance(group, ConsumerGroup):
        assert event.at_ms >= committed.commit_timestamp_ms + RETENTION_MS, event
        assert not group.is_subscribed_to(where.topic), event
        return
    if group.protocol_type is not None and group.state is GroupState.EMPTY:
        assert group.state_since_ms is not None, event
        assert event.at_ms >= group.state_since_ms + RETENTION_MS, event
    else:
        assert event.at_ms >= committed.commit_timestamp_ms + RETENTION_MS, event
        assert group.state in (GroupState.EMPTY, GroupState.STABLE), event
        # As on Kafka a static member that came back without a rebalance counts with what it read before.
        assert all(where.topic not in topics_of(metadata) for metadata in group.subscriptions or ()), event
