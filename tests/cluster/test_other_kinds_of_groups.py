"""Share groups and streams groups of a real Kafka, by way of nodes that do not coordinate them."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from confluent_kafka import KafkaError, Producer, ShareConsumer

from _wire.apis import APIS
from _wire.errors import ErrorCode
from _wire.messages.api_versions import ApiVersionsRequest
from _wire.messages.describe_share_group_offsets import DescribeShareGroupOffsetsRequest, RequestGroup
from _wire.messages.find_coordinator import FindCoordinatorRequest
from _wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from _wire.messages.share_group_heartbeat import ShareGroupHeartbeatRequest
from _wire.messages.streams_group_describe import StreamsGroupDescribeRequest
from _wire.messages.streams_group_heartbeat import (
    StreamsGroupHeartbeatRequest,
    Subtopology,
    Topology,
)
from _wire.records import build_batch
from coordinator.cluster.relay.rules import FETCH, FETCH_VERSION_SENT, OF_OTHER_KINDS
from tests.cluster.running import RunningNodes
from tests.differential.kafka import KafkaMissing, RunningKafka
from tests.waiting import wait_for
from tests.wire_client import WireClient, fetch_request

pytestmark = pytest.mark.realtime

TOPIC: Final = "orders"
RECORDS: Final = 10
SECONDS: Final = 30
KAFKA_SETTINGS: Final = {
    "offsets.topic.num.partitions": "4",
    "share.coordinator.state.topic.num.partitions": "4",
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
    "group.share.min.heartbeat.interval.ms": "100",
    "group.share.heartbeat.interval.ms": "200",
}


@pytest.fixture(scope="module")
def nodes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningNodes]:
    folder: Path = tmp_path_factory.mktemp("kinds")
    try:
        kafka = RunningKafka(folder, KAFKA_SETTINGS, threads={})
    except KafkaMissing as missing:
        pytest.skip(str(missing))
    with kafka, RunningNodes(folder, kafka.bootstrap, 2, {"cluster.adopt": "owned-*"}) as nodes:
        with WireClient(kafka.bootstrap) as client:
            client.create_topic(TOPIC, 2)
        yield nodes


def coordinator_of(nodes: RunningNodes, group_id: str) -> str:
    """HOST:PORT that clients are told of the group's coordinator."""
    found: list[str] = []

    def is_found() -> bool:
        with WireClient(nodes.nodes[0].bootstrap) as client:
            answer = client.request(FindCoordinatorRequest(key=group_id, key_type=0), 2)
        if not answer.error_code:
            found.append(f"{answer.host}:{answer.port}")
        return bool(found)

    wait_for(is_found, SECONDS, f"a coordinator of {group_id}", every_ms=100)
    return found[0]


def ask(address: str, request: Any) -> Any:
    with WireClient(address) as client:
        return client.request(request, APIS[request.API_KEY].max_version)


def test_a_share_consumer_gets_all_records_by_way_of_a_node(nodes: RunningNodes):
    consumer = ShareConsumer({"bootstrap.servers": nodes.bootstrap, "group.id": "stays-share", "log_level": 3})
    consumer.subscribe([TOPIC])
    producer = Producer({"bootstrap.servers": nodes.bootstrap})
    delivered: set[bytes] = set()
    produced = 0
    broker = coordinator_of(nodes, "stays-share")
    assert broker in {node.broker_address(0) for node in nodes.nodes} | {node.broker_address(1) for node in nodes.nodes}

    def is_complete() -> bool:
        nonlocal produced
        # The group reads from where the topic ends when it comes to it.
        producer.produce(TOPIC, b"%d" % produced, partition=produced % 2)
        produced += 1
        assert producer.flush(SECONDS) == 0
        for message in consumer.poll(0.5):
            problem: KafkaError | None = message.error()
            assert problem is None, problem
            delivered.add(message.value() or b"")
        return len(delivered) >= RECORDS

    wait_for(is_complete, SECONDS, "records of the share group", every_ms=100)
    asked = DescribeShareGroupOffsetsRequest(groups=[RequestGroup(group_id="stays-share", topics=None)])
    (group,) = ask(broker, asked).groups
    assert group.error_code == 0
    assert [topic.topic_name for topic in group.topics] == [TOPIC]
    consumer.close()


def test_a_streams_group_is_the_clusters(nodes: RunningNodes):
    broker = coordinator_of(nodes, "stays-streams")
    topology = Topology(epoch=1, subtopologies=[Subtopology(subtopology_id="0", source_topics=[TOPIC])])
    joining = StreamsGroupHeartbeatRequest(
        group_id="stays-streams",
        member_id="m" * 22,
        member_epoch=0,
        rebalance_timeout_ms=10_000,
        topology=topology,
        active_tasks=[],
        standby_tasks=[],
        warmup_tasks=[],
        process_id="p",
        client_tags=[],
    )

    def has_joined() -> bool:
        answer = ask(broker, joining)
        assert answer.error_code in (0, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.COORDINATOR_NOT_AVAILABLE), (
            answer
        )
        return not answer.error_code

    wait_for(has_joined, SECONDS, "the member to join", every_ms=100)
    (group,) = ask(broker, StreamsGroupDescribeRequest(group_ids=["stays-streams"])).groups
    assert (group.error_code, len(group.members)) == (0, 1)


def test_a_share_group_that_is_there_stays_though_a_rule_adopts_its_name(nodes: RunningNodes):
    """It was there before: clients that come by way of the nodes are sent to the cluster."""
    joining = ShareGroupHeartbeatRequest(
        group_id="owned-share", member_id="m" * 22, member_epoch=0, subscribed_topic_names=[TOPIC]
    )
    node = coordinator_of(nodes, "owned-share")
    assert node in {each.bootstrap for each in nodes.nodes}
    refused = ask(node, joining)
    assert (refused.error_code, refused.error_message) == (
        ErrorCode.GROUP_ID_NOT_FOUND,
        "Group owned-share is not a share group.",
    )
    broker = coordinator_of(nodes, "stays-share")
    assert ask(broker, joining).error_code == 0
    assert coordinator_of(nodes, "owned-share") == broker


def test_the_newest_fetch_reads_records(nodes: RunningNodes):
    broker = coordinator_of(nodes, "stays-share")
    with WireClient(broker) as client:
        versions = client.request(ApiVersionsRequest(client_software_name="t", client_software_version="1"), 3)
        offered = {api.api_key: api.max_version for api in versions.api_keys}
        assert set(OF_OTHER_KINDS) <= {APIS[key].name for key in offered if key in APIS}
        version = min(offered[FETCH], APIS[FETCH].max_version)
        assert version > FETCH_VERSION_SENT
        (topic,) = client.request(MetadataRequest(topics=[MetadataRequestTopic(name=TOPIC)]), 12).topics
        client.produce(TOPIC, build_batch([(None, b"newest", ())]), partition=1)
        response = client.request(fetch_request(TOPIC, topic_id=topic.topic_id, partition=1), version)
        (partition,) = response.responses[0].partitions
        assert partition.error_code == 0
        assert b"newest" in bytes(partition.records)
