"""Says in words why a group of a test rebalanced."""

from collections.abc import Collection, Iterator

from coordinator.core.causes import Cause
from coordinator.explain.generation import Generation
from coordinator.explain.history import GroupHistory
from coordinator.explain.makers.causes import first_trigger
from coordinator.explain.story import story_of
from coordinator.explain.words import counted, listed, plain
from coordinator.testing.errors import TestingError


def why(history: GroupHistory, generation_id: int | None = None) -> str:
    """The story of a generation, of the newest one without an id.

    Raises:
        TestingError: there is no such generation.
    """
    generation = history.latest if generation_id is None else history.generation(generation_id)
    name = plain(history.group_id)
    if generation is None:
        which = "has not rebalanced" if generation_id is None else f"has no generation {generation_id}"
        raise TestingError(f"group {name} {which}{_generations_of(history)}")
    story = story_of(history, generation)
    members = counted(len(history.members), "member")
    state = f"group {name}: {history.state}, generation {history.generation_id}, {members}"
    return "\n".join([state, f"{story.headline}.", *story.paragraphs, *(f"try: {advice}" for advice in story.advice)])


def _generations_of(history: GroupHistory) -> str:
    generation_ids = [generation.generation_id for generation in history.generations]
    return f"; it has {min(generation_ids)} to {max(generation_ids)}" if generation_ids else ""


def check_rebalances(
    history: GroupHistory,
    at_most: int | None = None,
    at_least: int | None = None,
    causes: Collection[str] | None = None,
    after_generation: int = 0,
) -> None:
    """Check how often a group rebalanced after a generation, and why.

    Raises:
        AssertionError: too often, too seldom, or for another cause; the message tells why each generation began.
        TestingError: there is no such cause.
    """
    expected = None if causes is None else {_cause(cause) for cause in causes}
    began = [
        generation
        for generation in history.generations
        if generation.generation_id > after_generation and _began(generation)
    ]
    problem = _problem(began, at_most, at_least, expected)
    if problem:
        lines = [f"  {story_of(history, generation).headline}." for generation in began]
        raise AssertionError("\n".join([f"group {plain(history.group_id)} {problem}", *lines]))


def _began(generation: Generation) -> bool:
    return generation.rebalance_started_ms is not None


def _problem(began: list[Generation], at_most: int | None, at_least: int | None, causes: set[Cause] | None) -> str:
    times = counted(len(began), "time")
    if at_most is not None and len(began) > at_most:
        return f"rebalanced {times}, and at most {at_most} was expected:"
    if at_least is not None and len(began) < at_least:
        return f"rebalanced {times}, and at least {at_least} was expected{':' if began else ''}"
    if causes is not None:
        others = sorted({cause.value for cause in _causes(began) if cause not in causes})
        if others:
            allowed = listed(sorted(cause.value for cause in causes)) if causes else "none"
            return f"rebalanced because of {listed(others)}, and the expected causes are {allowed}:"
    return ""


def _causes(began: list[Generation]) -> Iterator[Cause]:
    for generation in began:
        trigger = first_trigger(generation)
        if trigger is not None:
            yield trigger.cause


def _cause(name: str) -> Cause:
    try:
        return Cause(name)
    except ValueError:
        raise TestingError(f"there is no cause {name!r}; the causes are {', '.join(Cause)}") from None
