"""What the workers of a Kafka Connect cluster were given in a generation, and what moved."""

from collections.abc import Iterator, Mapping
from typing import Final

from coordinator.audit.schema import CONNECTOR, WorkerTasks
from coordinator.explain.generation import Generation, MemberPart
from coordinator.explain.words import Clock, Names, counted, listed, plain

WORKERS_NAMED: Final = 5
TASKS_NAMED: Final = 3

Task = tuple[str, int]
"""Connector and number; the number of the connector itself is `CONNECTOR`."""


def tasks_of(worker: WorkerTasks | None) -> set[Task]:
    """The connectors and tasks that a worker was given, as far as they are named."""
    if worker is None:
        return set()
    return {(each, CONNECTOR) for each in worker.connectors} | _each(worker.tasks)


def gained(part: MemberPart) -> set[Task]:
    """What it had not in the generation before."""
    return tasks_of(part.worker) - tasks_of(part.worker_before)


def lost(part: MemberPart) -> set[Task]:
    return tasks_of(part.worker_before) - tasks_of(part.worker)


def what_workers_run(generation: Generation, names: Names, clock: Clock) -> Iterator[str]:
    """Sentences about the workers; none of a group that has none."""
    parts = [part for part in generation.members.values() if part.worker is not None]
    workers = [part.worker for part in parts if part.worker is not None]
    if not workers:
        return
    connectors = sum(len(each.connectors) for each in workers)
    tasks = sum(len(_each(each.tasks)) for each in workers)
    offsets = sorted({each.config_offset for each in workers})
    upto = f"{offsets[0]:,}" if len(offsets) == 1 else f"{offsets[0]:,} to {offsets[-1]:,}"
    yield (
        f"{counted(len(workers), 'worker')} of Kafka Connect {'runs' if len(workers) == 1 else 'run'}"
        f" {counted(connectors, 'connector')} and {counted(tasks, 'task')}, by the configurations up to offset {upto}."
    )
    unnamed = sum(each.unnamed_tasks for each in workers)
    if unnamed:
        yield f"{counted(unnamed, 'connector or task', 'connectors and tasks')} more are too many to be named."
    if any(part.worker_before is not None for part in parts):
        yield from _moves(parts, names)
    yield from _given_up(parts, names)
    yield from _delay(generation, workers, clock)


def _moves(parts: list[MemberPart], names: Names) -> Iterator[str]:
    came = [(part, gained(part)) for part in parts]
    told = [f"{names.of(part.member)} got {_named(new)}" for part, new in came if new]
    if told:
        yield f"{listed(told[:WORKERS_NAMED], more=max(0, len(told) - WORKERS_NAMED))}."
    else:
        yield "No connector and no task came to another worker."


def _given_up(parts: list[MemberPart], names: Names) -> Iterator[str]:
    told = [
        f"{names.of(part.member)} was to give up {_named(_each(part.worker.revoked))}"
        for part in parts
        if part.worker is not None and part.worker.revoked
    ]
    if told:
        more = max(0, len(told) - WORKERS_NAMED)
        yield f"{listed(told[:WORKERS_NAMED], more=more)}, for the next rebalance."


def _delay(generation: Generation, workers: list[WorkerTasks], clock: Clock) -> Iterator[str]:
    delay_ms = max(each.delay_ms for each in workers)
    if delay_ms > 0 and generation.ended_ms is not None:
        yield (
            f"Until {clock(generation.ended_ms + delay_ms)} the leader waits for workers that went, and gives what they"
            " ran to nobody else (scheduled.rebalance.max.delay.ms)."
        )


def _each(tasks: Mapping[str, list[int]]) -> set[Task]:
    return {(connector, number) for connector, numbers in tasks.items() for number in numbers}


def _named(tasks: set[Task]) -> str:
    names = [
        f"the connector {plain(connector)}" if number == CONNECTOR else plain(f"{connector}-{number}")
        for connector, number in sorted(tasks)
    ]
    return listed(names[:TASKS_NAMED], more=max(0, len(names) - TASKS_NAMED))
