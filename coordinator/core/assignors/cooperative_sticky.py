"""`cooperative-sticky`: the sticky assignment in two rebalances (KIP-429).

Members keep their partitions during a rebalance. So the first assignment leaves out the partitions that have to move.
Their owners revoke them and rejoin, and the second rebalance assigns them to their new owners.
"""

from collections.abc import Mapping, Sequence

from coordinator.core.assignors.claims import Claims, resolve_claims
from coordinator.core.assignors.model import Assignment, MemberSubscription, Partition, Topic, by_topic
from coordinator.core.assignors.sticky import assign_sticky, subscriptions_are_equal


def assign(members: Sequence[MemberSubscription], topics: Mapping[str, Topic]) -> Assignment:
    """Assign as Kafka's CooperativeStickyAssignor: no member gets a partition that another one may still own."""
    claims = resolve_claims(members, topics)
    target = _owners(assign_sticky(members, topics, claims))
    given = {
        partition: member_id
        for partition, member_id in target.items()
        if partition not in claims.contested and claims.owner.get(partition, member_id) == member_id
    }
    if len(given) < len(target) and not subscriptions_are_equal(members):
        given = _without_afterthoughts(members, topics, given)
    shares: dict[str, list[Partition]] = {member.member_id: [] for member in members}
    for partition, member_id in given.items():
        shares[member_id].append(partition)
    return {member_id: by_topic(partitions) for member_id, partitions in shares.items()}


def _without_afterthoughts(
    members: Sequence[MemberSubscription], topics: Mapping[str, Topic], given: dict[Partition, str]
) -> dict[Partition, str]:
    """Leave out partitions that the second rebalance would move again, so that no third rebalance is needed.

    With equal subscriptions the second rebalance revokes nothing, except because of racks, where this assigns as Kafka
    does. With unequal subscriptions its search starts from another assignment and may choose other moves.
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
