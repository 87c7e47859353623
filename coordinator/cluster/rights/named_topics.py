"""Requests that name topics by id get their names before anything else, so that they are authorized by name.

An id that no topic has stays without a name. It is no secret: whoever handles the request answers UNKNOWN_TOPIC_ID, and
does not pass it on. Nobody looks an id up again after this, as what was decided is about the names that were found.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import partial
from typing import Any, Final, Protocol

from coordinator.core.offsets import commit as offset_commit
from coordinator.core.offsets import fetch as offset_fetch
from coordinator.runtime.slices import Steps, awaited

TOPICS_AT_ONCE: Final = 500
"""Topics of a request that are looked at in one step."""


class Ids(Protocol):
    """`TopicIds`."""

    def find(self, ids: Collection[bytes], named: Callable[[Mapping[bytes, str] | None], None]) -> None:
        """Find the names of those ids that a topic has; None: that is not known now."""


def _fetched_topics(request: Any) -> Iterator[Any]:
    return (topic for group in request.groups for topic in group.topics or ())


TOPICS_BY_ID: Final[dict[str, tuple[int, Callable[[Any], Iterable[Any]]]]] = {
    "OffsetCommit": (offset_commit.TOPIC_ID_VERSION, lambda request: request.topics),
    "OffsetFetch": (offset_fetch.TOPIC_ID_VERSION, _fetched_topics),
}
"""Name of an API → the first version in which topics have ids alone, and the topics of a request."""


def give_names(topics: Iterable[Any], topic_ids: Ids) -> Steps[bool]:
    """Set the names of topics that have ids. False: they are not known now."""
    found = list(topics)
    ids: set[bytes] = set()
    for first in range(0, len(found), TOPICS_AT_ONCE):
        ids.update(topic.topic_id for topic in found[first : first + TOPICS_AT_ONCE])
        yield
    names: Mapping[bytes, str] | None = yield from awaited(partial(topic_ids.find, ids))
    if names is None:
        return False
    for first in range(0, len(found), TOPICS_AT_ONCE):
        for topic in found[first : first + TOPICS_AT_ONCE]:
            topic.name = names.get(topic.topic_id, "")
        yield
    return True
