"""Topics: made, described, removed."""

from collections.abc import Iterator
from typing import Any

import pytest

from _wire.errors import ErrorCode
from _wire.messages.create_partitions import (
    CreatePartitionsAssignment,
    CreatePartitionsRequest,
    CreatePartitionsTopic,
)
from _wire.messages.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from _wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from _wire.messages.find_coordinator import FindCoordinatorRequest
from _wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from _wire.messages.offset_commit import OffsetCommitRequest, OffsetCommitRequestPartition, OffsetCommitRequestTopic
from _wire.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestTopic
from _wire.records import build_batch
from tests.servers import QUICK_GROUPS, RunningServer
from tests.waiting import wait_for
from tests.wire_client import WireClient, fetch_request

NEWEST_METADATA = 13
INTERNAL = {"__consumer_offsets"}


@pytest.fixture(scope="module")
def making(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    """A server that makes topics when it is asked for their metadata."""
    settings = QUICK_GROUPS | {"auto.create.topics.enable": "true", "num.partitions": "3"}
    with RunningServer(tmp_path_factory.mktemp("making"), settings) as running:
        yield running


def create(client: WireClient, *topics: CreatableTopic, validate_only: bool = False, version: int = 7) -> list[Any]:
    request = CreateTopicsRequest(topics=list(topics), timeout_ms=5000, validate_only=validate_only)
    results: list[Any] = client.request(request, version).topics
    return results


def wanted(name: str, partitions: int = 1, replication_factor: int = 1, **fields: Any) -> CreatableTopic:
    return CreatableTopic(name=name, num_partitions=partitions, replication_factor=replication_factor, **fields)


def grow(
    client: WireClient, *topics: CreatePartitionsTopic, validate_only: bool = False, version: int = 3
) -> list[tuple[ErrorCode, str | None]]:
    request = CreatePartitionsRequest(topics=list(topics), timeout_ms=5000, validate_only=validate_only)
    results = client.request(request, version).results
    return [(ErrorCode(result.error_code), result.error_message) for result in results]


def more(name: str, count: int, brokers: list[list[int]] | None = None) -> CreatePartitionsTopic:
    assignments = None if brokers is None else [CreatePartitionsAssignment(broker_ids=ids) for ids in brokers]
    return CreatePartitionsTopic(name=name, count=count, assignments=assignments)


def describe(client: WireClient, *names: str, version: int = 9, may_create: bool = False) -> list[Any]:
    request = MetadataRequest(
        topics=[MetadataRequestTopic(name=name) for name in names], allow_auto_topic_creation=may_create
    )
    topics: list[Any] = client.request(request, version).topics
    return topics


def describe_all(client: WireClient, version: int) -> set[str]:
    request = MetadataRequest(topics=[] if version == 0 else None)
    return {topic.name for topic in client.request(request, version).topics}


def delete(client: WireClient, *names: str, version: int = 5) -> list[ErrorCode]:
    request = DeleteTopicsRequest(topic_names=list(names), timeout_ms=5000)
    return [ErrorCode(response.error_code) for response in client.request(request, version).responses]


# ---- create


@pytest.mark.parametrize("version", range(8))
def test_a_topic_is_created_in_every_version(client, topic, version):
    (result,) = create(client, wanted(topic, 3), version=version)
    assert (result.name, result.error_code) == (topic, ErrorCode.NONE)
    (described,) = describe(client, topic)
    assert [partition.partition_index for partition in described.partitions] == [0, 1, 2]
    assert {partition.leader_id for partition in described.partitions} == {1}


def test_the_response_describes_the_created_topic(client, topic):
    (result,) = create(client, wanted(topic, 3))
    assert (result.num_partitions, result.replication_factor, result.error_message) == (3, 1, None)
    (described,) = describe(client, topic, version=12)
    assert result.topic_id == described.topic_id != bytes(16)


def test_minus_one_selects_the_defaults(making, topic):
    with WireClient(making.bootstrap) as client:
        (result,) = create(client, wanted(topic, -1, -1))
        assert (result.error_code, result.num_partitions, result.replication_factor) == (ErrorCode.NONE, 3, 1)


def test_validate_only_creates_nothing(client, topic):
    (result,) = create(client, wanted(topic, 2), validate_only=True)
    assert (result.error_code, result.num_partitions, result.topic_id) == (ErrorCode.NONE, 2, bytes(16))
    (refused,) = create(client, wanted(topic, 0), validate_only=True)
    assert refused.error_code == ErrorCode.INVALID_PARTITIONS
    (described,) = describe(client, topic)
    assert described.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_a_topic_is_created_once(client, topic):
    client.create_topic(topic)
    for validate_only in (True, False):
        (again,) = create(client, wanted(topic), validate_only=validate_only)
        assert again.error_code == ErrorCode.TOPIC_ALREADY_EXISTS
        assert topic in again.error_message


def test_a_topic_that_is_named_twice_is_not_created(client, topic):
    other = f"{topic}-other"
    results = create(client, wanted(topic), wanted(other), wanted(topic))
    codes = {result.name: result.error_code for result in results}
    assert codes == {topic: ErrorCode.INVALID_REQUEST, other: ErrorCode.NONE}
    assert [each.error_code for each in describe(client, topic)] == [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]


@pytest.mark.parametrize("name", ["", ".", "..", "with space", "sla/sh", "ümlaut", "x" * 250, "nul\0"])
def test_invalid_names_are_rejected(client, name):
    (result,) = create(client, wanted(name))
    assert result.error_code == ErrorCode.INVALID_TOPIC_EXCEPTION
    assert [each.error_code for each in describe(client, name)] == [ErrorCode.INVALID_TOPIC_EXCEPTION]


def test_the_longest_name_is_accepted(client):
    (result,) = create(client, wanted("y" * 249))
    assert result.error_code == ErrorCode.NONE
    assert client.produce("y" * 249, build_batch([(None, b"v", ())])).error_code == ErrorCode.NONE


@pytest.mark.parametrize("partitions", [0, -2, 10_001, 2**31 - 1])
def test_invalid_partition_counts_are_rejected(client, topic, partitions):
    assert [each.error_code for each in create(client, wanted(topic, partitions))] == [ErrorCode.INVALID_PARTITIONS]


@pytest.mark.parametrize("replication_factor", [0, -2, 2])
def test_invalid_replication_factors_are_rejected(client, topic, replication_factor):
    (result,) = create(client, wanted(topic, 1, replication_factor))
    assert result.error_code == ErrorCode.INVALID_REPLICATION_FACTOR


def assigned(*partitions: tuple[int, list[int]]) -> list[CreatableReplicaAssignment]:
    return [CreatableReplicaAssignment(partition_index=index, broker_ids=brokers) for index, brokers in partitions]


def test_a_replica_assignment_determines_the_number_of_partitions(client, topic):
    (result,) = create(client, wanted(topic, -1, -1, assignments=assigned((1, [1]), (0, [1]))))
    assert (result.error_code, result.num_partitions) == (ErrorCode.NONE, 2)


@pytest.mark.parametrize(
    ("partitions", "assignments", "error"),
    [
        (2, assigned((0, [1]), (1, [1])), ErrorCode.INVALID_REQUEST),
        (-1, assigned((1, [1])), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (-1, assigned((0, [1]), (0, [1])), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (-1, assigned((0, [])), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (-1, assigned((0, [1, 2])), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (-1, assigned((0, [99])), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
    ],
    ids=["with a count", "gap", "twice", "no broker", "two brokers", "unknown broker"],
)
def test_replica_assignments_that_one_node_cannot_have_are_rejected(client, topic, partitions, assignments, error):
    replication_factor = 1 if partitions > 0 else -1
    (result,) = create(client, wanted(topic, partitions, replication_factor, assignments=assignments))
    assert result.error_code == error


def test_topics_and_their_records_survive_a_kill(tmp_path):
    with RunningServer(tmp_path) as server:
        with WireClient(server.bootstrap) as client:
            configs = [CreatableTopicConfig(name="cleanup.policy", value="compact")]
            (made,) = create(client, wanted("kept", 2, configs=configs))
            client.create_topic("gone")
            client.produce("kept", build_batch([(b"k", b"v", ())]), partition=1)
            assert delete(client, "gone") == [ErrorCode.NONE]
        server.kill()
        server.start()
        with WireClient(server.bootstrap) as client:
            assert "gone" not in describe_all(client, 1)
            (described,) = describe(client, "kept", version=12)
            assert (described.topic_id, len(described.partitions)) == (made.topic_id, 2)
            assert client.produce("kept", build_batch([(b"k", b"v", ())]), partition=1).base_offset == 1


# ---- metadata


@pytest.mark.parametrize("version", range(NEWEST_METADATA + 1))
def test_metadata_names_the_node_and_the_topic(server, client, topic, version):
    client.create_topic(topic)
    response = client.request(MetadataRequest(topics=[MetadataRequestTopic(name=topic)]), version)
    (node,) = response.brokers
    assert (node.node_id, f"{node.host}:{node.port}") == (1, server.bootstrap)
    (described,) = response.topics
    (partition,) = described.partitions
    assert (described.error_code, described.name, described.is_internal) == (ErrorCode.NONE, topic, False)
    assert (partition.leader_id, partition.replica_nodes, partition.isr_nodes) == (1, [1], [1])


@pytest.mark.parametrize("version", range(NEWEST_METADATA + 1))
def test_all_topics_are_listed_on_request(client, topic, version):
    client.create_topic(topic)
    assert {topic, "__consumer_offsets", "__group_audit"} <= describe_all(client, version)


def test_no_topics_are_listed_for_an_empty_list(client):
    for version in range(1, NEWEST_METADATA + 1):
        assert client.request(MetadataRequest(topics=[]), version).topics == []


def test_internal_topics_are_marked(client):
    topics = client.request(MetadataRequest(topics=None), 9).topics
    of_others = {"__transaction_state", "__share_group_state"}
    assert {topic.name for topic in topics if topic.is_internal} - of_others == INTERNAL


def test_topics_by_id(client, topic):
    topic_id = client.create_topic(topic)
    for version in (12, 13):
        known, unknown = client.request(
            MetadataRequest(
                topics=[MetadataRequestTopic(name=None, topic_id=each) for each in (topic_id, b"\x01" * 16)]
            ),
            version,
        ).topics
        assert (known.error_code, known.name) == (ErrorCode.NONE, topic)
        assert (unknown.error_code, unknown.name) == (ErrorCode.UNKNOWN_TOPIC_ID, None)


@pytest.mark.parametrize("version", [10, 11])
def test_before_v12_a_topic_id_is_rejected(client, topic, version):
    topic_id = client.create_topic(topic)
    for name in (None, topic):
        request = MetadataRequest(topics=[MetadataRequestTopic(name=name, topic_id=topic_id)])
        (refused,) = client.request(request, version).topics
        assert (refused.error_code, refused.name) == (ErrorCode.INVALID_REQUEST, name or "")


def test_unknown_topics_are_created_if_allowed(making, topic):
    with WireClient(making.bootstrap) as client:
        (refused,) = describe(client, topic)
        assert refused.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        (asked,) = describe(client, topic, may_create=True)
        assert (asked.error_code, asked.partitions) == (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, [])
        (made,) = describe(client, topic, may_create=True)
        assert (made.error_code, len(made.partitions)) == (ErrorCode.NONE, 3)
        assert client.produce(topic, build_batch([(None, b"v", ())])).base_offset == 0
        (illegal,) = describe(client, "il legal", may_create=True)
        assert illegal.error_code == ErrorCode.INVALID_TOPIC_EXCEPTION


def test_before_v4_metadata_always_creates_unknown_topics(making, topic):
    with WireClient(making.bootstrap) as client:
        errors = [describe(client, topic, version=3)[0].error_code for _ in range(2)]
        assert errors == [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.NONE]


def test_unknown_topics_are_not_created_if_disabled(client, topic):
    for _ in range(2):
        (refused,) = describe(client, topic, may_create=True)
        assert refused.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_an_internal_topic_is_created_with_its_own_settings(tmp_path):
    settings = QUICK_GROUPS | {"auto.create.topics.enable": "true", "transaction.state.log.num.partitions": "7"}
    with RunningServer(tmp_path, settings) as server, WireClient(server.bootstrap) as client:
        (asked,) = describe(client, "__transaction_state", may_create=True)
        assert (asked.error_code, asked.is_internal) == (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, True)
        (made,) = describe(client, "__transaction_state")
        assert (made.error_code, len(made.partitions)) == (ErrorCode.NONE, 7)


def test_the_metadata_log_is_not_a_topic(tmp_path):
    """What clients can do to topics, and what they can do by asking, leaves the metadata log alone."""
    settings = QUICK_GROUPS | {"auto.create.topics.enable": "true"}
    name = "__cluster_metadata"
    with RunningServer(tmp_path, settings) as server:
        with WireClient(server.bootstrap) as client:
            client.create_topic("kept")
            log = server.data / f"{name}-0" / f"{0:020}.log"
            written = log.read_bytes()
            (refused,) = create(client, wanted(name))
            assert refused.error_code == ErrorCode.INVALID_REQUEST
            for _ in range(2):
                assert describe(client, name, may_create=True)[0].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            assert client.produce(name, build_batch([(None, b"v", ())])).error_code == (
                ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            )
            fetched = client.request(fetch_request(name), 11).responses[0].partitions[0]
            assert fetched.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            assert delete(client, name) == [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]
            assert log.read_bytes() == written
        server.stop()
        server.start()
        with WireClient(server.bootstrap) as client:
            assert "kept" in describe_all(client, 1)


@pytest.mark.parametrize(("first", "second"), [("a.b", "a_b"), ("a_b", "a.b"), ("a.b_c", "a_b.c")])
def test_names_that_differ_in_dots_and_underscores_only_collide(client, topic, first, second):
    client.create_topic(f"{topic}.{first}")
    (refused,) = create(client, wanted(f"{topic}.{second}"))
    assert refused.error_code == ErrorCode.INVALID_TOPIC_EXCEPTION
    assert f"{topic}.{first}" in refused.error_message


def test_the_transaction_topic_is_created_at_its_first_use(tmp_path):
    with RunningServer(tmp_path) as server, WireClient(server.bootstrap) as client:
        assert "__transaction_state" not in describe_all(client, 1)
        found = client.request(FindCoordinatorRequest(key="t", key_type=1), 2)
        assert (found.error_code, found.node_id) == (ErrorCode.NONE, 1)
        assert "__transaction_state" in describe_all(client, 1)


# ---- delete


@pytest.mark.parametrize("version", range(6))
def test_a_topic_is_deleted_by_name(client, topic, version):
    client.create_topic(topic)
    assert delete(client, topic, version=version) == [ErrorCode.NONE]
    assert topic not in describe_all(client, 1)
    assert delete(client, topic, version=version) == [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]


def test_from_v6_on_a_topic_is_deleted_by_name_or_id(client, topic):
    ids = [client.create_topic(f"{topic}-{number}") for number in range(2)]
    states = [
        DeleteTopicState(name=f"{topic}-0"),
        DeleteTopicState(name=None, topic_id=ids[1]),
    ]
    answers = client.request(DeleteTopicsRequest(topics=states, timeout_ms=5000), 6).responses
    assert [(answer.name, answer.topic_id, answer.error_code) for answer in answers] == [
        (f"{topic}-0", ids[0], ErrorCode.NONE),
        (f"{topic}-1", ids[1], ErrorCode.NONE),
    ]
    again = client.request(DeleteTopicsRequest(topics=states, timeout_ms=5000), 6).responses
    assert [(each.name, each.topic_id, each.error_code) for each in again] == [
        (f"{topic}-0", bytes(16), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (None, ids[1], ErrorCode.UNKNOWN_TOPIC_ID),
    ]


def test_a_topic_that_is_named_twice_is_not_deleted(client, topic):
    topic_id = client.create_topic(topic)
    by_name, by_id = DeleteTopicState(name=topic), DeleteTopicState(name=None, topic_id=topic_id)
    by_both = DeleteTopicState(name=topic, topic_id=topic_id)
    neither = DeleteTopicState(name=None)
    for states, message in (
        ([by_name, by_name], "Duplicate topic name."),
        ([by_id, by_id], "Duplicate topic id."),
        ([by_name, by_id], "The provided topic name maps to an ID that was already supplied."),
        ([by_id, by_name], "The provided topic name maps to an ID that was already supplied."),
        ([by_both], "You may not specify both topic name and topic id."),
        ([by_both] * 2, "You may not specify both topic name and topic id."),
        ([neither], "Neither topic name nor id were specified."),
    ):
        (refused,) = client.request(DeleteTopicsRequest(topics=states, timeout_ms=5000), 6).responses
        assert (refused.error_code, refused.error_message) == (ErrorCode.INVALID_REQUEST, message)
    assert [each.error_code for each in describe(client, topic)] == [ErrorCode.NONE]


def test_the_coordinators_topics_cannot_be_deleted(client):
    names = ("__consumer_offsets", "__group_audit")
    assert delete(client, *names) == [ErrorCode.INVALID_TOPIC_EXCEPTION] * 2
    assert set(names) <= describe_all(client, 1)


def test_a_recreated_topic_is_another_one(server, client, topic):
    first_id = client.create_topic(topic)
    client.produce(topic, build_batch([(None, b"old", ())]))
    folder = server.data / f"{topic}-0"
    assert folder.is_dir()
    delete(client, topic)
    # The answer does not wait for it when other work of the server has its turn.
    wait_for(lambda: not folder.exists(), 10, "the folder to be renamed")
    assert client.create_topic(topic) != first_id
    partition = client.request(fetch_request(topic), 11).responses[0].partitions[0]
    assert (partition.high_watermark, partition.records or b"") == (0, b"")


def test_committed_offsets_are_deleted_with_their_topic(client, topic):
    client.create_topic(topic)
    group_id = f"group-of-{topic}"
    partition = OffsetCommitRequestPartition(partition_index=0, committed_offset=7)
    commit = OffsetCommitRequest(
        group_id=group_id,
        generation_id_or_member_epoch=-1,
        topics=[OffsetCommitRequestTopic(name=topic, partitions=[partition])],
    )
    assert client.request(commit, 8).topics[0].partitions[0].error_code == ErrorCode.NONE
    client.request(DeleteTopicsRequest(topic_names=[topic], timeout_ms=5000), 5)
    client.create_topic(topic)
    fetch = OffsetFetchRequest(group_id=group_id, topics=[OffsetFetchRequestTopic(name=topic, partition_indexes=[0])])
    assert client.request(fetch, 5).topics[0].partitions[0].committed_offset == -1


# ---- more partitions


@pytest.mark.parametrize("version", range(4))
def test_a_topic_gets_more_partitions_in_every_version(client, topic, version):
    create(client, wanted(topic, 1))
    assert grow(client, more(topic, 3), version=version) == [(ErrorCode.NONE, None)]
    (described,) = describe(client, topic)
    assert [partition.partition_index for partition in described.partitions] == [0, 1, 2]


def test_validate_only_adds_no_partition(client, topic):
    create(client, wanted(topic, 1))
    assert grow(client, more(topic, 3), validate_only=True) == [(ErrorCode.NONE, None)]
    assert len(describe(client, topic)[0].partitions) == 1


def test_new_partitions_may_be_assigned_to_this_broker(client, topic):
    create(client, wanted(topic, 1))
    assert grow(client, more(topic, 3, [[1], [1]])) == [(ErrorCode.NONE, None)]


@pytest.mark.parametrize(
    ("count", "brokers", "error", "message"),
    [
        (2, None, ErrorCode.INVALID_PARTITIONS, "Topic already has 2 partition(s)."),
        (
            1,
            None,
            ErrorCode.INVALID_PARTITIONS,
            "The topic TOPIC currently has 2 partition(s); 1 would not be an increase.",
        ),
        (
            -1,
            None,
            ErrorCode.INVALID_PARTITIONS,
            "The topic TOPIC currently has 2 partition(s); -1 would not be an increase.",
        ),
        (2**31 - 1, None, ErrorCode.INVALID_PARTITIONS, "A topic has at most 10000 partitions."),
        (
            4,
            [[1]],
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            "Attempted to add 2 additional partition(s), but only 1 assignment(s) were specified.",
        ),
        (3, [[2]], ErrorCode.INVALID_REPLICA_ASSIGNMENT, "Each new partition must be on broker 1: there is no other."),
        (3, [[]], ErrorCode.INVALID_REPLICA_ASSIGNMENT, "Each new partition must be on broker 1: there is no other."),
    ],
)
def test_partitions_that_cannot_be_added_are_rejected(client, topic, count, brokers, error, message):
    create(client, wanted(topic, 2))
    assert grow(client, more(topic, count, brokers)) == [(error, message.replace("TOPIC", topic))]
    assert len(describe(client, topic)[0].partitions) == 2


def test_partitions_of_an_unknown_topic_and_of_an_internal_one_are_rejected(client):
    errors = [error for error, _ in grow(client, more("missing", 3), more("__consumer_offsets", 100))]
    assert errors == [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.INVALID_TOPIC_EXCEPTION]


def test_a_topic_that_is_to_grow_twice_in_one_request_does_not(client, topic):
    create(client, wanted(topic, 1))
    assert grow(client, more(topic, 2), more(topic, 3)) == [(ErrorCode.INVALID_REQUEST, "Duplicate topic name.")]


def test_partitions_that_were_added_survive_a_restart(tmp_path):
    with RunningServer(tmp_path) as running:
        with WireClient(running.bootstrap) as client:
            create(client, wanted("t", 1))
            grow(client, more("t", 3))
        running.kill()
        running.start()
        with WireClient(running.bootstrap) as client:
            assert len(describe(client, "t")[0].partitions) == 3
