"""Finds the topics that match the regular expressions of consumer groups, beside the requests (KIP-848).

Counterpart in Kafka: `GroupMetadataManager.refreshRegularExpressions`, which runs in an executor.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from functools import partial
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

VISIBLE_AT_ONCE: Final = 4
"""Names that the authorizer is asked about in one step."""


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
        principal: object = None,
    ) -> None: ...


MayDescribe = Callable[[object, str, str], bool]
"""(principal, client host, topic) → whether the client may know of the topic."""


class PatternResolver:
    """Resolves the regular expressions of one group after the other in slices of the event loop.

    Addresses of clients have turns, so a group with many regular expressions lets only groups of its own clients wait.
    """

    def __init__(
        self,
        topics: NamedTopics,
        metadata_offset: Callable[[], int],
        start: StartWork,
        may_describe: MayDescribe | None = None,
    ) -> None:
        """`metadata_offset` is the end offset of the metadata log, which records have beside what was resolved.

        Topics that the client may not describe match nothing; without `may_describe` it may describe all.
        """
        self._may_describe = may_describe
        self._topics = topics
        self._metadata_offset = metadata_offset
        self._start = start

    def resolve(
        self,
        patterns: Sequence[str],
        client_host: str,
        is_wanted: Callable[[], bool],
        done: Callable[[ResolvedTopics], None],
        principal: object = None,
    ) -> None:
        """Find the topics of each of the regular expressions; `done` gets them, perhaps before this returns.

        `client_host` is the address that has its turn for it, and with `principal` who wants to know. When `is_wanted`
        says no, as the group is gone, the work ends, and `done` is not called.
        """

        def failed(problem: Exception) -> None:
            logger.error("regular expressions of a group were not resolved", exc_info=problem)
            done(ResolvedTopics({}, 0, None, "they could not be found"))

        def ended(found: ResolvedTopics | None) -> None:
            if found is not None:
                done(found)

        may_describe = self._may_describe
        is_visible = None if may_describe is None else partial(may_describe, principal, client_host)
        self._start(self._steps(patterns, is_wanted, is_visible), ended, failed, client_host)

    def _steps(
        self, patterns: Sequence[str], is_wanted: Callable[[], bool], is_visible: Callable[[str], bool] | None
    ) -> Steps[ResolvedTopics | None]:
        # All of one moment. A topic that is created meanwhile raises the version, so the next resolution finds it.
        version, offset = self._topics.topics_version, self._metadata_offset()
        names = yield from _sorted(tuple(self._topics.topics))
        found: dict[str, tuple[str, ...]] = {}
        for text in patterns:
            if not is_wanted():
                return None
            matching = yield from _matching(text, names)
            found[text] = matching if is_visible is None else (yield from _visible(matching, is_visible))
        return ResolvedTopics(found, offset, version)


def _visible(names: Sequence[str], is_visible: Callable[[str], bool]) -> Steps[tuple[str, ...]]:
    visible: list[str] = []
    for position, name in enumerate(names):
        if is_visible(name):
            visible.append(name)
        if position % VISIBLE_AT_ONCE == VISIBLE_AT_ONCE - 1:
            yield
    return tuple(visible)


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
