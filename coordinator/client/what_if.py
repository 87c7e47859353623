"""Computes which partitions would move if a group were reassigned with another assignor or other members."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import msgspec

from coordinator.client.groups import DescribedConsumers
from coordinator.client.wire import ClientError
from coordinator.core.assignors.model import Assignment, MemberSubscription, Partition, RebalanceProtocol, Topic
from coordinator.core.assignors.registry import Assignor

ROUNDS_MAX: Final = 10
"""A cooperative rebalance takes two rounds, with racks sometimes a few more. More than this is a defect."""

NEW_MEMBER_ID: Final = "new-{}"


@dataclass(frozen=True, slots=True)
class MemberChange:
    """The partitions that one member keeps, gains and loses. A member that leaves loses all its partitions."""

    member_id: str
    kept: frozenset[Partition]
    gained: frozenset[Partition]
    lost: frozenset[Partition]


@dataclass(frozen=True, slots=True)
class WhatIf:
    """`moved` partitions change their owner; `newly_assigned` ones had none. `rounds` is the number of rebalances."""

    changes: tuple[MemberChange, ...]
    rounds: int
    moved: frozenset[Partition]
    newly_assigned: frozenset[Partition]


def what_if(
    assignor: Assignor,
    before: Sequence[MemberSubscription],
    after: Sequence[MemberSubscription],
    topics: Mapping[str, Topic],
) -> WhatIf:
    """Compare the partitions owned by the members `before` with a new assignment to the members `after`."""
    had = {subscription.member_id: _partitions(subscription.owned_partitions) for subscription in before}
    assignment, rounds = _assign_until_stable(assignor, after, topics)
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
    gained = nothing.union(*(change.gained for change in changes))
    owned = nothing.union(*had.values())
    return WhatIf(changes, rounds, moved=gained & owned, newly_assigned=gained - owned)


def without_member(group: DescribedConsumers, name: str) -> tuple[MemberSubscription, ...]:
    """Return the members without one, which is identified by its member, instance or client id.

    Raises:
        ClientError: no member or several members match, or it is the only member.
    """
    found = [
        member
        for member in group.members
        if name in (member.member_id, member.group_instance_id, group.client_ids[member.member_id])
    ]
    if not found:
        member_ids = ", ".join(member.member_id for member in group.members)
        raise ClientError(f"group {group.group_id} has no member {name}; its members are {member_ids}")
    if len(found) > 1:
        ids = ", ".join(subscription.member_id for subscription in found)
        raise ClientError(f"{name} is the client id of several members; use a member id: {ids}")
    if len(group.members) == 1:
        raise ClientError(f"{name} is the only member of group {group.group_id}; no member would remain")
    return tuple(member for member in group.members if member is not found[0])


def with_new_members(group: DescribedConsumers, count: int) -> tuple[MemberSubscription, ...]:
    """Return the members and `count` new ones, which subscribe to all topics of the group."""
    topics = frozenset[str]().union(*(member.topics for member in group.members))
    new = tuple(MemberSubscription(NEW_MEMBER_ID.format(number + 1), topics) for number in range(count))
    return group.members + new


def _assign_until_stable(
    assignor: Assignor, members: Sequence[MemberSubscription], topics: Mapping[str, Topic]
) -> tuple[Assignment, int]:
    """Return the final assignment and the number of rounds.

    In a cooperative rebalance, members that must revoke partitions rejoin, which starts another round.
    """
    for rounds in range(1, ROUNDS_MAX + 1):
        assignment = assignor.assign(members, topics)
        revoked = any(
            _partitions(member.owned_partitions) - _partitions(assignment[member.member_id]) for member in members
        )
        if assignor.rebalance_protocol is RebalanceProtocol.EAGER or not revoked:
            return assignment, rounds
        latest = max(member.generation_id for member in members) + 1
        members = [
            msgspec.structs.replace(member, owned_partitions=assignment[member.member_id], generation_id=latest)
            for member in members
        ]
    raise AssertionError(f"{assignor.name} is not stable after {ROUNDS_MAX} rounds")


def _partitions(by_topic: Mapping[str, Sequence[int]]) -> frozenset[Partition]:
    return frozenset((name, number) for name, numbers in by_topic.items() for number in numbers)
