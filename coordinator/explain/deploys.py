"""Rolling deploys whose new members have other names than those whose place they take, as pods have."""

from collections import deque
from typing import Final, NamedTuple

from coordinator.core.causes import Cause
from coordinator.explain.changes import Joining, Removal
from coordinator.explain.facts import RETURN_MS, Facts, densest
from coordinator.explain.identities import identity
from coordinator.explain.leaving import Leaving

WINDOW_MS: Final = 10 * 60_000
"""Replacements within this time of each other belong together."""
BEFORE_MS: Final = 2 * 60_000
AFTER_MS: Final = 60_000
"""So long before, and after, one member goes for good, another one comes in its place."""
REPLACED_MIN: Final = 2


class Succession(NamedTuple):
    """A member that went for good, and the new one that came beside it."""

    gone: Removal
    came: Joining

    @property
    def at_ms(self) -> int:
        return self.gone.at_ms


def rolling_deploy(facts: Facts, now_ms: int) -> list[Succession]:
    """The successions of a deploy, in order: half of the group, and at least two. None: there is none."""
    gone = [
        visit.removal
        for visits in facts.visits.values()
        for visit in visits
        if visit.back_ms is None
        and visit.removal.cause in (Cause.MEMBER_LEFT, Cause.SESSION_EXPIRED)
        and visit.removal.requested_by is None
        and not visit.removal.is_by_coordinator
        and (visit.removal.cause is Cause.MEMBER_LEFT or _is_gone_for_good(visit.removal, now_ms))
        and not facts.came_again(visit.removal)
        and not facts.joined_again(visit.removal)
        and not facts.asked_again(visit.removal)
        and not Leaving(visit.removal).by_poll_timeout
        and not Leaving(visit.removal).is_unsubscribed
    ]
    gone.sort(key=lambda removal: removal.gone_ms)
    old = {identity(removal.member) for removal in gone}
    joins = [joining for generation in facts.history.generations for joining in generation.changes.joined]
    new = deque(sorted((join for join in joins if identity(join.member) not in old), key=lambda said: said.at_ms))
    found: list[Succession] = []
    for removal in gone:
        while new and new[0].at_ms < removal.gone_ms - BEFORE_MS:
            new.popleft()
        if new and new[0].at_ms <= removal.at_ms + AFTER_MS:
            found.append(Succession(removal, new.popleft()))
    window = densest(found, WINDOW_MS, lambda said: said.at_ms)
    size = max((generation.member_count or 0 for generation in facts.stable), default=0)
    # While new members come before old ones go, the group is larger than either.
    return window if len(window) >= REPLACED_MIN and 2 * len(window) >= size - len(window) else []


def _is_gone_for_good(removal: Removal, now_ms: int) -> bool:
    """Whether a silent member can be taken for one whose process ended: its connection closed, and it is not back."""
    return removal.is_disconnected and now_ms - removal.at_ms >= RETURN_MS
