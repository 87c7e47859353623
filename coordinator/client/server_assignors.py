"""The assignors of consumer groups (KIP-848), in the form of those of clients: members and topics by name."""

from collections.abc import Mapping, Sequence

from coordinator.core.assignors.model import Assignment, MemberSubscription, RebalanceProtocol, Topic
from coordinator.core.assignors.registry import Assignor
from coordinator.core.consumer.assignors.model import Subscriber
from coordinator.core.consumer.assignors.orders import members_in_order, target_in_order, topics_in_order
from coordinator.core.consumer.assignors.registry import ASSIGNORS


def server_assignors(topic_ids: Mapping[str, bytes], *, is_mixed: bool = False) -> dict[str, Assignor]:
    """The assignors by name. What a member owns is taken for its current target.

    `topic_ids` are the ids of the topics that exist, 16 bytes each. `is_mixed`: regular expressions and names, or
    several regular expressions, make up the subscriptions, so that the group does not count as homogeneous.
    """
    return {name: _as_client_assignor(name, topic_ids, is_mixed) for name in ASSIGNORS}


def _as_client_assignor(name: str, topic_ids: Mapping[str, bytes], is_mixed: bool) -> Assignor:
    def assign(members: Sequence[MemberSubscription], topics: Mapping[str, Topic]) -> Assignment:
        ids = {topic: topic_ids[topic] for topic in topics}
        names = {topic_id: topic for topic, topic_id in ids.items()}
        by_id = {member.member_id: _subscriber(member, ids) for member in members}
        target = ASSIGNORS[name].assign(
            [by_id[member_id] for member_id in members_in_order(by_id)],
            {topic_id: topics[names[topic_id]].partition_count for topic_id in topics_in_order(names)},
            not is_mixed and len({member.topics for member in members}) == 1,
        )
        return {
            member_id: {names[topic_id]: list(partitions) for topic_id, partitions in by_topic.items()}
            for member_id, by_topic in target.items()
        }

    # Members give up what they have to without waiting for one another: no second rebalance, as with eager assignors.
    return Assignor(name, RebalanceProtocol.EAGER, assign)


def _subscriber(member: MemberSubscription, ids: Mapping[str, bytes]) -> Subscriber:
    return Subscriber(
        member.member_id,
        member.group_instance_id,
        frozenset(ids[topic] for topic in member.topics if topic in ids),
        target_in_order(
            {
                ids[topic]: tuple(sorted(owned_partition))
                for topic, owned_partition in member.owned_partitions.items()
                if topic in ids
            }
        ),
    )
