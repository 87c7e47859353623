"""What each served API needs to be allowed: Kafka's table "Operations and Resources on Protocols".

The source is `KafkaApis` and `ControllerApis` of Kafka 4.3.1. What only Kafka's nodes send to each other is not here.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

from coordinator.broker.data.produce import has_transactional_batch
from coordinator.core.topology_topics import topics_of_topology
from coordinator.front.authorization import NOTHING, Names, Permission, Requirement, WhenDenied
from coordinator.front.protocol_types import (
    COORDINATOR_KEYS_VERSION,
    TOPIC_STATES_VERSION,
    ConfigResourceType,
    CoordinatorType,
)
from coordinator.front.requirements import (
    GROUP_REQUIREMENTS,
    NO_TOPIC_ID,
    READ_GROUP,
    listed,
    on_cluster,
    on_found,
    on_group,
    on_resources,
    on_topics,
    on_transaction,
    topics,
)
from coordinator.runtime.slices import at_once
from coordinator.security.acls.model import CLUSTER_NAME, AclOperation, ResourceType

FETCH_REPLICA_STATE_VERSION: Final = 15

ADD_PARTITIONS_BY_BROKERS_VERSION: Final = 4

METADATA_IDS_VERSION: Final = 12

DELETE_CONFIG: Final = 1
"""The operation of IncrementalAlterConfigs that needs no value (`AlterConfigOp.OpType.DELETE`)."""

CONFIGS_OF_CLUSTER: Final = frozenset(
    {ConfigResourceType.BROKER, ConfigResourceType.BROKER_LOGGER, ConfigResourceType.CLIENT_METRICS}
)
"""What has configs that belong to the cluster."""


def _topology_topics(request: Any, api_version: int) -> Iterable[str]:
    """All topics that the topology of a StreamsGroupHeartbeat names, sinks too."""
    return () if request.topology is None else set(topics_of_topology(request.topology))


def _once(names: Names) -> Names:
    """The names that occur once: a repeated name is answered with its own error, without an ACL check."""

    def once(request: Any, api_version: int) -> Iterator[str | bytes]:
        return (name for name, times in Counter(names(request, api_version)).items() if times == 1)

    return once


def _transaction_of_batches(request: Any, api_version: int) -> Iterable[str]:
    """The transactional id, if there is one and a batch is transactional."""
    if request.transactional_id is None or not at_once(has_transactional_batch(request)):
        return ()
    return (request.transactional_id,)


def _described_topics(request: Any, api_version: int) -> list[Any]:
    """The topics by name, or by id if a single one is: then names do not count. Before v12 none may be.

    None of a request that fails as a whole, because it names a topic in neither way.
    """
    topics = request.topics or ()
    ids = [topic.topic_id for topic in topics if topic.topic_id != NO_TOPIC_ID]
    if ids:
        return ids if api_version >= METADATA_IDS_VERSION else []
    names = [topic.name for topic in topics]
    return [] if None in names else names


def _coordinator_keys(key_type: CoordinatorType) -> Names:
    def names(request: Any, api_version: int) -> Iterable[str]:
        if request.key_type != key_type:
            return ()
        return request.coordinator_keys if api_version >= COORDINATOR_KEYS_VERSION else (request.key,)

    return names


def _cluster_of_share_keys(request: Any, api_version: int) -> Iterable[str]:
    return (CLUSTER_NAME,) if request.key_type == CoordinatorType.SHARE else ()


def _described_share_groups(request: Any, api_version: int) -> Iterable[str]:
    return (group.group_id for group in request.groups)


def _described_share_topics(request: Any, api_version: int) -> Iterable[str]:
    return (topic.topic_name for group in request.groups for topic in group.topics or ())


def _deleted_topics(request: Any, api_version: int) -> Iterable[str | bytes]:
    """Those that are named by a name or an id."""
    if api_version < TOPIC_STATES_VERSION:
        return request.topic_names  # type: ignore[no-any-return]
    return (
        topic.topic_id if topic.name is None else topic.name
        for topic in request.topics
        if (topic.name is None) != (topic.topic_id == NO_TOPIC_ID)
    )


def _topics_deleted_by_name(request: Any, api_version: int) -> Iterable[str | bytes]:
    return (name for name in _deleted_topics(request, api_version) if isinstance(name, str))


def _is_of_replica(request: Any, api_version: int) -> bool:
    if api_version < FETCH_REPLICA_STATE_VERSION:
        return bool(request.replica_id >= 0)
    return request.replica_state is not None and bool(request.replica_state.replica_id >= 0)


def _topics_of_consumer(request: Any, api_version: int) -> Iterable[str | bytes]:
    return () if _is_of_replica(request, api_version) else _FETCHED(request, api_version)


_FETCHED: Final = topics("topics", name="topic")


def _cluster_of_replica(request: Any, api_version: int) -> Iterable[str]:
    return (CLUSTER_NAME,) if _is_of_replica(request, api_version) else ()


def _created_topics(request: Any, api_version: int) -> Iterable[str | bytes]:
    """Those that Metadata may create: topics by name."""
    names = _described_topics(request, api_version) if request.allow_auto_topic_creation else ()
    return names if names and isinstance(names[0], str) else ()


def _transaction_of_client(request: Any, api_version: int) -> Iterable[str]:
    return () if api_version >= ADD_PARTITIONS_BY_BROKERS_VERSION else (request.v3_and_below_transactional_id,)


def _cluster_of_broker(request: Any, api_version: int) -> Iterable[str]:
    return (CLUSTER_NAME,) if api_version >= ADD_PARTITIONS_BY_BROKERS_VERSION else ()


def _cluster_without_transaction(request: Any, api_version: int) -> Iterable[str]:
    return (CLUSTER_NAME,) if request.transactional_id is None else ()


def _config_resources(config_type: ConfigResourceType) -> Names:
    """Resources of a type; changes that cannot be made are answered with their own error, without an ACL check."""

    def names(request: Any, api_version: int) -> Iterable[str]:
        return (
            resource.resource_name
            for resource in request.resources
            if resource.resource_type == config_type and not _is_malformed(resource)
        )

    return names


def _is_malformed(resource: Any) -> bool:
    """Whether a resource has a change to null, or two of the same config (`ConfigAdminManager.preprocess`)."""
    entries = getattr(resource, "configs", ())
    if any(entry.value is None and getattr(entry, "config_operation", None) != DELETE_CONFIG for entry in entries):
        return True
    return len({entry.name for entry in entries}) < len(entries)


def _cluster_of_config_resources(request: Any, api_version: int) -> Iterable[str]:
    is_asked = any(resource.resource_type in CONFIGS_OF_CLUSTER for resource in request.resources)
    return (CLUSTER_NAME,) if is_asked else ()


def _on_config_resources(
    operation: AclOperation, chosen: Callable[[Names], Names] = lambda names: names
) -> tuple[Requirement, ...]:
    return (
        on_resources(operation, ResourceType.TOPIC, chosen(_config_resources(ConfigResourceType.TOPIC))),
        on_resources(operation, ResourceType.GROUP, chosen(_config_resources(ConfigResourceType.GROUP))),
        on_resources(operation, ResourceType.CLUSTER, _cluster_of_config_resources),
    )


REQUIREMENTS: Final[Mapping[str, tuple[Requirement, ...]]] = {
    # The data plane.
    "Produce": (
        Requirement(AclOperation.WRITE, ResourceType.TRANSACTIONAL_ID, _transaction_of_batches),
        on_topics(AclOperation.WRITE, topics("topic_data")),
    ),
    "Fetch": (
        Requirement(AclOperation.CLUSTER_ACTION, ResourceType.CLUSTER, _cluster_of_replica),
        on_topics(AclOperation.READ, _topics_of_consumer),
    ),
    # Their topics are looked at by the handler: a session has topics that its requests do not name.
    "ShareFetch": READ_GROUP,
    "ShareAcknowledge": READ_GROUP,
    "ListOffsets": (on_topics(AclOperation.DESCRIBE, topics("topics")),),
    "OffsetForLeaderEpoch": (
        on_topics(
            AclOperation.DESCRIBE,
            topics("topics", name="topic"),
            Permission(AclOperation.CLUSTER_ACTION, ResourceType.CLUSTER),
        ),
    ),
    "DeleteRecords": (on_topics(AclOperation.DELETE, topics("topics")),),
    # The cluster and its topics.
    "ApiVersions": NOTHING,
    "SaslHandshake": NOTHING,
    "SaslAuthenticate": NOTHING,
    "DescribeCluster": NOTHING,
    "Metadata": (
        on_topics(AclOperation.DESCRIBE, _described_topics),
        on_found(AclOperation.DESCRIBE, ResourceType.TOPIC),
        Requirement(
            AclOperation.CREATE,
            ResourceType.TOPIC,
            _created_topics,
            WhenDenied.REJECT_RESOURCES,
            (Permission(AclOperation.CREATE, ResourceType.CLUSTER),),
            only_missing=True,
        ),
    ),
    "DescribeTopicPartitions": (
        on_topics(AclOperation.DESCRIBE, topics("topics")),
        on_found(AclOperation.DESCRIBE, ResourceType.TOPIC),
    ),
    "CreateTopics": (
        on_topics(AclOperation.CREATE, _once(topics("topics")), Permission(AclOperation.CREATE, ResourceType.CLUSTER)),
        on_found(AclOperation.DESCRIBE_CONFIGS, ResourceType.TOPIC),
    ),
    "CreatePartitions": (on_topics(AclOperation.ALTER, _once(topics("topics"))),),
    "DeleteTopics": (
        on_topics(AclOperation.DELETE, _once(_deleted_topics), Permission(AclOperation.DELETE, ResourceType.CLUSTER)),
        on_topics(
            AclOperation.DESCRIBE,
            _once(_topics_deleted_by_name),
            Permission(AclOperation.DELETE, ResourceType.CLUSTER),
        ),
    ),
    "DescribeConfigs": _on_config_resources(AclOperation.DESCRIBE_CONFIGS),
    "AlterConfigs": _on_config_resources(AclOperation.ALTER_CONFIGS, _once),
    "IncrementalAlterConfigs": _on_config_resources(AclOperation.ALTER_CONFIGS, _once),
    "ListConfigResources": on_cluster(AclOperation.DESCRIBE_CONFIGS),
    "DescribeClientQuotas": on_cluster(AclOperation.DESCRIBE_CONFIGS),
    "AlterClientQuotas": on_cluster(AclOperation.ALTER_CONFIGS),
    "DescribeLogDirs": on_cluster(AclOperation.DESCRIBE),
    "AlterReplicaLogDirs": on_cluster(AclOperation.ALTER),
    "DescribeQuorum": on_cluster(AclOperation.DESCRIBE),
    "UpdateFeatures": on_cluster(AclOperation.ALTER),
    "ElectLeaders": on_cluster(AclOperation.ALTER),
    "AlterPartitionReassignments": on_cluster(AclOperation.ALTER),
    "ListPartitionReassignments": on_cluster(AclOperation.DESCRIBE),
    "DescribeAcls": on_cluster(AclOperation.DESCRIBE),
    "CreateAcls": on_cluster(AclOperation.ALTER),
    "DeleteAcls": on_cluster(AclOperation.ALTER),
    # No client can create, change or read anything with these.
    "CreateDelegationToken": NOTHING,
    "RenewDelegationToken": NOTHING,
    "ExpireDelegationToken": NOTHING,
    "DescribeDelegationToken": NOTHING,
    "AlterUserScramCredentials": on_cluster(AclOperation.ALTER),
    "DescribeUserScramCredentials": on_cluster(AclOperation.DESCRIBE),
    # Coordinators.
    "FindCoordinator": (
        on_resources(AclOperation.DESCRIBE, ResourceType.GROUP, _coordinator_keys(CoordinatorType.GROUP)),
        on_resources(
            AclOperation.DESCRIBE, ResourceType.TRANSACTIONAL_ID, _coordinator_keys(CoordinatorType.TRANSACTION)
        ),
        on_resources(AclOperation.CLUSTER_ACTION, ResourceType.CLUSTER, _cluster_of_share_keys),
    ),
    # Transactions.
    "InitProducerId": (
        on_transaction(AclOperation.WRITE),
        Requirement(
            AclOperation.IDEMPOTENT_WRITE,
            ResourceType.CLUSTER,
            _cluster_without_transaction,
            alternatives=(Permission(AclOperation.WRITE, ResourceType.TOPIC),),
        ),
    ),
    "AddPartitionsToTxn": (
        Requirement(AclOperation.CLUSTER_ACTION, ResourceType.CLUSTER, _cluster_of_broker),
        Requirement(AclOperation.WRITE, ResourceType.TRANSACTIONAL_ID, _transaction_of_client),
        on_topics(AclOperation.WRITE, topics("v3_and_below_topics")),
    ),
    "AddOffsetsToTxn": (on_transaction(AclOperation.WRITE), *READ_GROUP),
    "EndTxn": (on_transaction(AclOperation.WRITE),),
    "WriteTxnMarkers": on_cluster(AclOperation.ALTER, AclOperation.CLUSTER_ACTION),
    "DescribeProducers": (on_topics(AclOperation.READ, topics("topics")),),
    "DescribeTransactions": (
        on_resources(AclOperation.DESCRIBE, ResourceType.TRANSACTIONAL_ID, listed("transactional_ids")),
        on_found(AclOperation.DESCRIBE, ResourceType.TOPIC),
    ),
    # Share groups.
    "ShareGroupHeartbeat": (
        *READ_GROUP,
        Requirement(AclOperation.DESCRIBE, ResourceType.TOPIC, listed("subscribed_topic_names")),
    ),
    "ShareGroupDescribe": (
        on_resources(AclOperation.DESCRIBE, ResourceType.GROUP, listed("group_ids")),
        on_found(AclOperation.DESCRIBE, ResourceType.TOPIC),
    ),
    # Streams groups.
    "StreamsGroupHeartbeat": (*READ_GROUP, Requirement(AclOperation.DESCRIBE, ResourceType.TOPIC, _topology_topics)),
    "StreamsGroupDescribe": (
        on_resources(AclOperation.DESCRIBE, ResourceType.GROUP, listed("group_ids")),
        on_found(AclOperation.DESCRIBE, ResourceType.TOPIC),
    ),
    "DescribeShareGroupOffsets": (
        on_resources(AclOperation.DESCRIBE, ResourceType.GROUP, _described_share_groups),
        on_topics(AclOperation.DESCRIBE, _described_share_topics),
        on_found(AclOperation.DESCRIBE, ResourceType.TOPIC),
    ),
    "AlterShareGroupOffsets": (*READ_GROUP, on_topics(AclOperation.READ, topics("topics", name="topic_name"))),
    "DeleteShareGroupOffsets": (
        on_group(AclOperation.DELETE),
        on_topics(AclOperation.READ, topics("topics", name="topic_name")),
    ),
    # The states of share partitions, which Kafka's brokers ask each other for.
    "InitializeShareGroupState": on_cluster(AclOperation.CLUSTER_ACTION),
    "ReadShareGroupState": on_cluster(AclOperation.CLUSTER_ACTION),
    "WriteShareGroupState": on_cluster(AclOperation.CLUSTER_ACTION),
    "DeleteShareGroupState": on_cluster(AclOperation.CLUSTER_ACTION),
    "ReadShareGroupStateSummary": on_cluster(AclOperation.CLUSTER_ACTION),
    "ListTransactions": (on_found(AclOperation.DESCRIBE, ResourceType.TRANSACTIONAL_ID),),
    **GROUP_REQUIREMENTS,
}
"""Name of an API → what it needs, of all that a node with logs of its own serves."""
