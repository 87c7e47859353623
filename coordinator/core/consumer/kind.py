"""The row of consumer groups: the protocol of ConsumerGroupHeartbeat (KIP-848)."""

from operator import attrgetter
from typing import Any, Final

from _wire.errors import NONE, ErrorCode
from coordinator.core.causes import Cause
from coordinator.core.consumer import (
    classic_members,
    conversion,
    describe,
    forced_rebalance,
    heartbeat,
    large_targets,
    leaving,
    loaded,
    pattern_resolution,
    patterns,
)
from coordinator.core.consumer.checks import CHECKS
from coordinator.core.consumer.conversion_events import GroupConverted, GroupDowngraded, GroupUpgraded
from coordinator.core.consumer.event_records import RECORDS
from coordinator.core.consumer.events import (
    ConsumerMemberAssigned,
    ConsumerMemberJoined,
    ConsumerMemberRemoved,
    ConsumerMemberReplaced,
    GroupEpochBumped,
    PatternResolutionFailed,
    StaticMemberLeft,
    TargetAssignmentComputed,
)
from coordinator.core.consumer.failed_work import log_failed_work
from coordinator.core.consumer.group import ConsumerGroup
from coordinator.core.consumer.offsets import OFFSET_RULES
from coordinator.core.consumer.states import LIVE_STATES, STATES
from coordinator.core.consumer.target_events import TargetComputationFailed
from coordinator.core.consumer.workers import COMPUTE_TARGET, RESOLVE_PATTERNS, RESUME_LOADED
from coordinator.core.groups.background_work import Worker
from coordinator.core.groups.kind import CONSUMER_NAME, GroupKind, KindEvents
from coordinator.core.groups.states import EMPTY, STABLE, GroupState

COUNTED_CAUSES: Final = frozenset(
    {Cause.NEW_MEMBER, Cause.METADATA_CHANGED, Cause.STATIC_REPLACED, Cause.TOPICS_CHANGED}
)
"""Kafka counts a rebalance when a request, or a resolution of regular expressions, raises the group epoch; not when the
removal of members does."""


def _is_settled(_: Any, state: GroupState) -> bool:
    return state is STABLE or state is EMPTY


def validate_removal(group: ConsumerGroup) -> ErrorCode:
    return NONE if group.state is EMPTY else ErrorCode.NON_EMPTY_GROUP


EVENTS: Final = KindEvents(
    transition_reasons={
        ConsumerMemberJoined: lambda event: f"member {event.member_id} joined",
        ConsumerMemberReplaced: lambda event: f"member {event.member_id} replaced {event.old_member_id}",
        ConsumerMemberRemoved: lambda event: f"{event.cause} by {event.member_id}",
        ConsumerMemberAssigned: lambda event: f"assignment of {event.member_id}",
        StaticMemberLeft: lambda event: f"static member {event.member_id} left",
        GroupEpochBumped: lambda event: f"{event.cause} by {event.member_id or event.reason or 'topics'}",
        TargetAssignmentComputed: lambda event: f"target assignment computed by {event.assignor}",
        GroupConverted: lambda event: f"converted to a {event.kind.name} group",
        GroupUpgraded: lambda event: f"upgraded to a consumer group by {event.member_id}",
        GroupDowngraded: lambda event: "downgraded to a classic group",
    },
    rebalance_started={GroupEpochBumped: lambda event: event.cause},
    rebalance_ended={
        GroupEpochBumped: _is_settled,
        ConsumerMemberAssigned: _is_settled,
        GroupUpgraded: _is_settled,
        GroupDowngraded: lambda event, state: event.rebalance_reason is None,
    },
    rebalance_counted={GroupEpochBumped: lambda event: event.cause in COUNTED_CAUSES},
    members_removed={
        ConsumerMemberRemoved: lambda event: (event.cause,),
        GroupDowngraded: lambda event: [departed.cause for departed in event.departed],
    },
    logged={PatternResolutionFailed: log_failed_work, TargetComputationFailed: log_failed_work},
)

WORKERS: Final = {
    RESOLVE_PATTERNS: Worker(
        "resolve patterns", pattern_resolution.resolution_steps, pattern_resolution.not_resolved, is_divisible=True
    ),
    COMPUTE_TARGET: Worker(
        "install target", large_targets.computation_steps, large_targets.not_computed, is_divisible=True
    ),
    RESUME_LOADED: Worker("resume loaded group"),
}

CONSUMER: Final = GroupKind(
    name=CONSUMER_NAME,
    states=STATES,
    stored_states=LIVE_STATES,
    rebalance_states=forced_rebalance.STATES,
    new_membership=ConsumerGroup,
    handlers={
        "ConsumerGroupHeartbeat": heartbeat.heartbeat,
        "ConsumerGroupDescribe": describe.DESCRIPTIONS.describe,
        "JoinGroup": conversion.join,
        "SyncGroup": classic_members.sync,
        "Heartbeat": classic_members.heartbeat,
        "LeaveGroup": classic_members.leave,
        "expire session": leaving.expire_session,
        "force rebalance": forced_rebalance.force_rebalance,
        "resolve patterns": patterns.resolve,
        "install target": large_targets.install,
        "resume loaded group": loaded.resume,
    },
    too_large_handlers={"ConsumerGroupHeartbeat": heartbeat.reject_too_large},
    failure_handlers={
        "resolve patterns": patterns.resolution_failed,
        "install target": large_targets.installation_failed,
    },
    advance=leaving.advance,
    next_deadline_ms=attrgetter("deadlines.next_ms"),
    waiting_requests=lambda group: [],
    session_ids=lambda group: list(group.members),
    generation_name="group epoch",
    workers=WORKERS,
    effects_of_loaded=loaded.effects_of_loaded,
    has_fast_heartbeats=False,
    max_size=None,
    described_bytes=describe.described_bytes,
    validate_removal=validate_removal,
    offsets=OFFSET_RULES,
    records=RECORDS,
    events=EVENTS,
    checks=CHECKS,
    steps_left=lambda group: group.named_topics.count_in_steps(),
    needs_topic_list=lambda group: bool(group.pattern_subscribers),
)
