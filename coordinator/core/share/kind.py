"""The row of share groups: the protocol of ShareGroupHeartbeat (KIP-932)."""

from typing import Any, Final

from _wire.errors import NONE, ErrorCode
from coordinator.core.causes import Cause
from coordinator.core.decision import NOTHING
from coordinator.core.groups.background_work import Worker
from coordinator.core.groups.kind import SHARE_NAME, GroupKind, KindEvents
from coordinator.core.groups.states import EMPTY, GroupState
from coordinator.core.share import (
    describe,
    heartbeat,
    initialization,
    large_targets,
    leaving,
    loaded,
    offset_alteration,
    record_reports,
    state_deletion,
)
from coordinator.core.share.checks import CHECKS
from coordinator.core.share.event_records import RECORDS
from coordinator.core.share.events import (
    ShareGroupEpochBumped,
    ShareInitializationFailed,
    ShareMemberJoined,
    ShareMemberRemoved,
    ShareTargetComputed,
    ShareTargetEnded,
)
from coordinator.core.share.group import ShareGroup
from coordinator.core.share.offsets import OFFSET_RULES
from coordinator.core.share.states import LIVE_STATES, STATES
from coordinator.core.share.topic_deletion import forget_topics
from coordinator.core.share.workers import COMPUTE_SHARE_TARGET, INITIALIZE_STATES

REMOVALS: Final = frozenset({Cause.MEMBER_LEFT, Cause.SESSION_EXPIRED})
"""Kafka counts a rebalance when a heartbeat raises the group epoch; not when the removal of a member does."""


def _is_emptied(_: Any, state: GroupState) -> bool:
    return state is EMPTY


def validate_removal(group: ShareGroup) -> ErrorCode:
    return NONE if group.state is EMPTY else ErrorCode.NON_EMPTY_GROUP


EVENTS: Final = KindEvents(
    transition_reasons={
        ShareMemberJoined: lambda event: f"member {event.member_id} joined",
        ShareMemberRemoved: lambda event: f"{event.cause} by {event.member_id}",
        ShareGroupEpochBumped: lambda event: f"{event.cause} by {event.member_id or event.reason or 'topics'}",
    },
    rebalance_started={ShareGroupEpochBumped: lambda event: event.cause},
    rebalance_ended={ShareGroupEpochBumped: _is_emptied, ShareTargetComputed: lambda event, state: True},
    rebalance_counted={ShareGroupEpochBumped: lambda event: event.cause not in REMOVALS},
    members_removed={ShareMemberRemoved: lambda event: (event.cause,)},
    logged={ShareInitializationFailed: initialization.log_failure, ShareTargetEnded: large_targets.log_failure},
)

SHARE: Final = GroupKind(
    name=SHARE_NAME,
    states=STATES,
    stored_states=LIVE_STATES,
    rebalance_states=frozenset(),
    new_membership=ShareGroup,
    handlers={
        "ShareGroupHeartbeat": heartbeat.heartbeat,
        "ShareGroupDescribe": describe.DESCRIPTIONS.describe,
        "expire session": leaving.expire_session,
        "alter share offsets": offset_alteration.begin_alteration,
        "find initialized share partitions": offset_alteration.initialized_partitions,
        "begin deleting share states": state_deletion.begin_deletion,
        "end deleting share states": state_deletion.end_deletion,
        "report share records": record_reports.report,
        "states initialized": initialization.end_initialization,
        "install share target": large_targets.install,
    },
    too_large_handlers={"ShareGroupHeartbeat": heartbeat.reject_too_large},
    failure_handlers={
        "states initialized": initialization.result_not_stored,
        "install share target": large_targets.installation_failed,
    },
    advance=lambda group, context: NOTHING,
    next_deadline_ms=lambda group: None,
    waiting_requests=lambda group: [],
    session_ids=lambda group: list(group.members),
    generation_name="group epoch",
    workers={
        INITIALIZE_STATES: Worker(
            "states initialized", initialization.initialization_steps, initialization.not_initialized
        ),
        COMPUTE_SHARE_TARGET: Worker(
            "install share target", large_targets.computation_steps, large_targets.not_computed, is_divisible=True
        ),
    },
    effects_of_loaded=loaded.effects_of_loaded,
    has_fast_heartbeats=False,
    max_size=None,
    described_bytes=describe.described_bytes,
    validate_removal=validate_removal,
    offsets=OFFSET_RULES,
    records=RECORDS,
    events=EVENTS,
    checks=CHECKS,
    forget_topics=forget_topics,
    steps_left=lambda group: group.named_topics.count_in_steps(),
)
