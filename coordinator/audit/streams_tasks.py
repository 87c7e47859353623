"""The audit of what only streams groups have: tasks, the status of a topology, internal topics, shutdowns."""

from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Any, Final, cast

import msgspec

from coordinator.audit import schema
from coordinator.audit.fields import Fields
from coordinator.audit.group_state import GroupAuditState
from coordinator.audit.world import World
from coordinator.core.groups.states import GroupState
from coordinator.core.streams import events
from coordinator.core.streams.configured import TopologyStatus
from coordinator.core.streams.group import StreamsGroup
from coordinator.core.streams.member import StreamsMember, StreamsMemberMetadata, TasksState
from coordinator.core.streams.tasks import flat_tasks

TaskId = tuple[str, int]
NO_TASKS: Final[frozenset[TaskId]] = frozenset()


class StreamsAuditState(msgspec.Struct):
    """What the audit of a streams group keeps between two of its events."""

    status: TopologyStatus | None = None
    """That of the topology, as it was reported last; None: it can run."""
    last_runner: dict[TaskId, Any] = {}
    """Active task → the member that has it, or had it last, as the audit knows members."""
    active: dict[str, frozenset[TaskId]] = {}
    """Member id → its active tasks."""
    standby: dict[str, frozenset[TaskId]] = {}
    """Member id → its standby tasks."""
    standby_at: dict[str, tuple[str, frozenset[TaskId]]] = {}
    """Member id → its process, and its standby tasks with those that it gave up since it was stable: one that is to
    become active is given up first."""
    standby_members: dict[tuple[str, TaskId], int] = {}
    """Process and standby task → how many members of the process are in `standby_at` with it."""
    awaited: dict[str, tuple[tuple[TaskId, str], ...]] = {}
    """Member id → the tasks that it waits for, each with the member that has it."""

    def has_standby(self, process_id: str, task: TaskId) -> bool:
        return (process_id, task) in self.standby_members

    def note_tasks(self, member: StreamsMember, existing: Any) -> None:
        member_id, process_id, assigned = member.member_id, member.metadata.process_id, member.current.assigned
        _, given_up = self._pop_standby(member_id)
        self.active[member_id] = active = frozenset(flat_tasks(assigned.active))
        self.standby[member_id] = frozenset(flat_tasks(assigned.standby))
        at_process = self.standby[member_id]
        if member.current.state is not TasksState.STABLE:
            at_process = at_process.union(given_up, flat_tasks(member.current.pending.standby))
        self.standby_at[member_id] = process_id, at_process
        for task in at_process:
            self.standby_members[process_id, task] = self.standby_members.get((process_id, task), 0) + 1
        self.last_runner |= dict.fromkeys(active, existing)

    def forget_member(self, member_id: str) -> None:
        """The tasks that it had keep it as their last runner."""
        self._pop_standby(member_id)
        self.active.pop(member_id, None)
        self.standby.pop(member_id, None)
        self.awaited.pop(member_id, None)

    def _pop_standby(self, member_id: str) -> tuple[str, frozenset[TaskId]]:
        process_id, tasks = self.standby_at.pop(member_id, ("", NO_TASKS))
        for task in tasks:
            left = self.standby_members[process_id, task] - 1
            if left:
                self.standby_members[process_id, task] = left
            else:
                del self.standby_members[process_id, task]
        return process_id, tasks


def streams_state(state: GroupAuditState) -> StreamsAuditState:
    kept: StreamsAuditState | None = state.of_kind
    if kept is None:
        kept = state.of_kind = StreamsAuditState()
    return kept


def tasks_assigned(
    event: events.StreamsMemberAssigned, group: StreamsGroup, state: GroupAuditState, before: GroupState, world: World
) -> Fields | None:
    """None: it has the same tasks as before, and waits for the same."""
    kept, member = streams_state(state), group.members[event.member_id]
    member_id, existing = event.member_id, state.members[event.member_id]
    active_before = kept.active.get(member_id, NO_TASKS)
    awaited = _awaited(group, event)
    assigned = event.current.assigned
    active, standby = frozenset(flat_tasks(assigned.active)), frozenset(flat_tasks(assigned.standby))
    gained = sorted(active - active_before)
    named = [
        schema.GainedTask(*task, kept.last_runner.get(task), kept.has_standby(member.metadata.process_id, task))
        for task in gained[: schema.TASK_MOVES_NAMED_MAX]
    ]
    is_same = active == active_before and standby == kept.standby.get(member_id, NO_TASKS)
    waits_for_same = awaited == kept.awaited.get(member_id, ())
    kept.note_tasks(member, existing)
    kept.awaited[member_id] = awaited
    if is_same and waits_for_same:
        return None
    count = len(active) + len(standby)
    are_named = count <= schema.TASKS_NAMED_MAX
    return {
        "member": existing,
        "process_id": member.metadata.process_id,
        "active": _by_subtopology(assigned.active) if are_named else {},
        "standby": _by_subtopology(assigned.standby) if are_named else {},
        "unnamed_tasks": 0 if are_named else count,
        "gained": named,
        "unnamed_gained": len(gained) - len(named),
        "awaited": [
            schema.AwaitedTask(*task, cast(Any, state.members[holder]))
            for task, holder in awaited
            if holder in state.members
        ],
    }


