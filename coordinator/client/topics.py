"""Topics of a server: listed, described, created and deleted."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from _wire.errors import ErrorCode
from _wire.messages.create_topics import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from _wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from _wire.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from _wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from coordinator.client.bootstrap import Server
from coordinator.client.cluster import EARLIEST, LATEST, Cluster
from coordinator.client.groups import raise_for_error
from coordinator.client.wire import ClientError, WireConnection

CLIENT_ID: Final = "coordinator-admin"
ANSWER_SECONDS: Final = 30
TIMEOUT_MS: Final = 20_000
TOPIC_RESOURCE: Final = 2
OF_TOPIC: Final = 1
"""The source of a config that was set for the topic itself (DYNAMIC_TOPIC_CONFIG)."""
DELETE_BY_STATE: Final = 6
"""The first version of DeleteTopics that names topics by a structure."""
DEFAULT_COUNT: Final = -1
"""For partitions and replicas: what the server has as its default (KIP-464)."""


@dataclass(frozen=True, slots=True)
class TopicSummary:
    name: str
    partitions: int
    replicas: int
    is_internal: bool


@dataclass(frozen=True, slots=True)
class PartitionDescription:
    partition: int
    leader: int
    """The id of a node; -1: there is none."""
    replicas: list[int]
    in_sync: list[int]
    log_start_offset: int | None
    log_end_offset: int | None


@dataclass(frozen=True, slots=True)
class TopicDescription:
    name: str
    topic_id: str
    """The UUID, in hex digits."""
    configs: dict[str, str]
    """Those that were set for the topic."""
    partitions: list[PartitionDescription]


def list_topics(server: Server) -> list[TopicSummary]:
    """All topics, by name.

    Raises:
        ClientError: the server cannot be reached.
    """
    with WireConnection(server, CLIENT_ID, ANSWER_SECONDS) as connection:
        response = connection.send_latest(MetadataRequest(topics=None))
    return [
        TopicSummary(
            topic.name or "",
            len(topic.partitions),
            max((len(partition.replica_nodes) for partition in topic.partitions), default=0),
            topic.is_internal,
        )
        for topic in sorted(response.topics, key=lambda topic: topic.name or "")
        if topic.error_code == ErrorCode.NONE
    ]


def describe_topic(server: Server, name: str) -> TopicDescription:
    """A topic with its configs and its partitions.

    Raises:
        ClientError: the server cannot be reached, or there is no such topic.
    """
    with Cluster(server, CLIENT_ID, ANSWER_SECONDS) as cluster:
        request = MetadataRequest(topics=[MetadataRequestTopic(name=name)], allow_auto_topic_creation=False)
        (topic,) = cluster.anyone.send_latest(request).topics
        raise_for_error(topic.error_code, f"cannot describe topic {name}")
        leaders = cluster.leaders([name])
        starts = cluster.offsets_at(leaders, leaders, EARLIEST)
        ends = cluster.offsets_at(leaders, leaders, LATEST)
        configs = _configs(cluster.anyone, name)
    return TopicDescription(
        name,
        topic.topic_id.hex(),
        configs,
        [
            PartitionDescription(
                partition.partition_index,
                partition.leader_id,
                list(partition.replica_nodes),
                list(partition.isr_nodes),
                starts.get((name, partition.partition_index)),
                ends.get((name, partition.partition_index)),
            )
            for partition in sorted(topic.partitions, key=lambda partition: partition.partition_index)
        ],
    )


def _configs(connection: WireConnection, name: str) -> dict[str, str]:
    resource = DescribeConfigsResource(resource_type=TOPIC_RESOURCE, resource_name=name, configuration_keys=None)
    (described,) = connection.send_latest(DescribeConfigsRequest(resources=[resource])).results
    raise_for_error(described.error_code, f"cannot describe the configs of topic {name}")
    return {config.name: config.value or "" for config in described.configs if config.config_source == OF_TOPIC}


def create_topic(
    server: Server,
    name: str,
    partitions: int = DEFAULT_COUNT,
    replicas: int = DEFAULT_COUNT,
    *,
    configs: Mapping[str, str],
    validate_only: bool = False,
) -> None:
    """Create a topic, or with `validate_only` check whether it could be created.

    Raises:
        ClientError: the server cannot be reached, or refuses it.
    """
    topic = CreatableTopic(
        name=name,
        num_partitions=partitions,
        replication_factor=replicas,
        configs=[CreatableTopicConfig(name=key, value=value) for key, value in configs.items()],
    )
    request = CreateTopicsRequest(topics=[topic], timeout_ms=TIMEOUT_MS, validate_only=validate_only)
    with WireConnection(server, CLIENT_ID, ANSWER_SECONDS) as connection:
        (created,) = connection.send_latest(request).topics
    _raise_with_reason(created, f"cannot create topic {name}")


def delete_topics(server: Server, names: Sequence[str]) -> None:
    """Delete topics with all their records.

    Raises:
        ClientError: the server cannot be reached, or one of them cannot be deleted; the others are.
    """
    with WireConnection(server, CLIENT_ID, ANSWER_SECONDS) as connection:
        if connection.latest_version(DeleteTopicsRequest.API_KEY) >= DELETE_BY_STATE:
            topics = [DeleteTopicState(name=name) for name in names]
            request = DeleteTopicsRequest(topics=topics, timeout_ms=TIMEOUT_MS)
        else:
            request = DeleteTopicsRequest(topic_names=list(names), timeout_ms=TIMEOUT_MS)
        responses = connection.send_latest(request).responses
    for response in responses:
        _raise_with_reason(response, f"cannot delete topic {response.name}")


def _raise_with_reason(answered: Any, what: str) -> None:
    if answered.error_code and answered.error_message:
        raise ClientError(f"{what}: {answered.error_message}")
    raise_for_error(answered.error_code, what)
