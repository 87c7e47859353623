"""Finds the topics that match the regular expressions of consumer groups, beside the requests (KIP-848).

Counterpart in Kafka: `GroupMetadataManager.refreshRegularExpressions`, which runs in an executor.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Final, Protocol

from coordinator.core.consumer.patterns import ResolvedTopics
from coordinator.logger import logger
from coordinator.patterns import InvalidPattern, Pattern
from coordinator.printable import printable
from coordinator.runtime.slices import SlicedWork, Steps

SORTED_AT_ONCE: Final = 5_000
"""Names of topics that are sorted in one step: about a millisecond."""
MATCH_STEPS_AT_ONCE: Final = 10_000
"""Instructions of a pattern times bytes of names in one step: at most a millisecond, usually a tenth of it."""


class NamedTopics(Protocol):
    """Read access to the topics of the cluster."""

    @property
    def topics(self) -> Collection[str]:
        """Their names, at the time of the call."""

    @property
    def topics_version(self) -> int:
        """A number that rises when a topic is created, deleted or gets partitions."""


class StartWork(Protocol):
    """`Slices.start`."""

    def __call__(
        self,
        steps: Steps[ResolvedTopics | None],
        done: Callable[[ResolvedTopics | None], None],
        failed: Callable[[Exception], None],
        source: str | None = None,
    ) -> SlicedWork | None: ...


class ResolvesPatterns(Protocol):
    """Finds topics for the group coordinator, as `PatternResolver` does."""

    def resolve(
        self,
        patterns: Sequence[str],
        client_host: str,
        is_wanted: Callable[[], bool],
        done: Callable[[ResolvedTopics], None],
    ) -> None: ...


class PatternResolver:
    """Resolves the regular expressions of one group after the other in slices of the event loop.

    Addresses of clients have turns, so a group with many regular expressions lets only groups of its own clients wait.
    """

    def __init__(self, topics: NamedTopics, metadata_offset: Callable[[], int], start: StartWork) -> None:
        """`metadata_offset` is the end offset of the metadata log, which records have beside what was resolved."""
        self._topics = topics
        self._metadata_offset = metadata_offset
        self._start = start

    def resolve(
        self,
        patterns: Sequence[str],
        client_host: str,
        is_wanted: Callable[[], bool],
        done: Callable[[ResolvedTopics], None],
    ) -> None:
        """Find the topics of each of the regular expressions; `done` gets them, perhaps before this returns.

        `client_host` is the address that has its turn for it. When `is_wanted` says no, as the group is gone, the work
        ends, and `done` is not called.
        """

        def failed(problem: Exception) -> None:
            logger.error("regular expressions of a group were not resolved", exc_info=problem)
            done(ResolvedTopics({}, self._metadata_offset(), None))

        def ended(found: ResolvedTopics | None) -> None:
            if found is not None:
                done(found)

        self._start(self._steps(patterns, is_wanted), ended, failed, client_host)

    def _steps(self, patterns: Sequence[str], is_wanted: Callable[[], bool]) -> Steps[ResolvedTopics | None]:
        # All of one moment. A topic that is created meanwhile raises the version, so the next resolution finds it.
        version, offset = self._topics.topics_version, self._metadata_offset()
        names = yield from _sorted(tuple(self._topics.topics))
        found: dict[str, tuple[str, ...]] = {}
        for text in patterns:
            if not is_wanted():
                return None
            found[text] = yield from _matching(text, names)
        return ResolvedTopics(found, offset, version)


def _sorted(names: Sequence[str]) -> Steps[list[str]]:
    runs: list[str] = []
    for start in range(0, len(names), SORTED_AT_ONCE):
        runs += sorted(names[start : start + SORTED_AT_ONCE])
        yield
    # Python's sort finds the runs, and merges them in a small part of the time that sorting takes.
    runs.sort()
    return runs


def _matching(text: str, names: Iterable[str]) -> Steps[tuple[str, ...]]:
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
