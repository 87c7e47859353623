"""Nodes with TLS in front of a real Kafka: with logins that are passed on, and with certificates that are not."""

import socket
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple
from urllib.request import urlopen

import pytest
from click.testing import CliRunner
from confluent_kafka import KafkaException, Producer

from _wire.errors import ErrorCode
from _wire.messages.find_coordinator import FindCoordinatorRequest
from _wire.messages.metadata import MetadataRequest
from coordinator.cli import main
from coordinator.client.bootstrap import Bootstrap
from coordinator.client.security import ClientSecurity
from coordinator.client.wire import WireConnection
from coordinator.config.properties import properties_text
from tests.certificates import authority, tls_settings
from tests.cluster.running import RunningNode, RunningNodes
from tests.cluster.secured import (
    ADOPTED,
    ALICE,
    DIRECT,
    NODES,
    NODES_CERTIFICATE,
    OPERATOR,
    SECONDS,
    SecuredKafka,
    librdkafka_login,
    outcome,
    produce,
    secured_kafka,
    security_of,
)
from tests.differential.kafka import KafkaMissing, free_port
from tests.waiting import wait_for

pytestmark = pytest.mark.realtime

BROKER_ID = 1
NODE_IDS = {1_000_001, 1_000_002}
PLAIN_TEXT = "plain text at a listener with TLS"
LOGINS, CERTIFICATES = "SASL_SSL", "SSL"
WITH_LOGINS = pytest.mark.parametrize("front", [LOGINS], indirect=True)
WITH_CERTIFICATES = pytest.mark.parametrize("front", [CERTIFICATES], indirect=True)


class Cluster(NamedTuple):
    """A Kafka with TLS, and the folder with the stores that it has."""

    kafka: SecuredKafka
    folder: Path

    @property
    def trusted(self) -> str:
        return self.stores["ssl.truststore.location"]

    @property
    def stores(self) -> dict[str, str]:
        """Of brokers and nodes."""
        return {name: text for name, text in tls_settings(self.folder).items() if name != "listeners"}

    def certificate(self, subject: str) -> dict[str, str]:
        """How a client connects that has a certificate."""
        key_store = authority().issue(subject, names=()).write(self.folder / f"{subject}.pem")
        return {
            "security.protocol": "SSL",
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": self.trusted,
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": str(key_store),
        }


class Front(NamedTuple):
    """Nodes in front of it."""

    cluster: Cluster
    nodes: list[RunningNode]
    operator: ClientSecurity
    admin: str
    """HOST:PORT of the admin port; empty if there is none."""

    @property
    def bootstrap(self) -> str:
        return ",".join(node.bootstrap for node in self.nodes)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    folder = tmp_path_factory.mktemp("tls")
    stores = {name: text for name, text in tls_settings(folder).items() if name != "listeners"}
    try:
        with secured_kafka(folder, stores) as kafka:
            yield Cluster(kafka, folder)
    except KafkaMissing as missing:
        pytest.skip(str(missing))


@pytest.fixture(scope="module")
def front(cluster: Cluster, request: pytest.FixtureRequest) -> Iterator[Front]:
    settings = cluster.stores | {"cluster.adopt": f"{ADOPTED}*"}
    if request.param == LOGINS:
        brokers, count = cluster.kafka.broker, 2
        security, operator = security_of(NODES, cluster.trusted), security_of(OPERATOR, cluster.trusted)
    else:
        brokers, count = cluster.kafka.certificates, 1
        settings |= {"ssl.client.auth": "required", "admin.security.protocol": "SSL"}
        settings["admin.listener"] = f"127.0.0.1:{free_port()}"
        security = operator = ClientSecurity(cluster.certificate(NODES_CERTIFICATE))
    with RunningNodes(cluster.folder / request.param, brokers, count, settings, security, operator) as running:
        yield Front(cluster, running.nodes, operator, settings.get("admin.listener", ""))
        for node in running.nodes:
            node.stop()


def client_of(front: Front, user: str) -> dict[str, str]:
    """How librdkafka connects."""
    return {"bootstrap.servers": front.bootstrap, **librdkafka_login(user, front.cluster.trusted)}


# ------------------------------------------------------------------------------------------------------------- SASL_SSL


@WITH_LOGINS
def test_a_user_reads_and_commits_over_tls_with_a_login_that_is_passed_on(front: Front):
    produce(client_of(front, ALICE))
    for kind in (ADOPTED, DIRECT):
        assert outcome(client_of(front, ALICE), f"{kind}{ALICE}") == ""


