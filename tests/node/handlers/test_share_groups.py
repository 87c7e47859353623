"""The APIs of share groups at a node: states of share partitions, and offsets; the answers are those of Kafka 4.3.1."""

from collections.abc import Iterator
from typing import Any, Final

import pytest

from _wire.errors import ErrorCode
from _wire.messages import (
    alter_share_group_offsets,
    delete_share_group_offsets,
    delete_share_group_state,
    describe_share_group_offsets,
    initialize_share_group_state,
    read_share_group_state,
    read_share_group_state_summary,
    write_share_group_state,
)
from _wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from _wire.messages.create_acls import AclCreation, CreateAclsRequest
from _wire.messages.delete_groups import DeleteGroupsRequest
from _wire.messages.delete_topics import DeleteTopicsRequest
from _wire.messages.list_groups import ListGroupsRequest
from _wire.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from _wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from _wire.messages.share_group_describe import ShareGroupDescribeRequest
from _wire.messages.share_group_heartbeat import ShareGroupHeartbeatRequest
from _wire.messages.update_features import FeatureUpdateKey, UpdateFeaturesRequest
from coordinator.config.authorizer_keys import STANDARD_AUTHORIZER
from coordinator.internal_topics import SHARE_STATE_TOPIC
from coordinator.testing import Coordinator
from tests.node.handlers.inspecting import client_of
from tests.node.handlers.test_configs import ConfigClient

NONE: Final = ErrorCode.NONE
TOPICS: Final = {"t": 3, "u": 2}
SAFE_DOWNGRADE: Final = 2


@pytest.fixture
def client() -> Iterator[ConfigClient]:
    with client_of(TOPICS) as connected:
        yield connected


def topic_id(client: ConfigClient, name: str) -> bytes:
    request = MetadataRequest(topics=[MetadataRequestTopic(name=name)], allow_auto_topic_creation=False)
    (topic,) = client.request(request, 12).topics
    found: bytes = topic.topic_id
    return found


# --------------------------------------------------------------------------------------------------------------- states


def initialize(client: ConfigClient, *partitions: int, group_id: str = "g", epoch: int = 2, offset: int = -1) -> Any:
    module = initialize_share_group_state
    states = [module.StatePartition(partition=each, state_epoch=epoch, start_offset=offset) for each in partitions]
    topics = [module.StateTopic(topic_id=topic_id(client, "t"), partitions=states)]
    request = module.InitializeShareGroupStateRequest(group_id=group_id, topics=topics)
    return client.request(request, 0).results


def read(client: ConfigClient, partition: int = 0, leader_epoch: int = 0) -> Any:
    module = read_share_group_state
    asked = module.StatePartition(partition=partition, leader_epoch=leader_epoch)
    topics = [module.StateTopic(topic_id=topic_id(client, "t"), partitions=[asked])]
    (result,) = client.request(module.ReadShareGroupStateRequest(group_id="g", topics=topics), 0).results
    return result.partitions[0]


def write(client: ConfigClient, *batches: tuple[int, int, int, int], version: int = 1, **fields: int) -> Any:
    module = write_share_group_state
    names = ("first_offset", "last_offset", "delivery_state", "delivery_count")
    made = [module.StateBatch(**dict(zip(names, batch, strict=True))) for batch in batches]
    asked = {"partition": 0, "state_epoch": 2, "leader_epoch": 0, "start_offset": 0, **fields}
    topics = [
        module.StateTopic(
            topic_id=topic_id(client, "t"), partitions=[module.StatePartition(state_batches=made, **asked)]
        )
    ]
    (result,) = client.request(module.WriteShareGroupStateRequest(group_id="g", topics=topics), version).results
    return result.partitions[0].error_code


def summary(client: ConfigClient, partition: int = 0, version: int = 1, group_id: str = "g") -> Any:
    module = read_share_group_state_summary
    asked = module.StatePartition(partition=partition, leader_epoch=-1)
    topics = [module.StateTopic(topic_id=topic_id(client, "t"), partitions=[asked])]
    request = module.ReadShareGroupStateSummaryRequest(group_id=group_id, topics=topics)
    (result,) = client.request(request, version).results
    return result.partitions[0]


