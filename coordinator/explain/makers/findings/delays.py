"""Findings about clients that hold up others."""

from collections import defaultdict
from collections.abc import Iterator
from typing import Final

from coordinator.audit.schema import MemberRef
from coordinator.explain.claims.claim import derived
from coordinator.explain.claims.findings import HeldUpIn, HoldsUpOthers, Identity, Kind, SlowRejoiner, WaitedFor
from coordinator.explain.clients import JOIN_IN_POLL, all_are
from coordinator.explain.facts import Facts
from coordinator.explain.generation import Generation
from coordinator.explain.identities import identity
from coordinator.explain.makers.advice import SLOW_REJOIN_MS
from coordinator.explain.reconciliation import Revocation

SLOW_REJOINS: Final = 3
"""In so many rebalances a member joins `SLOW_REJOIN_MS` later than all others until it is slow."""


def slow_rejoiner(facts: Facts, now_ms: int) -> Iterator[SlowRejoiner]:
    held: dict[Identity, list[tuple[Generation, int]]] = defaultdict(list)
    clients: dict[Identity, MemberRef] = {}
    for generation in facts.stable:
        found = generation.held_up()
        if found is not None and found[1] >= SLOW_REJOIN_MS:
            clients[identity(found[0])] = found[0]
            held[identity(found[0])].append((generation, found[1]))
    rebalances = sum(1 for generation in facts.stable if (generation.member_count or 0) > 1)
    for who, times in held.items():
        if len(times) >= SLOW_REJOINS and len(times) * 2 > rebalances:
            yield SlowRejoiner(
                kind=Kind.SLOW_REJOINER,
                from_ms=times[0][0].rebalance_started_ms or 0,
                until_ms=times[-1][0].ended_ms or 0,
                client=who,
                held_up=tuple(HeldUpIn(generation.generation_id, generation.is_epoch, ms) for generation, ms in times),
                rebalances=rebalances,
                joins_in_poll=all_are([clients[who]], JOIN_IN_POLL),
                evidence=derived(*(generation.first_seq for generation, _ in times)),
            )


def holds_up_others(facts: Facts, now_ms: int) -> Iterator[HoldsUpOthers]:
    """A member of a consumer group that others wait for: it is asked late, or takes long, to give up partitions."""
    held: dict[Identity, list[tuple[Generation, Revocation]]] = defaultdict(list)
    waits = 0
    for generation in facts.complete:
        slowest = None if generation.reconciliations is None else generation.reconciliations.slowest()
        if slowest is not None and slowest.waited_ms is not None:
            waits += 1
            if slowest.waited_ms >= SLOW_REJOIN_MS:
                held[identity(slowest.member)].append((generation, slowest))
    for who, times in held.items():
        if len(times) < SLOW_REJOINS or len(times) * 2 <= waits:
            continue
        took = [revocation for _, revocation in times if (revocation.took_ms or 0) >= SLOW_REJOIN_MS]
        yield HoldsUpOthers(
            kind=Kind.HOLDS_UP_OTHERS,
            from_ms=times[0][0].rebalance_started_ms or 0,
            until_ms=times[-1][0].ended_ms or 0,
            client=who,
            waits=tuple(
                WaitedFor(epoch.generation_id, len(revocation.waiting), revocation.waited_ms or 0, revocation.took_ms)
                for epoch, revocation in times
            ),
            of=waits,
            is_slow=len(took) * 2 >= len(times),
            joins_in_poll=all_are([times[-1][1].member], JOIN_IN_POLL),
            evidence=derived(*(generation.first_seq for generation, _ in times)),
        )