def _awaited(group: StreamsGroup, event: events.StreamsMemberAssigned) -> tuple[tuple[TaskId, str], ...]:
    """The active tasks of a member's target that others have not given up, each with the member that has it."""
    if event.current.state is not TasksState.UNRELEASED_TASKS:
        return ()
    holders = group.owners.active_members
    found = (
        (task, holder)
        for task in flat_tasks(group.target(event.member_id).active)
        if (holder := holders.get(task)) is not None and holder != event.member_id
    )
    return tuple(islice(found, schema.TASK_MOVES_NAMED_MAX))


def _by_subtopology(tasks: Mapping[str, Iterable[int]]) -> dict[str, list[int]]:
    return {subtopology_id: sorted(numbers) for subtopology_id, numbers in tasks.items()}


def topology_compared(
    event: events.StreamsTopologyConfigured,
    group: StreamsGroup,
    state: GroupAuditState,
    before: GroupState,
    world: World,
) -> Fields | None:
    """None: with the same outcome as before."""
    return _status_fields(event.configured.status, event.configured.epoch, state)


def topology_reported(
    event: events.StreamsTopologyReported,
    group: StreamsGroup,
    state: GroupAuditState,
    before: GroupState,
    world: World,
) -> Fields | None:
    """None: the topology can run."""
    return _status_fields(event.status, event.topology_epoch, state)


def _status_fields(status: TopologyStatus | None, topology_epoch: int, state: GroupAuditState) -> Fields | None:
    kept = streams_state(state)
    if status == kept.status:
        return None
    kept.status = status
    topics = () if status is None else status.topics
    return {
        "topology_epoch": topology_epoch,
        "status": schema.READY if status is None else status.code.name.lower(),
        "topics": list(topics[: schema.STREAMS_TOPICS_NAMED_MAX]),
        "unnamed_topics": max(len(topics) - schema.STREAMS_TOPICS_NAMED_MAX, 0),
        "detail": "" if status is None else status.detail,
    }


def internal_topics_answered(
    event: events.InternalTopicsAnswered, group: StreamsGroup, state: GroupAuditState, before: GroupState, world: World
) -> Fields:
    named_max = schema.STREAMS_TOPICS_NAMED_MAX
    created = [topic for topic in event.topics if topic not in event.failed]
    failed = dict(islice(event.failed.items(), named_max))
    return {
        "created": created[:named_max],
        "failed": failed,
        "unnamed_topics": max(len(created) - named_max, 0) + len(event.failed) - len(failed),
    }


def shutdown_requested(
    event: events.StreamsShutdownRequested,
    group: StreamsGroup,
    state: GroupAuditState,
    before: GroupState,
    world: World,
) -> Fields:
    """Who asks may be about to join, or be no member: its leaving is rejected, and the others are told all the same."""
    member = schema.MemberRef(event.member_id, event.client_id, event.client_host)
    return {"member": state.members.get(event.member_id) or member}


def joined_with_topology(
    event: events.StreamsMemberJoined, group: StreamsGroup, state: GroupAuditState, before: GroupState, world: World
) -> Fields | None:
    """None: it runs the topology of the group."""
    return _topology_fields(state.members[event.member_id], event.metadata, event.topology.epoch, event.topology.epoch)


def updated_topology(
    event: events.StreamsMemberUpdated, group: StreamsGroup, state: GroupAuditState, before: GroupState, world: World
) -> Fields | None:
    """None: it runs the same topology as before."""
    assert group.topology is not None  # its first member brought it
    existing = state.members[event.member_id]
    return _topology_fields(existing, event.metadata, group.topology.epoch, event.before.topology_epoch)


def _topology_fields(
    existing: Any, metadata: StreamsMemberMetadata, group_epoch: int, epoch_before: int
) -> Fields | None:
    if metadata.topology_epoch == epoch_before:
        return None
    return {"member": existing, "topology_epoch": metadata.topology_epoch, "group_topology_epoch": group_epoch}


def remember_tasks(group: StreamsGroup, state: GroupAuditState) -> None:
    """Of a group that was loaded. Its topology has not been compared with the topics since."""
    kept = streams_state(state)
    for member in group.members.values():
        kept.note_tasks(member, state.members[member.member_id])
