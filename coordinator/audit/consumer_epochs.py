"""The audit of group epochs (KIP-848): what raised them, and when their target assignments were computed.

Unlike in `epochs.py`, a target that is computed beside the requests may come after the next epoch has risen: its epoch
then starts while the next one waits for its own.
"""

from collections.abc import Mapping
from typing import Final

import msgspec

from coordinator.audit import epochs, schema
from coordinator.audit.fields import Fields
from coordinator.audit.group_state import GroupAuditState
from coordinator.audit.kind_audit import Projection
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
    asked: AskedTarget | None = state.of_kind
    fields = epochs.superseded(event, group, state, before, world)
    if fields is not None:
        is_asked = group.computing is not None and asked is not None and asked.epoch == event.epoch - 1
        fields["awaits_target"] = is_asked
    return fields


def _emptied(
    event: events.GroupEpochBumped, group: ConsumerGroup, state: GroupAuditState, before: GroupState, world: World
) -> Fields | None:
    return epochs.emptied(state, _pop_all_triggers) if group.state is EMPTY else None


def _target_asked(
    event: TargetComputationStarted, group: ConsumerGroup, state: GroupAuditState, before: GroupState, world: World
) -> None:
    """Set aside what belongs to this epoch: the next one may rise before its target is there."""
    triggers, unnamed_triggers = _pop_all_triggers(state)
    state.of_kind = AskedTarget(
        event.epoch, state.rebalance_started_ms, _subscribed_topics(group, world), triggers, unnamed_triggers
    )


def _began(
    event: events.TargetAssignmentComputed,
    group: ConsumerGroup,
    state: GroupAuditState,
    before: GroupState,
    world: World,
) -> Fields | None:
    """An epoch that rose when nobody was there, and that a member began who joined without raising it.

    So does one that subscribes to a regular expression alone, as long as its topics are not found.
    """
    if state.is_rebalancing:
        return None
    return epochs.began(Cause.NEW_MEMBER, event.member_id, "", event.at_ms, group, state, world)


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
        triggers = asked.triggers, asked.unnamed_triggers
        started_ms = asked.rebalance_started_ms or event.at_ms
    else:
        triggers = _pop_all_triggers(state)
    gone = world.gone_topics(state.topics)
    state.topics = _subscribed_topics(group, world) if asked is None else asked.topics
    state.of_kind = None
    return epochs.generation_started(event, group, state, CONSUMER_PROTOCOL_TYPE, started_ms, triggers, gone)


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
    if isinstance(state.of_kind, AskedTarget):  # a group that is converted may have been of another kind
        state.restore_triggers(*_pop_all_triggers(state))
    state.of_kind = None


PROJECTIONS: Final[Mapping[type, tuple[Projection, ...]]] = {
    events.GroupEpochBumped: (
        Projection(schema.RebalanceSuperseded, _superseded),
        Projection(schema.RebalanceStarted, epochs.rebalance_started),
        Projection(schema.GroupEmptied, _emptied),
    ),
    TargetComputationStarted: (Projection(None, _target_asked),),
    TargetComputationEnded: (Projection(None, _asked_in_vain),),
    TargetComputationFailed: (Projection(None, _asked_in_vain),),
    events.TargetAssignmentComputed: (
        Projection(schema.RebalanceStarted, _began),
        Projection(schema.GenerationStarted, _generation_started),
    ),
}
"""Core events of group epochs → their projections."""
