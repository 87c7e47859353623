"""Claims about what only streams groups have (KIP-1071), in one rebalance."""

from collections.abc import Iterator

from coordinator.core.causes import Cause
from coordinator.explain.claims.claim import Claim, derived, seen
from coordinator.explain.claims.streams import CouldNotRun, ShutdownBefore, TasksMoved
from coordinator.explain.generation import Outcome
from coordinator.explain.makers.context import Context


def shutdown_claims(context: Context) -> Iterator[Claim]:
    """That members left because another one had asked for it."""
    asked = context.generation.shutdown
    left = [removal for removal in context.generation.changes.removed if removal.cause is Cause.MEMBER_LEFT]
    if asked is not None and any(removal.seq is not None and removal.seq > asked.seq for removal in left):
        yield ShutdownBefore(
            member=asked.member, at_ms=asked.time_ms, evidence=derived(asked.seq, *(removal.seq for removal in left))
        )


def topology_claims(context: Context) -> Iterator[Claim]:
    """That its topology could not run; of a rebalance in progress its ending says so."""
    generation, topology = context.generation, context.generation.topology
    if topology is not None and not generation.is_open and generation.outcome is not Outcome.STABLE:
        yield CouldNotRun(
            status=topology.status,
            topics=tuple(topology.topics),
            unnamed_topics=topology.unnamed_topics,
            evidence=seen(topology.seq),
        )


def task_claims(context: Context) -> Iterator[Claim]:
    """Which tasks moved from whom to whom."""
    generation = context.generation
    tasks = tuple(task for task in generation.moved_tasks.values() if task.before.member_id != task.member.member_id)
    if tasks:
        yield TasksMoved(
            tasks=tasks,
            unnamed=generation.unnamed_tasks,
            evidence=seen(generation.first_seq, generation.last_seq),
        )
