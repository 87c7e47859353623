"""What each served API needs to be allowed, on which resources: Kafka's table "Operations and Resources on Protocols".

The source is `KafkaApis` and `ControllerApis` of Kafka 4.3.1. What only Kafka's nodes send to each other is not here.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain
from typing import Any, Final

from coordinator.server.authorization import (
    CLUSTER_NAME,
    NOTHING,
    AclOperation,
    Names,
    Permission,
    Requirement,
    ResourceType,
    WhenDenied,
)
from coordinator.server.protocol_types import (
    COORDINATOR_KEYS_VERSION,
    TOPIC_STATES_VERSION,
    ConfigResourceType,
    CoordinatorType,
)

OFFSET_FETCH_GROUPS_VERSION: Final = 8
FETCH_REPLICA_STATE_VERSION: Final = 15
ADD_PARTITIONS_BY_BROKERS_VERSION: Final = 4
"""The first versions that say it in another place."""
NO_TOPIC_ID: Final = bytes(16)


def _field(name: str) -> Names:
    """A field that names one resource; null names none."""

    def names(request: Any, api_version: int) -> Iterable[str]:
        value = getattr(request, name)
        return () if value is None else (value,)

    return names


def _listed(name: str) -> Names:
    """A field that is a list of names."""
    return lambda request, api_version: getattr(request, name) or ()


def _list_of(field: str) -> Callable[[Any], Iterable[Any]]:
    return lambda struct: getattr(struct, field) or ()


def _topics(*path: str, name: str = "name") -> Names:
    """The topics at the end of a path of lists, by name or by id."""

    def names(request: Any, api_version: int) -> Iterator[str | bytes]:
        structs: Iterable[Any] = (request,)
        for field in path:
            structs = chain.from_iterable(map(_list_of(field), structs))
        for struct in structs:
            topic_id = getattr(struct, "topic_id", NO_TOPIC_ID)
            if topic_id != NO_TOPIC_ID:
                yield topic_id
            elif getattr(struct, name) is not None:
                yield getattr(struct, name)

    return names


def _cluster(request: Any, api_version: int) -> Iterable[str]:
    return (CLUSTER_NAME,)


def _coordinator_keys(key_type: CoordinatorType) -> Names:
    def names(request: Any, api_version: int) -> Iterable[str]:
        if request.key_type != key_type:
            return ()
        return request.coordinator_keys if api_version >= COORDINATOR_KEYS_VERSION else (request.key,)

    return names


def _cluster_of_share_keys(request: Any, api_version: int) -> Iterable[str]:
    return (CLUSTER_NAME,) if request.key_type == CoordinatorType.SHARE else ()


def _fetched_groups(request: Any, api_version: int) -> Iterable[str]:
    if api_version < OFFSET_FETCH_GROUPS_VERSION:
        return (request.group_id,)
    return (group.group_id for group in request.groups)


def _fetched_topics(request: Any, api_version: int) -> Iterable[str | bytes]:
    in_groups = api_version >= OFFSET_FETCH_GROUPS_VERSION
    return (_topics("groups", "topics") if in_groups else _topics("topics"))(request, api_version)


def _deleted_topics(request: Any, api_version: int) -> Iterable[str | bytes]:
    if api_version < TOPIC_STATES_VERSION:
        return request.topic_names  # type: ignore[no-any-return]
    return _topics("topics")(request, api_version)


def _is_of_replica(request: Any, api_version: int) -> bool:
    if api_version < FETCH_REPLICA_STATE_VERSION:
        return bool(request.replica_id >= 0)
    return request.replica_state is not None and bool(request.replica_state.replica_id >= 0)


def _topics_of_consumer(request: Any, api_version: int) -> Iterable[str | bytes]:
    return () if _is_of_replica(request, api_version) else _topics("topics", name="topic")(request, api_version)


def _cluster_of_replica(request: Any, api_version: int) -> Iterable[str]:
    return (CLUSTER_NAME,) if _is_of_replica(request, api_version) else ()


def _created_topics(request: Any, api_version: int) -> Iterable[str | bytes]:
    return _topics("topics")(request, api_version) if request.allow_auto_topic_creation else ()


def _transaction_of_client(request: Any, api_version: int) -> Iterable[str]:
    return () if api_version >= ADD_PARTITIONS_BY_BROKERS_VERSION else (request.v3_and_below_transactional_id,)


def _cluster_of_broker(request: Any, api_version: int) -> Iterable[str]:
    return (CLUSTER_NAME,) if api_version >= ADD_PARTITIONS_BY_BROKERS_VERSION else ()


def _cluster_without_transaction(request: Any, api_version: int) -> Iterable[str]:
    return (CLUSTER_NAME,) if request.transactional_id is None else ()


def _config_resources(config_type: ConfigResourceType) -> Names:
    def names(request: Any, api_version: int) -> Iterable[str]:
        return (each.resource_name for each in request.resources if each.resource_type == config_type)

    return names


def _cluster_of_config_resources(request: Any, api_version: int) -> Iterable[str]:
    is_asked = any(
        each.resource_type not in (ConfigResourceType.TOPIC, ConfigResourceType.GROUP) for each in request.resources
    )
    return (CLUSTER_NAME,) if is_asked else ()


def _on_cluster(operation: AclOperation, *alternatives: AclOperation) -> tuple[Requirement, ...]:
    others = tuple(Permission(each, ResourceType.CLUSTER) for each in alternatives)
    return (Requirement(operation, ResourceType.CLUSTER, _cluster, alternatives=others),)


def _on_group(operation: AclOperation) -> Requirement:
    return Requirement(operation, ResourceType.GROUP, _field("group_id"))


def _on_transaction(operation: AclOperation) -> Requirement:
    return Requirement(operation, ResourceType.TRANSACTIONAL_ID, _field("transactional_id"))


def _on_each(
    operation: AclOperation, resource_type: ResourceType, names: Names, *alternatives: Permission
) -> Requirement:
    return Requirement(operation, resource_type, names, WhenDenied.ANSWER_EACH, alternatives)


def _on_each_topic(operation: AclOperation, names: Names, *alternatives: Permission) -> Requirement:
    return _on_each(operation, ResourceType.TOPIC, names, *alternatives)


def _on_found(operation: AclOperation, resource_type: ResourceType, *alternatives: Permission) -> Requirement:
    return Requirement(operation, resource_type, None, WhenDenied.LEAVE_OUT, alternatives)


def _on_config_resources(operation: AclOperation) -> tuple[Requirement, ...]:
    return (
        _on_each(operation, ResourceType.TOPIC, _config_resources(ConfigResourceType.TOPIC)),
        _on_each(operation, ResourceType.GROUP, _config_resources(ConfigResourceType.GROUP)),
        _on_each(operation, ResourceType.CLUSTER, _cluster_of_config_resources),
    )


_READ_GROUP: Final = (_on_group(AclOperation.READ),)

REQUIREMENTS: Final[Mapping[str, tuple[Requirement, ...]]] = {
    # The data plane.
    "Produce": (_on_transaction(AclOperation.WRITE), _on_each_topic(AclOperation.WRITE, _topics("topic_data"))),
    "Fetch": (
        Requirement(AclOperation.CLUSTER_ACTION, ResourceType.CLUSTER, _cluster_of_replica),
        _on_each_topic(AclOperation.READ, _topics_of_consumer),
    ),
    "ListOffsets": (_on_each_topic(AclOperation.DESCRIBE, _topics("topics")),),
    "OffsetForLeaderEpoch": (
        _on_each_topic(
            AclOperation.DESCRIBE,
            _topics("topics", name="topic"),
            Permission(AclOperation.CLUSTER_ACTION, ResourceType.CLUSTER),
        ),
    ),
    "DeleteRecords": (_on_each_topic(AclOperation.DELETE, _topics("topics")),),
    # The cluster and its topics.
    "ApiVersions": NOTHING,
    "SaslHandshake": NOTHING,
    "SaslAuthenticate": NOTHING,
    "DescribeCluster": NOTHING,
    "Metadata": (
        _on_each_topic(AclOperation.DESCRIBE, _topics("topics")),
        _on_found(AclOperation.DESCRIBE, ResourceType.TOPIC),
        Requirement(
            AclOperation.CREATE,
            ResourceType.TOPIC,
            _created_topics,
            WhenDenied.ANSWER_EACH,
            (Permission(AclOperation.CREATE, ResourceType.CLUSTER),),
            only_missing=True,
        ),
    ),
    "DescribeTopicPartitions": (
        _on_each_topic(AclOperation.DESCRIBE, _topics("topics")),
        _on_found(AclOperation.DESCRIBE, ResourceType.TOPIC),
    ),
    "CreateTopics": (
        _on_each_topic(AclOperation.CREATE, _topics("topics"), Permission(AclOperation.CREATE, ResourceType.CLUSTER)),
    ),
    "CreatePartitions": (_on_each_topic(AclOperation.ALTER, _topics("topics")),),
    "DeleteTopics": (
        _on_each_topic(AclOperation.DELETE, _deleted_topics, Permission(AclOperation.DELETE, ResourceType.CLUSTER)),
    ),
    "DescribeConfigs": _on_config_resources(AclOperation.DESCRIBE_CONFIGS),
    "AlterConfigs": _on_config_resources(AclOperation.ALTER_CONFIGS),
    "IncrementalAlterConfigs": _on_config_resources(AclOperation.ALTER_CONFIGS),
    "ListConfigResources": _on_cluster(AclOperation.DESCRIBE_CONFIGS),
    "DescribeClientQuotas": _on_cluster(AclOperation.DESCRIBE_CONFIGS),
    "AlterClientQuotas": _on_cluster(AclOperation.ALTER_CONFIGS),
    "DescribeLogDirs": _on_cluster(AclOperation.DESCRIBE),
    "AlterReplicaLogDirs": _on_cluster(AclOperation.ALTER),
    "DescribeQuorum": _on_cluster(AclOperation.DESCRIBE),
    "UpdateFeatures": _on_cluster(AclOperation.ALTER),
    "ElectLeaders": _on_cluster(AclOperation.ALTER),
    "AlterPartitionReassignments": _on_cluster(AclOperation.ALTER),
    "ListPartitionReassignments": _on_cluster(AclOperation.DESCRIBE),
    "DescribeAcls": _on_cluster(AclOperation.DESCRIBE),
    "CreateAcls": _on_cluster(AclOperation.ALTER),
    "DeleteAcls": _on_cluster(AclOperation.ALTER),
    "AlterUserScramCredentials": _on_cluster(AclOperation.ALTER),
    "DescribeUserScramCredentials": _on_cluster(AclOperation.DESCRIBE),
    # Groups.
    "FindCoordinator": (
        _on_each(AclOperation.DESCRIBE, ResourceType.GROUP, _coordinator_keys(CoordinatorType.GROUP)),
        _on_each(AclOperation.DESCRIBE, ResourceType.TRANSACTIONAL_ID, _coordinator_keys(CoordinatorType.TRANSACTION)),
        Requirement(AclOperation.CLUSTER_ACTION, ResourceType.CLUSTER, _cluster_of_share_keys),
    ),
    "JoinGroup": _READ_GROUP,
    "SyncGroup": _READ_GROUP,
    "Heartbeat": _READ_GROUP,
    "LeaveGroup": _READ_GROUP,
    "ConsumerGroupHeartbeat": (
        *_READ_GROUP,
        Requirement(AclOperation.DESCRIBE, ResourceType.TOPIC, _listed("subscribed_topic_names")),
    ),
    "ConsumerGroupDescribe": (
        _on_each(AclOperation.DESCRIBE, ResourceType.GROUP, _listed("group_ids")),
        _on_found(AclOperation.DESCRIBE, ResourceType.TOPIC),
    ),
    "OffsetCommit": (*_READ_GROUP, _on_each_topic(AclOperation.READ, _topics("topics"))),
    "OffsetFetch": (
        _on_each(AclOperation.DESCRIBE, ResourceType.GROUP, _fetched_groups),
        _on_each_topic(AclOperation.DESCRIBE, _fetched_topics),
        _on_found(AclOperation.DESCRIBE, ResourceType.TOPIC),
    ),
    "OffsetDelete": (_on_group(AclOperation.DELETE), _on_each_topic(AclOperation.READ, _topics("topics"))),
    "DescribeGroups": (_on_each(AclOperation.DESCRIBE, ResourceType.GROUP, _listed("groups")),),
    "DeleteGroups": (_on_each(AclOperation.DELETE, ResourceType.GROUP, _listed("groups_names")),),
    "ListGroups": (
        _on_found(AclOperation.DESCRIBE, ResourceType.GROUP, Permission(AclOperation.DESCRIBE, ResourceType.CLUSTER)),
    ),
    # Transactions.
    "InitProducerId": (
        _on_transaction(AclOperation.WRITE),
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
        _on_each_topic(AclOperation.WRITE, _topics("v3_and_below_topics")),
    ),
    "AddOffsetsToTxn": (_on_transaction(AclOperation.WRITE), *_READ_GROUP),
    "EndTxn": (_on_transaction(AclOperation.WRITE),),
    "TxnOffsetCommit": (
        _on_transaction(AclOperation.WRITE),
        *_READ_GROUP,
        _on_each_topic(AclOperation.READ, _topics("topics")),
    ),
    "WriteTxnMarkers": _on_cluster(AclOperation.ALTER, AclOperation.CLUSTER_ACTION),
    "DescribeProducers": (_on_each_topic(AclOperation.READ, _topics("topics")),),
    "DescribeTransactions": (
        _on_each(AclOperation.DESCRIBE, ResourceType.TRANSACTIONAL_ID, _listed("transactional_ids")),
        _on_found(AclOperation.DESCRIBE, ResourceType.TOPIC),
    ),
    "ListTransactions": (_on_found(AclOperation.DESCRIBE, ResourceType.TRANSACTIONAL_ID),),
}
"""Name of an API → what it needs."""
