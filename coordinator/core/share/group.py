"""The members, epochs, target assignment and state partitions of a share group. Only events (`events.py`) change them.

Counterpart in Kafka: `ShareGroup`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from coordinator.core.attributes import attribute
from coordinator.core.consumer.named_topics import NamedTopics
from coordinator.core.consumer.topic_partitions import TopicPartitions
from coordinator.core.groups.membership import TopicName
from coordinator.core.groups.states import DEAD, EMPTY, STABLE, GroupState
from coordinator.core.share.member import NO_PARTITIONS, ShareAssignment, ShareMember, ShareMemberMetadata
from coordinator.core.share.state_topics import NO_STATES, StatePartitions, StateTopics

PROTOCOL_TYPE: Final = "share"
FIRST_EPOCH: Final = 1
"""Group epoch and target epoch of a new group. So the first member gets epoch 2."""
NEVER: Final = 0
"""The time of a target assignment that was never computed."""
UNCHECKED: Final = -1
"""Less than any version of the topics."""
NO_STATIC_MEMBERS: Final[Mapping[str, str]] = {}


@dataclass(slots=True)
class ShareGroup:
    """A share group, from Empty on."""

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
    members: dict[str, ShareMember] = field(default_factory=dict)
    targets: dict[str, TopicPartitions] = field(default_factory=dict)
    """Member id → target assignment. A partition may be in several."""
    named_topics: NamedTopics = field(default_factory=NamedTopics)
    """What members subscribe to."""
    reached_count: int = 0
    """How many members have got to the target epoch."""
    states: StatePartitions = NO_STATES
    has_stored_states: bool = False
    """Whether the log has a record of `states`, even one without topics."""
    initializing_since_ms: dict[bytes, int] = field(default_factory=dict, compare=False)
    """Topic id → when partitions of it were last to be initialized, in the time of deadlines; it is not stored."""
    checked_version: int = UNCHECKED
    """The version of the topics that `metadata_hash` was last compared with; it is not stored."""
    computing: object | None = field(default=None, compare=False)
    """What started the computation of a target that is under way beside the requests; None: there is none."""
    found_unassigned: tuple[int, bool] | None = field(default=None, compare=False, repr=False)
    """(version of the topics, whether an initialized partition has nobody), as a request found last; None: something
    changed since."""
    found_uninitialized: tuple[int, StateTopics] | None = field(default=None, compare=False, repr=False)
    """(version of the topics, subscribed partitions that are not initialized), the same way."""

    generation_id = attribute("epoch")
    """The same as `epoch`."""

    @property
    def protocol_type(self) -> str:
        return PROTOCOL_TYPE

    @property
    def protocol_name(self) -> str | None:
        """No member asks for an assignor."""
        return None

    @property
    def leader(self) -> None:
        return None

    @property
    def static_members(self) -> Mapping[str, str]:
        return NO_STATIC_MEMBERS

    def shared_protocols(self, searched_max: int) -> list[str]:
        return []

    def assigned_partitions(self, member_id: str, topic_name: TopicName) -> dict[str, list[int]]:
        """Topic → partitions that a member reads; those of deleted topics are left out."""
        assigned = self.members[member_id].current.partitions.items()
        named = ((topic_name(topic_id), sorted(partitions)) for topic_id, partitions in assigned)
        return {name: partitions for name, partitions in named if name is not None}

    def target(self, member_id: str) -> TopicPartitions:
        return self.targets.get(member_id, NO_PARTITIONS)

    @property
    def is_settled(self) -> bool:
        """Whether all members have the target of the group epoch."""
        return self.target_epoch == self.epoch and self.reached_count == len(self.members)

    # Events change the group by these.

    def mark_created(self, at_ms: int) -> None:
        self.state_since_ms = at_ms

    def mark_removed(self, at_ms: int) -> None:
        self.state, self.state_since_ms = DEAD, at_ms

    def update_state(self, at_ms: int | None) -> None:
        """Set the state that follows from the members; `at_ms` is in wall-clock milliseconds."""
        state = STABLE if self.members else EMPTY
        if state is not self.state:
            self.state, self.state_since_ms = state, at_ms

    def add_member(self, member: ShareMember) -> None:
        self.members[member.member_id] = member
        self.reached_count += member.current.epoch == self.target_epoch
        self._count(member.metadata, +1)

    def remove_member(self, member_id: str) -> None:
        member = self.members.pop(member_id)
        self.reached_count -= member.current.epoch == self.target_epoch
        self._count(member.metadata, -1)
        self.targets.pop(member_id, None)

    def update_metadata(self, member: ShareMember, metadata: ShareMemberMetadata) -> None:
        self._count(member.metadata, -1)
        member.metadata = metadata
        self._count(metadata, +1)

    def assign(self, member_id: str, current: ShareAssignment) -> None:
        member, epoch = self.members[member_id], self.target_epoch
        self.reached_count += (current.epoch == epoch) - (member.current.epoch == epoch)
        member.current = current

    def set_targets(self, targets: Mapping[str, TopicPartitions]) -> None:
        self.targets.update(targets)
        self.found_unassigned = None

    def set_target_epoch(self, epoch: int, computed_ms: int) -> None:
        self.target_epoch, self.target_computed_ms = epoch, computed_ms
        self.reached_count = sum(member.current.epoch == epoch for member in self.members.values())

    def set_states(self, states: StatePartitions, *, is_stored: bool = True) -> None:
        self.states, self.has_stored_states = states, is_stored
        for topic_id in self.initializing_since_ms.keys() - states.initializing.keys():
            del self.initializing_since_ms[topic_id]
        self.found_unassigned = self.found_uninitialized = None

    def _count(self, metadata: ShareMemberMetadata, by: int) -> None:
        self.named_topics.count_member(metadata.topics, by)
        self.found_unassigned = self.found_uninitialized = None