def test_states_are_written_and_read(client):
    assert [each.error_code for each in initialize(client, 0, 1)[0].partitions] == [NONE, NONE]
    assert write(client, (0, 4, 2, 1), (5, 9, 2, 1), delivery_complete_count=10) == NONE
    state = read(client)
    assert [(batch.first_offset, batch.last_offset) for batch in state.state_batches] == [(0, 9)]
    assert (state.state_epoch, state.start_offset) == (2, 0)
    assert summary(client).delivery_complete_count == 10
    assert write(client, version=0, start_offset=10) == NONE
    assert summary(client).delivery_complete_count == -1, "version 0 has no such count"
    assert write(client, state_epoch=1) == ErrorCode.FENCED_STATE_EPOCH
    assert read(client, 2).error_code == ErrorCode.INVALID_REQUEST
    unknown = summary(client, 3)
    assert (unknown.error_code, unknown.delivery_complete_count) == (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, -1)


def test_very_many_batches_are_refused(client):
    initialize(client, 0)
    many = [(2 * each, 2 * each, 2, 1) for each in range(30_000)]
    assert write(client, *many) == ErrorCode.INVALID_REQUEST
    assert write(client, *many[:20_000]) == NONE
    assert len(read(client).state_batches) == 20_000
    assert write(client, many[20_000]) == ErrorCode.INVALID_REQUEST


def test_of_a_partition_that_is_named_twice_the_last_answer_counts(client):
    (result,) = initialize(client, 0, 1, 0)
    assert sorted(each.partition for each in result.partitions) == [0, 1]


def test_nothing_is_answered_to_what_lacks_something(client):
    module = delete_share_group_state
    whole = module.StateTopic(topic_id=topic_id(client, "t"), partitions=[module.StatePartition(partition=0)])
    empty = module.StateTopic(topic_id=topic_id(client, "u"))
    for group_id, topics in (("", [whole]), ("g", []), ("g", [whole, empty])):
        request = module.DeleteShareGroupStateRequest(group_id=group_id, topics=topics)
        assert client.request(request, 0).results == []
    request = module.DeleteShareGroupStateRequest(group_id="g", topics=[whole])
    assert client.request(request, 0).results[0].partitions[0].error_code == NONE


def records_of_states(client: ConfigClient) -> int:
    """How many records there are in the topic with the states."""
    partitions = [ListOffsetsPartition(partition_index=each, timestamp=-1) for each in range(50)]
    request = ListOffsetsRequest(topics=[ListOffsetsTopic(name=SHARE_STATE_TOPIC, partitions=partitions)])
    (topic,) = client.request(request, 7).topics
    return sum(partition.offset for partition in topic.partitions if partition.error_code == NONE)


def test_the_states_of_a_deleted_topic_go_with_it():
    with Coordinator() as server, ConfigClient(server.bootstrap) as client:
        client.create_topic("t", 3)
        initialize(client, 0, 1)
        assert records_of_states(client) == 2
        deleted = client.request(DeleteTopicsRequest(topic_names=["t"], timeout_ms=5000), 5)
        assert deleted.responses[0].error_code == NONE
        server.advance(1)
        assert records_of_states(client) == 4, "a tombstone each"


# -------------------------------------------------------------------------------------------------------------- offsets


def alter(client: ConfigClient, group_id: str = "g", **offsets: dict[int, int]) -> Any:
    module = alter_share_group_offsets
    topics = [
        module.RequestTopic(
            topic_name=name,
            partitions=[module.RequestPartition(partition_index=each, start_offset=at) for each, at in of.items()],
        )
        for name, of in offsets.items()
    ]
    return client.request(module.AlterShareGroupOffsetsRequest(group_id=group_id, topics=topics), 0)


def altered(response: Any) -> dict[tuple[str, int], int]:
    return {
        (topic.topic_name, partition.partition_index): partition.error_code
        for topic in response.responses
        for partition in topic.partitions
    }


