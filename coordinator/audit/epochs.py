"""The audit of group epochs, of all kinds of groups that have them (KIP-848, KIP-932, KIP-1071).

An epoch begins when it rises, and starts when its target assignment was computed; the next one that rises before all
members have reconciled supersedes it. `consumer_epochs.py` has what only consumer groups do.
"""

from collections.abc import Callable, Mapping
from typing import Any

from coordinator.audit import schema
from coordinator.audit.fields import Fields
from coordinator.audit.group_state import GroupAuditState
from coordinator.audit.kind_audit import Projection, ms_between
from coordinator.audit.world import Topic, World, ids_of
from coordinator.core.causes import Cause
from coordinator.core.groups.states import EMPTY, GroupState


def superseded(
    event: Any, group: Any, state: GroupAuditState, before: GroupState, world: World
) -> dict[str, Any] | None:
    """Of an event that raises the group epoch."""
    if not state.is_rebalancing:
        return None
    return {
        "rebalance_ms": ms_between(state.rebalance_started_ms, event.at_ms) if state.rebalance_started_ms else None,
        "never_synced": [],
        "unnamed_members": 0,
        "awaits_target": False,
    }


def rebalance_started(event: Any, group: Any, state: GroupAuditState, before: GroupState, world: World) -> Fields:
    """Of an event that raises the group epoch: with `cause`, `member_id` and `reason`."""
    return began(event.cause, event.member_id, event.reason, event.at_ms, group, state, world)


def began(
    cause: Cause, member_id: str, reason: str, at_ms: int, group: Any, state: GroupAuditState, world: World
) -> Fields:
    """The fields of `schema.RebalanceStarted`; of an epoch that rose when nobody was there it is its first member."""
    state.start_rebalance((), at_ms)
    state.is_rebalancing = True
    triggers = state.begin_epoch(cause, state.members.get(member_id), reason, at_ms)
    trigger = triggers[0]
    if trigger.cause is not cause:
        trigger = next(trigger for trigger in triggers if trigger.cause is cause)
    # What changed while nobody was there began no rebalance.
    is_first = cause is Cause.NEW_MEMBER and len(group.members) == 1
    changed = {} if is_first else world.changed(state.topics)
    return {
        "cause": cause,
        "member": trigger.member,
        "reason": trigger.reason,
        "members": len(group.members),
        "triggers": triggers,
        "topic_changes": world.topic_changes(changed) if changed else {},
        "lag": world.lag(),
        "recreated_topics": world.recreated_topics(changed) if changed else [],
    }


def emptied(
    state: GroupAuditState, pop_triggers: Callable[[GroupAuditState], tuple[list[schema.Trigger], int]]
) -> Fields:
    """Of an event that raises the epoch of a group without members."""
    triggers, unnamed_triggers = pop_triggers(state)
    state.end_rebalance()
    state.is_rebalancing = False
    return {"rebalance_ms": 0, "triggers": triggers, "unnamed_triggers": unnamed_triggers}


def generation_started(
    event: Any,
    group: Any,
    state: GroupAuditState,
    protocol_type: str,
    started_ms: int,
    triggers: tuple[list[schema.Trigger], int],
    gone_topics: list[str],
) -> Fields:
    """Of an event that has a target assignment: with `assignor` and `epoch`, which began at `started_ms`."""
    state.start_generation(event.at_ms)
    named, unnamed = triggers
    return {
        "protocol_type": protocol_type,
        "protocol_name": event.assignor,
        "leader": "",
        "members": len(group.members),
        "join_ms": ms_between(started_ms, event.at_ms),
        "triggers": named,
        "unnamed_triggers": unnamed,
        "pending_members": [],
        "slowest_member": None,
        "slowest_join_ms": 0,
        "target_epoch": event.epoch,
        "gone_topics": gone_topics,
        "topic_ids": ids_of(state.topics),
        "absent": [],
    }


def epoch_projections(
    bumped: type, computed: type, protocol_type: str, topics_of: Callable[[Any, World], dict[str, Topic]]
) -> Mapping[type, tuple[Projection, ...]]:
    """The projections of the two events of an epoch, where a target is reported when it is installed.

    `topics_of`: group → the topics whose changes count.
    """

    def group_emptied(
        event: Any, group: Any, state: GroupAuditState, before: GroupState, world: World
    ) -> Fields | None:
        return emptied(state, GroupAuditState.pop_triggers) if group.state is EMPTY else None

    def target_computed(event: Any, group: Any, state: GroupAuditState, before: GroupState, world: World) -> Fields:
        started_ms, gone = state.rebalance_started_ms or event.at_ms, world.gone_topics(state.topics)
        state.topics = topics_of(group, world)
        return generation_started(event, group, state, protocol_type, started_ms, state.pop_triggers(), gone)

    return {
        bumped: (
            Projection(schema.RebalanceSuperseded, superseded),
            Projection(schema.RebalanceStarted, rebalance_started),
            Projection(schema.GroupEmptied, group_emptied),
        ),
        computed: (Projection(schema.GenerationStarted, target_computed),),
    }
