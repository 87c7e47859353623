"""Tells one generation of a group: what began it, what held it up, what it cost, how it ended, what to try."""

from collections.abc import Iterator

import msgspec

from coordinator.explain.claims.claim import Claim
from coordinator.explain.generation import Generation, Outcome
from coordinator.explain.history import GroupHistory
from coordinator.explain.makers.causes import cause_claims
from coordinator.explain.makers.context import Context
from coordinator.explain.makers.generation import GenerationClaims, claims_of, members_named
from coordinator.explain.sentences import causes, story
from coordinator.explain.sentences.wording import Wording
from coordinator.explain.words import Clock, Names, duration, utc_clock


class Number(msgspec.Struct, frozen=True, gc=False):
    """A figure of the story. `value` is in the unit of `text`'s name (ms, partitions, …); None: unknown."""

    name: str
    value: int | None
    text: str


class Story(msgspec.Struct, frozen=True):
    """A generation in claims and in words. The texts are free of control characters, but not of markup like HTML's."""

    group_id: str
    generation_id: int
    outcome: Outcome
    headline: str
    paragraphs: tuple[str, ...]
    numbers: tuple[Number, ...]
    advice: tuple[str, ...]
    claims: tuple[Claim, ...]
    """What the words say, as `--json` has it."""


def story_of(
    history: GroupHistory, generation: Generation, clock: Clock = utc_clock, names: type[Names] = Names
) -> Story:
    """The story of one generation of `history`, with times of day as `clock` writes them, and members as `names` do."""
    claims, wording = claims_of(history, generation), _wording(generation, clock, names)
    return Story(
        claims.group_id,
        claims.generation_id,
        claims.outcome,
        story.headline(claims, wording),
        tuple(story.paragraphs(claims, wording)),
        tuple(_numbers(generation)),
        tuple(story.advice(claims, wording)),
        tuple(claims.all()),
    )


def sentence(history: GroupHistory, generation: Generation, clock: Clock = utc_clock) -> str:
    """Headline and paragraphs of the story as one text."""
    claims, wording = claims_of(history, generation), _wording(generation, clock)
    return _as_text(claims, wording)


def _as_text(claims: GenerationClaims, wording: Wording) -> str:
    return " ".join((f"{story.headline(claims, wording)}.", *story.paragraphs(claims, wording)))


def _wording(generation: Generation, clock: Clock = utc_clock, names: type[Names] = Names) -> Wording:
    return Wording(names(members_named(generation)), clock, generation.protocol)


def why(history: GroupHistory, generation: Generation) -> str:
    """The cause as one clause, for a line of a table; "unknown" if the events do not tell it."""
    return causes.why(list(cause_claims(Context(history, generation))), _wording(generation))


def _numbers(generation: Generation) -> Iterator[Number]:
    """The figures of a generation; those that the events do not tell are unknown."""

    def number(name: str, value: int | None, text: str | None = None) -> Number:
        return Number(name, value, "unknown" if value is None else f"{value:,}" if text is None else text)

    def time(name: str, value: int | None) -> Number:
        return number(name, value, None if value is None else duration(value))

    yield number("members", generation.member_count)
    yield time("join_ms", generation.join_ms)
    yield time("sync_ms", generation.sync_ms)
    yield time("rebalance_ms", generation.rebalance_ms)
    yield number("partitions", generation.partitions)
    yield number("partitions_moved", generation.partitions_moved)
    yield number("partitions_moved_needlessly", generation.moved_needlessly)
    yield time("unowned_partition_ms", generation.unowned_partition_ms)
    yield time("silent_partition_ms", generation.silent_partition_ms)
    yield number("commits_rejected", generation.commits_rejected)
    yield number("lag_before", generation.lag_before)
    yield number("lag_after", generation.lag_after)
