"""What each API of groups needs to be allowed, on which resources, and how such a requirement is said.

Kafka's table is "Operations and Resources on Protocols".

The source is `KafkaApis` and `ControllerApis` of Kafka 4.3.1. What only Kafka's nodes send to each other is not here.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain
from operator import attrgetter
from typing import Any, Final

from coordinator.front.authorization import Names, Permission, Requirement, WhenDenied
from coordinator.security.acls.model import CLUSTER_NAME, AclOperation, ResourceType

OFFSET_FETCH_GROUPS_VERSION: Final = 8
SYNC_PROTOCOL_VERSION: Final = 5
"""The first versions that say it in another place."""
NO_TOPIC_ID: Final = bytes(16)


def field(name: str) -> Names:
    """A field that names one resource; null names none."""

    def names(request: Any, api_version: int) -> Iterable[str]:
        value = getattr(request, name)
        return () if value is None else (value,)

    return names


def listed(name: str) -> Names:
    """A field that is a list of names."""
    return lambda request, api_version: getattr(request, name) or ()


def _list_of(field: str) -> Callable[[Any], Iterable[Any]]:
    return lambda struct: getattr(struct, field) or ()


def topics(*path: str, name: str = "name") -> Names:
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


def _group_of_protocol(request: Any, api_version: int) -> Iterable[str]:
    """The group of a SyncGroup, unless it lacks its protocol: that is answered before it is authorized."""
    if api_version >= SYNC_PROTOCOL_VERSION and (request.protocol_type is None or request.protocol_name is None):
        return ()
    return (request.group_id,)


def _fetched_groups(request: Any, api_version: int) -> Iterable[str]:
    if api_version < OFFSET_FETCH_GROUPS_VERSION:
        return (request.group_id,)
    return (group.group_id for group in request.groups)


def _fetched_topics(request: Any, api_version: int) -> Iterable[str | bytes]:
    in_groups = api_version >= OFFSET_FETCH_GROUPS_VERSION
    return (topics("groups", "topics") if in_groups else topics("topics"))(request, api_version)


def cluster(request: Any, api_version: int) -> Iterable[str]:
    return (CLUSTER_NAME,)


def on_cluster(operation: AclOperation, *alternatives: AclOperation) -> tuple[Requirement, ...]:
    others = tuple(Permission(alternative, ResourceType.CLUSTER) for alternative in alternatives)
    return (Requirement(operation, ResourceType.CLUSTER, cluster, alternatives=others),)


def on_group(operation: AclOperation) -> Requirement:
    return Requirement(operation, ResourceType.GROUP, field("group_id"))


def on_transaction(operation: AclOperation) -> Requirement:
    return Requirement(operation, ResourceType.TRANSACTIONAL_ID, field("transactional_id"))


def on_resources(
    operation: AclOperation, resource_type: ResourceType, names: Names, *alternatives: Permission
) -> Requirement:
    return Requirement(operation, resource_type, names, WhenDenied.REJECT_RESOURCES, alternatives)


def on_topics(operation: AclOperation, names: Names, *alternatives: Permission) -> Requirement:
    return on_resources(operation, ResourceType.TOPIC, names, *alternatives)


def on_found(operation: AclOperation, resource_type: ResourceType, *alternatives: Permission) -> Requirement:
    return Requirement(operation, resource_type, None, WhenDenied.LEAVE_OUT, alternatives)


READ_GROUP: Final = (on_group(AclOperation.READ),)

GROUP_REQUIREMENTS: Final[Mapping[str, tuple[Requirement, ...]]] = {
    "JoinGroup": READ_GROUP,
    "SyncGroup": (Requirement(AclOperation.READ, ResourceType.GROUP, _group_of_protocol),),
    "Heartbeat": READ_GROUP,
    "LeaveGroup": READ_GROUP,
    "ConsumerGroupHeartbeat": (
        *READ_GROUP,
        Requirement(AclOperation.DESCRIBE, ResourceType.TOPIC, listed("subscribed_topic_names")),
    ),
    "ConsumerGroupDescribe": (
        on_resources(AclOperation.DESCRIBE, ResourceType.GROUP, listed("group_ids")),
        on_found(AclOperation.DESCRIBE, ResourceType.TOPIC),
    ),
    "OffsetCommit": (*READ_GROUP, on_topics(AclOperation.READ, topics("topics"))),
    "OffsetFetch": (
        on_resources(AclOperation.DESCRIBE, ResourceType.GROUP, _fetched_groups),
        on_topics(AclOperation.DESCRIBE, _fetched_topics),
        on_found(AclOperation.DESCRIBE, ResourceType.TOPIC),
    ),
    "OffsetDelete": (on_group(AclOperation.DELETE), on_topics(AclOperation.READ, topics("topics"))),
    "DescribeGroups": (on_resources(AclOperation.DESCRIBE, ResourceType.GROUP, listed("groups")),),
    "DeleteGroups": (on_resources(AclOperation.DELETE, ResourceType.GROUP, listed("groups_names")),),
    "ListGroups": (
        on_found(AclOperation.DESCRIBE, ResourceType.GROUP, Permission(AclOperation.DESCRIBE, ResourceType.CLUSTER)),
    ),
    "TxnOffsetCommit": (
        on_transaction(AclOperation.WRITE),
        *READ_GROUP,
        on_topics(AclOperation.READ, topics("topics")),
    ),
}
"""Name of an API of groups → what it needs, at whatever node."""
