"""Each row of the requirements at a node: all that a request names is asked of the cluster, by name and by id."""

from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import Any, Final, NamedTuple

import pytest

from _wire.errors import ErrorCode
from _wire.messages.alter_group_owners import AlterGroupOwnersRequest
from _wire.messages.alter_watched_groups import AlterWatchedGroupsRequest
from _wire.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from _wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from _wire.messages.delete_groups import DeleteGroupsRequest
from _wire.messages.describe_group_owners import DescribeGroupOwnersRequest
from _wire.messages.describe_groups import DescribeGroupsRequest
from _wire.messages.heartbeat import HeartbeatRequest
from _wire.messages.join_group import JoinGroupRequest
from _wire.messages.leave_group import LeaveGroupRequest
from _wire.messages.list_groups import ListGroupsRequest
from _wire.messages.offset_commit import OffsetCommitRequest, OffsetCommitRequestPartition, OffsetCommitRequestTopic
from _wire.messages.offset_delete import OffsetDeleteRequest, OffsetDeleteRequestPartition, OffsetDeleteRequestTopic
from _wire.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
)
from _wire.messages.sync_group import SyncGroupRequest
from _wire.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from coordinator.cluster.requirements import CLUSTER_REQUIREMENTS
from coordinator.cluster.rights.named_topics import TOPICS_BY_ID
from coordinator.cluster.rights.probes import Permission
from coordinator.security.acls.model import CLUSTER_NAME, ResourceType
from tests.cluster.rights.at_a_node import AclsOfCluster, AuthorizedRoute, Topics, node_routes
from tests.front.test_dispatch import error_codes

GROUPS: Final = ("g1", "g2")
TOPIC_IDS: Final = {"t1": b"1" * 16, "t2": b"2" * 16}
TRANSACTION: Final = "x1"
BY_ID: Final = Topics({topic_id: name for name, topic_id in TOPIC_IDS.items()})
UNKNOWN_ID: Final = b"?" * 16
FETCH_GROUPS_VERSION: Final = 8

Make = Callable[[int], Any]
"""(version) → a request that names the resources in this version."""


class Sample(NamedTuple):
    """A request, and what it names."""

    make: Make
    groups: Sequence[str] = GROUPS[:1]
    topics: Sequence[str] = ()


def is_by_id(api: str, version: int) -> bool:
    return api in TOPICS_BY_ID and version >= TOPICS_BY_ID[api][0]


def named(api: str, version: int) -> Iterator[dict[str, Any]]:
    """The two topics, as a version names them."""
    for name, topic_id in TOPIC_IDS.items():
        yield {"topic_id": topic_id} if is_by_id(api, version) else {"name": name}


def commit(version: int) -> OffsetCommitRequest:
    partitions = [OffsetCommitRequestPartition(partition_index=0, committed_offset=1)]
    topics = [OffsetCommitRequestTopic(partitions=partitions, **each) for each in named("OffsetCommit", version)]
    return OffsetCommitRequest(group_id=GROUPS[0], topics=topics)


def commit_in_transaction(version: int) -> TxnOffsetCommitRequest:
    partitions = [TxnOffsetCommitRequestPartition(partition_index=0, committed_offset=1)]
    topics = [TxnOffsetCommitRequestTopic(partitions=partitions, **each) for each in named("TxnOffsetCommit", version)]
    return TxnOffsetCommitRequest(transactional_id=TRANSACTION, group_id=GROUPS[0], topics=topics)


def fetch(version: int) -> OffsetFetchRequest:
    topics = [{"partition_indexes": [0], **each} for each in named("OffsetFetch", version)]
    if version < FETCH_GROUPS_VERSION:
        return OffsetFetchRequest(group_id=GROUPS[0], topics=[OffsetFetchRequestTopic(**topic) for topic in topics])
    return OffsetFetchRequest(
        groups=[
            OffsetFetchRequestGroup(group_id=GROUPS[0], topics=[OffsetFetchRequestTopics(**topic) for topic in topics])
        ]
    )


def delete_offsets(version: int) -> OffsetDeleteRequest:
    partitions = [OffsetDeleteRequestPartition(partition_index=0)]
    topics = [OffsetDeleteRequestTopic(partitions=partitions, **each) for each in named("OffsetDelete", version)]
    return OffsetDeleteRequest(group_id=GROUPS[0], topics=topics)


def consumer_heartbeat(version: int) -> ConsumerGroupHeartbeatRequest:
    return ConsumerGroupHeartbeatRequest(group_id=GROUPS[0], member_id="m", subscribed_topic_names=[*TOPIC_IDS])


