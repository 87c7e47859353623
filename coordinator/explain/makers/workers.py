"""Claims about the workers of a Kafka Connect cluster."""

from collections.abc import Iterator

from coordinator.explain.claims.claim import Claim, derived, seen
from coordinator.explain.claims.workers import TasksOf, WorkersGiveUp, WorkersGot, WorkersRun, WorkersWait
from coordinator.explain.makers.context import Context
from coordinator.explain.workers import gained, task_set


def worker_claims(context: Context) -> Iterator[Claim]:
    """What they run and what moved; nothing about a group that has none."""
    generation = context.generation
    parts = [part for part in generation.members.values() if part.worker is not None]
    workers = [part.worker for part in parts if part.worker is not None]
    if not workers:
        return
    evidence = seen(generation.last_seq)
    offsets = [worker.config_offset for worker in workers]
    yield WorkersRun(
        workers=len(workers),
        connectors=sum(len(worker.connectors) for worker in workers),
        tasks=sum(len(task_set(worker.tasks)) for worker in workers),
        config_offsets=(min(offsets), max(offsets)),
        unnamed=sum(worker.unnamed_tasks for worker in workers),
        evidence=evidence,
    )
    if any(part.worker_before is not None for part in parts):
        gains = tuple(TasksOf(part.member, tuple(sorted(new))) for part in parts if (new := gained(part)))
        yield WorkersGot(gains=gains, evidence=derived(generation.last_seq))
    losses = tuple(
        TasksOf(part.member, tuple(sorted(task_set(part.worker.revoked))))
        for part in parts
        if part.worker is not None and part.worker.revoked
    )
    if losses:
        yield WorkersGiveUp(losses=losses, evidence=evidence)
    delay_ms = max(worker.delay_ms for worker in workers)
    if delay_ms > 0 and generation.ended_ms is not None:
        yield WorkersWait(until_ms=generation.ended_ms + delay_ms, evidence=evidence)
