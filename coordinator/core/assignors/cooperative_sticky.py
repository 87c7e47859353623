"""`cooperative-sticky`: the sticky shares in two rounds (KIP-429).

Members keep their partitions while they rebalance. What is to move is therefore left out at first: its owner gives it
up on that, joins again, and in the second round it is free for its new owner.
"""

from collections.abc import Mapping, Sequence

from coordinator.core.assignors.claims import settle_claims
from coordinator.core.assignors.model import Assignment, MemberSubscription, Topic
from coordinator.core.assignors.sticky import assign_sticky


def assign(members: Sequence[MemberSubscription], topics: Mapping[str, Topic]) -> Assignment:
    """Who gets what, by Kafka's CooperativeStickyAssignor: nothing that another member may still have."""
    claims = settle_claims(members, topics)
    assignment = assign_sticky(members, topics, claims)
    free: Assignment = {}
    for member_id, by_topic in assignment.items():
        free[member_id] = {}
        for name, numbers in by_topic.items():
            mine = [
                number
                for number in numbers
                if (name, number) not in claims.contested and claims.owner.get((name, number), member_id) == member_id
            ]
            if mine:
                free[member_id][name] = mine
    return free