@WITH_LOGINS
def test_nodes_find_each_other_and_name_ports_with_tls(front: Front):
    groups = [f"{ADOPTED}{number}" for number in range(20)]
    request = FindCoordinatorRequest(coordinator_keys=groups, key_type=0)
    alice = security_of(ALICE, front.cluster.trusted)
    named: list[dict[str, int]] = []
    ports = {f"127.0.0.1:{node.bootstrap.rpartition(':')[2]}" for node in front.nodes}
    ports |= {node.broker_address(BROKER_ID) for node in front.nodes}
    for address in sorted(ports):
        with WireConnection(Bootstrap(address, alice), "test") as connection:
            answer = connection.request(request, 4)
            assert {coordinator.error_code for coordinator in answer.coordinators} == {ErrorCode.NONE}
            named.append({coordinator.key: coordinator.node_id for coordinator in answer.coordinators})
            brokers = connection.request(MetadataRequest(topics=[]), 9).brokers
            assert {f"{broker.host}:{broker.port}" for broker in brokers} <= ports
    assert all(member_id == named[0] for member_id in named)
    assert set(named[0].values()) == NODE_IDS


@WITH_LOGINS
def test_commands_work_over_tls(front: Front, tmp_path: Path):
    config = tmp_path / "operator.properties"
    config.write_text(properties_text(front.operator.settings), encoding="utf-8")

    def told(*arguments: str) -> str:
        options = ("--bootstrap", front.bootstrap, "--command-config", str(config))
        result = CliRunner().invoke(main, ["cluster", *arguments, *options])
        assert result.exit_code == 0, result.output
        return result.output

    assert all(node.bootstrap in told("status") for node in front.nodes)
    assert "given back" in told("release", f"{ADOPTED}command")
    assert "adopted" in told("adopt", f"{ADOPTED}command")


@WITH_LOGINS
def test_plain_text_is_closed_with_one_line_at_the_nodes_port_and_at_a_brokers(front: Front):
    node = front.nodes[0]

    def has_lines(count: int) -> bool:
        return node.log.read_text(encoding="utf-8").count(PLAIN_TEXT) == count

    for number, address in enumerate((node.bootstrap, node.broker_address(BROKER_ID)), 1):
        host, _, port = address.rpartition(":")
        with socket.create_connection((host, int(port)), SECONDS) as sock:
            sock.sendall(bytes.fromhex("0000000a001200000000000100000000"))
            while sock.recv(1 << 10):
                pass  # the alert of TLS
        wait_for(partial(has_lines, number), SECONDS, "the line of the log")


# ------------------------------------------------------------------------------------------------------------------ SSL


@WITH_CERTIFICATES
def test_a_client_with_a_certificate_is_anonymous_at_the_brokers_and_never_the_node(front: Front):
    """Who is anonymous is the super user of this cluster; the nodes may not write the topic."""
    certificate = front.cluster.certificate("CN=billing")
    client = {
        "bootstrap.servers": front.bootstrap,
        "security.protocol": "SSL",
        "ssl.ca.location": front.cluster.trusted,
        "ssl.certificate.location": certificate["ssl.keystore.location"],
        "ssl.key.location": certificate["ssl.keystore.location"],
    }
    produce(client)
    assert outcome({**client, "auto.offset.reset": "earliest"}, f"{ADOPTED}certificate") == ""


@WITH_CERTIFICATES
def test_a_client_without_a_certificate_is_refused_as_the_node_requires_one(front: Front):
    client = {"security.protocol": "SSL", "ssl.ca.location": front.cluster.trusted}
    producer = Producer({"bootstrap.servers": front.bootstrap, **client})
    with pytest.raises(KafkaException, match="_TRANSPORT"):
        producer.list_topics(timeout=2)
    log = front.nodes[0].log.read_text(encoding="utf-8")
    assert "peer did not return a certificate" in log


@WITH_CERTIFICATES
def test_the_admin_port_of_a_node_has_the_tls_that_is_set(front: Front):
    context = authority().client_context(authority().issue("CN=operator", names=()), front.cluster.folder)
    with urlopen(f"https://{front.admin}/readyz", timeout=SECONDS, context=context) as answer:
        assert answer.status == 200
    with pytest.raises(OSError, match=r"reset|closed|refused|[Rr]emote end"):
        urlopen(f"http://{front.admin}/readyz", timeout=SECONDS)
