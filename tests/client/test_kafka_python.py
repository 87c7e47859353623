"""What the strategies tell kafka-python, and what they read from it; tests/e2e has them in real groups."""

from types import SimpleNamespace
from typing import Any

import pytest
from kafka.cluster import ClusterMetadata
from kafka.consumer.group import KafkaConsumer
from kafka.errors import KafkaConfigurationError
from kafka.protocol.consumer.metadata import ConsumerProtocolAssignment, ConsumerProtocolSubscription
from kafka.protocol.metadata import MetadataResponse

from _wire.messages.metadata import MetadataResponse as OurMetadataResponse
from _wire.messages.metadata import MetadataResponseBroker, MetadataResponsePartition, MetadataResponseTopic
from coordinator.client.kafka_python import CooperativeStickyAssignor, RangeAssignor, StickyAssignor
from coordinator.core.assignment import decode_assignment
from tests.servers import RunningServer

ASSIGNED = ConsumerProtocolAssignment.decode(bytes.fromhex("0000 00000001 000174 00000002 00000000 00000001 ffffffff"))


def cluster(racks: list[str | None], replicas: list[list[int]]) -> ClusterMetadata:
    """One topic `t`, on brokers with these racks."""
    brokers = [
        MetadataResponseBroker(node_id=node_id, host="broker", port=9092, rack=rack)
        for node_id, rack in enumerate(racks)
    ]
    partitions = [
        MetadataResponsePartition(partition_index=index, leader_id=nodes[0], replica_nodes=nodes, isr_nodes=nodes)
        for index, nodes in enumerate(replicas)
    ]
    topics = [MetadataResponseTopic(name="t", partitions=partitions)]
    answer = OurMetadataResponse(brokers=brokers, controller_id=0, topics=topics).encode(5)
    metadata = ClusterMetadata()
    metadata.update_metadata(MetadataResponse.decode(answer, version=5))
    return metadata


def joined(member_id: str, strategy: Any) -> Any:
    """A member as kafka-python hands it to the leader's strategy."""
    subscription = ConsumerProtocolSubscription.decode(strategy.metadata({"t"}))
    return SimpleNamespace(member_id=member_id, group_instance_id=None, metadata=subscription)


def test_the_leader_assigns_for_all():
    members = [joined("one", RangeAssignor()), joined("two", RangeAssignor())]
    assignment = RangeAssignor().assign(cluster([None], [[0], [0], [0]]), members)
    assert {name: decode_assignment(data) for name, data in assignment.items()} == {
        "one": {"t": [0, 1]},
        "two": {"t": [2]},
    }


def test_members_get_what_is_in_their_rack():
    members = [joined("one", RangeAssignor(rack_id="left")), joined("two", RangeAssignor(rack_id="right"))]
    assignment = RangeAssignor().assign(cluster(["left", "right"], [[1], [1], [0], [0]]), members)
    assert {name: decode_assignment(data) for name, data in assignment.items()} == {
        "one": {"t": [2, 3]},
        "two": {"t": [0, 1]},
    }


def test_a_cooperative_member_names_what_it_keeps():
    strategy = CooperativeStickyAssignor()
    strategy.on_assignment(ASSIGNED, 5)
    said = ConsumerProtocolSubscription.decode(strategy.metadata({"t"}))
    assert [(owned_partition.topic, owned_partition.partitions) for owned_partition in said.owned_partitions] == [
        ("t", [0, 1])
    ]
    assert said.generation_id == 5
    unsubscribed = ConsumerProtocolSubscription.decode(strategy.metadata({"u"}))
    assert unsubscribed.owned_partitions == [], "kafka-python gives these up before it joins"


def test_a_sticky_member_has_given_all_up_and_says_what_it_had():
    strategy = StickyAssignor()
    assert ConsumerProtocolSubscription.decode(strategy.metadata({"t"})).user_data is None
    strategy.on_assignment(ASSIGNED, 5)
    said = ConsumerProtocolSubscription.decode(strategy.metadata({"t"}))
    assert said.owned_partitions == []
    assert said.user_data == bytes.fromhex("00000001 000174 00000002 00000000 00000001 00000005")


def test_a_member_that_lost_all_claims_nothing():
    strategy = CooperativeStickyAssignor()
    strategy.on_assignment(ASSIGNED, 5)
    strategy.forget()
    said = ConsumerProtocolSubscription.decode(strategy.metadata({"t"}))
    assert (said.owned_partitions, said.generation_id) == ([], -1)


def test_eager_and_cooperative_strategies_do_not_mix(server: RunningServer):
    """kafka-python asks them what they support."""
    with pytest.raises(KafkaConfigurationError, match="common RebalanceProtocol"):
        KafkaConsumer(
            bootstrap_servers=server.bootstrap,
            group_id="mixed",
            partition_assignment_strategy=[RangeAssignor, CooperativeStickyAssignor],
        )
