"""`cooperative-sticky`: the sticky shares in two rounds (KIP-429).

Members keep their partitions while they rebalance. What is to move is therefore left out at first: its owner gives it
up on that, joins again, and in the second round it is free for its new owner.
"""

from collections.abc import Mapping, Sequence

from coordinator.core.assignors.claims import Claims, settle_claims
from coordinator.core.assignors.model import Assignment, MemberSubscription, Partition, Topic, by_topic
from coordinator.core.assignors.sticky import assign_sticky, subscriptions_are_equal


def assign(members: Sequence[MemberSubscription], topics: Mapping[str, Topic]) -> Assignment:
    """Who gets what, by Kafka's CooperativeStickyAssignor: nothing that another member may still have."""
    claims = settle_claims(members, topics)
    wanted = _owners(assign_sticky(members, topics, claims))
    given = {
        partition: member_id
        for partition, member_id in wanted.items()
        if partition not in claims.contested and claims.owner.get(partition, member_id) == member_id
    }
    if len(given) < len(wanted) and not subscriptions_are_equal(members):
        given = _without_afterthoughts(members, topics, given)
    taken: dict[str, list[Partition]] = {member.member_id: [] for member in members}
    for partition, member_id in given.items():
        taken[member_id].append(partition)
    return {member_id: by_topic(partitions) for member_id, partitions in taken.items()}


def _without_afterthoughts(
    members: Sequence[MemberSubscription], topics: Mapping[str, Topic], given: dict[Partition, str]
) -> dict[Partition, str]:
    """What is given now and would have to move in the second round is left out now: there is no third round.

    With equal subscriptions the second round takes nothing away (but for racks, where we answer as Kafka does). With
    unequal ones it begins its search elsewhere than the first did, and may end with other moves.
    """
    while True:
        second = _owners(assign_sticky(members, topics, Claims(owner=given)))
        staying = {partition: member_id for partition, member_id in given.items() if second[partition] == member_id}
        if len(staying) == len(given):
            return given
        given = staying


def _owners(assignment: Assignment) -> dict[Partition, str]:
    return {
        (name, number): member_id
        for member_id, assigned in assignment.items()
        for name, numbers in assigned.items()
        for number in numbers
    }
