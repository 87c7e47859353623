"""Findings about group.instance.id."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Final

from coordinator.core.causes import Cause
from coordinator.explain.changes import Replacement
from coordinator.explain.claims.claim import derived
from coordinator.explain.claims.findings import (
    Identity,
    Kind,
    Leave,
    SharedInstanceId,
    StaticRestarts,
    Takeover,
    WastedInstanceId,
)
from coordinator.explain.facts import Facts, densest
from coordinator.explain.makers.findings.comings import WINDOW_MS

RETURNS: Final = 3
"""How often, in `WINDOW_MS`, clients take an instance id back from each other until they share it."""

RESTARTS: Final = 3
"""How often, in `WINDOW_MS`, a static member is restarted until that is a loop: a deploy restarts it once or twice."""


def shared_instance_id(facts: Facts, now_ms: int) -> Iterator[SharedInstanceId]:
    """Of two clients with one instance id, each replaces the other (KIP-345), as long as both are restarted."""
    for instance_id, replacements in facts.replacements.items():
        returns = [
            later
            for earlier, later in pairwise(replacements)
            if _taker(later) == (earlier.old_client_id, earlier.old_client_host) != _taker(earlier)
        ]
        window = densest(returns, WINDOW_MS, lambda said: said.at_ms)
        if len(window) >= RETURNS:
            yield SharedInstanceId(
                kind=Kind.SHARED_INSTANCE_ID,
                from_ms=window[0].at_ms,
                until_ms=window[-1].at_ms,
                instance_id=instance_id,
                takes=tuple(Takeover(replacement.at_ms, _taker(replacement)) for replacement in window),
                evidence=derived(*(replacement.seq for replacement in window)),
            )


def static_restarts(facts: Facts, now_ms: int) -> Iterator[StaticRestarts]:
    """The client of a static member comes back again and again, without another one that takes its instance id."""
    for instance_id, replacements in facts.replacements.items():
        own = [
            replacement
            for replacement in replacements
            if (replacement.old_client_id or _taker(replacement)[0]) == _taker(replacement)[0]
        ]
        window = densest(own, WINDOW_MS, lambda said: said.at_ms)
        hosts = {replacement.member.client_host for replacement in window}
        is_shared = len(hosts) > 1 and any(
            earlier.member.client_host != later.old_client_host for earlier, later in pairwise(window)
        )
        if len(window) >= RESTARTS and not is_shared:
            last = window[-1]
            yield StaticRestarts(
                kind=Kind.CRASH_LOOP,
                from_ms=window[0].at_ms,
                until_ms=last.at_ms,
                instance_id=instance_id,
                client=_taker(last),
                restarts=tuple(replacement.at_ms for replacement in window),
                evidence=derived(*(replacement.seq for replacement in window)),
            )


def _taker(replacement: Replacement) -> Identity:
    return replacement.member.client_id, replacement.member.client_host


def wasted_instance_id(facts: Facts, now_ms: int) -> Iterator[WastedInstanceId]:
    """A static member that leaves for good gives up what static membership is for: its place while it is restarted."""
    for who, visits in facts.visits.items():
        left = [
            visit
            for visit in visits
            if visit.removal.member.group_instance_id is not None
            and visit.removal.cause is Cause.MEMBER_LEFT
            and visit.removal.requested_by is None
            and visit.back_ms is not None
        ]
        window = densest(left, WINDOW_MS, lambda visit: visit.removal.at_ms)
        if window:
            yield WastedInstanceId(
                kind=Kind.WASTED_INSTANCE_ID,
                from_ms=window[0].removal.at_ms,
                until_ms=window[-1].back_ms or 0,
                client=who,
                leaves=tuple(Leave(visit.removal.at_ms, visit.back_ms or 0) for visit in window),
                evidence=derived(*(visit.removal.seq for visit in window)),
            )
