"""Findings about rebalances that are too many, or for nothing."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Final

from coordinator.explain.claims.claim import derived
from coordinator.explain.claims.findings import Kind, StoppedForNothing, Storm
from coordinator.explain.facts import Facts
from coordinator.explain.generation import Generation
from coordinator.explain.makers.assignors import cooperative
from coordinator.explain.owners import EAGER_ASSIGNORS
from coordinator.explain.storms import UNKNOWN, Rebalances, storms_of_group

IDLE_REBALANCES: Final = 3
"""How many rebalances that stopped all members and moved nothing make a finding."""


def storm(facts: Facts, now_ms: int) -> Iterator[Storm]:
    """The largest storm of the group."""
    history = facts.history
    started = [
        (
            generation,
            Rebalances(
                generation.rebalance_started_ms or 0,
                history.group_id,
                generation.cause.value if generation.cause else UNKNOWN,
            ),
        )
        for generation in facts.complete
    ]
    storms = storms_of_group(history.group_id, (rebalances for _, rebalances in started))
    if not storms:
        return
    found = max(storms, key=lambda storm: storm.rebalances)
    of_it = [
        generation
        for generation, rebalances in started
        if found.from_ms <= rebalances.time_ms <= found.until_ms and not rebalances.is_growth
    ]
    yield Storm(
        kind=Kind.REBALANCE_STORM,
        from_ms=found.from_ms,
        until_ms=found.until_ms,
        rebalances=found.rebalances,
        causes=found.causes,
        lost_ms=sum(_within(generation, found.until_ms) for generation in of_it),
        evidence=derived(*(generation.first_seq for generation in of_it)),
    )


def _within(generation: Generation, until_ms: int) -> int:
    """How much of a rebalance passed until a time."""
    return max(0, min(generation.rebalance_ms or 0, until_ms - (generation.rebalance_started_ms or 0)))


def stopped_for_nothing(facts: Facts, now_ms: int) -> Iterator[StoppedForNothing]:
    idle = [
        generation
        for before, generation in pairwise(facts.stable)
        if generation.protocol_name in EAGER_ASSIGNORS
        and before.partitions
        and before.created_seq == generation.created_seq
        and generation.unowned_partition_ms
        and (generation.partitions_moved_needed == 0 or generation.partitions_moved == 0)
    ]
    if len(idle) < IDLE_REBALANCES:
        return
    last = idle[-1]
    yield StoppedForNothing(
        kind=Kind.EAGER_WITHOUT_NEED,
        from_ms=idle[0].rebalance_started_ms or 0,
        until_ms=last.ended_ms or 0,
        rebalances=len(idle),
        assignor=last.protocol_name,
        partition_ms=sum(generation.unowned_partition_ms or 0 for generation in idle),
        change=cooperative((part.member for part in last.members.values()), last.protocol_name),
        evidence=derived(*(generation.first_seq for generation in idle)),
    )
