"""The events of the committed offsets of a group. See `events.py`."""

from collections.abc import Mapping
from enum import Enum, auto
from typing import Any

import msgspec

from coordinator.core.causes import Requester
from coordinator.core.groups.event import GroupEvent
from coordinator.core.groups.group import Group
from coordinator.core.offsets.records import CommittedOffset
from coordinator.core.stored import Producer
from coordinator.core.topic_partition import TopicPartition


class OffsetsCommitted(msgspec.Struct, GroupEvent, frozen=True, kw_only=True):
    """Offsets were committed, topic → partition → offset: those of one request that were accepted."""

    group_id: str
    at_ms: int
    offsets: Mapping[str, Mapping[int, CommittedOffset]]
    member_id: str = ""
    """Empty for a client that is no member."""

    def apply(self, group: Group[Any]) -> None:
        for topic, committed in self.offsets.items():
            group.offsets.put(topic, committed)
        member = group.membership.members.get(self.member_id)
        if member is not None:
            member.committed_ms = self.at_ms


class OffsetsReset(msgspec.Struct, GroupEvent, frozen=True, kw_only=True):
    """A client that is no member commits offsets to a group that has had members: topic → (partition, from, to).

    `from` is -1 where nothing was committed. The commit itself is `OffsetsCommitted`; this only tells what it replaces.
    `is_back_alone`: it is of a member, of a group that never had members, or of a transaction that was committed, and
    only what went back is told.
    """

    group_id: str
    at_ms: int
    requested_by: Requester
    partitions: dict[str, list[list[int]]]
    is_back_alone: bool = False
    member_id: str = ""
    """The member that committed; empty for a client that is none."""

    def apply(self, group: Group[Any]) -> None:
        return


class TransactionalOffsetsCommitted(msgspec.Struct, GroupEvent, frozen=True, kw_only=True):
    """Offsets that take effect when their transaction is committed (KIP-98, KIP-447).

    `member_id` is the consumer that the producer commits for; empty if it named none. `requested_by` is the client of
    the producer, which is not stored.
    """

    group_id: str
    at_ms: int
    producer: Producer
    offsets: Mapping[str, Mapping[int, CommittedOffset]]
    member_id: str = ""
    requested_by: Requester | None = None

    def apply(self, group: Group[Any]) -> None:
        for topic, committed in self.offsets.items():
            group.offsets.put_pending(self.producer.producer_id, topic, committed)
        if self.requested_by is not None and group.offsets.pending is not None:
            group.offsets.pending.note_committer(self.producer.producer_id, self.requested_by, self.member_id)
        member = group.membership.members.get(self.member_id)
        if member is not None:
            member.committed_ms = self.at_ms


class TransactionCompleted(msgspec.Struct, GroupEvent, frozen=True, kw_only=True):
    """A transaction with pending offsets of the group was committed or aborted.

    One with very many of them is completed by several events.
    """

    group_id: str
    at_ms: int
    producer: Producer
    committed: bool
    offsets_max: int | None = None
    """How many pending offsets this event completes; None: all that are left."""

    def apply(self, group: Group[Any]) -> None:
        group.offsets.complete_transaction(self.producer.producer_id, self.committed, self.offsets_max)


class DeletionCause(Enum):
    """Why committed offsets were deleted."""

    REQUESTED = auto()
    """An administrator deleted them (OffsetDelete)."""
    TOPIC_DELETED = auto()
    """Their topic was deleted."""
    GROUP_REMOVED = auto()
    """An administrator deleted their group."""
    EXPIRED = auto()
    """They were not renewed for `offsets.retention.minutes`, or their own retention time is over (KIP-211)."""


class OffsetsDeleted(msgspec.Struct, GroupEvent, frozen=True, kw_only=True):
    """Committed offsets were deleted, with those that transactions had pending for the same partitions."""

    group_id: str
    at_ms: int
    cause: DeletionCause
    partitions: tuple[TopicPartition, ...]
    offsets: tuple[int, ...] = ()
    """The committed offset of each partition, -1 where only a transaction had one pending. Empty: not recorded."""
    requested_by: Requester | None = None
    topics: tuple[str, ...] = ()
    """Topics that were deleted in which nothing was committed, but members of the group read them."""

    def apply(self, group: Group[Any]) -> None:
        for tp in self.partitions:
            group.offsets.remove(tp)
