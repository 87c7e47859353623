"""The row of streams groups: the protocol of StreamsGroupHeartbeat (KIP-1071)."""

from operator import attrgetter
from typing import Any, Final

from _wire.errors import NONE, ErrorCode
from coordinator.core.causes import Cause
from coordinator.core.groups.background_work import Worker
from coordinator.core.groups.kind import STREAMS_NAME, GroupKind, KindEvents
from coordinator.core.groups.states import EMPTY, STABLE, GroupState
from coordinator.core.streams import conversion, describe, heartbeat, internal_topics, large_targets, leaving, loaded
from coordinator.core.streams.checks import CHECKS
from coordinator.core.streams.event_records import RECORDS
from coordinator.core.streams.events import (
    StreamsGroupEpochBumped,
    StreamsMemberAssigned,
    StreamsMemberJoined,
    StreamsMemberRemoved,
    StreamsTargetComputed,
    StreamsTargetEnded,
    StreamsTopologySet,
)
from coordinator.core.streams.group import StreamsGroup
from coordinator.core.streams.offsets import OFFSET_RULES
from coordinator.core.streams.states import LIVE_STATES, STATES
from coordinator.core.streams.workers import COMPUTE_STREAMS_TARGET, CREATE_INTERNAL_TOPICS, RESUME_LOADED_STREAMS

REMOVALS: Final = frozenset({Cause.MEMBER_LEFT, Cause.SESSION_EXPIRED, Cause.REBALANCE_TIMEOUT})
"""Kafka counts a rebalance when a heartbeat raises the group epoch; not when the removal of a member does."""


def _is_settled(_: Any, state: GroupState) -> bool:
    return state is STABLE or state is EMPTY


def validate_removal(group: StreamsGroup) -> ErrorCode:
    return NONE if group.state is EMPTY else ErrorCode.NON_EMPTY_GROUP


EVENTS: Final = KindEvents(
    transition_reasons={
        StreamsMemberJoined: lambda event: f"member {event.member_id} joined",
        StreamsMemberRemoved: lambda event: f"{event.cause} by {event.member_id}",
        StreamsMemberAssigned: lambda event: f"assignment of {event.member_id}",
        StreamsTopologySet: lambda event: f"topology of {event.member_id}",
        StreamsGroupEpochBumped: lambda event: f"{event.cause} by {event.member_id or event.reason or 'topics'}",
        StreamsTargetComputed: lambda event: f"target assignment computed by {event.assignor}",
    },
    rebalance_started={StreamsGroupEpochBumped: lambda event: event.cause},
    rebalance_ended={StreamsGroupEpochBumped: _is_settled, StreamsMemberAssigned: _is_settled},
    rebalance_counted={StreamsGroupEpochBumped: lambda event: event.cause not in REMOVALS},
    members_removed={StreamsMemberRemoved: lambda event: (event.cause,)},
    logged={StreamsTargetEnded: large_targets.log_failure},
)

STREAMS: Final = GroupKind(
    name=STREAMS_NAME,
    states=STATES,
    stored_states=LIVE_STATES,
    rebalance_states=frozenset(),
    new_membership=StreamsGroup,
    handlers={
        "StreamsGroupHeartbeat": heartbeat.heartbeat,
        "StreamsGroupDescribe": describe.DESCRIPTIONS.describe,
        "JoinGroup": conversion.join,
        "expire session": leaving.expire_session,
        "internal topics answered": internal_topics.answer,
        "install streams target": large_targets.install,
        "resume loaded streams group": loaded.resume,
    },
    too_large_handlers={"StreamsGroupHeartbeat": heartbeat.reject_too_large},
    failure_handlers={
        "internal topics answered": internal_topics.answer_failed,
        "install streams target": large_targets.installation_failed,
    },
    advance=leaving.advance,
    next_deadline_ms=attrgetter("next_deadline_ms"),
    waiting_requests=lambda group: [],
    session_ids=lambda group: list(group.members),
    generation_name="group epoch",
    workers={
        CREATE_INTERNAL_TOPICS: Worker(
            "internal topics answered", internal_topics.creation_steps, internal_topics.not_created
        ),
        COMPUTE_STREAMS_TARGET: Worker(
            "install streams target", large_targets.computation_steps, large_targets.not_computed, is_divisible=True
        ),
        RESUME_LOADED_STREAMS: Worker("resume loaded streams group"),
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
)
