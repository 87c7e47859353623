"""Tasks of a topology, as members and records have them.

Counterpart in Kafka: `TasksTuple` and `TasksTupleWithEpochs`.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

import msgspec

Tasks = Mapping[str, tuple[int, ...]]
"""Subtopology id → numbers of tasks, ascending. No subtopology without tasks."""

EpochsByTask = Mapping[str, Mapping[int, int]]
"""Subtopology id → number of the task → the epoch in which the member was assigned it. No subtopology without tasks."""

NO_TASKS: Final[Tasks] = {}
NO_EPOCHS: Final[EpochsByTask] = {}


class TaskAssignment(msgspec.Struct, frozen=True):
    """What a member is to have: its target."""

    active: Tasks = NO_TASKS
    standby: Tasks = NO_TASKS
    warmup: Tasks = NO_TASKS
    """Kafka 4.3.1 assigns none; a log may have some."""


class TaskEpochs(msgspec.Struct, frozen=True):
    """What a member has, or is to give up. Only active tasks have epochs."""

    active: EpochsByTask = NO_EPOCHS
    standby: Tasks = NO_TASKS
    warmup: Tasks = NO_TASKS

    def __bool__(self) -> bool:
        return bool(self.active or self.standby or self.warmup)


NO_ASSIGNMENT: Final = TaskAssignment()
NOTHING_ASSIGNED: Final = TaskEpochs()


def utf16(text: str) -> bytes:
    """Texts in the order of Java's String.compareTo."""
    return text.encode("utf-16-be", "surrogatepass")


def tasks_of(claimed: Iterable[Any]) -> dict[str, tuple[int, ...]]:
    """The tasks of a request or a record: structs with `subtopology_id` and `partitions`."""
    found: dict[str, set[int]] = {}
    for task_ids in claimed:
        found.setdefault(task_ids.subtopology_id, set()).update(task_ids.partitions)
    return {
        subtopology_id: tuple(sorted(found[subtopology_id]))
        for subtopology_id in sorted(found, key=utf16)
        if found[subtopology_id]
    }


def flat_tasks(tasks: Mapping[str, Iterable[int]]) -> Iterator[tuple[str, int]]:
    for subtopology_id, numbers in tasks.items():
        for number in numbers:
            yield subtopology_id, number


def has_any(claimed: Mapping[str, Iterable[int]], tasks: Mapping[str, Iterable[int]]) -> bool:
    """Whether both have a task in common."""
    return any(
        not set(numbers).isdisjoint(tasks[subtopology_id])
        for subtopology_id, numbers in claimed.items()
        if subtopology_id in tasks
    )


def is_subset(claimed: Mapping[str, Iterable[int]], tasks: Mapping[str, Iterable[int]]) -> bool:
    return all(set(numbers).issubset(tasks.get(subtopology_id, ())) for subtopology_id, numbers in claimed.items())
