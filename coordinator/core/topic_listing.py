"""All topics of the cluster, and which of them a client may know of."""

from collections.abc import Callable, Collection
from typing import Protocol

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


class TopicListing(msgspec.Struct, frozen=True):
    """What finds the topics of a regular expression."""

    topics: ListedTopics
    metadata_offset: Callable[[], int]
    """The end offset of the metadata log, which is stored with what was found."""
    may_describe: MayDescribe | None = None
    """None: all clients may describe all topics."""
