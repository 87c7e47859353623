"""The APIs of streams groups at a node: rights, internal topics, and what is switched off; as Kafka 4.3.1 answers."""

from collections.abc import Iterator
from typing import Any, Final

import pytest

from _wire.errors import NONE, ErrorCode
from _wire.messages.create_acls import AclCreation, CreateAclsRequest
from _wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from _wire.messages.streams_group_describe import StreamsGroupDescribeRequest
from _wire.messages.streams_group_heartbeat import (
    StreamsGroupHeartbeatRequest,
    StreamsGroupHeartbeatResponse,
    Subtopology,
    TopicInfo,
    Topology,
)
from _wire.messages.update_features import FeatureUpdateKey, UpdateFeaturesRequest
from coordinator.config.authorizer_keys import STANDARD_AUTHORIZER
from tests.node.handlers.inspecting import client_of
from tests.node.handlers.test_configs import ConfigClient
from tests.waiting import wait_for

TOPICS: Final = {"t": 3}
QUICK: Final = {"group.streams.initial.rebalance.delay.ms": "0", "group.streams.assignment.interval.ms": "0"}
READ, CREATE, DESCRIBE = 3, 5, 8
TOPIC, GROUP, CLUSTER = 2, 3, 4
SAFE_DOWNGRADE: Final = 2


@pytest.fixture
def client() -> Iterator[ConfigClient]:
    with client_of(TOPICS, QUICK) as connected:
        yield connected


@pytest.fixture
def guarded() -> Iterator[ConfigClient]:
    """A client that may do all but what a test denies."""
    settings = {"authorizer.class.name": STANDARD_AUTHORIZER, "allow.everyone.if.no.acl.found": "true"}
    with client_of(TOPICS, QUICK | settings) as connected:
        yield connected


def deny(client: ConfigClient, resource_type: int, name: str, operation: int) -> None:
    resource: dict[str, Any] = {"resource_type": resource_type, "resource_name": name}
    who: dict[str, Any] = {"principal": "User:ANONYMOUS", "host": "*"}
    creations = [
        AclCreation(**resource, **who, operation=operation, permission_type=2),
        AclCreation(**resource, **who, operation=2, permission_type=3),
    ]
    assert [each.error_code for each in client.request(CreateAclsRequest(creations=creations), 3).results] == [0, 0]


def beat(
    client: ConfigClient, epoch: int = 0, *changelogs: TopicInfo, source: str = "t"
) -> StreamsGroupHeartbeatResponse:
    part = Subtopology(subtopology_id="0", source_topics=[source], state_changelog_topics=changelogs)
    joins = epoch == 0
    request = StreamsGroupHeartbeatRequest(
        group_id="g",
        member_id="m",
        member_epoch=epoch,
        rebalance_timeout_ms=1000 if joins else -1,
        topology=Topology(subtopologies=[part]) if joins else None,
        active_tasks=[] if joins else None,
        standby_tasks=[] if joins else None,
        warmup_tasks=[] if joins else None,
        process_id="p",
    )
    response = client.request(request, 0)
    assert isinstance(response, StreamsGroupHeartbeatResponse)
    return response


def described(client: ConfigClient) -> Any:
    (group,) = client.request(
        StreamsGroupDescribeRequest(group_ids=["g"], include_authorized_operations=True), 0
    ).groups
    return group


def partitions_of(client: ConfigClient, name: str) -> int:
    request = MetadataRequest(topics=[MetadataRequestTopic(name=name)], allow_auto_topic_creation=False)
    (topic,) = client.request(request, 12).topics
    return len(topic.partitions)


def test_internal_topics_are_created_with_their_configs(client):
    joined = beat(client, 0, TopicInfo(name="log"))
    assert [status.status_code for status in joined.status or ()] == [3]
    wait_for(lambda: partitions_of(client, "log") == 3, 10, "the internal topic")
    assigned = beat(client, 2)
    assert [list(task_ids.partitions) for task_ids in assigned.active_tasks or ()] == [[0, 1, 2]]
    assert described(client).group_state == "Stable"


def test_a_topic_that_cannot_be_made_is_told_with_the_next_answer(client):
    beat(client, 0, TopicInfo(name="log", replication_factor=3))

    def told() -> list[str]:
        details = [status.status_detail for status in beat(client, 2).status or ()]
        return [detail for detail in details if "Creation failed" in detail]

    (detail,) = wait_for(told, 10, "the reason")
    assert detail == (
        "Internal topics are missing: log; "
        "Creation failed: log (Replication factor 3 is not possible: there is 1 broker.)."
    )


def test_switched_off_streams_groups_are_not_served(client):
    assert beat(client).error_code == NONE
    key = FeatureUpdateKey(feature="streams.version", max_version_level=0, upgrade_type=SAFE_DOWNGRADE)
    assert client.request(UpdateFeaturesRequest(feature_updates=[key]), 2).error_code == NONE
    assert beat(client, 2).error_code == described(client).error_code == ErrorCode.UNSUPPORTED_VERSION


def test_without_the_protocol_they_are_not_served():
    with client_of(TOPICS, QUICK | {"group.coordinator.rebalance.protocols": "classic,consumer"}) as connected:
        assert beat(connected).error_code == ErrorCode.UNSUPPORTED_VERSION


def test_the_group_needs_read(guarded):
    deny(guarded, GROUP, "g", READ)
    assert beat(guarded).error_code == ErrorCode.GROUP_AUTHORIZATION_FAILED


def test_every_topic_of_the_topology_needs_describe(guarded):
    deny(guarded, TOPIC, "log", DESCRIBE)
    for operation in (READ, 4, 6, 7):
        deny(guarded, TOPIC, "log", operation)
    refused = beat(guarded, 0, TopicInfo(name="log"))
    assert (refused.error_code, refused.error_message) == (ErrorCode.TOPIC_AUTHORIZATION_FAILED, None)


def test_a_group_with_a_topic_that_may_not_be_described_is_hidden(guarded):
    beat(guarded)
    for operation in (DESCRIBE, READ, 4, 6, 7):
        deny(guarded, TOPIC, "t", operation)
    group = described(guarded)
    assert (group.error_code, group.members, group.topology) == (ErrorCode.TOPIC_AUTHORIZATION_FAILED, [], None)


def test_who_may_not_create_a_topic_hears_so_and_none_is_made(guarded):
    deny(guarded, CLUSTER, "kafka-cluster", CREATE)
    deny(guarded, TOPIC, "log", CREATE)
    joined = beat(guarded, 0, TopicInfo(name="log"), TopicInfo(name="other"))
    (status,) = list(joined.status or ())
    assert status.status_detail.endswith("; Unauthorized to CREATE on topics log.")
    beat(guarded, 2)
    assert partitions_of(guarded, "other") == 0
