"""What a checker is given beside a claim and the truth, and what it finds."""

from collections.abc import Callable
from typing import Any, NamedTuple

from coordinator.explain.claims.claim import Claim
from coordinator.explain.generation import Generation, Outcome
from tests.world.history import History
from tests.world.truth import Away, AwayKind, Truth


class Contradiction(NamedTuple):
    """A claim that the world contradicts, and how."""

    claim: Claim
    why: str


class Context(NamedTuple):
    """The generation that a claim was made of, as it was then: by now it may have gone on."""

    history: History
    begin_ms: int
    """When the history began, in ms since the epoch."""
    reported_ms: int
    """When the claim was made."""
    generation_id: int
    is_epoch: bool
    outcome: Outcome
    began_ms: int
    """When the rebalance began; of one of which that is not known, when it is first known."""
    disturbed_ms: int
    """Since when the group was not stable."""
    ended_ms: int | None
    stable_before_ms: int | None
    """When the last stable generation before became so."""
    stable_before_id: int = -1
    """Its id."""
    told: tuple[Claim, ...] = ()
    """All that is claimed about this generation at the same time."""

    @property
    def known_ms(self) -> int:
        """Until when the events of the generation go."""
        return self.reported_ms if self.ended_ms is None else min(self.ended_ms, self.reported_ms)


Check = Callable[[Any, Truth, Context], str | None]
"""Why a claim is false; None: the world does not contradict it."""


def written_until(truth: Truth, context: Context) -> int:
    """Until when events were there to be read: a full disk takes none, and an audit is read from its coordinator."""
    reported_ms = context.reported_ms
    gone = _gone_at(truth, reported_ms)
    if gone:
        told = [context.begin_ms + each for each in context.history.reported_ms]
        read = [line for line in told if line <= gone[0].from_ms and not _gone_at(truth, line)]
        reported_ms = max(read, default=context.begin_ms)
    return min(
        [
            reported_ms,
            *(start for start, end in truth.full.all if start <= reported_ms < end or _fails(truth, end, reported_ms)),
        ]
    )


def _gone_at(truth: Truth, at_ms: int) -> list[Away]:
    return [each for each in truth.away if each.kind is not AwayKind.PAUSED and each.from_ms <= at_ms < each.until_ms]


def _fails(truth: Truth, from_ms: int, reported_ms: int) -> bool:
    """Whether a coordinator that could not write has not loaded its groups again since there is room.

    One that has answered nobody since then may stand still.
    """
    answers = [
        answer
        for process in truth.processes
        for answer in process.answers
        if max(from_ms, 0) <= answer.at_ms <= reported_ms
    ]
    last = max(answers, key=lambda said: said.at_ms, default=None)
    return last is None or last.error == "COORDINATOR_NOT_AVAILABLE"


def context_of_group(history: History, begin_ms: int, reported_ms: int) -> Context:
    """Of claims about the group beyond one generation."""
    return Context(history, begin_ms, reported_ms, -1, False, Outcome.UNKNOWN, begin_ms, begin_ms, None, None)


def context_of(
    history: History,
    begin_ms: int,
    reported_ms: int,
    generation: Generation,
    before: Generation | None,
    told: tuple[Claim, ...],
) -> Context:
    return Context(
        history,
        begin_ms,
        reported_ms,
        generation.generation_id,
        generation.is_epoch,
        generation.outcome,
        generation.started_ms or reported_ms,
        generation.disturbed_ms or generation.started_ms or reported_ms,
        generation.ended_ms,
        None if before is None else before.ended_ms,
        -1 if before is None else before.generation_id,
        told,
    )
