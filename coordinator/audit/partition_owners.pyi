from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

from coordinator.audit.schema import TopicPartitions, WaitedFor
from coordinator.core.groups.membership import Membership, MemberView

def by_topic(partitions: Iterable[tuple[str, int]]) -> TopicPartitions:
    """Topic → partition indexes, both ascending."""

def grouped(in_order: Iterable[tuple[str, int]]) -> TopicPartitions:
    """As `by_topic`, of partitions in ascending order."""

def partition_count(partitions: Mapping[bytes, Collection[int]]) -> int:
    """How many partitions there are, by topic id."""

def named_partitions(
    partitions: Mapping[bytes, Collection[int]], topic_name: Callable[[bytes], str]
) -> tuple[tuple[str, int], ...]:
    """(topic name, index) of each partition, in ascending order; `partitions` are by topic id."""

class AuditedMember:
    """A member and its last assignment. In the fields of an event it stands for its `schema.MemberRef`."""

    @property
    def member(self) -> Any: ...
    @property
    def owned(self) -> tuple[tuple[str, int], ...]:
        """(topic, index) in ascending order."""

    @property
    def unnamed_partitions(self) -> int:
        """The number of assigned partitions if they are too many for `owned`, otherwise 0."""

    @property
    def revoking(self) -> tuple[tuple[str, int], ...]:
        """What the member was asked to give up and has not shown to have given up, ascending."""

    @property
    def topics(self) -> list[str]:
        """The topics that it subscribes to, in ascending order; none if they are too many."""

    @property
    def unnamed_topics(self) -> int:
        """Their number if they are too many, otherwise 0."""

class PartitionOwners:
    """The members of a live group, and who owns which partition.

    The last owner of a partition is kept until another member gets it, for up to one generation without an owner. So a
    partition that a cooperative assignor revokes in one generation and assigns in the next counts as moved.
    """

    rebalance_started_ms: int
    @property
    def members(self) -> dict[str, AuditedMember]:
        """MemberView id → member. A removed member stays until its removal is written."""

    @property
    def owners(self) -> dict[tuple[str, int], str]:
        """(topic, index) → the last owner of the partition."""

    @property
    def generation_started_ms(self) -> int: ...
    @property
    def partitions(self) -> int:
        """The number of partitions assigned in this generation."""

    @property
    def moved(self) -> int:
        """How many of them had another owner before."""

    @property
    def unowned(self) -> int:
        """How many of them their owner did not claim to have kept."""

    @property
    def unowned_partition_ms(self) -> int:
        """Where members give up one by one: for how long partitions had no owner until then, summed over them."""

    @property
    def nameable_partitions(self) -> int:
        """The number of partitions that further events of this generation may name."""

    def remember_member(
        self, member: MemberView, partitions: Iterable[tuple[str, int]], unnamed_partitions: int
    ) -> None:
        """Add a member that owns `partitions`, or a number of partitions that are not named."""
    def replace_member(self, old_member_id: str, member: MemberView) -> None:
        """Give `member` the partitions of `old_member_id`, which is removed."""
    def start_generation(self, at_ms: int) -> None: ...
    def assign(
        self, member_id: str, protocol_type: str | None, metadata: bytes, assignment: bytes, generation_id: int
    ) -> dict[str, Any]:
        """Make a member the owner of what its assignment says; return the fields of `schema.MemberAssigned`.

        `metadata` says what it claims to have kept. Partitions that are too many to name are counted.
        """
    def set_subscription(self, member_id: str, topics: tuple[str, ...]) -> AuditedMember:
        """Set the topics, in ascending order, that a member subscribes to by name."""
    def reassign(
        self,
        member_id: str,
        epoch: int,
        state: str,
        partitions: Mapping[bytes, Collection[int]],
        revoking: Mapping[bytes, Collection[int]],
        topic_name: Callable[[bytes], str],
        at_ms: int,
    ) -> dict[str, Any]:
        """Set what a member may use, and what it has to give up, by topic id; return the fields of
        `schema.MemberReconciled`, as of a member that waits for nobody.

        Partitions that are too many to name are counted.
        """
    def reassign_named(
        self,
        member_id: str,
        epoch: int,
        state: str,
        partitions: tuple[tuple[str, int], ...],
        partition_count: int,
        revoking: tuple[tuple[str, int], ...],
        revoking_count: int,
        at_ms: int,
    ) -> dict[str, Any]:
        """The same with names of topics, ascending; with none if there are more than can be named."""
    def waits_for(
        self,
        member_id: str,
        target: Mapping[bytes, Collection[int]],
        assigned: Mapping[bytes, Collection[int]],
        owners: Mapping[bytes, Mapping[int, str]],
        topic_name: Callable[[bytes], str],
    ) -> list[WaitedFor]:
        """Who has not given up what the member is to get, all by topic id; nothing if there are too many to name."""
    def set_revoking(self, member_id: str, revoking: tuple[tuple[str, int], ...]) -> None:
        """Set what a member has to give up, ascending, as it was loaded."""
    def remove_member(self, member_id: str, at_ms: int) -> AuditedMember:
        """Remove a member: its partitions have no owner any more."""
    def forget_old_owners(self) -> None:
        """At the end of a generation, drop the last owners of partitions without an owner in two generations."""
    def moved_needed(self, group: Membership) -> int | None:
        """How many of the `moved` partitions a balanced assignment that moves the fewest would have moved too.

        None if members subscribe to different topics, or if topics or partitions are not named.
        """
