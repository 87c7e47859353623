"""Finds the topics that match the regular expressions of a consumer group, in steps beside the requests (KIP-848).

Counterpart in Kafka: `GroupMetadataManager.refreshRegularExpressions`, which runs in an executor.
"""

from collections.abc import Generator, Iterable, Sequence
from typing import Any, Final

from coordinator.core.consumer.events import PatternResolutionStarted
from coordinator.core.consumer.patterns import UNRESOLVED, ResolvedTopics
from coordinator.core.decision import Environment
from coordinator.logger import logger
from coordinator.patterns import InvalidPattern, Pattern
from coordinator.printable import printable

SORTED_AT_ONCE: Final = 5_000
"""Names of topics that are sorted in one step: about a millisecond."""
MATCH_STEPS_AT_ONCE: Final = 10_000
"""Instructions of a pattern times bytes of names in one step: at most a millisecond, usually a tenth of it."""


def resolution_steps(
    started: PatternResolutionStarted, environment: Environment
) -> Generator[Any, Any, ResolvedTopics]:
    """Find the topics of each regular expression that the client may describe."""
    listing = environment.listing
    if listing is None:
        return UNRESOLVED
    # All of one moment. A topic that is created meanwhile raises the version, so the next resolution finds it.
    version, offset = listing.topics.topics_version, listing.metadata_offset()
    names = yield from _sorted(tuple(listing.topics.topics))
    found = {}
    for text in started.patterns:
        matching = yield from _matching(text, names)
        if listing.visible is not None:
            visible = yield from listing.visible(started.principal, started.client_host, matching)
            if visible is None:
                return UNRESOLVED
            matching = tuple(visible)
        found[text] = matching
    return ResolvedTopics(found, offset, version)


def not_resolved(started: PatternResolutionStarted, problem: Exception) -> ResolvedTopics:
    """What `resolve patterns` gets after a step that raised."""
    logger.error("regular expressions of a group were not resolved", exc_info=problem)
    return ResolvedTopics({}, 0, None, "they could not be found")


def _sorted(names: Sequence[str]) -> Generator[None, None, list[str]]:
    runs: list[str] = []
    for start in range(0, len(names), SORTED_AT_ONCE):
        runs += sorted(names[start : start + SORTED_AT_ONCE])
        yield
    # Python's sort finds the runs, and merges them in a small part of the time that sorting takes.
    runs.sort()
    return runs


def _matching(text: str, names: Iterable[str]) -> Generator[None, None, tuple[str, ...]]:
    try:
        pattern = Pattern(text)
    except InvalidPattern as problem:
        # It was stored by a Kafka: RE2/J takes a few patterns that RE2 does not.
        logger.warning("a regular expression matches no topic", pattern=printable(text), reason=printable(str(problem)))
        return ()
    yield
    matching: list[str] = []
    steps = 0
    for name in names:
        steps += pattern.instructions * len(name)
        if steps > MATCH_STEPS_AT_ONCE:
            yield
            steps = pattern.instructions * len(name)
        if pattern.matches(name):
            matching.append(name)
    yield
    return tuple(matching)
