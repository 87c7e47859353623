"""A group at one moment, read from the coordinator itself."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from coordinator.core.groups.group import Group
from coordinator.core.groups.membership import Membership, MemberView, TopicName
from coordinator.core.kinds.table import KINDS
from coordinator.explain.words import counted, listed, plain

DEAD: Final = "Dead"
"""The state of a group that does not exist, as in DescribeGroups."""
STATES: Final = tuple(dict.fromkeys(state.value for kind in KINDS.values() for state in kind.states))
MEMBERS_NAMED: Final = 5


@dataclass(frozen=True, slots=True)
class MemberSnapshot:
    """A member; `partitions` is topic → indexes, None if its assignment is not of the consumer protocol.

    In a consumer group they are the partitions that the member may use by now, not those that it waits for.
    """

    member_id: str
    client_id: str
    client_host: str
    group_instance_id: str | None
    partitions: dict[str, list[int]] | None


@dataclass(frozen=True, slots=True)
class GroupSnapshot:
    """A group. One that does not exist is Dead and has nothing. `committed_offsets` is topic → partition → offset."""

    group_id: str
    state: str = DEAD
    kind: str = ""
    """As ListGroups says it: `classic` or `consumer`; empty of a group that does not exist."""
    generation_id: int = 0
    """The generation; of a consumer group the group epoch."""
    protocol_name: str = ""
    leader: str = ""
    members: tuple[MemberSnapshot, ...] = ()
    committed_offsets: Mapping[str, Mapping[int, int]] | None = None

    @property
    def partition_count(self) -> int:
        """How many partitions are assigned, as far as assignments can be read."""
        return sum(len(indexes) for member in self.members for indexes in (member.partitions or {}).values())

    def in_words(self) -> str:
        """`it is Stable in generation 2 with 4 partitions assigned to 2 members: a and b`; or `in group epoch 2`."""
        if self.state == DEAD:
            return "it does not exist"
        names = [plain(member.member_id) for member in self.members]
        named = listed(names[:MEMBERS_NAMED], more=max(0, len(names) - MEMBERS_NAMED)) if names else ""
        members = f"{counted(len(names), 'member')}{f': {named}' if named else ''}"
        partitions = counted(self.partition_count, "partition")
        epoch = f"{KINDS[self.kind].generation_name} {self.generation_id}"
        return f"it is {self.state} in {epoch} with {partitions} assigned to {members}"


def snapshot_of(group_id: str, group: Group[Any] | None, topic_name: TopicName) -> GroupSnapshot:
    if group is None:
        return GroupSnapshot(group_id)
    membership = group.membership
    return GroupSnapshot(
        group_id,
        membership.state.value,
        group.kind.name,
        membership.generation_id,
        membership.protocol_name or "",
        membership.leader or "",
        tuple(_member(membership, member, topic_name) for member in membership.members.values()),
        {
            topic: {partition: committed.offset for partition, committed in sorted(of_topic.items())}
            for topic, of_topic in sorted(group.offsets.by_topic.items())
        },
    )


def _member(group: Membership, member: MemberView, topic_name: TopicName) -> MemberSnapshot:
    return MemberSnapshot(
        member.member_id,
        member.client_id,
        member.client_host.lstrip("/"),
        member.group_instance_id,
        group.assigned_partitions(member.member_id, topic_name),
    )