def describe(client: ConfigClient, group_id: str = "g", topics: dict[str, list[int]] | None = None) -> Any:
    module = describe_share_group_offsets
    named = None
    if topics is not None:
        named = [module.RequestTopic(topic_name=name, partitions=indexes) for name, indexes in topics.items()]
    group = module.RequestGroup(group_id=group_id, topics=named)
    (found,) = client.request(module.DescribeShareGroupOffsetsRequest(groups=[group]), 1).groups
    return found


def offsets_in(group: Any) -> dict[tuple[str, int], tuple[int, int]]:
    """(topic, partition) → (start offset, lag)"""
    return {
        (topic.topic_name, partition.partition_index): (partition.start_offset, partition.lag)
        for topic in group.topics
        for partition in topic.partitions
    }


def forget(client: ConfigClient, *names: str, group_id: str = "g") -> Any:
    module = delete_share_group_offsets
    topics = [module.RequestTopic(topic_name=name) for name in names]
    return client.request(module.DeleteShareGroupOffsetsRequest(group_id=group_id, topics=topics), 0)


def join(client: ConfigClient, epoch: int = 0, *names: str, group_id: str = "g") -> Any:
    request = ShareGroupHeartbeatRequest(
        group_id=group_id, member_id="m", member_epoch=epoch, subscribed_topic_names=list(names) or None
    )
    return client.request(request, 1)


def groups_of(client: ConfigClient) -> list[str]:
    return [group.group_id for group in client.request(ListGroupsRequest(), 5).groups]


def test_offsets_that_are_set_make_a_group(client):
    response = alter(client, t={0: 3, 2: -1, 3: 0}, nowhere={0: 0})
    assert altered(response) == {
        ("t", 0): NONE,
        ("t", 2): NONE,
        ("t", 3): ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ("nowhere", 0): ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    }
    assert groups_of(client) == ["g"]
    assert offsets_in(describe(client)) == {("t", 0): (3, -3), ("t", 2): (-1, -1)}
    assert join(client, 0, "t").error_code == NONE


def test_a_number_below_0_is_no_partition(client):
    assert altered(alter(client, t={-1: 0, 1: 5})) == {("t", -1): ErrorCode.INVALID_REQUEST, ("t", 1): NONE}
    assert offsets_in(describe(client)) == {("t", 1): (5, -5)}


