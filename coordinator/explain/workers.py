"""What a worker of Kafka Connect was given in a generation, and what it had before."""

from collections.abc import Mapping

from coordinator.audit.schema import CONNECTOR, WorkerTasks
from coordinator.explain.claims.workers import Task
from coordinator.explain.generation import MemberPart


def tasks_of(worker: WorkerTasks | None) -> set[Task]:
    """The connectors and tasks that a worker was given, as far as they are named."""
    if worker is None:
        return set()
    return {(connector, CONNECTOR) for connector in worker.connectors} | task_set(worker.tasks)


def gained(part: MemberPart) -> set[Task]:
    """What it had not in the generation before."""
    return tasks_of(part.worker) - tasks_of(part.worker_before)


def lost(part: MemberPart) -> set[Task]:
    """What it had in the generation before, and has no more."""
    return tasks_of(part.worker_before) - tasks_of(part.worker)


def task_set(tasks: Mapping[str, list[int]]) -> set[Task]:
    """Connector and number, of connector → numbers."""
    return {(connector, number) for connector, numbers in tasks.items() for number in numbers}