SAMPLES: Final = {
    "JoinGroup": Sample(lambda version: JoinGroupRequest(group_id=GROUPS[0])),
    "SyncGroup": Sample(lambda version: SyncGroupRequest(group_id=GROUPS[0], protocol_type="p", protocol_name="n")),
    "Heartbeat": Sample(lambda version: HeartbeatRequest(group_id=GROUPS[0])),
    "ConsumerGroupHeartbeat": Sample(consumer_heartbeat, topics=[*TOPIC_IDS]),
    "ConsumerGroupDescribe": Sample(lambda version: ConsumerGroupDescribeRequest(group_ids=GROUPS), GROUPS),
    "LeaveGroup": Sample(lambda version: LeaveGroupRequest(group_id=GROUPS[0])),
    "OffsetCommit": Sample(commit, topics=[*TOPIC_IDS]),
    "TxnOffsetCommit": Sample(commit_in_transaction, topics=[*TOPIC_IDS]),
    "OffsetFetch": Sample(fetch, topics=[*TOPIC_IDS]),
    "OffsetDelete": Sample(delete_offsets, topics=[*TOPIC_IDS]),
    "DescribeGroups": Sample(lambda version: DescribeGroupsRequest(groups=GROUPS), GROUPS),
    "DeleteGroups": Sample(lambda version: DeleteGroupsRequest(groups_names=GROUPS), GROUPS),
    "ListGroups": Sample(lambda version: ListGroupsRequest()),
    "DescribeGroupOwners": Sample(lambda version: DescribeGroupOwnersRequest()),
    "AlterGroupOwners": Sample(lambda version: AlterGroupOwnersRequest()),
    "AlterWatchedGroups": Sample(lambda version: AlterWatchedGroupsRequest()),
}
"""Name of an API → a request that names what its requirements are about."""
ROUTES: Final = node_routes()
CASES: Final = [
    (name, version) for name, route in ROUTES.items() for version in range(route.min_version, route.max_version + 1)
]


def needed(api: str) -> list[Permission]:
    """What the sample of an API needs by its row."""
    sample = SAMPLES[api]
    names = {
        ResourceType.GROUP: sample.groups,
        ResourceType.TOPIC: sample.topics,
        ResourceType.TRANSACTIONAL_ID: [TRANSACTION],
        ResourceType.CLUSTER: [CLUSTER_NAME],
    }
    return [
        Permission(each.operation, each.resource_type, name)
        for each in CLUSTER_REQUIREMENTS[api]
        if each.names is not None
        for name in names[each.resource_type]
    ]


def test_each_api_of_a_node_has_its_sample():
    assert SAMPLES.keys() == ROUTES.keys()


@pytest.mark.parametrize(("api", "version"), CASES)
def test_all_that_a_request_names_is_asked_for(api, version):
    acls = AclsOfCluster()
    authorized = AuthorizedRoute(ROUTES[api], acls, BY_ID)
    authorized.answer(SAMPLES[api].make(version), version)
    assert authorized.handled
    assert set(needed(api)) <= acls.asked


@pytest.mark.parametrize(("api", "version"), CASES)
def test_what_one_right_is_missing_for_is_denied_and_not_handled(api, version):
    for missing in needed(api):
        authorized = AuthorizedRoute(ROUTES[api], AclsOfCluster({missing}), BY_ID)
        response = authorized.answer(SAMPLES[api].make(version), version)
        assert missing.resource_type.denied in set(error_codes(response)), missing
        assert missing.name not in {name for request in authorized.handled for name in names_in(request)}, missing


def topics_in(request: Any) -> Iterator[Any]:
    yield from getattr(request, "topics", None) or ()
    for group in getattr(request, "groups", ()):
        yield from getattr(group, "topics", None) or ()


def names_in(request: Any) -> Iterator[str]:
    """The resources of a request that a handler gets."""
    if isinstance(request, DescribeGroupOwnersRequest | AlterGroupOwnersRequest | AlterWatchedGroupsRequest):
        yield CLUSTER_NAME
    for field in ("group_id", "transactional_id"):
        yield getattr(request, field, "")
    several = (getattr(request, name, ()) for name in ("groups", "groups_names", "group_ids"))
    for each in chain.from_iterable(several):
        yield each if isinstance(each, str) else each.group_id
    yield from (topic.name for topic in topics_in(request))
    yield from getattr(request, "subscribed_topic_names", ())


@pytest.mark.parametrize("api", TOPICS_BY_ID)
def test_an_id_that_no_topic_has_reaches_the_handler_without_a_name_whatever_it_is_told_later(api):
    version = TOPICS_BY_ID[api][0]
    authorized = AuthorizedRoute(ROUTES[api], AclsOfCluster(), Topics({TOPIC_IDS["t1"]: "t1"}))
    authorized.answer(SAMPLES[api].make(version), version)
    (request,) = authorized.handled
    assert [topic.name for topic in TOPICS_BY_ID[api][1](request)] == ["t1", ""]


@pytest.mark.parametrize("api", TOPICS_BY_ID)
def test_nothing_is_handled_while_the_names_of_ids_are_not_known(api):
    version = TOPICS_BY_ID[api][0]
    topics = Topics()
    topics.is_reachable = False
    authorized = AuthorizedRoute(ROUTES[api], AclsOfCluster(), topics)
    response = authorized.answer(SAMPLES[api].make(version), version)
    assert ErrorCode.COORDINATOR_NOT_AVAILABLE in set(error_codes(response))
    assert authorized.handled == []


@pytest.mark.parametrize(("api", "version"), CASES)
def test_ids_are_in_requests_that_get_names_and_in_no_others(api, version):
    """A version that names topics by id alone is one of those that get names: else nobody would be asked."""
    found = {
        type(name)
        for each in CLUSTER_REQUIREMENTS[api]
        if each.names is not None and each.resource_type is ResourceType.TOPIC
        for name in each.names(_read_again(api, version), version)
    }
    assert found <= ({bytes} if is_by_id(api, version) else {str})


def _read_again(api: str, version: int) -> Any:
    """What is on the wire of a request that names its topics in both ways."""
    request = SAMPLES[api].make(version)
    for topic in topics_in(request):
        topic.name = "t1"
        if hasattr(topic, "topic_id"):
            topic.topic_id = TOPIC_IDS["t1"]
    return ROUTES[api].decode(request.encode(version), version, 0)
