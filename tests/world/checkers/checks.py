"""All checkers, by the class of claim."""

from collections.abc import Iterator
from typing import Final

from coordinator.audit.schema import MemberRef
from coordinator.explain.claims.claim import Claim
from tests.world.checkers import advice, causes, course, endings, findings, notes, price, progress, silences
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
    **progress.CHECKS,
    **notes.CHECKS,
}


def check(claim: Claim, truth: Truth, context: Context) -> Contradiction | None:
    """What in the world contradicts a claim; None: nothing does."""
    why = CHECKS[type(claim)](claim, truth, context) or next(strangers(claim, truth), None)
    return None if why is None else Contradiction(claim, why)


def strangers(claim: Claim, truth: Truth) -> Iterator[str]:
    """Members that a claim names as they are not: with another client id or host than that of their process."""
    for name in claim.__struct_fields__:
        value = getattr(claim, name)
        for member in value if isinstance(value, tuple) else (value,):
            if isinstance(member, MemberRef):
                process = truth.process_of(member.member_id)
                if process is None or not member.client_id:
                    continue
                if (member.client_id, member.client_host) != (process.client_id, process.host):
                    yield f"{member.member_id} is {process.client_id} at {process.host}"
