"""All that is claimed about one generation of a group."""

from collections.abc import Iterator

import msgspec

from coordinator.audit.schema import MemberRef
from coordinator.explain.claims.advice import Advice
from coordinator.explain.claims.claim import Claim
from coordinator.explain.generation import Generation, Outcome
from coordinator.explain.history import GroupHistory
from coordinator.explain.makers.absences import absence_claims, unheard_since_start
from coordinator.explain.makers.advice import advice_claims
from coordinator.explain.makers.causes import cause_claims, other_causes
from coordinator.explain.makers.context import Context
from coordinator.explain.makers.course import course_claims
from coordinator.explain.makers.endings import ending_claims
from coordinator.explain.makers.price import price_claims
from coordinator.explain.makers.silences import silence_claims
from coordinator.explain.makers.streams import shutdown_claims, task_claims, topology_claims


class GenerationClaims(msgspec.Struct, frozen=True):
    """What is claimed about a generation, in the order in which it is told. Times are wall-clock ms since the epoch."""

    group_id: str
    generation_id: int
    is_epoch: bool
    """Whether it is a group epoch of KIP-848."""
    outcome: Outcome
    began_ms: int | None
    cause: tuple[Claim, ...]
    also: tuple[Claim, ...]
    """What came together with the first cause, who came and went, and what cannot be known."""
    course: tuple[Claim, ...]
    price: tuple[Claim, ...]
    ending: tuple[Claim, ...]
    advice: tuple[Advice, ...]
    """The most useful first."""

    def all(self) -> Iterator[Claim]:
        """Each claim, those that an advice follows from once."""
        yield from self.cause
        yield from self.also
        yield from self.course
        yield from self.price
        yield from self.ending
        yield from self.advice


def claims_of(history: GroupHistory, generation: Generation) -> GenerationClaims:
    """All that is claimed about a generation of `history`."""
    context = Context(history, generation)
    cause = tuple(cause_claims(context))
    also = (*other_causes(context), *shutdown_claims(context), *_absences(context))
    course = (*course_claims(context), *topology_claims(context))
    price = (*price_claims(context), *task_claims(context))
    return GenerationClaims(
        history.group_id,
        generation.generation_id,
        generation.is_epoch,
        generation.outcome,
        None if history.is_polled(generation) else generation.rebalance_started_ms,
        cause,
        also,
        course,
        price,
        tuple(ending_claims(context)),
        tuple(advice_claims(context, (*cause, *also, *course, *price))),
    )


def _absences(context: Context) -> Iterator[Claim]:
    yield from absence_claims(context)
    if context.generation.changes.removed:
        yield from unheard_since_start(context)
        yield from silence_claims(context)


def members_named(generation: Generation) -> Iterator[MemberRef]:
    """Everybody whom its claims may name: its members, and those that are not, or no longer, in it."""
    seen = set(generation.members)
    yield from (part.member for part in generation.members.values())
    changes = generation.changes
    named = [generation.member] if generation.member is not None else []
    for member in (
        *(removal.member for removal in changes.removed),
        *(replacement.member for replacement in changes.replaced),
        *named,
    ):
        if member.member_id not in seen:
            seen.add(member.member_id)
            yield member
