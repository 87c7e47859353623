"""The topics that the members of a consumer group subscribe to by name, and what a request changes of them.

A member may name very many topics, and mostly the members of a group name the same ones. So what is counted is how many
members have a subscription, and topics only where a subscription gets its first member or loses its last one. A request
goes through the topics that exist, and not through all that are named.

Counterpart in Kafka: `ModernGroup.subscribedTopicNames`.
"""

from bisect import bisect_left
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias

import msgspec

from coordinator.core.consumer.names import change_counts
from coordinator.core.decision import Topics

Names: TypeAlias = tuple[str, ...]
"""In ascending order, without doubles."""
NO_NAMES: Names = ()
NAMES_PER_OPERATION: Final = 200
"""To subscribe to so many topics takes as long as an operation."""
NAMES_COUNTED_AT_ONCE: Final = 20_000
"""Names of a subscription that are counted when it is new or gone: up to 4 ms. Longer ones are counted in steps."""
NAMES_COUNTED_PER_STEP: Final = 2_500


@dataclass(slots=True)
class NamedTopics:
    """What the members of a group name by now. Only the events of the group change it."""

    subscriptions: dict[Names, int] = field(default_factory=dict)
    """Subscription → how many members have just this one."""
    counted: dict[str, int] = field(default_factory=dict, compare=False)
    """Topic → how many of `subscriptions` have it, but for what is `uncounted`."""
    uncounted: deque[tuple[Names, int]] = field(default_factory=deque, compare=False)
    """Names that are not counted yet, and by how much their counts change: the steps that count them."""

    def count_member(self, names: Names, by: int) -> None:
        """One member more (1) or less (-1) has this subscription."""
        before = self.subscriptions.get(names, 0)
        if before + by:
            self.subscriptions[names] = before + by
        else:
            del self.subscriptions[names]
        if before and before + by:
            return
        if len(names) <= NAMES_COUNTED_AT_ONCE:
            change_counts(self.counted, names, by)
        else:
            starts = range(0, len(names), NAMES_COUNTED_PER_STEP)
            self.uncounted.extend((names[start : start + NAMES_COUNTED_PER_STEP], by) for start in starts)

    def count_in_steps(self) -> Iterator[None]:
        """Count what is not counted yet, in steps of a millisecond. Whoever needs it earlier does it at once."""
        while self.uncounted:
            change_counts(self.counted, *self.uncounted.popleft())
            yield

    def count_all(self) -> None:
        for _ in self.count_in_steps():
            continue

    @property
    def counts(self) -> dict[str, int]:
        """Topic → how many of `subscriptions` have it."""
        self.count_all()
        return self.counted

    def __contains__(self, name: object) -> bool:
        return name in self.counts

    @property
    def names_of_members(self) -> int:
        """How many topics each member names, added up."""
        return sum(len(names) * members for names, members in self.subscriptions.items())

    def after(self, gone: Sequence[Names] = (), come: Sequence[Names] = ()) -> "ChangedNames":
        """What the members name when some subscriptions have gone and others come."""
        if gone == come:
            return ChangedNames(self)
        if len(gone) <= 1 and len(come) <= 1:
            lost = tuple(names for names in gone if self.subscriptions.get(names) == 1)
            return ChangedNames(self, lost, tuple(names for names in come if names not in self.subscriptions))
        changes = Counter(come)
        changes.subtract(gone)
        members = {names: self.subscriptions.get(names, 0) for names in changes}
        return ChangedNames(
            self,
            tuple(names for names, before in members.items() if before and not before + changes[names]),
            tuple(names for names, before in members.items() if not before and changes[names] > 0),
        )


class ChangedNames(msgspec.Struct, frozen=True):
    """What the members name after a change that has not happened yet."""

    before: NamedTopics
    lost: tuple[Names, ...] = ()
    """Subscriptions that no member would have any more."""
    gained: tuple[Names, ...] = ()
    """Those that no member had before."""

    @property
    def is_one_subscription(self) -> bool:
        """Whether no two members name different topics."""
        return len(self.before.subscriptions) - len(self.lost) + len(self.gained) <= 1

    @property
    def is_empty(self) -> bool:
        """Whether no member names a topic."""
        before = self.before.subscriptions
        named = len(before) - (NO_NAMES in before)
        return named + sum(map(bool, self.gained)) == sum(map(bool, self.lost))

    def __contains__(self, name: str) -> bool:
        count = self.before.counts.get(name, 0)
        for names in self.lost:
            count -= _has(names, name)
        return count > 0 or any(_has(names, name) for names in self.gained)

    def vanished(self, topics: Topics) -> set[str]:
        """The topics that exist, and that were named by members before and would not be any more."""
        return {name for names in self.lost for name in topics.existing(names) if name not in self}

    def existing(self, topics: Topics) -> set[str]:
        """The topics that exist, and that members name."""
        return (
            topics.existing(self.before.counts.keys())
            .difference(self.vanished(topics))
            .union(*map(topics.existing, self.gained))
        )


def _has(names: Names, name: str) -> bool:
    position = bisect_left(names, name)
    return position < len(names) and names[position] == name
