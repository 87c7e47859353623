"""`sticky`: a balanced assignment that moves as few partitions as possible (KIP-54, KIP-341).

If all members subscribe to the same topics, it is computed directly (`equal_subscriptions`), otherwise by a search
(`unequal_subscriptions`). If racks matter (KIP-881), partitions without a replica in the rack of their owner are
assigned again.
"""

from collections.abc import Mapping, Sequence

from coordinator.core.assignors.claims import Claims, resolve_claims
from coordinator.core.assignors.equal_subscriptions import assign_equal_shares
from coordinator.core.assignors.model import Assignment, MemberSubscription, Topic, by_topic, subscribed
from coordinator.core.assignors.racks import Racks
from coordinator.core.assignors.unequal_subscriptions import assign_balanced


def assign(members: Sequence[MemberSubscription], topics: Mapping[str, Topic]) -> Assignment:
    """Assign as Kafka's StickyAssignor."""
    return assign_sticky(members, topics, resolve_claims(members, topics))


def assign_sticky(members: Sequence[MemberSubscription], topics: Mapping[str, Topic], claims: Claims) -> Assignment:
    """As `assign`, with claims that are resolved already."""
    existing = subscribed(members, topics)
    racks = Racks(members, existing)
    subscriptions = {member.member_id: member.topics & existing.keys() for member in members}
    if subscriptions_are_equal(members):
        owned: dict[str, list[tuple[str, int]]] = {member.member_id: [] for member in members}
        for partition, member_id in claims.owner.items():
            if partition[0] in existing:
                owned[member_id].append(partition)
        shares = assign_equal_shares(owned, existing, racks)
    else:
        shares = assign_balanced(subscriptions, existing, claims, racks)
    return {member.member_id: by_topic(shares[member.member_id]) for member in members}


def subscriptions_are_equal(members: Sequence[MemberSubscription]) -> bool:
    return len({member.topics for member in members}) == 1
