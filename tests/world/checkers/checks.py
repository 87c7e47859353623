"""All checkers, by the class of claim."""

from typing import Final

from coordinator.explain.claims.claim import Claim
from tests.world.checkers import advice, causes, course, endings, findings, notes, price, silences
from tests.world.checkers.context import Check, Context, Contradiction
from tests.world.truth import Truth

CHECKS: Final[dict[type[Claim], Check]] = {
    **causes.CHECKS,
    **silences.CHECKS,
    **course.CHECKS,
    **price.CHECKS,
    **endings.CHECKS,
    **advice.CHECKS,
    **findings.CHECKS,
    **notes.CHECKS,
}


def check(claim: Claim, truth: Truth, context: Context) -> Contradiction | None:
    """What in the world contradicts a claim; None: nothing does."""
    why = CHECKS[type(claim)](claim, truth, context)
    return None if why is None else Contradiction(claim, why)
