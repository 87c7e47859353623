"""Tells claims while a history is played, and has each of them checked when it is known what really happened."""

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Final, NamedTuple

from coordinator.explain.claims.claim import Claim, Known
from coordinator.explain.generation import Generation
from coordinator.explain.history import GroupHistory
from coordinator.explain.makers.findings import found_in
from coordinator.explain.makers.findings.positions import found_in_positions
from coordinator.explain.makers.findings.progress import without_progress
from coordinator.explain.makers.generation import claims_of
from coordinator.explain.makers.notes import note_claims
from tests.world.checkers.checks import check
from tests.world.checkers.context import Context, Contradiction, context_of, context_of_group
from tests.world.history import History
from tests.world.playing import Played, play
from tests.world.watching import SeenGroup, look
from tests.world.weak import not_told
from tests.world.world import World

Make = Callable[[GroupHistory, Generation], Iterable[Claim]]
"""Makes the claims about one generation."""


class Makers(NamedTuple):
    """What makes claims; the product's, unless a test looks whether the checkers find what is wrong with others."""

    of_generation: Make = lambda history, generation: claims_of(history, generation).all()
    of_group: Callable[[GroupHistory, int], Iterable[Claim]] = lambda history, now_ms: (
        *found_in(history, now_ms),
        *note_claims(history),
    )
    of_offsets: Callable[[SeenGroup, GroupHistory, int], Iterable[Claim]] = lambda seen, history, now_ms: (
        *found_in_positions(seen.partitions, seen.state, now_ms),
        *without_progress(seen, now_ms, history),
    )


class Told(NamedTuple):
    """The claims about a generation, or about the group, at one time."""

    context: Context
    claims: tuple[Claim, ...]


class FalseClaim(NamedTuple):
    """A claim that the world contradicts, and what it was told of."""

    context: Context
    contradiction: Contradiction


class Report(NamedTuple):
    """What became of the claims of a history."""

    played: Played
    false: list[FalseClaim]
    told: Counter[type[Claim]]
    unknown: Counter[type[Claim]]
    missing: Counter[str]
    """What the world had, is worth telling, and is not told."""


PRODUCT: Final = Makers()


def told_in(history: History, makers: Makers = PRODUCT) -> Report:
    """Play a history, make the claims about it at each of its times, and check them."""
    found: list[Told] = []

    def tell(folded: GroupHistory, at_ms: int, world: World) -> None:
        for generation in folded.generations:
            claims = tuple(makers.of_generation(folded, generation))
            # The begin of the history is known when it is over.
            found.append(Told(context_of(history, 0, at_ms, generation, folded.before(generation), claims), claims))
        of_group = list(makers.of_group(folded, at_ms))
        seen = look(world)
        if seen is not None:
            of_group += makers.of_offsets(seen, folded, at_ms)
        found.append(Told(context_of_group(history, 0, at_ms), tuple(of_group)))

    played = play(history, tell)
    report = Report(played, [], Counter(), Counter(), Counter())
    for context, claims in found:
        _check(context._replace(begin_ms=played.begin_ms), claims, report)
    return report


def _check(context: Context, claims: tuple[Claim, ...], report: Report) -> None:
    truth = report.played.truth
    kinds = Counter(type(claim) for claim in claims)
    for claim in claims:
        report.told[type(claim)] += 1
        report.unknown[type(claim)] += claim.evidence.known is Known.UNKNOWN
        contradiction = check(claim, truth, context)
        if contradiction is not None:
            report.false.append(FalseClaim(context, contradiction))
    report.missing.update(not_told(truth, context, kinds))
