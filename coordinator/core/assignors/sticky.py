"""`sticky`: as balanced as can be, and with as few partitions moved as that allows (KIP-54, KIP-341).

Members that all subscribe to the same topics have a simple answer (`equal_subscriptions`); others need a search
(`unequal_subscriptions`). Where racks decide (KIP-881), what has no replica in its owner's rack is dealt anew.
"""

from collections.abc import Mapping, Sequence

from coordinator.core.assignors.claims import Claims, settle_claims
from coordinator.core.assignors.equal_subscriptions import assign_equal_shares
from coordinator.core.assignors.model import Assignment, MemberSubscription, Topic, by_topic, subscribed
from coordinator.core.assignors.racks import Racks
from coordinator.core.assignors.unequal_subscriptions import assign_balanced


def assign(members: Sequence[MemberSubscription], topics: Mapping[str, Topic]) -> Assignment:
    """Who gets what, by Kafka's StickyAssignor."""
    return assign_sticky(members, topics, settle_claims(members, topics))


def assign_sticky(members: Sequence[MemberSubscription], topics: Mapping[str, Topic], claims: Claims) -> Assignment:
    """As `assign`, for who has settled the claims already."""
    existing = subscribed(members, topics)
    racks = Racks(members, existing)
    subscriptions = {member.member_id: member.topics & existing.keys() for member in members}
    if subscriptions_are_equal(members):
        owned: dict[str, list[tuple[str, int]]] = {member.member_id: [] for member in members}
        for partition, member_id in claims.owner.items():
            if partition[0] in existing:
                owned[member_id].append(partition)
        taken = assign_equal_shares(owned, existing, racks)
    else:
        taken = assign_balanced(subscriptions, existing, claims, racks)
    return {member.member_id: by_topic(taken[member.member_id]) for member in members}


def subscriptions_are_equal(members: Sequence[MemberSubscription]) -> bool:
    return len({member.topics for member in members}) == 1
