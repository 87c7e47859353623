"""The topics of consumer groups (KIP-848): known before anything is decided that computes an assignment with them.

One that is not known yet counts as none, so its partitions would be taken from their members, and given back later.
"""

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any, Final

import msgspec

from coordinator.cluster.groups.topics import ClusterTopics
from coordinator.core.groups.group import Group
from coordinator.core.groups.kind import CLASSIC_NAME
from coordinator.groups.coordinator import GroupCoordinator
from coordinator.runtime.interfaces import StoreError
from coordinator.runtime.slices import Steps, awaited

NAMES_AT_ONCE: Final = 5_000
TRIES: Final = 5


def topics_of(group: Group[Any]) -> Iterable[str]:
    """The topics that the members of a group read, as far as they can be told."""
    topics = group.kind.offsets.topics_read(group.membership)
    return topics if isinstance(topics, Iterable) else ()


def look_up(topics: ClusterTopics, groups: Iterable[Group[Any]]) -> Steps[None]:
    """Have the topics of loaded groups known, before they are served.

    The leaders of classic groups compute the assignments: those groups do not wait.

    Raises:
        StoreError: the cluster does not tell of its topics. The partition is loaded again after a while.
    """
    names: dict[str, None] = {}
    for group in groups:
        if group.kind.name != CLASSIC_NAME:
            names.update(dict.fromkeys(topics_of(group)))
            yield
    listed = list(names)
    for first in range(0, len(listed), NAMES_AT_ONCE):
        for _ in range(TRIES):
            if (yield from awaited(partial(topics.know, listed[first : first + NAMES_AT_ONCE]))):
                break
        else:
            raise StoreError("the topics of consumer groups are not known")


class Needed(msgspec.Struct, frozen=True, kw_only=True):
    """What has to be known for a request of a member."""

    group_id: str
    named: Sequence[str]
    """The topics that it names."""
    pattern: str | None = None
    """The regular expression that it brings; None and empty: none."""
    joins: bool
    """Whether what is known has to be fresh: a member that joins again may have seen that a topic has changed."""
    converts: bool = False
    """Whether a classic group becomes a consumer group by it."""


class GroupTopics:
    """What requests of members wait for."""

    def __init__(self, coordinator: GroupCoordinator, topics: ClusterTopics) -> None:
        self._coordinator = coordinator
        self._topics = topics

    def can_decide(self, needed: Needed) -> bool:
        """Whether a request can be decided at once."""
        if not (self._topics.are_fresh(needed.named) if needed.joins else self._topics.are_answered(needed.named)):
            return False
        return self._are_listed(needed) and self._topics.are_answered(self._converted(needed))

    def know(self, needed: Needed) -> Steps[bool]:
        """Have it all known; False: the cluster has not answered in time."""
        has_topics: bool = yield from awaited(partial(self._topics.know, needed.named, fresh=needed.joins))
        has_topics &= yield from awaited(partial(self._topics.know, self._converted(needed)))
        if not self._are_listed(needed):
            has_topics &= yield from awaited(partial(self._topics.all.know, fresh=bool(needed.pattern)))
        return has_topics

    def uses_pattern(self, needed: Needed) -> bool:
        """Whether a member of the group subscribes by a regular expression, or does with this request."""
        group = self._group(needed.group_id)
        return bool(needed.pattern) or (group is not None and group.kind.needs_topic_list(group.membership))

    def are_computed_with(self, group_id: str) -> bool:
        """Whether the group itself computes assignments, and no member of it."""
        group = self._group(group_id)
        return group is not None and group.kind.name != CLASSIC_NAME

    def _converted(self, needed: Needed) -> Iterable[str]:
        """The topics of a classic group that becomes a consumer group by the request."""
        group = self._group(needed.group_id)
        return topics_of(group) if needed.converts and group and group.kind.name == CLASSIC_NAME else ()

    def _are_listed(self, needed: Needed) -> bool:
        return not self.uses_pattern(needed) or self._topics.all.are_listed(fresh=bool(needed.pattern))

    def _group(self, group_id: str) -> Group[Any] | None:
        group: Group[Any] | None = self._coordinator.shard_of(group_id).machine.groups.get(group_id)
        return group
