"""What each served API needs to be allowed, on which resources: Kafka's table "Operations and Resources on Protocols".

The source is `KafkaApis` and `ControllerApis` of Kafka 4.3.1. What only Kafka's nodes send to each other is not here.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain
from operator import attrgetter
from typing import Any, Final

from coordinator.broker.produce import has_transactional_batch
from coordinator.runtime.slices import at_once
from coordinator.security.acls.model import CLUSTER_NAME, AclOperation, ResourceType
from coordinator.server.authorization import NOTHING, Names, Permission, Requirement, WhenDenied
from coordinator.server.protocol_types import (
    COORDINATOR_KEYS_VERSION,
    TOPIC_STATES_VERSION,
    ConfigResourceType,
    CoordinatorType,
)

OFFSET_FETCH_GROUPS_VERSION: Final = 8
FETCH_REPLICA_STATE_VERSION: Final = 15
ADD_PARTITIONS_BY_BROKERS_VERSION: Final = 4
METADATA_IDS_VERSION: Final = 12
SYNC_PROTOCOL_VERSION: Final = 5
"""The first versions that say it in another place."""
NO_TOPIC_ID: Final = bytes(16)
DELETE_CONFIG: Final = 1
"""The operation of IncrementalAlterConfigs that needs no value (`AlterConfigOp.OpType.DELETE`)."""
CONFIGS_OF_CLUSTER: Final = frozenset(
    {ConfigResourceType.BROKER, ConfigResourceType.BROKER_LOGGER, ConfigResourceType.CLIENT_METRICS}
)
"""What has configs that belong to the cluster."""


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
    """The topics at the end of a path of lists, by name, or by id if they have no name."""
    *outer, last = path
    name_of, topics_in = attrgetter(name), attrgetter(last)

    def names(request: Any, api_version: int) -> Iterable[str | bytes]:
        topics: Iterable[Any] = ()
        if outer:
            structs: Iterable[Any] = (request,)
            for field in path:
                structs = chain.from_iterable(map(_list_of(field), structs))
            topics = structs
        elif found := topics_in(request):
            if not hasattr(found[0], "topic_id"):
                return map(name_of, found)
            topics = found
        return by_id(topics)

    def by_id(topics: Iterable[Any]) -> Iterator[str | bytes]:
        for topic in topics:
            topic_name = name_of(topic)
            if not topic_name and topic.topic_id != NO_TOPIC_ID:
                yield topic.topic_id
            elif topic_name is not None:
                yield topic_name

    return names


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


def _group_of_protocol(request: Any, api_version: int) -> Iterable[str]:
    """The group of a SyncGroup, unless it lacks its protocol: that is answered before it is authorized."""
    if api_version >= SYNC_PROTOCOL_VERSION and (request.protocol_type is None or request.protocol_name is None):
        return ()
    return (request.group_id,)


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


_FETCHED: Final = _topics("topics", name="topic")


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
            each.resource_name
            for each in request.resources
            if each.resource_type == config_type and not _is_malformed(each)
        )

    return names


def _is_malformed(resource: Any) -> bool:
    """Whether a resource has a change to null, or two of the same config (`ConfigAdminManager.preprocess`)."""
    entries = getattr(resource, "configs", ())
    if any(each.value is None and getattr(each, "config_operation", None) != DELETE_CONFIG for each in entries):
        return True
    return len({each.name for each in entries}) < len(entries)


def _cluster_of_config_resources(request: Any, api_version: int) -> Iterable[str]:
    is_asked = any(each.resource_type in CONFIGS_OF_CLUSTER for each in request.resources)
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


def _on_config_resources(
    operation: AclOperation, chosen: Callable[[Names], Names] = lambda names: names
) -> tuple[Requirement, ...]:
    return (
        _on_each(operation, ResourceType.TOPIC, chosen(_config_resources(ConfigResourceType.TOPIC))),
        _on_each(operation, ResourceType.GROUP, chosen(_config_resources(ConfigResourceType.GROUP))),
        _on_each(operation, ResourceType.CLUSTER, _cluster_of_config_resources),
    )


_READ_GROUP: Final = (_on_group(AclOperation.READ),)

REQUIREMENTS: Final[Mapping[str, tuple[Requirement, ...]]] = {
    # The data plane.
    "Produce": (
        Requirement(AclOperation.WRITE, ResourceType.TRANSACTIONAL_ID, _transaction_of_batches),
        _on_each_topic(AclOperation.WRITE, _topics("topic_data")),
    ),
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
        _on_each_topic(AclOperation.DESCRIBE, _described_topics),
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
        _on_each_topic(
            AclOperation.CREATE, _once(_topics("topics")), Permission(AclOperation.CREATE, ResourceType.CLUSTER)
        ),
        _on_found(AclOperation.DESCRIBE_CONFIGS, ResourceType.TOPIC),
    ),
    "CreatePartitions": (_on_each_topic(AclOperation.ALTER, _once(_topics("topics"))),),
    "DeleteTopics": (
        _on_each_topic(
            AclOperation.DELETE, _once(_deleted_topics), Permission(AclOperation.DELETE, ResourceType.CLUSTER)
        ),
        _on_each_topic(
            AclOperation.DESCRIBE,
            _once(_topics_deleted_by_name),
            Permission(AclOperation.DELETE, ResourceType.CLUSTER),
        ),
    ),
    "DescribeConfigs": _on_config_resources(AclOperation.DESCRIBE_CONFIGS),
    "AlterConfigs": _on_config_resources(AclOperation.ALTER_CONFIGS, _once),
    "IncrementalAlterConfigs": _on_config_resources(AclOperation.ALTER_CONFIGS, _once),
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
    # Nothing is created, changed or told, whoever asks.
    "CreateDelegationToken": NOTHING,
    "RenewDelegationToken": NOTHING,
    "ExpireDelegationToken": NOTHING,
    "DescribeDelegationToken": NOTHING,
    "AlterUserScramCredentials": _on_cluster(AclOperation.ALTER),
    "DescribeUserScramCredentials": _on_cluster(AclOperation.DESCRIBE),
    # Groups.
    "FindCoordinator": (
        _on_each(AclOperation.DESCRIBE, ResourceType.GROUP, _coordinator_keys(CoordinatorType.GROUP)),
        _on_each(AclOperation.DESCRIBE, ResourceType.TRANSACTIONAL_ID, _coordinator_keys(CoordinatorType.TRANSACTION)),
        _on_each(AclOperation.CLUSTER_ACTION, ResourceType.CLUSTER, _cluster_of_share_keys),
    ),
    "JoinGroup": _READ_GROUP,
    "SyncGroup": (Requirement(AclOperation.READ, ResourceType.GROUP, _group_of_protocol),),
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
    # Of nodes in front of a cluster.
    "DescribeGroupOwners": _on_cluster(AclOperation.DESCRIBE),
    "AlterGroupOwners": _on_cluster(AclOperation.ALTER),
    "ListTransactions": (_on_found(AclOperation.DESCRIBE, ResourceType.TRANSACTIONAL_ID),),
}
"""Name of an API → what it needs."""
