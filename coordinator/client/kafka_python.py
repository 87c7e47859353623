"""The assignors as classes for kafka-python (3.0.12 or newer): KafkaConsumer(partition_assignment_strategy=[...]).

kafka-python is not among the packages of this one; the extra `kafka-python` brings it. A strategy may be given as a
class, or as an object where it needs a rack.
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
    """Remembers what the consumer was assigned, tells it when it joins again, and assigns when it leads."""

    assignor: ClassVar[registry.Assignor]

    def __init__(self, rack_id: str | None = None) -> None:
        """`rack_id`: the consumer's rack (client.rack), if partitions with a replica there suit it better."""
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
        """The subscription, in our bytes: kafka-python's lacks generation and rack."""
        wanted = frozenset(topics)
        owned = {name: numbers for name, numbers in self._owned.items() if name in wanted}
        member = MemberSubscription("", wanted, None, owned, self._generation_id, self._rack_id)
        return encode_subscription(self.assignor, member)

    def on_assignment(self, assignment: Any, generation: int) -> None:
        """What a ConsumerProtocolAssignment of kafka-python says, to be told when the consumer joins again."""
        self._owned = by_topic((each.topic, each.partition) for each in assignment.partitions())
        self._generation_id = generation

    def forget(self) -> None:
        """The consumer was thrown out of its group and has no partitions left: call this in `on_partitions_lost`.

        kafka-python tells its listeners, but not its strategies. A cooperative one that still claims what it lost
        keeps others from getting it until the next rebalance.
        """
        self._owned, self._generation_id = {}, NO_GENERATION

    def assign(self, cluster: ClusterMetadata, members: Iterable[Any]) -> dict[str, bytes]:
        """Member id → assignment, for members as kafka-python reads them from JoinGroup's answer."""
        subscriptions = [
            decode_subscription(self.assignor, each.member_id, each.group_instance_id, each.metadata.encode())
            for each in members
        ]
        wanted = frozenset[str]().union(*(each.topics for each in subscriptions))
        topics = {
            name: _topic(cluster, name, numbers) for name in wanted if (numbers := cluster.partitions_for_topic(name))
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
    """`sticky`: partitions stay where they were, but nobody reads while the group rebalances."""

    assignor = registry.STICKY


class CooperativeStickyAssignor(_Strategy):
    """`cooperative-sticky`: as `sticky`, and who keeps a partition goes on reading it."""

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
