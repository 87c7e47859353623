"""All topics of the cluster, and which of them a client may know of."""

from collections.abc import Callable, Collection, Generator, Sequence
from typing import Any, Final, Protocol

import msgspec


class ListedTopics(Protocol):
    """Read access to the names of all topics."""

    @property
    def topics(self) -> Collection[str]:
        """The names at the time of the call."""

    @property
    def topics_version(self) -> int:
        """A number that rises when a topic is created, deleted or gets partitions."""


MayDescribe = Callable[[object, str, str], bool]
"""(principal, client host, topic) → whether the client may know of the topic."""
Visible = Callable[[object, str, Sequence[str]], Generator[Any, Any, Sequence[str] | None]]
"""(principal, client host, topics) → steps that find those of the topics that the client may know of, in their order;
None: this cannot be found out now."""
VISIBLE_AT_ONCE: Final = 4
"""Names that the authorizer is asked about in one step."""


def visible_by(may_describe: MayDescribe) -> Visible:
    """The topics that an authorizer of this node allows."""

    def visible(principal: object, client_host: str, names: Sequence[str]) -> Generator[None, None, list[str]]:
        found: list[str] = []
        for position, name in enumerate(names):
            if may_describe(principal, client_host, name):
                found.append(name)
            if position % VISIBLE_AT_ONCE == VISIBLE_AT_ONCE - 1:
                yield
        return found

    return visible


class TopicListing(msgspec.Struct, frozen=True):
    """What finds the topics of a regular expression."""

    topics: ListedTopics
    metadata_offset: Callable[[], int]
    """The end offset of the metadata log, which is stored with what was found."""
    visible: Visible | None = None
    """None: all clients may describe all topics."""
