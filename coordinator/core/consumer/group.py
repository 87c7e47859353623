"""The members, epochs and target assignment of a consumer group. Only events (`events.py`) change them.

Counterpart in Kafka: `ModernGroup` and `ConsumerGroup`.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

import msgspec

from coordinator.core.attributes import attribute
from coordinator.core.consumer.deadlines import Deadline, Deadlines
from coordinator.core.consumer.member import MEMBER_STABLE, ConsumerMember, CurrentAssignment, MemberMetadata
from coordinator.core.consumer.named_topics import ChangedNames, NamedTopics
from coordinator.core.consumer.names import change_counts
from coordinator.core.consumer.owners import disown, own
from coordinator.core.consumer.topic_partitions import TopicPartitions
from coordinator.core.consumer_protocol import CONSUMER_PROTOCOL_TYPE
from coordinator.core.groups.membership import TopicName
from coordinator.core.groups.states import ASSIGNING, DEAD, EMPTY, RECONCILING, STABLE, GroupState

FIRST_EPOCH: Final = 1
"""Group epoch and target epoch of a new group. So the first member with topics gets epoch 2."""
NEVER: Final = 0
"""The time of a target assignment that was never computed."""
UNCHECKED: Final = -1
"""Less than any version of the topics."""
NO_TARGET: Final[TopicPartitions] = {}


class ResolvedPattern(msgspec.Struct, frozen=True):
    """The topics that match a regular expression, by name in ascending order."""

    topics: tuple[str, ...]
    version: int
    """The offset in the metadata log up to which topics were known."""
    timestamp_ms: int


class FailedWork(msgspec.Struct, frozen=True):
    """Work beside the requests that failed (`failed_work.py`)."""

    reason: str
    """A sentence for members and the log."""
    patterns: frozenset[str]
    """The regular expressions that it was about."""
    delay_ms: int
    """How long it is not tried again."""
    retry_at_ms: int
    """Until when, in the time of deadlines."""


class FoundSubscription(msgspec.Struct, frozen=True):
    """The topics of a subscription that exist."""

    topics_version: int
    names: tuple[str, ...]
    topic_ids: frozenset[bytes]


@dataclass(slots=True)
class ConsumerGroup:
    """A group of the consumer protocol, from Empty on."""

    group_id: str
    state: GroupState = EMPTY
    state_since_ms: int | None = None
    epoch: int = FIRST_EPOCH
    metadata_hash: int = 0
    """Of the subscribed topics that exist; 0: none."""
    target_epoch: int = FIRST_EPOCH
    """The group epoch that the target assignment was computed for."""
    target_computed_ms: int = NEVER
    """When, in wall-clock milliseconds."""
    members: dict[str, ConsumerMember] = field(default_factory=dict)
    static_members: dict[str, str] = field(default_factory=dict)
    """Instance id → member id."""
    targets: dict[str, TopicPartitions] = field(default_factory=dict)
    """Member id → target assignment."""
    owners: dict[bytes, dict[int, str]] = field(default_factory=dict)
    """Topic id → partition → the member that may use it or has not given it up. No topic without partitions."""
    named_topics: NamedTopics = field(default_factory=NamedTopics)
    """What members subscribe to by name."""
    pattern_subscribers: dict[str, int] = field(default_factory=dict)
    """Regular expression → how many members subscribe to it."""
    patterns: dict[str, ResolvedPattern] = field(default_factory=dict)
    """Those of the regular expressions that were resolved."""
    pattern_topics: dict[str, int] = field(default_factory=dict)
    """Topic → how many of `patterns` match it."""
    assignor_votes: dict[str, int] = field(default_factory=dict)
    """Assignor → how many members ask for it."""
    has_partition_metadata: bool = False
    """Whether the log has a record of a version of Kafka before 4.1, which is to be removed."""
    reconciled_count: int = 0
    """How many members are STABLE at the target epoch."""
    classic_count: int = 0
    """How many members use the classic protocol."""
    classic_protocols: dict[str, int] = field(default_factory=dict)
    """Assignor → how many members of the classic protocol support it."""
    deadlines: Deadlines = field(default_factory=Deadlines)
    checked_version: int = UNCHECKED
    """The version of the topics that the subscriptions were last compared with; it is not stored."""
    subscribed_hash: int = 0
    """Of the subscribed topics that existed then. It is not `metadata_hash` from when a member takes a new regular
    expression until that is resolved; it is not stored."""
    kept_homogeneity: bool | None = None
    """What `is_homogeneous` said before regular expressions got other topics; None: nothing since a member changed.

    It is not stored."""
    resolved_version: int = UNCHECKED
    """The version of the topics that the regular expressions were last resolved with; it is not stored."""
    found_subscription: FoundSubscription | None = field(default=None, compare=False, repr=False)
    """What a request looked up last, so that the next one need not; it is part of no state."""
    computing: object | None = field(default=None, compare=False)
    """What started the computation of a target that is under way beside the requests; None: there is none."""
    is_resolving: bool = False
    """Whether regular expressions are being resolved."""
    failed_target: FailedWork | None = field(default=None, compare=False)
    """Why there is no newer target, after its computation failed; it is not stored."""
    failed_resolution: FailedWork | None = field(default=None, compare=False)
    """The same of the topics of regular expressions."""

    generation_id = attribute("epoch")
    """The same as `epoch`: what happens to a group is told with it several times an event."""

    @property
    def protocol_type(self) -> str:
        return CONSUMER_PROTOCOL_TYPE

    @property
    def protocol_name(self) -> str | None:
        """The assignor that most members ask for; None if no member asks for one."""
        return preferred_assignor(self.assignor_votes)

    @property
    def leader(self) -> None:
        return None

    def shared_protocols(self, searched_max: int) -> list[str]:
        return []

    def assigned_partitions(self, member_id: str, topic_name: TopicName) -> dict[str, list[int]]:
        """Topic → partitions that a member may use by now; those of deleted topics are left out."""
        assigned = self.members[member_id].current.assigned.items()
        named = ((topic_name(topic_id), sorted(partitions)) for topic_id, partitions in assigned)
        return {name: partitions for name, partitions in named if name is not None}

    def owner(self, topic_id: bytes, partition: int) -> str | None:
        of_topic = self.owners.get(topic_id)
        return None if of_topic is None else of_topic.get(partition)

    def target(self, member_id: str) -> TopicPartitions:
        return self.targets.get(member_id, NO_TARGET)

    @property
    def is_homogeneous(self) -> bool:
        """Whether all members subscribe to the same, as of the last change of a member: Kafka decides it then."""
        return self._is_homogeneous() if self.kept_homogeneity is None else self.kept_homogeneity

    def _is_homogeneous(self) -> bool:
        named = ChangedNames(self.named_topics)
        return is_homogeneous(named, self.pattern_subscribers, self.pattern_topics, len(self.members))

    def supports_classic_protocols(self, protocol_type: str, names: Iterable[str]) -> bool:
        """Whether a member of the classic protocol can join: all of them have to share one of its assignors."""
        offered_by = [self.classic_protocols.get(name, 0) for name in names]
        return protocol_type == CONSUMER_PROTOCOL_TYPE and self.classic_count in offered_by

    def is_subscribed_to(self, topic: str) -> bool:
        """Whether some member subscribes to a topic, by name or by a regular expression."""
        return topic in self.named_topics or topic in self.pattern_topics

    # Events change the group by these.

    def mark_created(self, at_ms: int) -> None:
        self.state_since_ms = at_ms

    def mark_removed(self, at_ms: int) -> None:
        self.state, self.state_since_ms = DEAD, at_ms

    def update_state(self, at_ms: int | None) -> None:
        """Set the state that follows from members and epochs; `at_ms` is in wall-clock milliseconds."""
        if not self.members:
            state = EMPTY
            self.failed_target = self.failed_resolution = None
        elif self.epoch > self.target_epoch:
            state = ASSIGNING
        else:
            state = STABLE if self.reconciled_count == len(self.members) else RECONCILING
        if state is not self.state:
            self.state, self.state_since_ms = state, at_ms

    def add_member(self, member: ConsumerMember) -> None:
        self.members[member.member_id] = member
        self._count(member.metadata, +1, member.member_id)
        self._own(member, member.current)

    def add_classic_member(self, member_id: str, metadata: MemberMetadata, target: TopicPartitions) -> None:
        """Add a member of a classic group that is converted: the generation is its epoch, the assignment its target."""
        epoch = self.epoch
        assigned = {topic_id: dict.fromkeys(indexes, epoch) for topic_id, indexes in target.items()}
        current = CurrentAssignment(epoch, epoch, MEMBER_STABLE, assigned)
        timeout_ms = 0 if metadata.classic is None else metadata.classic.session_timeout_ms
        self.add_member(ConsumerMember(member_id, metadata, current, session_timeout_ms=timeout_ms))
        self.targets[member_id] = target

    def remove_member(self, member_id: str) -> ConsumerMember:
        member = self.members.pop(member_id)
        self._count(member.metadata, -1, member_id)
        self._disown(member)
        self.targets.pop(member_id, None)
        self.deadlines.remove_all(member_id)
        return member

    def update_metadata(self, member: ConsumerMember, metadata: MemberMetadata) -> None:
        self._count(member.metadata, -1, member.member_id)
        member.metadata = metadata
        self._count(metadata, +1, member.member_id)

    def assign(self, member: ConsumerMember, current: CurrentAssignment) -> None:
        self.kept_homogeneity = None
        had = member.current
        if current.assigned != had.assigned or current.pending != had.pending:
            owners, member_id = self.owners, member.member_id
            for partitions in (had.assigned, had.pending):
                disown(owners, partitions, member_id)
            for partitions in (current.assigned, current.pending):
                own(owners, partitions, member_id)
        # Otherwise the epoch alone has risen, and nobody else can have got the partitions since.
        target_epoch = self.target_epoch
        was_reconciled = had.state is MEMBER_STABLE and had.epoch == target_epoch
        member.current = current
        if (current.state is MEMBER_STABLE and current.epoch == target_epoch) is not was_reconciled:
            self.reconciled_count += -1 if was_reconciled else 1

    def set_target_epoch(self, epoch: int, computed_ms: int) -> None:
        self.target_epoch, self.target_computed_ms = epoch, computed_ms
        self.reconciled_count = sum(member.is_reconciled_to(epoch) for member in self.members.values())

    def set_pattern(self, pattern: str, resolved: ResolvedPattern | None) -> None:
        """Set what a regular expression matches; None: forget it."""
        if self.kept_homogeneity is None:
            self.kept_homogeneity = self._is_homogeneous()
        before = self.patterns.pop(pattern, None)
        if before is not None:
            change_counts(self.pattern_topics, before.topics, -1)
        if resolved is not None:
            self.patterns[pattern] = resolved
            change_counts(self.pattern_topics, resolved.topics, +1)

    def set_revocation_deadline(self, member_id: str, at_ms: int | None) -> None:
        if at_ms is None:
            if self.deadlines.by_key:  # mostly there are none
                self.deadlines.remove(member_id, Deadline.REVOCATION)
        else:
            self.deadlines.set(member_id, Deadline.REVOCATION, at_ms)

    def _count(self, metadata: MemberMetadata, by: int, member_id: str) -> None:
        self.kept_homogeneity = None
        self.named_topics.count_member(metadata.topics, by)
        if metadata.pattern:
            change_count(self.pattern_subscribers, metadata.pattern, by)
        if metadata.server_assignor is not None:
            change_count(self.assignor_votes, metadata.server_assignor, by)
        if metadata.classic is not None:
            self.classic_count += by
            for name in {protocol.name for protocol in metadata.classic.protocols}:
                change_count(self.classic_protocols, name, by)
        instance_id = metadata.group_instance_id
        if instance_id is not None:
            if by > 0:
                self.static_members[instance_id] = member_id
            elif self.static_members.get(instance_id) == member_id:
                del self.static_members[instance_id]

    def _own(self, member: ConsumerMember, current: CurrentAssignment) -> None:
        member.current = current
        self.reconciled_count += member.is_reconciled_to(self.target_epoch)
        for partitions in (current.assigned, current.pending):
            own(self.owners, partitions, member.member_id)

    def _disown(self, member: ConsumerMember) -> None:
        """Take back what the member counts for. The records of a log may name another owner meanwhile."""
        self.reconciled_count -= member.is_reconciled_to(self.target_epoch)
        for partitions in (member.current.assigned, member.current.pending):
            disown(self.owners, partitions, member.member_id)


def change_count(counts: dict[str, int], name: str, by: int) -> None:
    """Change how often a name counts; names that count no more are removed."""
    count = counts.get(name, 0) + by
    if count:
        counts[name] = count
    else:
        counts.pop(name, None)


def preferred_assignor(votes: Mapping[str, int], newcomer: str | None = None) -> str | None:
    """The assignor with most votes, None without votes. As in Kafka's hash maps a tie goes to the `newcomer`, then
    `uniform`. A newcomer is an assignor that only the member asks for whose request it is.
    """
    return max(votes, key=lambda name: (votes[name], name == newcomer, name), default=None)


def is_homogeneous(
    named: ChangedNames, by_pattern: Mapping[str, int], pattern_topics: Mapping[str, int], member_count: int
) -> bool:
    """Whether all members subscribe to the same, as Kafka decides it: topics that do not exist count.

    The counts are those of `Subscriptions`.
    """
    if not by_pattern:
        return named.is_one_subscription and all(topic in named for topic in pattern_topics)
    if next(iter(by_pattern.values())) != member_count:
        return False
    return named.is_empty and all(count == 1 for count in pattern_topics.values())
