"""The target assignment of a streams group: which tasks each member is to have.

Counterpart in Kafka: `TargetAssignmentBuilder` of the package `streams`.
"""

from collections.abc import Generator, Mapping
from typing import Final

import msgspec

from coordinator.core.hash_map_order import texts_in_hash_map_order
from coordinator.core.share.assignors.java_table import JavaTable
from coordinator.core.streams.assignors.sticky import StreamsSubscriber, TaskSource, assignment_steps
from coordinator.core.streams.configured import ConfiguredTopology
from coordinator.core.streams.tasks import NO_ASSIGNMENT, TaskAssignment
from coordinator.core.streams.topology import Topology

PLACES_AT_ONCE: Final = 500
"""Tasks, standby tasks and members of the largest target that is computed in the request: up to 5 ms."""


class StreamsTargetInput(msgspec.Struct, frozen=True):
    """What a target assignment is computed from."""

    processes: Mapping[str, str]
    """Member id → process id, as the request leaves it."""
    targets: Mapping[str, TaskAssignment]
    """The targets of these members so far."""
    sources: tuple[TaskSource, ...]
    """Empty while the topology is not ready: nobody gets tasks."""
    standbys: int

    def __repr__(self) -> str:
        """Short: an event with it may be part of an error message."""
        return f"StreamsTargetInput({len(self.processes)} members)"


def sources_of(configured: ConfiguredTopology, topology: Topology) -> tuple[TaskSource, ...]:
    """The subtopologies as the assignor sees them."""
    if not configured.is_ready or configured.subtopologies is None:
        return ()
    stateful = {part.subtopology_id for part in topology.subtopologies if part.is_stateful}
    return tuple(
        TaskSource(part.subtopology_id, part.tasks, part.subtopology_id in stateful)
        for part in configured.subtopologies.values()
    )


def is_large(asked: StreamsTargetInput) -> bool:
    """Whether a target takes too long for a request."""
    tasks = sum(source.tasks * (1 + source.is_stateful * asked.standbys) for source in asked.sources)
    return len(asked.processes) + tasks > PLACES_AT_ONCE


def streams_target_steps(asked: StreamsTargetInput) -> Generator[None, None, dict[str, TaskAssignment]]:
    """The targets that differ from those so far, by member id, and one for each member that had none, in steps."""
    member_ids = texts_in_hash_map_order(list(asked.processes))
    subscribers = []
    for member_id in member_ids:
        target = asked.targets.get(member_id, NO_ASSIGNMENT)
        subscribers.append(StreamsSubscriber(member_id, asked.processes[member_id], target.active, target.standby))
    yield
    computed: Mapping[str, TaskAssignment] = {}
    if asked.sources:
        computed = yield from assignment_steps(
            subscribers, _processes_in_order(asked.processes, member_ids), asked.sources, asked.standbys
        )
    return {
        member_id: target
        for member_id in asked.processes
        if (target := computed.get(member_id, NO_ASSIGNMENT)) != asked.targets.get(member_id)
    }


def _processes_in_order(processes: Mapping[str, str], member_ids: list[str]) -> dict[str, list[str]]:
    """The processes as a HashMap that was made for as many as there are members, each with its members."""
    capacity = 1
    while capacity < len(member_ids):
        capacity *= 2
    table: JavaTable[str] = JavaTable(_hash_of_text, capacity)
    members: dict[str, list[str]] = {}
    for member_id in member_ids:
        process_id = processes[member_id]
        table.add(process_id)
        members.setdefault(process_id, []).append(member_id)
    return {process_id: texts_in_hash_map_order(members[process_id]) for process_id in table}


def _hash_of_text(text: str) -> int:
    """String.hashCode"""
    units = text.encode("utf-16-be", "surrogatepass")
    value = 0
    for place in range(0, len(units), 2):
        value = value * 31 + (units[place] << 8 | units[place + 1]) & 0xFFFFFFFF
    return value
