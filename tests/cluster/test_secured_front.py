"""Clients that log in at a real Kafka through the nodes: they may what they may there, and are told by name."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from confluent_kafka import Consumer, KafkaException, TopicPartition
from kafka import KafkaConsumer

from _wire.messages.find_coordinator import FindCoordinatorRequest
from _wire.messages.heartbeat import HeartbeatRequest
from _wire.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from _wire.messages.leave_group import LeaveGroupRequest, MemberIdentity
from _wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from _wire.messages.offset_commit import OffsetCommitRequest, OffsetCommitRequestPartition, OffsetCommitRequestTopic
from _wire.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup, OffsetFetchRequestTopics
from _wire.messages.sync_group import SyncGroupRequest
from coordinator.audit import schema
from coordinator.cli import main
from coordinator.client.audit_topic import AuditTopic
from coordinator.client.bootstrap import Bootstrap
from coordinator.client.wire import ConnectionClosed, WireConnection
from coordinator.cluster.nodes.messages import PROTOCOL, PROTOCOL_TYPE, Claim, NodeAddress
from coordinator.cluster.nodes.peers import OWNED_KEY_TYPE
from coordinator.cluster.nodes.seals import Seals
from tests.cluster import secured
from tests.cluster.secured import (
    ADOPTED,
    ALICE,
    BOB,
    CAROL,
    DAVE,
    DIRECT,
    HIDDEN,
    OPERATOR,
    TOPIC,
    SecuredFront,
    kafka_python_login,
    librdkafka_login,
    login_of,
    outcome,
    produce,
    secured_front,
    security_of,
)
from tests.differential.kafka import KafkaMissing
from tests.waiting import wait_for

pytestmark = pytest.mark.realtime

NODES = 2
CONSUMER_PROTOCOL = {"group.protocol": "consumer"}
NODES_GROUP = "__group_coordinator_nodes"
GROUPS = pytest.mark.parametrize("kind", [ADOPTED, DIRECT])


@pytest.fixture(scope="module")
def front(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecuredFront]:
    try:
        with secured_front(tmp_path_factory.mktemp("secured"), NODES) as started:
            produce(client_of(started.nodes, ALICE))
            yield started
    except KafkaMissing as missing:
        pytest.skip(str(missing))


def client_of(bootstrap: str, user: str) -> dict[str, str]:
    """How librdkafka connects."""
    return {"bootstrap.servers": bootstrap, "client.id": f"{user}-client", **librdkafka_login(user)}


@GROUPS
def test_a_user_with_a_login_by_scram_reads_and_commits(front: SecuredFront, kind: str):
    assert outcome(client_of(front.nodes, ALICE), f"{kind}{ALICE}") == ""


@GROUPS
def test_a_user_with_a_login_by_plain_reads_and_commits(front: SecuredFront, kind: str):
    assert outcome(client_of(front.nodes, DAVE), f"{kind}{DAVE}") == ""


@GROUPS
@pytest.mark.parametrize("user", [BOB, CAROL])
def test_what_is_denied_is_denied_as_at_the_broker(front: SecuredFront, user: str, kind: str):
    denied = {BOB: "GROUP_AUTHORIZATION_FAILED", CAROL: "TOPIC_AUTHORIZATION_FAILED"}[user]
    assert outcome(client_of(front.broker, user), f"{DIRECT}{user}") == denied
    assert outcome(client_of(front.nodes, user), f"{kind}{user}") == denied


@GROUPS
@pytest.mark.parametrize("topics", [[TOPIC], ["^.*"]], ids=["by name", "by pattern"])
def test_a_member_of_kip_848_reads_and_commits_what_it_may_read(front: SecuredFront, kind: str, topics: list[str]):
    """The pattern matches topics, too, that the user may not describe."""
    client = client_of(front.nodes, ALICE) | CONSUMER_PROTOCOL
    assert outcome(client, f"{kind}{ALICE}-{'name' if TOPIC in topics else 'pattern'}-848", topics) == ""


@GROUPS
@pytest.mark.parametrize("user", [BOB, CAROL])
def test_what_is_denied_to_a_member_of_kip_848_is_denied_as_at_the_broker(front: SecuredFront, user: str, kind: str):
    # What ends a member of this protocol for good has no name of its own in librdkafka.
    denied = {BOB: "_FATAL", CAROL: "TOPIC_AUTHORIZATION_FAILED"}[user]
    assert outcome(client_of(front.broker, user) | CONSUMER_PROTOCOL, f"{DIRECT}{user}-848") == denied
    assert outcome(client_of(front.nodes, user) | CONSUMER_PROTOCOL, f"{kind}{user}-848") == denied


@GROUPS
def test_a_commit_to_a_topic_that_may_not_be_read_is_denied(front: SecuredFront, kind: str):
    consumer = Consumer({"bootstrap.servers": front.nodes, "group.id": f"{kind}commit", **librdkafka_login(CAROL)})
    try:
        with pytest.raises(KafkaException) as refused:
            consumer.commit(offsets=[TopicPartition(TOPIC, 0, 1)], asynchronous=False)
    finally:
        consumer.close()
    assert refused.value.args[0].name() == "TOPIC_AUTHORIZATION_FAILED"


class OffsetsClient:
    """Commits and fetches offsets as a user at the coordinator of a group, by names (v9) or by ids (v10)."""

    def __init__(self, bootstrap: Bootstrap, group_id: str, topic_ids: Mapping[str, bytes], *, is_by_id: bool) -> None:
        self._group_id, self._version, self._topic_ids = group_id, 10 if is_by_id else 9, topic_ids
        with WireConnection(bootstrap, "offsets") as connection:
            wait_for(lambda: self._coordinator(connection).error_code == 0, 20, "a coordinator", every_ms=100)
            found = self._coordinator(connection)
        self._connection = WireConnection(bootstrap.at(f"{found.host}:{found.port}"), "offsets")

    def _coordinator(self, connection: WireConnection) -> Any:
        return connection.request(FindCoordinatorRequest(key=self._group_id), 3)

    def _name(self, topic: Any) -> str:
        return topic.name or next(name for name, topic_id in self._topic_ids.items() if topic_id == topic.topic_id)

    def commit(self) -> dict[str, int]:
        """Topic → error."""
        partitions = [OffsetCommitRequestPartition(partition_index=0, committed_offset=3, committed_metadata="m")]
        topics = [
            OffsetCommitRequestTopic(name=name, topic_id=topic_id, partitions=partitions)
            for name, topic_id in self._topic_ids.items()
        ]
        request = OffsetCommitRequest(
            group_id=self._group_id, generation_id_or_member_epoch=-1, member_id="", topics=topics
        )
        response = self._connection.request(request, self._version)
        return {self._name(topic): topic.partitions[0].error_code for topic in response.topics}

    def fetch(self, *, everything: bool) -> dict[str, tuple[int, int, str]]:
        """Topic → error, offset and metadata; the error of the group under an empty name."""
        topics = [
            OffsetFetchRequestTopics(name=name, topic_id=topic_id, partition_indexes=[0])
            for name, topic_id in self._topic_ids.items()
        ]
        group = OffsetFetchRequestGroup(
            group_id=self._group_id, member_epoch=-1, member_id=None, topics=None if everything else topics
        )
        (answered,) = self._connection.request(OffsetFetchRequest(groups=[group]), self._version).groups
        if answered.error_code:
            return {"": (answered.error_code, -1, "")}
        return {
            self._name(topic): (partition.error_code, partition.committed_offset, partition.metadata or "")
            for topic in answered.topics
            for partition in topic.partitions
        }


@pytest.mark.parametrize("is_by_id", [False, True], ids=["by name", "by id"])
@pytest.mark.parametrize("user", [ALICE, BOB, CAROL])
def test_offsets_are_committed_and_fetched_as_at_the_broker(front: SecuredFront, user: str, is_by_id: bool):
    with WireConnection(front.super_user, "admin") as admin:
        asked = [MetadataRequestTopic(name=name) for name in (TOPIC, HIDDEN)]
        topics = {topic.name: topic.topic_id for topic in admin.request(MetadataRequest(topics=asked), 12).topics}
    topics["none"] = b"?" * 16
    told: list[list[dict[str, Any]]] = []
    for kind, address in ((DIRECT, Bootstrap(front.super_user)), (ADOPTED, front.bootstrap(secured.NODES))):
        group_id = f"{kind}offsets-{user}-{is_by_id}"
        OffsetsClient(address, group_id, topics, is_by_id=False).commit()
        bootstrap = Bootstrap(front.broker if kind == DIRECT else front.nodes, security_of(user))
        client = OffsetsClient(bootstrap, group_id, topics, is_by_id=is_by_id)
        told.append([{**client.fetch(everything=True)}, {**client.commit()}, {**client.fetch(everything=False)}])
    assert told[1] == told[0]
    assert HIDDEN not in told[1][0]


def test_a_wrong_password_is_refused(front: SecuredFront):
    login = {**kafka_python_login(ALICE), "sasl_plain_password": "another"}
    with pytest.raises(Exception, match=r"Unable to bootstrap|[Aa]uthentication"):
        KafkaConsumer(bootstrap_servers=front.nodes, bootstrap_timeout_ms=3_000, **login)


def test_who_does_not_log_in_is_disconnected_as_by_kafka(front: SecuredFront):
    for address in front.nodes.split(","):
        with WireConnection(address, "nobody") as connection:
            request = HeartbeatRequest(group_id=f"{ADOPTED}{ALICE}", generation_id=1, member_id="m")
            with pytest.raises(ConnectionClosed):
                connection.request(request, 3)


def test_who_does_not_log_in_is_not_answered_as_another_node(front: SecuredFront):
    request = FindCoordinatorRequest(key=f"{ADOPTED}{ALICE}", key_type=OWNED_KEY_TYPE)
    with WireConnection(front.nodes.split(",")[0], "nobody") as connection, pytest.raises(ConnectionClosed):
        connection.request(request, 3)


@pytest.mark.parametrize("user", [ALICE, secured.NODES])
def test_who_has_logged_in_and_is_no_node_is_not_answered_as_one(front: SecuredFront, user: str):
    request = FindCoordinatorRequest(key=f"{ADOPTED}{ALICE}", key_type=OWNED_KEY_TYPE)
    bootstrap = front.bootstrap(user).servers()[0]
    with WireConnection(bootstrap, "coordinator node") as connection, pytest.raises(ConnectionClosed):
        connection.request(request, 3)


def test_who_may_read_the_group_of_the_nodes_is_no_node(front: SecuredFront):
    """Alice may read all groups. Her claim gets no partition, and no client is sent to her."""
    evil = NodeAddress(node_id=0, host="evil.example", port=9_092, broker_port_base=19_100)
    claim = Seals(b"", NODES_GROUP).claim(Claim(node=evil, leads=(), started_ms=0), "")
    join = JoinGroupRequest(
        group_id=NODES_GROUP,
        session_timeout_ms=6_000,
        rebalance_timeout_ms=6_000,
        protocol_type=PROTOCOL_TYPE,
        protocols=[JoinGroupRequestProtocol(name=PROTOCOL, metadata=claim)],
    )
    with WireConnection(Bootstrap(front.broker, security_of(ALICE)), "evil") as connection:
        join.member_id = connection.request(join, 4).member_id
        joined = connection.request(join, 4)
        assert joined.error_code == 0
        sync = SyncGroupRequest(group_id=NODES_GROUP, generation_id=joined.generation_id, member_id=joined.member_id)
        assert connection.request(sync, 3).assignment == b""
        with WireConnection(front.bootstrap(ALICE).servers()[0], "c") as client:
            brokers = client.request(MetadataRequest(topics=[]), 9).brokers
        assert "evil.example" not in {broker.host for broker in brokers}
        leave = LeaveGroupRequest(group_id=NODES_GROUP, members=[MemberIdentity(member_id=joined.member_id)])
        assert connection.request(leave, 4).error_code == 0


def test_the_audit_and_why_name_the_user(front: SecuredFront, tmp_path: Path):
    group_id = f"{ADOPTED}told"
    assert outcome(client_of(front.nodes, ALICE), group_id) == ""
    bootstrap = front.bootstrap(OPERATOR).servers()[0]
    with AuditTopic(bootstrap) as topic:
        records = list(topic.group_events(group_id))
    joined = [record.event for record in records if isinstance(record.event, schema.MemberJoined)]
    assert {event.member.principal for event in joined} == {f"User:{ALICE}"}

    mechanism, module = login_of(OPERATOR)
    config = tmp_path / "operator.properties"
    config.write_text(
        f"security.protocol=SASL_PLAINTEXT\nsasl.mechanism={mechanism}\nsasl.jaas.config={module}\n", encoding="utf-8"
    )
    arguments = ["groups", "why", group_id, "--bootstrap", bootstrap.address, "--command-config", str(config)]
    told = CliRunner().invoke(main, arguments)
    assert told.exit_code == 0, told.output
    assert f"User:{ALICE}" in told.output, told.output
