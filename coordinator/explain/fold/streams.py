"""What only streams groups have (KIP-1071)."""

from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec

from coordinator.audit import schema
from coordinator.audit.schema import AuditEvent
from coordinator.explain.claims.streams import MovedTask
from coordinator.explain.folded_group import NOT_READY, FoldedGroup
from coordinator.explain.generation import MOVED_TASKS_KEPT, Generation


def _topology(history: FoldedGroup, event: schema.StreamsTopology) -> None:
    if event.status == schema.READY:
        history.forget_topology()
        return
    history.topology = event
    # It may have run in between: after a load that is not told.
    if history.not_ready_ms is None or event.state_before != NOT_READY:
        history.not_ready_ms = event.time_ms


def _internal_topics(history: FoldedGroup, event: schema.StreamsInternalTopics) -> None:
    left = {topic: why for topic, why in history.failed_topics.items() if topic not in event.created}
    history.failed_topics = left | event.failed


def _shutdown(history: FoldedGroup, event: schema.StreamsShutdown) -> None:
    history.shutdown, history.is_shutting_down = event, True


def _tasks(history: FoldedGroup, event: schema.StreamsTasks) -> None:
    latest = history.latest
    if latest is None or not latest.is_open:
        return
    for gained in event.gained:
        _move(latest, gained, event.member)
    latest.unnamed_tasks += event.unnamed_gained
    if latest.reconciliations is not None:
        latest.reconciliations.note_tasks(event)


def _member_topology(history: FoldedGroup, event: schema.StreamsMemberTopology) -> None:
    tracked = history.members.get(event.member.member_id)
    if tracked is not None:
        tracked.stale_topology = event if event.is_stale else None


def _move(generation: Generation, gained: schema.GainedTask, member: schema.MemberRef) -> None:
    """Note who has a task now. Who ran it before the rebalance stays, also if it moves again."""
    key = f"{gained.subtopology_id}_{gained.task}"
    moved = generation.moved_tasks.get(key)
    if moved is not None:
        changed = msgspec.structs.replace(moved, member=member, was_standby=gained.was_standby)
        generation.moved_tasks[key] = changed
    elif gained.before is not None and len(generation.moved_tasks) < MOVED_TASKS_KEPT:
        generation.moved_tasks[key] = MovedTask(
            gained.subtopology_id, gained.task, gained.before, member, gained.was_standby
        )
    elif gained.before is not None:
        generation.unnamed_tasks += 1


HANDLERS: Final[Mapping[type[AuditEvent], Callable[[FoldedGroup, Any], None]]] = {
    schema.StreamsTopology: _topology,
    schema.StreamsInternalTopics: _internal_topics,
    schema.StreamsShutdown: _shutdown,
    schema.StreamsTasks: _tasks,
    schema.StreamsMemberTopology: _member_topology,
}
