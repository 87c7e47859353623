"""Tells claims while a history is played, and has each of them checked when it is known what really happened."""

from collections import Counter
from collections.abc import Callable, Iterable
from typing import NamedTuple

from coordinator.explain.claims.claim import Claim, Known
from coordinator.explain.generation import Generation
from coordinator.explain.history import GroupHistory
from tests.world.checkers.checks import check
from tests.world.checkers.context import Context, Contradiction, context_of
from tests.world.checkers.price import untold
from tests.world.history import History
from tests.world.playing import Played, play

Make = Callable[[GroupHistory, Generation], Iterable[Claim]]
"""Makes the claims about one generation."""


class False_(NamedTuple):
    """A claim that the world contradicts, and what it was told of."""

    context: Context
    contradiction: Contradiction


class Report(NamedTuple):
    """What became of the claims of a history."""

    played: Played
    false: list[False_]
    told: Counter[type[Claim]]
    unknown: Counter[type[Claim]]
    missing: Counter[str]
    """What the world had, is worth telling, and is not told."""


class _Told(NamedTuple):
    context: Context
    claims: tuple[Claim, ...]


def told_in(history: History, make: Make) -> Report:
    """Play a history, make the claims about each generation at each of its times, and check them."""
    begin_ms, found = 0, []

    def tell(folded: GroupHistory, at_ms: int) -> None:
        for generation in folded.generations:
            claims = tuple(make(folded, generation))
            # The begin of the history is known when it is over.
            found.append(_Told(context_of(history, 0, at_ms, generation, folded.before(generation), claims), claims))

    played = play(history, tell)
    begin_ms = played.begin_ms
    report = Report(played, [], Counter(), Counter(), Counter())
    for context, claims in found:
        _check(context._replace(begin_ms=begin_ms), claims, report)
    return report


def _check(context: Context, claims: tuple[Claim, ...], report: Report) -> None:
    truth = report.played.truth
    kinds = Counter(type(each) for each in claims)
    for claim in claims:
        report.told[type(claim)] += 1
        report.unknown[type(claim)] += claim.evidence.known is Known.UNKNOWN
        contradiction = check(claim, truth, context)
        if contradiction is not None:
            report.false.append(False_(context, contradiction))
    what = untold(truth, context, kinds)
    if what is not None:
        report.missing[what] += 1
