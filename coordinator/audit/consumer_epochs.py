"""The audit of group epochs (KIP-848): what raised them, and when their target assignments were computed.

An epoch begins when it rises, and starts when its target assignment was computed; the next one that rises before all
members have reconciled supersedes it. A target that is computed beside the requests may come after that: its epoch then
starts while the next one waits for its own.
"""

from collections.abc import Mapping
from typing import Final

import msgspec

from coordinator.audit import schema
from coordinator.audit.fields import Fields
from coordinator.audit.group_state import GroupAuditState
from coordinator.audit.kind_audit import Projection, ms_between
from coordinator.audit.world import Topic, World
from coordinator.core.causes import Cause
from coordinator.core.consumer import events
from coordinator.core.consumer.group import ConsumerGroup
from coordinator.core.consumer.target_events import (
    TargetComputationEnded,
    TargetComputationFailed,
    TargetComputationStarted,
)
from coordinator.core.consumer_protocol import CONSUMER_PROTOCOL_TYPE
from coordinator.core.groups.states import EMPTY, GroupState


class AskedTarget(msgspec.Struct, frozen=True):
    """What is known of an epoch when the computation of its target begins."""

    epoch: int
    rebalance_started_ms: int
    topics: dict[str, Topic]
    triggers: list[schema.Trigger]
    """Those of all epochs since the last target, this one included."""
    unnamed_triggers: int


def _superseded(
    event: events.GroupEpochBumped, group: ConsumerGroup, state: GroupAuditState, before: GroupState, world: World
) -> Fields | None:
    if not state.is_rebalancing:
        return None
    asked: AskedTarget | None = state.of_kind
    return {
        "rebalance_ms": ms_between(state.rebalance_started_ms, event.at_ms) if state.rebalance_started_ms else None,
        "never_synced": [],
        "unnamed_members": 0,
        "awaits_target": group.computing is not None and asked is not None and asked.epoch == event.epoch - 1,
    }


def _rebalance_started(
    event: events.GroupEpochBumped, group: ConsumerGroup, state: GroupAuditState, before: GroupState, world: World
) -> Fields:
    state.start_rebalance((), event.at_ms)
    state.is_rebalancing = True
    existing = state.members.get(event.member_id)
    member = None if existing is None else existing.member
    triggers = state.begin_epoch(event.cause, member, event.reason, event.at_ms)
    trigger = triggers[0]
    if trigger.cause is not event.cause:
        trigger = next(each for each in triggers if each.cause is event.cause)
    # What changed while nobody was there began no rebalance.
    is_first = event.cause is Cause.NEW_MEMBER and len(group.members) == 1
    changed = {} if is_first else world.changed(state.topics)
    return {
        "cause": event.cause,
        "member": trigger.member,
        "reason": trigger.reason,
        "members": len(group.members),
        "triggers": triggers,
        "topic_changes": world.topic_changes(changed) if changed else {},
        "lag": world.lag(),
        "recreated_topics": world.recreated_topics(changed) if changed else [],
    }


def _emptied(
    event: events.GroupEpochBumped, group: ConsumerGroup, state: GroupAuditState, before: GroupState, world: World
) -> Fields | None:
    if group.state is not EMPTY:
        return None
    triggers, unnamed_triggers = _pop_all_triggers(state)
    state.end_rebalance()
    state.is_rebalancing = False
    return {"rebalance_ms": 0, "triggers": triggers, "unnamed_triggers": unnamed_triggers}


def _target_asked(
    event: TargetComputationStarted, group: ConsumerGroup, state: GroupAuditState, before: GroupState, world: World
) -> None:
    """Set aside what belongs to this epoch: the next one may rise before its target is there."""
    triggers, unnamed_triggers = _pop_all_triggers(state)
    state.of_kind = AskedTarget(
        event.epoch, state.rebalance_started_ms, _subscribed_topics(group, world), triggers, unnamed_triggers
    )


def _generation_started(
    event: events.TargetAssignmentComputed,
    group: ConsumerGroup,
    state: GroupAuditState,
    before: GroupState,
    world: World,
) -> Fields:
    asked: AskedTarget | None = state.of_kind
    started_ms = state.rebalance_started_ms or event.at_ms
    if asked is not None and event.epoch < group.epoch:
        triggers, unnamed_triggers = asked.triggers, asked.unnamed_triggers
        started_ms = asked.rebalance_started_ms or event.at_ms
    else:
        triggers, unnamed_triggers = _pop_all_triggers(state)
    gone = world.gone_topics(state.topics)
    state.topics = _subscribed_topics(group, world) if asked is None else asked.topics
    state.of_kind = None
    state.start_generation(event.at_ms)
    return {
        "protocol_type": CONSUMER_PROTOCOL_TYPE,
        "protocol_name": event.assignor,
        "leader": "",
        "members": len(group.members),
        "join_ms": ms_between(started_ms, event.at_ms),
        "triggers": triggers,
        "unnamed_triggers": unnamed_triggers,
        "pending_members": [],
        "slowest_member": None,
        "slowest_join_ms": 0,
        "target_epoch": event.epoch,
        "gone_topics": gone,
    }


def _subscribed_topics(group: ConsumerGroup, world: World) -> dict[str, Topic]:
    return world.topics(group.named_topics.counts.keys(), group.pattern_topics.keys())


def _pop_all_triggers(state: GroupAuditState) -> tuple[list[schema.Trigger], int]:
    """Those since the last target, also those that belong to the target that is being computed."""
    triggers, unnamed = state.pop_triggers()
    asked: AskedTarget | None = state.of_kind
    if asked is not None:
        state.of_kind = msgspec.structs.replace(asked, triggers=[], unnamed_triggers=0)
        triggers, unnamed = [*asked.triggers, *triggers], asked.unnamed_triggers + unnamed
    named = triggers[: schema.TRIGGERS_NAMED_MAX]
    return named, unnamed + len(triggers) - len(named)


def _asked_in_vain(
    event: TargetComputationEnded | TargetComputationFailed,
    group: ConsumerGroup,
    state: GroupAuditState,
    before: GroupState,
    world: World,
) -> None:
    forget_asked_target(state)


def forget_asked_target(state: GroupAuditState) -> None:
    """The target that is being computed is not going to be installed: what was set aside belongs to what comes next."""
    if state.of_kind is not None:
        state.restore_triggers(*_pop_all_triggers(state))
        state.of_kind = None


PROJECTIONS: Final[Mapping[type, tuple[Projection, ...]]] = {
    events.GroupEpochBumped: (
        Projection(schema.RebalanceSuperseded, _superseded),
        Projection(schema.RebalanceStarted, _rebalance_started),
        Projection(schema.GroupEmptied, _emptied),
    ),
    TargetComputationStarted: (Projection(None, _target_asked),),
    TargetComputationEnded: (Projection(None, _asked_in_vain),),
    TargetComputationFailed: (Projection(None, _asked_in_vain),),
    events.TargetAssignmentComputed: (Projection(schema.GenerationStarted, _generation_started),),
}
"""Core events of group epochs → their projections."""
