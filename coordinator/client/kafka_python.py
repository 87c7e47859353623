"""The assignors as classes for kafka-python (3.0.12 or newer): KafkaConsumer(partition_assignment_strategy=[...]).

kafka-python is an optional dependency (the extra `kafka-python`). A strategy may be given as a class, or as an
object if it needs a rack.
"""

from collections.abc import Collection, Iterable
from typing import Any, ClassVar

from kafka.cluster import ClusterMetadata
from kafka.coordinator.assignors import abstract
from kafka.structs import TopicPartition

from coordinator.core.assignors import registry
from coordinator.core.assignors.consumer_protocol import decode_subscription, encode_assignment, encode_subscription
from coordinator.core.assignors.model import (
    NO_GENERATION,
    MemberSubscription,
    PartitionsByTopic,
    RebalanceProtocol,
    Topic,
    by_topic,
)


class _Strategy(abstract.AbstractPartitionAssignor):  # type: ignore[misc]  # kafka-python is not typed
    """Stores the consumer's assignment, sends it as owned partitions when it rejoins, and assigns as the leader."""

    assignor: ClassVar[registry.Assignor]

    def __init__(self, rack_id: str | None = None) -> None:
        """`rack_id` is the consumer's rack (client.rack): partitions with a replica in this rack are preferred."""
        self._rack_id = rack_id
        self._owned: PartitionsByTopic = {}
        self._generation_id = NO_GENERATION

    @property
    def name(self) -> str:
        return self.assignor.name

    def supported_protocols(self) -> list[abstract.RebalanceProtocol]:
        if self.assignor.rebalance_protocol is RebalanceProtocol.COOPERATIVE:
            return [abstract.RebalanceProtocol.COOPERATIVE]
        return [abstract.RebalanceProtocol.EAGER]

    def metadata(self, topics: Iterable[str]) -> bytes:
        """Return the encoded subscription. That of kafka-python lacks the generation and the rack."""
        subscribed = frozenset(topics)
        owned = {name: numbers for name, numbers in self._owned.items() if name in subscribed}
        member = MemberSubscription("", subscribed, None, owned, self._generation_id, self._rack_id)
        return encode_subscription(self.assignor, member)

    def on_assignment(self, assignment: Any, generation: int) -> None:
        """Store kafka-python's ConsumerProtocolAssignment, to be sent when the consumer rejoins."""
        self._owned = by_topic((partition.topic, partition.partition) for partition in assignment.partitions())
        self._generation_id = generation

    def forget(self) -> None:
        """Forget the assignment. Call this in `on_partitions_lost`, after the consumer was removed from its group.

        kafka-python notifies listeners of this, but not strategies. A cooperative strategy that still claims lost
        partitions prevents their assignment to others until the next rebalance.
        """
        self._owned, self._generation_id = {}, NO_GENERATION

    def assign(self, cluster: ClusterMetadata, members: Iterable[Any]) -> dict[str, bytes]:
        """Return member id → encoded assignment, for the members in kafka-python's form of a JoinGroup response."""
        subscriptions = [
            decode_subscription(self.assignor, member.member_id, member.group_instance_id, member.metadata.encode())
            for member in members
        ]
        subscribed = frozenset[str]().union(*(subscription.topics for subscription in subscriptions))
        topics = {
            name: _topic(cluster, name, numbers)
            for name in subscribed
            if (numbers := cluster.partitions_for_topic(name))
        }
        assignment = self.assignor.assign(subscriptions, topics)
        return {member_id: encode_assignment(partitions) for member_id, partitions in assignment.items()}


class RangeAssignor(_Strategy):
    """`range`."""

    assignor = registry.RANGE


class RoundRobinAssignor(_Strategy):
    """`roundrobin`."""

    assignor = registry.ROUND_ROBIN


class StickyAssignor(_Strategy):
    """`sticky`: members keep their partitions, but stop reading them during a rebalance."""

    assignor = registry.STICKY


class CooperativeStickyAssignor(_Strategy):
    """`cooperative-sticky`: as `sticky`, but a member continues to read the partitions that it keeps."""

    assignor = registry.COOPERATIVE_STICKY


def _topic(cluster: ClusterMetadata, name: str, numbers: Collection[int]) -> Topic:
    count = max(numbers) + 1
    racks = {broker.node_id: broker.rack for broker in cluster.brokers() if broker.rack}
    if not racks:
        return Topic(count)
    return Topic(
        count,
        tuple(
            frozenset(
                rack
                for node_id, rack in racks.items()
                if cluster.is_replica_node(TopicPartition(name, number), node_id) is not None
            )
            for number in range(count)
        ),
    )
