"""The input and output of the assignors of consumer groups (KIP-848), which run in the coordinator."""

from collections.abc import Generator, Mapping, Sequence
from typing import Protocol

import msgspec

Target = dict[str, dict[bytes, tuple[int, ...]]]
"""Member id → topic id → partitions, ascending. It has every member, and no topic without partitions."""


class Subscriber(msgspec.Struct, frozen=True):
    """A member, as an assignor sees it. Racks play no part."""

    member_id: str
    instance_id: str | None
    topics: frozenset[bytes]
    """Ids of the topics that it subscribes to and that exist."""
    target: Mapping[bytes, Sequence[int]]
    """Its current target: partitions by topic id, in the order in which the assignor goes through them."""


class AssignmentSteps(Protocol):
    """Assigns all partitions of the subscribed topics, in steps.

    `members` are in the order in which the assignor goes through them, `topics` are topic ids with their numbers of
    partitions, in the order of the broker (`orders.py` has both orders). `is_homogeneous` says that all members
    subscribe to the same topics.
    """

    def __call__(
        self, members: Sequence[Subscriber], topics: Mapping[bytes, int], is_homogeneous: bool
    ) -> Generator[None, None, Target]: ...
