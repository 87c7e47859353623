"""Findings about clients that come and go."""

from collections import Counter
from collections.abc import Iterator
from typing import Final

from coordinator.core.causes import Cause
from coordinator.explain.claims.claim import derived, unknown
from coordinator.explain.claims.findings import (
    ComesAndGoes,
    Crash,
    CrashLoop,
    Departure,
    Kind,
    Pause,
    PausesTooLong,
    Replaced,
    RollingRestart,
    Succession,
)
from coordinator.explain.deploys import rolling_deploy
from coordinator.explain.facts import Facts, densest
from coordinator.explain.generation import CONSUMER
from coordinator.explain.identities import identity
from coordinator.explain.leaving import Leaving

WINDOW_MS: Final = 10 * 60_000
"""Departures within this time of each other belong together."""

FLAPS: Final = 3
"""How often a member comes and goes in `WINDOW_MS` until it flaps."""

SILENCES: Final = 2
CRASHES: Final = 2
"""How often, in `WINDOW_MS`, a client is gone without leaving until that is a loop."""


def comes_and_goes(facts: Facts, now_ms: int) -> Iterator[ComesAndGoes]:
    for who, visits in facts.visits.items():
        came_back = [visit for visit in visits if visit.back_ms is not None and not visit.removal.is_by_coordinator]
        window = densest(came_back, WINDOW_MS, lambda visit: visit.removal.at_ms)
        if len(window) < FLAPS or len(window) < FLAPS * facts.most_at_once[who]:
            continue
        if all(visit.removal.is_disconnected for visit in window):
            continue  # a crash loop, which says more
        yield ComesAndGoes(
            kind=Kind.FLAPPING_MEMBER,
            from_ms=window[0].removal.at_ms,
            until_ms=window[-1].removal.at_ms,
            client=who,
            departures=tuple(Departure(visit.removal.at_ms, visit.removal.cause) for visit in window),
            evidence=derived(*(visit.removal.seq for visit in window)),
        )


def crash_loop(facts: Facts, now_ms: int) -> Iterator[CrashLoop]:
    """A client that is gone without LeaveGroup, comes back under a new member id, and is gone again."""
    for who, visits in facts.visits.items():
        crashes = [visit for visit in visits if visit.removal.is_disconnected and not facts.came_again(visit.removal)]
        window = densest(crashes, WINDOW_MS, lambda visit: visit.removal.gone_ms)
        if len(window) < CRASHES * facts.most_at_once[who] or len(window) < CRASHES:
            continue
        yield CrashLoop(
            kind=Kind.CRASH_LOOP,
            from_ms=window[0].removal.gone_ms,
            until_ms=window[-1].removal.at_ms,
            client=who,
            crashes=tuple(Crash(visit.removal.gone_ms, visit.removal.at_ms, visit.back_ms) for visit in window),
            may_be_closed=any(visit.removal.may_be_closed for visit in window),
            evidence=derived(*(visit.removal.seq for visit in window)),
        )


def rolling_restart(facts: Facts, now_ms: int) -> Iterator[RollingRestart]:
    left = [
        visit
        for visits in facts.visits.values()
        for visit in visits
        if visit.removal.cause is Cause.MEMBER_LEFT
        and visit.removal.member.group_instance_id is None
        and visit.removal.requested_by is None
        and visit.back_ms is not None
        and not Leaving(visit.removal).by_poll_timeout
        and not Leaving(visit.removal).is_unsubscribed
    ]
    left.sort(key=lambda visit: visit.removal.at_ms)
    window = densest(left, WINDOW_MS, lambda visit: visit.removal.at_ms)
    sizes = [generation.member_count or 0 for generation in facts.stable]
    visits = Counter(identity(visit.removal.member) for visit in window)
    # Who goes again after it came back is the same client.
    back = {visit.back_id for visit in window}
    # One of KIP-848 comes back with the same id.
    restarted_ids = {
        visit.removal.member.member_id: identity(visit.removal.member)
        for visit in window
        if visit.removal.member.member_id not in back
        and facts.first_joined_ms.get(visit.removal.member.member_id, 0) <= window[0].removal.at_ms
    }
    restarted = Counter(restarted_ids.values())
    if any(number >= FLAPS * facts.most_at_once[who] for who, number in visits.items()):
        return  # a client that comes and goes several times: that is flapping
    # A client that was restarted on another host counts once: there were no more members than that.
    members = min(sum(min(number, facts.most_at_once[who]) for who, number in restarted.items()), max(sizes, default=0))
    if members < 2 or members * 2 < max(sizes, default=0):
        return
    first, last = window[0].removal.at_ms, max(visit.back_ms or 0 for visit in window)
    if not facts.rebalances_between(first, last):
        return
    yield RollingRestart(
        kind=Kind.ROLLING_RESTART,
        from_ms=first,
        until_ms=last,
        members=members,
        rebalances=facts.rebalances_between(first, last),
        evidence=derived(*(visit.removal.seq for visit in window)),
    )


def replaced(facts: Facts, now_ms: int) -> Iterator[Replaced]:
    found = rolling_deploy(facts, now_ms)
    if not found:
        return
    first = min(min(succession.came.at_ms, succession.gone.gone_ms) for succession in found)
    last = max(max(succession.came.at_ms, succession.gone.at_ms) for succession in found)
    yield Replaced(
        kind=Kind.ROLLING_DEPLOY,
        from_ms=first,
        until_ms=last,
        successions=tuple(
            Succession(
                succession.came.member,
                succession.came.at_ms,
                succession.gone.member,
                succession.gone.gone_ms,
                succession.gone.at_ms,
            )
            for succession in found
        ),
        silent=sum(1 for succession in found if succession.gone.cause is Cause.SESSION_EXPIRED),
        rebalances=facts.rebalances_between(first, last),
        evidence=derived(*(succession.gone.seq for succession in found)),
    )


def pauses_too_long(facts: Facts, now_ms: int) -> Iterator[PausesTooLong]:
    """A member whose session expired on an open connection, and that is back by the same one, was alive: it paused.

    Whether it is the same connection is unknown in older events, and after a load; it may have been restarted then.
    """
    for who, visits in facts.visits.items():
        pauses = [
            visit
            for visit in visits
            if visit.removal.cause is Cause.SESSION_EXPIRED
            and (not visit.removal.is_disconnected or facts.came_again(visit.removal))
            and not visit.removal.is_by_coordinator
            and visit.back_ms is not None
            and visit.removal.session_timeout_ms
        ]
        if len(pauses) < SILENCES:
            continue
        seqs = [pause.removal.seq for pause in pauses]
        yield PausesTooLong(
            kind=Kind.SHORT_SESSION_TIMEOUT,
            from_ms=pauses[0].removal.at_ms,
            until_ms=pauses[-1].removal.at_ms,
            client=who,
            pauses=tuple(
                Pause(
                    pause.removal.at_ms,
                    pause.back_ms or 0,
                    (pause.removal.silent_ms or pause.removal.session_timeout_ms or 0)
                    + (pause.back_ms or 0)
                    - pause.removal.at_ms,
                )
                for pause in pauses
            ),
            timeout_ms=min(pause.removal.session_timeout_ms or 0 for pause in pauses),
            is_epoch=facts.history.group_type == CONSUMER,
            evidence=derived(*seqs) if all(pause.is_same_process for pause in pauses) else unknown(*seqs),
        )
