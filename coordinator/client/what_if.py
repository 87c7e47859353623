"""What would move if a group were assigned anew, by another assignor or with other members."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from coordinator.client.groups import DescribedConsumers
from coordinator.client.wire import ClientError
from coordinator.core.assignors.model import Assignment, MemberSubscription, Partition, RebalanceProtocol, Topic
from coordinator.core.assignors.registry import Assignor

ROUNDS_MAX: Final = 10
"""A cooperative rebalance takes two, where racks decide at times a few more; so many would be a mistake of ours."""

NEW_MEMBER_ID: Final = "new-{}"


@dataclass(frozen=True, slots=True)
class MemberChange:
    """What becomes of one member's partitions. One that leaves loses all, a new one has lost nothing."""

    member_id: str
    kept: frozenset[Partition]
    gained: frozenset[Partition]
    lost: frozenset[Partition]


@dataclass(frozen=True, slots=True)
class WhatIf:
    """`moved` had an owner and gets another one; `taken_up` had none. `rounds` is how often the group rebalances."""

    changes: tuple[MemberChange, ...]
    rounds: int
    moved: frozenset[Partition]
    taken_up: frozenset[Partition]


def what_if(
    assignor: Assignor,
    before: Sequence[MemberSubscription],
    after: Sequence[MemberSubscription],
    topics: Mapping[str, Topic],
) -> WhatIf:
    """Members `before`, with what they own, become members `after`."""
    had = {each.member_id: _partitions(each.owned_partitions) for each in before}
    assignment, rounds = _assign_until_settled(assignor, after, topics)
    gets = {member_id: _partitions(by_topic) for member_id, by_topic in assignment.items()}
    nothing: frozenset[Partition] = frozenset()
    changes = tuple(
        MemberChange(
            member_id,
            kept=had.get(member_id, nothing) & gets.get(member_id, nothing),
            gained=gets.get(member_id, nothing) - had.get(member_id, nothing),
            lost=had.get(member_id, nothing) - gets.get(member_id, nothing),
        )
        for member_id in sorted(had.keys() | gets.keys())
    )
    gained = nothing.union(*(each.gained for each in changes))
    owned = nothing.union(*had.values())
    return WhatIf(changes, rounds, moved=gained & owned, taken_up=gained - owned)


def without_member(group: DescribedConsumers, name: str) -> tuple[MemberSubscription, ...]:
    """The members but one, told by its member, instance or client id; raises ClientError."""
    found = [
        each
        for each in group.members
        if name in (each.member_id, each.group_instance_id, group.client_ids[each.member_id])
    ]
    if not found:
        known = ", ".join(each.member_id for each in group.members)
        raise ClientError(f"group {group.group_id} has no member {name}; its members are {known}")
    if len(found) > 1:
        ids = ", ".join(each.member_id for each in found)
        raise ClientError(f"{name} is the client id of several members; say which: {ids}")
    if len(group.members) == 1:
        raise ClientError(f"{name} is the only member of group {group.group_id}; nobody would be left")
    return tuple(each for each in group.members if each is not found[0])


def with_new_members(group: DescribedConsumers, count: int) -> tuple[MemberSubscription, ...]:
    """The members and `count` more, which subscribe to all topics that somebody in the group does."""
    topics = frozenset[str]().union(*(each.topics for each in group.members))
    new = tuple(MemberSubscription(NEW_MEMBER_ID.format(number + 1), topics) for number in range(count))
    return group.members + new


def _assign_until_settled(
    assignor: Assignor, members: Sequence[MemberSubscription], topics: Mapping[str, Topic]
) -> tuple[Assignment, int]:
    """(the last assignment, how many it took): who has to give partitions up in a cooperative rebalance joins again."""
    for rounds in range(1, ROUNDS_MAX + 1):
        assignment = assignor.assign(members, topics)
        gave_up = any(_partitions(each.owned_partitions) - _partitions(assignment[each.member_id]) for each in members)
        if assignor.rebalance_protocol is RebalanceProtocol.EAGER or not gave_up:
            return assignment, rounds
        latest = max(each.generation_id for each in members) + 1
        members = [replace(each, owned_partitions=assignment[each.member_id], generation_id=latest) for each in members]
    raise AssertionError(f"{assignor.name} does not settle within {ROUNDS_MAX} rounds")


def _partitions(by_topic: Mapping[str, Sequence[int]]) -> frozenset[Partition]:
    return frozenset((name, number) for name, numbers in by_topic.items() for number in numbers)
