"""What is wrong with a group beyond one rebalance: each finding as a claim, and in words with one advice."""

import msgspec

from coordinator.explain.claims.findings import Found, Kind
from coordinator.explain.generation import Generation
from coordinator.explain.history import GroupHistory
from coordinator.explain.makers.findings import found_in
from coordinator.explain.sentences.findings import finding_words
from coordinator.explain.words import Clock, utc_clock


class Finding(msgspec.Struct, frozen=True):
    """Something to change in a group. `from_ms` and `until_ms` bound its evidence (wall clock).

    `about` is the client that it is about, where a group may have the finding of several.
    """

    kind: Kind
    headline: str
    evidence: tuple[str, ...]
    advice: str
    from_ms: int
    until_ms: int
    about: str
    claim: Found

    def generations(self, history: GroupHistory) -> list[Generation]:
        """The generations in whose time its evidence lies, in order."""
        return [
            generation
            for generation in history.generations
            if generation.started_ms is not None
            and generation.started_ms <= self.until_ms
            and (generation.ended_ms is None or generation.ended_ms >= self.from_ms)
        ]


def findings(history: GroupHistory, now_ms: int, clock: Clock = utc_clock) -> list[Finding]:
    """All findings of a group at a wall-clock time, in ms since the epoch."""
    return [in_words(found, clock) for found in found_in(history, now_ms)]


def in_words(claim: Found, clock: Clock) -> Finding:
    """A finding in words."""
    words = finding_words(claim, clock)
    return Finding(
        claim.kind, words.headline, words.evidence, words.advice, claim.from_ms, claim.until_ms, words.about, claim
    )