def test_nothing_that_is_to_be_altered_makes_no_group(client):
    assert altered(alter(client, nowhere={0: 0})) == {("nowhere", 0): ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
    assert groups_of(client) == []


def test_a_group_with_members_keeps_its_offsets(client):
    join(client, 0, "t")
    assert alter(client, t={0: 0}).error_code == ErrorCode.NON_EMPTY_GROUP
    assert forget(client, "t").error_code == ErrorCode.NON_EMPTY_GROUP
    deleted = client.request(DeleteGroupsRequest(groups_names=["g"]), 2)
    assert deleted.results[0].error_code == ErrorCode.NON_EMPTY_GROUP


def test_the_offsets_of_other_kinds_of_groups_are_no_business_of_these(client):
    consumer = ConsumerGroupHeartbeatRequest(
        group_id="c",
        member_id="m",
        member_epoch=0,
        rebalance_timeout_ms=1000,
        subscribed_topic_names=["t"],
        topic_partitions=[],
    )
    assert client.request(consumer, 1).error_code == NONE
    assert alter(client, "c", t={0: 0}).error_code == ErrorCode.GROUP_ID_NOT_FOUND
    assert forget(client, "t", group_id="c").error_code == ErrorCode.GROUP_ID_NOT_FOUND
    assert (describe(client, "c").error_code, describe(client, "c").topics) == (NONE, [])
    assert alter(client, "").error_code == forget(client, group_id="").error_code == ErrorCode.INVALID_GROUP_ID


def test_what_is_not_there_has_no_offset_and_no_error(client):
    found = describe(client, "unknown", {"t": [0, 9], "nowhere": [1]})
    assert offsets_in(found) == {("t", 0): (-1, -1), ("t", 9): (-1, -1), ("nowhere", 1): (-1, -1)}
    assert {partition.error_code for topic in found.topics for partition in topic.partitions} == {NONE}
    assert describe(client, "unknown", {}).topics == []


def test_what_is_named_twice_is_described_once_if_it_exists(client):
    module = describe_share_group_offsets
    topics = [module.RequestTopic(topic_name=name, partitions=[2, 0, 2]) for name in ("t", "nowhere", "t", "nowhere")]
    group = module.RequestGroup(group_id="g", topics=topics)
    (found,) = client.request(module.DescribeShareGroupOffsetsRequest(groups=[group]), 1).groups
    assert [
        (topic.topic_name, [partition.partition_index for partition in topic.partitions]) for topic in found.topics
    ] == [("t", [2, 0]), ("nowhere", [2, 0, 2]), ("nowhere", [2, 0, 2])]


def test_a_topic_of_an_alteration_is_answered_once_and_not_if_it_is_unknown_and_empty(client):
    module = alter_share_group_offsets
    one, empty = [module.RequestPartition(partition_index=0, start_offset=5)], list[Any]()
    topics = [
        module.RequestTopic(topic_name=name, partitions=partitions)
        for name, partitions in (("t", one), ("u", empty), ("t", one), ("nowhere", empty))
    ]
    response = client.request(module.AlterShareGroupOffsetsRequest(group_id="g", topics=topics), 0)
    assert [(topic.topic_name, len(topic.partitions)) for topic in response.responses] == [("t", 2), ("u", 0)]


def test_offsets_are_forgotten_by_topic(client):
    alter(client, t={0: 3}, u={1: 4})
    response = forget(client, "t", "nowhere", "t")
    assert {(topic.topic_name, topic.error_code) for topic in response.responses} == {
        ("t", NONE),
        ("nowhere", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
    }
    assert offsets_in(describe(client)) == {("u", 1): (4, -4)}
    assert summary(client).state_epoch == 0
    assert [topic.error_code for topic in forget(client, "t").responses] == [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]
    assert forget(client, "t", group_id="unknown").error_code == ErrorCode.GROUP_ID_NOT_FOUND


def test_the_states_of_a_group_go_with_it(client):
    alter(client, t={0: 3})
    alter(client, "other", t={0: 5})
    deleted = client.request(DeleteGroupsRequest(groups_names=["g", "unknown", "g"]), 2)
    assert {(result.group_id, result.error_code) for result in deleted.results} == {
        ("g", NONE),
        ("unknown", ErrorCode.GROUP_ID_NOT_FOUND),
    }
    assert summary(client).state_epoch == 0
    assert summary(client, group_id="other").start_offset == 5
    assert groups_of(client) == ["other"]


# --------------------------------------------------------------------------------------------------------------- switch


def test_switched_off_share_groups_are_not_served_and_their_states_are(client):
    alter(client, t={0: 3})
    key = FeatureUpdateKey(feature="share.version", max_version_level=0, upgrade_type=SAFE_DOWNGRADE)
    assert client.request(UpdateFeaturesRequest(feature_updates=[key]), 2).error_code == NONE
    unsupported = ErrorCode.UNSUPPORTED_VERSION
    assert join(client, 0, "t").error_code == unsupported
    assert alter(client, t={0: 3}).error_code == forget(client, "t").error_code == unsupported
    assert describe(client).error_code == unsupported
    (described,) = client.request(ShareGroupDescribeRequest(group_ids=["g"]), 1).groups
    assert described.error_code == unsupported
    assert read(client).start_offset == 3
    assert client.request(DeleteGroupsRequest(groups_names=["g"]), 2).results[0].error_code == NONE
    assert summary(client).state_epoch == 0


# ----------------------------------------------------------------------------------------------------------------- ACLs

READ, DELETE, DESCRIBE, CLUSTER_ACTION = 3, 6, 8, 9
TOPIC, GROUP, CLUSTER = 2, 3, 4


@pytest.fixture
def guarded() -> Iterator[ConfigClient]:
    """A client that may do all but what a test denies."""
    settings = {"authorizer.class.name": STANDARD_AUTHORIZER, "allow.everyone.if.no.acl.found": "true"}
    with client_of(TOPICS, settings) as connected:
        yield connected


def deny(client: ConfigClient, resource_type: int, name: str, operation: int) -> None:
    resource: dict[str, Any] = {"resource_type": resource_type, "resource_name": name}
    rest: dict[str, Any] = {"principal": "User:ANONYMOUS", "host": "*", "operation": operation, "permission_type": 2}
    everyone: dict[str, Any] = {"principal": "User:ANONYMOUS", "host": "*", "operation": 2, "permission_type": 3}
    creations = [AclCreation(**resource, **rest), AclCreation(**resource, **everyone)]
    assert [each.error_code for each in client.request(CreateAclsRequest(creations=creations), 3).results] == [NONE] * 2


def test_states_need_the_right_of_brokers(guarded):
    deny(guarded, CLUSTER, "kafka-cluster", CLUSTER_ACTION)
    assert initialize(guarded, 0)[0].partitions[0].error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    assert read(guarded).error_code == summary(guarded).error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED


def test_a_group_that_may_not_be_described_is_answered_by_itself(guarded):
    deny(guarded, GROUP, "g", DESCRIBE)
    deny(guarded, GROUP, "g", READ)
    deny(guarded, GROUP, "g", DELETE)
    denied = ErrorCode.GROUP_AUTHORIZATION_FAILED
    module = describe_share_group_offsets
    groups = [module.RequestGroup(group_id=each, topics=None) for each in ("g", "h")]
    found = guarded.request(module.DescribeShareGroupOffsetsRequest(groups=groups), 1).groups
    assert {(group.group_id, group.error_code) for group in found} == {("g", denied), ("h", NONE)}
    for response in (alter(guarded, t={0: 0}), forget(guarded, "t")):
        assert (response.error_code, response.error_message) == (denied, denied.description)
    assert join(guarded, 0, "t").error_code == denied
    (described,) = guarded.request(ShareGroupDescribeRequest(group_ids=["g"]), 1).groups
    assert described.error_code == denied


def test_topics_that_may_not_be_read_are_answered_by_themselves(guarded):
    alter(guarded, t={0: 3}, u={1: 4})
    deny(guarded, TOPIC, "t", READ)
    denied = ErrorCode.TOPIC_AUTHORIZATION_FAILED
    response = alter(guarded, t={0: 0}, u={1: 7})
    assert altered(response) == {("t", 0): denied, ("u", 1): NONE}
    ids = {topic.topic_name: topic.topic_id for topic in response.responses}
    assert ids == {name: topic_id(guarded, name) for name in ("t", "u")}, "as on Kafka, also that of a denied one"
    assert {(topic.topic_name, topic.error_code) for topic in forget(guarded, "t", "u").responses} == {
        ("t", denied),
        ("u", NONE),
    }


def test_topics_that_may_not_be_described_are_hidden_or_answered(guarded):
    alter(guarded, t={0: 3}, u={1: 4})
    join(guarded, 0, "t", "u")
    joined = join(guarded, 0, "t", "u")
    assert joined.assignment.topic_partitions
    deny(guarded, TOPIC, "t", DESCRIBE)
    deny(guarded, TOPIC, "t", READ)
    deny(guarded, TOPIC, "t", 4)
    deny(guarded, TOPIC, "t", DELETE)
    deny(guarded, TOPIC, "t", 7)
    denied = ErrorCode.TOPIC_AUTHORIZATION_FAILED
    assert [topic.topic_name for topic in describe(guarded).topics] == ["u"]
    named = describe(guarded, topics={"t": [0], "u": [1]})
    errors = {topic.topic_name: topic.partitions[0].error_code for topic in named.topics}
    assert errors == {"t": denied, "u": NONE}
    assert join(guarded, 0, "t").error_code == denied
    (described,) = guarded.request(ShareGroupDescribeRequest(group_ids=["g"]), 1).groups
    assert (described.error_code, described.members) == (denied, [])
