"""Requests by which a broker tells what a client may do. Each is answered before anything is done, and changes nothing.

They go over the connection that the client itself has to the broker, so they are the client's.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, NamedTuple

import msgspec

from _wire.errors import ErrorCode
from _wire.messages.describe_cluster import DescribeClusterRequest
from _wire.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from _wire.messages.end_txn import EndTxnRequest
from _wire.messages.find_coordinator import FindCoordinatorRequest
from _wire.messages.heartbeat import HeartbeatRequest
from _wire.messages.incremental_alter_configs import AlterConfigsResource, IncrementalAlterConfigsRequest
from _wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from _wire.messages.offset_delete import OffsetDeleteRequest
from _wire.structs import Message
from coordinator.security.acls.model import AclOperation, ResourceType

NAMES_AT_ONCE: Final = 500
NOBODY: Final = "rights-of-a-client"
"""A member id that no member has: brokers make ids of client id and UUID."""
NO_PRODUCER: Final = -1
GROUP_RESOURCE: Final = 32
"""The type of groups as resources with configs (`ConfigResource.Type`). Kafka before 3.8 has no such configs."""


class Permission(NamedTuple):
    """An operation on a resource."""

    operation: AclOperation
    resource_type: ResourceType
    name: str


class Probe(msgspec.Struct, frozen=True):
    """A request, and what its response says of permissions."""

    request: Message
    version: int
    read: Callable[[Any], dict[Permission, bool]]


def probes_for(permissions: Iterable[Permission]) -> list[Probe]:
    """Those that tell about all of these permissions; of one that no probe is about nothing becomes known."""
    groups: list[str] = []
    topics: dict[str, None] = {}
    probes: list[Probe] = []
    asks_cluster = False
    for permission in permissions:
        operation, resource_type, name = permission
        if resource_type is ResourceType.TOPIC:
            topics[name] = None
        elif resource_type is ResourceType.CLUSTER:
            asks_cluster = True
        elif resource_type is ResourceType.GROUP and operation is AclOperation.DESCRIBE:
            groups.append(name)
        elif permission[:2] in SINGLE:
            probes.append(SINGLE[permission[:2]](permission))
    probes += [_described_groups(groups[at : at + NAMES_AT_ONCE]) for at in range(0, len(groups), NAMES_AT_ONCE)]
    names = list(topics)
    probes += [_topics(names[at : at + NAMES_AT_ONCE]) for at in range(0, len(names), NAMES_AT_ONCE)]
    if asks_cluster:
        probes.append(_cluster())
    return probes


def _read_group(permission: Permission) -> Probe:
    """A heartbeat of nobody: UNKNOWN_MEMBER_ID or NOT_COORDINATOR, if it is allowed."""
    request = HeartbeatRequest(group_id=permission.name, generation_id=-1, member_id=NOBODY)
    return Probe(request, 0, lambda response: {permission: _is_allowed(response.error_code)})


def _delete_group(permission: Permission) -> Probe:
    """Offsets of no topics are deleted."""
    request = OffsetDeleteRequest(group_id=permission.name)
    return Probe(request, 0, lambda response: {permission: _is_allowed(response.error_code)})


def _describe_group_configs(permission: Permission) -> Probe:
    """None of the group's configs."""
    resource = DescribeConfigsResource(resource_type=GROUP_RESOURCE, resource_name=permission.name)
    request = DescribeConfigsRequest(resources=[resource])
    return Probe(request, 1, lambda response: {permission: response.results[0].error_code == ErrorCode.NONE})


def _alter_group_configs(permission: Permission) -> Probe:
    """No change, and that is only validated."""
    resource = AlterConfigsResource(resource_type=GROUP_RESOURCE, resource_name=permission.name)
    request = IncrementalAlterConfigsRequest(resources=[resource], validate_only=True)
    return Probe(request, 0, lambda response: {permission: response.responses[0].error_code == ErrorCode.NONE})


def _write_transaction(permission: Permission) -> Probe:
    """The end of a transaction of a producer that there is not."""
    request = EndTxnRequest(
        transactional_id=permission.name, producer_id=NO_PRODUCER, producer_epoch=NO_PRODUCER, committed=False
    )
    return Probe(request, 0, lambda response: {permission: _is_allowed(response.error_code)})


def _described_groups(names: Sequence[str]) -> Probe:
    def read(response: Any) -> dict[Permission, bool]:
        return {
            Permission(AclOperation.DESCRIBE, ResourceType.GROUP, coordinator.key): _is_allowed(coordinator.error_code)
            for coordinator in response.coordinators
        }

    return Probe(FindCoordinatorRequest(coordinator_keys=names), 4, read)


def _topics(names: Sequence[str]) -> Probe:
    """A topic that does not exist is no secret to who may describe it."""

    def read(response: Any) -> dict[Permission, bool]:
        rights: dict[Permission, bool] = {}
        for topic in response.topics:
            is_missing = topic.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            for operation in (AclOperation.READ, AclOperation.DESCRIBE):
                is_allowed = _is_allowed(topic.error_code) and (
                    is_missing or _has(topic.topic_authorized_operations, operation)
                )
                rights[Permission(operation, ResourceType.TOPIC, topic.name)] = is_allowed
        return rights

    request = MetadataRequest(
        topics=[MetadataRequestTopic(name=name) for name in names],
        allow_auto_topic_creation=False,
        include_topic_authorized_operations=True,
    )
    return Probe(request, 9, read)


def _cluster() -> Probe:
    def read(response: Any) -> dict[Permission, bool]:
        return {
            Permission(operation, ResourceType.CLUSTER, "kafka-cluster"): _has(
                response.cluster_authorized_operations, operation
            )
            for operation in (AclOperation.DESCRIBE, AclOperation.ALTER)
        }

    return Probe(DescribeClusterRequest(include_cluster_authorized_operations=True), 0, read)


def _has(bits: int, operation: AclOperation) -> bool:
    return bits >= 0 and bool(bits >> operation & 1)


def _is_allowed(error_code: int) -> bool:
    return error_code not in DENIALS


DENIALS: Final = frozenset(
    {
        ErrorCode.GROUP_AUTHORIZATION_FAILED,
        ErrorCode.TOPIC_AUTHORIZATION_FAILED,
        ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
        ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
    }
)
SINGLE: Final[dict[tuple[AclOperation, ResourceType], Callable[[Permission], Probe]]] = {
    (AclOperation.READ, ResourceType.GROUP): _read_group,
    (AclOperation.DELETE, ResourceType.GROUP): _delete_group,
    (AclOperation.DESCRIBE_CONFIGS, ResourceType.GROUP): _describe_group_configs,
    (AclOperation.ALTER_CONFIGS, ResourceType.GROUP): _alter_group_configs,
    (AclOperation.WRITE, ResourceType.TRANSACTIONAL_ID): _write_transaction,
}
