"""`roundrobin`: the partitions of all topics, in order, are assigned to the members in turn.

A member that does not subscribe to the topic is skipped.
"""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Mapping, Sequence

from coordinator.core.assignors.member_order import static_first
from coordinator.core.assignors.model import Assignment, MemberSubscription, Topic, subscribed


def assign(members: Sequence[MemberSubscription], topics: Mapping[str, Topic]) -> Assignment:
    """Assign as Kafka's RoundRobinAssignor."""
    circle = static_first(members)
    places: dict[str, list[int]] = defaultdict(list)
    for place, member in enumerate(circle):
        for name in member.topics:
            places[name].append(place)
    assignment: Assignment = {member.member_id: {} for member in members}
    turn = 0
    for name, topic in subscribed(members, topics).items():
        subscribers = places[name]
        for partition in range(topic.partition_count):
            found = bisect_left(subscribers, turn)
            place = subscribers[found if found < len(subscribers) else 0]
            assignment[circle[place].member_id].setdefault(name, []).append(partition)
            turn = (place + 1) % len(circle)
    return assignment
