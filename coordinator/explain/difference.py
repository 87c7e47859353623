"""What changed between two generations of a group."""

from dataclasses import dataclass

from coordinator.audit.schema import MemberRef, TopicPartitions
from coordinator.explain.generation import Generation


@dataclass(frozen=True, slots=True)
class MemberChange:
    """The partitions of one member in the second generation, compared with those in the first. `kept` is a number."""

    member: MemberRef
    kept: int
    gained: TopicPartitions
    lost: TopicPartitions


@dataclass(frozen=True, slots=True)
class Difference:
    """`moved` counts the partitions that have an owner in both generations, and another one in the second."""

    first: int
    second: int
    names: tuple[str, str]
    """`generation 7`, or `group epoch 7`, of both."""
    came: list[MemberRef]
    went: list[MemberRef]
    stayed: list[MemberRef]
    changes: list[MemberChange]
    moved: int


def compare(first: Generation, second: Generation) -> Difference:
    """Compare two generations. A static member that was restarted is the same member with another member id."""
    before = {_key(part.member): part for part in first.members.values()}
    after = {_key(part.member): part for part in second.members.values()}
    changes = []
    for key in sorted(before.keys() | after.keys()):
        old = _flat(before[key].partitions) if key in before else set()
        new = _flat(after[key].partitions) if key in after else set()
        member = (after.get(key) or before[key]).member
        changes.append(MemberChange(member, len(old & new), _by_topic(new - old), _by_topic(old - new)))
    owner_before = {tp: key for key, part in before.items() for tp in _flat(part.partitions)}
    owner_after = {tp: key for key, part in after.items() for tp in _flat(part.partitions)}
    moved = sum(1 for tp, owner in owner_after.items() if owner_before.get(tp, owner) != owner)
    return Difference(
        first.generation_id,
        second.generation_id,
        (first.name, second.name),
        [after[key].member for key in sorted(after.keys() - before.keys())],
        [before[key].member for key in sorted(before.keys() - after.keys())],
        [after[key].member for key in sorted(after.keys() & before.keys())],
        changes,
        moved,
    )


def _key(member: MemberRef) -> str:
    return f"instance {member.group_instance_id}" if member.group_instance_id is not None else member.member_id


def _flat(partitions: TopicPartitions) -> set[tuple[str, int]]:
    return {(topic, index) for topic, indexes in partitions.items() for index in indexes}


def _by_topic(partitions: set[tuple[str, int]]) -> TopicPartitions:
    found: TopicPartitions = {}
    for topic, index in sorted(partitions):
        found.setdefault(topic, []).append(index)
    return found
