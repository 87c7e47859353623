"""What the workers of a Kafka Connect cluster were given, in words."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from coordinator.audit.schema import CONNECTOR
from coordinator.explain.claims.workers import Task, WorkersGiveUp, WorkersGot, WorkersRun, WorkersWait
from coordinator.explain.sentences.wording import Wording
from coordinator.explain.words import counted, listed, plain

WORKERS_NAMED: Final = 5
TASKS_NAMED: Final = 3


def workers_run(claims: Sequence[WorkersRun], wording: Wording) -> Iterator[str]:
    for claim in claims:
        first, last = claim.config_offsets
        upto = f"{first:,}" if first == last else f"{first:,} to {last:,}"
        yield (
            f"{counted(claim.workers, 'worker')} of Kafka Connect {'runs' if claim.workers == 1 else 'run'}"
            f" {counted(claim.connectors, 'connector')} and {counted(claim.tasks, 'task')}, by the configurations up to"
            f" offset {upto}."
        )
        if claim.unnamed:
            more = counted(claim.unnamed, "connector or task", "connectors and tasks")
            yield f"{more} more are too many to be named."


def workers_got(claims: Sequence[WorkersGot], wording: Wording) -> Iterator[str]:
    for claim in claims:
        named = [f"{wording.names.of(one.member)} got {_named(one.tasks)}" for one in claim.gains]
        yield f"{_few(named)}." if named else "No connector and no task came to another worker."


def workers_give_up(claims: Sequence[WorkersGiveUp], wording: Wording) -> Iterator[str]:
    for claim in claims:
        named = [f"{wording.names.of(one.member)} was to give up {_named(one.tasks)}" for one in claim.losses]
        yield f"{_few(named)}, for the next rebalance."


def workers_wait(claims: Sequence[WorkersWait], wording: Wording) -> Iterator[str]:
    for claim in claims:
        yield (
            f"Until {wording.clock(claim.until_ms)} the leader waits for workers that went, and gives what they ran to"
            " nobody else (scheduled.rebalance.max.delay.ms)."
        )


def _few(named: Sequence[str]) -> str:
    return listed(named[:WORKERS_NAMED], more=max(0, len(named) - WORKERS_NAMED))


def _named(tasks: Iterable[Task]) -> str:
    names = [
        f"the connector {plain(connector)}" if number == CONNECTOR else plain(f"{connector}-{number}")
        for connector, number in tasks
    ]
    return listed(names[:TASKS_NAMED], more=max(0, len(names) - TASKS_NAMED))
