"""Clients that log in at a real Kafka through the nodes: they may what they may there, and are told by name."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner
from confluent_kafka import Consumer, KafkaException, TopicPartition
from kafka import KafkaConsumer

from _wire.messages.find_coordinator import FindCoordinatorRequest
from _wire.messages.heartbeat import HeartbeatRequest
from coordinator.audit import schema
from coordinator.cli import main
from coordinator.client.audit_topic import AuditTopic
from coordinator.client.wire import ConnectionClosed, WireConnection
from coordinator.cluster.peers import OWNED_KEY_TYPE
from tests.cluster.secured import (
    ADOPTED,
    ALICE,
    BOB,
    CAROL,
    DAVE,
    DIRECT,
    OPERATOR,
    TOPIC,
    SecuredFront,
    kafka_python_login,
    librdkafka_login,
    login_of,
    outcome,
    produce,
    secured_front,
)
from tests.differential.kafka import KafkaMissing

pytestmark = pytest.mark.realtime

NODES = 2
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
def test_a_commit_to_a_topic_that_may_not_be_read_is_denied(front: SecuredFront, kind: str):
    consumer = Consumer({"bootstrap.servers": front.nodes, "group.id": f"{kind}commit", **librdkafka_login(CAROL)})
    try:
        with pytest.raises(KafkaException) as refused:
            consumer.commit(offsets=[TopicPartition(TOPIC, 0, 1)], asynchronous=False)
    finally:
        consumer.close()
    assert refused.value.args[0].name() == "TOPIC_AUTHORIZATION_FAILED"


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
