"""How a node connects to brokers, in place of clients and to other nodes."""

import asyncio
import ssl
from pathlib import Path

import pytest

from coordinator.client.security import ClientSecurity
from coordinator.cluster.brokers.brokers import Broker
from coordinator.cluster.security import NodeSecurity, check_connections_of_clients, node_security
from coordinator.config.key import ConfigError
from coordinator.config.properties import properties_text
from coordinator.config.settings import Config
from coordinator.security.protocols import SecurityProtocol
from tests.certificates import authority, server_identity

LOGIN = {
    "sasl.mechanism": "SCRAM-SHA-256",
    "sasl.jaas.config": 'org.apache.kafka.common.security.scram.ScramLoginModule required username="n" password="p";',
}
KEY = "ssl.keystore.location"


def stores(folder: Path) -> dict[str, str]:
    """A trust store, and a certificate of the node."""
    trust = folder / "authority.pem"
    trust.write_text(authority().certificate_pem, encoding="ascii")
    return {
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(trust),
        "ssl.keystore.type": "PEM",
        KEY: str(authority().issue("CN=node").write(folder / "node.pem")),
    }


def security_of(folder: Path, settings: dict[str, str], listener: str = "PLAINTEXT") -> NodeSecurity:
    path = folder / "node.properties"
    path.write_text(properties_text(settings), encoding="utf-8")
    return node_security(Config({"cluster.command.config": str(path)}), SecurityProtocol(listener))


def protocol_of(security: ClientSecurity) -> str:
    return security.settings["security.protocol"]


@pytest.mark.parametrize(
    ("at_brokers", "listener", "at_peers"),
    [
        ("PLAINTEXT", "PLAINTEXT", "PLAINTEXT"),
        ("PLAINTEXT", "SSL", "SSL"),
        ("SSL", "PLAINTEXT", "PLAINTEXT"),
        ("SASL_PLAINTEXT", "SASL_SSL", "SASL_SSL"),
        ("SASL_SSL", "SASL_PLAINTEXT", "SASL_PLAINTEXT"),
        ("SASL_SSL", "SSL", "SASL_SSL"),
        ("SSL", "SASL_SSL", "SSL"),
    ],
)
def test_other_nodes_have_the_tls_of_the_listener_and_the_login_of_the_brokers(
    tmp_path: Path, at_brokers: str, listener: str, at_peers: str
):
    security = security_of(tmp_path, {"security.protocol": at_brokers} | stores(tmp_path) | LOGIN, listener)
    assert protocol_of(security.own) == at_brokers
    assert protocol_of(security.peers) == at_peers
    assert (security.peers.tls_context is not None) == at_peers.endswith("SSL")
    assert (security.peers.login is not None) == at_peers.startswith("SASL")
    assert security.peers.settings[KEY] == security.own.settings[KEY], "a listener may require a certificate"


def test_without_settings_nodes_with_tls_trust_the_authorities_of_the_system():
    security = node_security(Config({}), SecurityProtocol.SSL)
    assert security.own.tls_context is None
    assert security.peers.tls_context is not None


def test_with_a_login_clients_come_with_the_certificate_that_brokers_may_require(tmp_path: Path):
    security = security_of(tmp_path, {"security.protocol": "SASL_SSL"} | stores(tmp_path) | LOGIN)
    assert security.clients is security.own
    assert not security.hides_certificate


async def common_name_of(security: ClientSecurity, folder: Path, mode: ssl.VerifyMode) -> str:
    """The name in the certificate of who connects, as a broker sees it; empty without one."""
    context = broker_context(folder, mode)
    names: asyncio.Queue[str] = asyncio.Queue()

    def accepted(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        subject = (writer.get_extra_info("peercert") or {}).get("subject", ())
        names.put_nowait(next((value for ((name, value),) in subject if name == "commonName"), ""))
        writer.close()

    async with await asyncio.start_server(accepted, "127.0.0.1", 0, ssl=context) as server:
        port = server.sockets[0].getsockname()[1]
        _, writer = await asyncio.open_connection("127.0.0.1", port, ssl=security.tls_context)
        async with asyncio.timeout(10):
            name = await names.get()
        writer.close()
        return name


def broker_context(folder: Path, mode: ssl.VerifyMode) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(server_identity().write(folder / "broker.pem"))
    context.load_verify_locations(cadata=authority().certificate_pem)
    context.verify_mode = mode
    return context


def test_without_a_login_a_client_is_not_taken_for_the_node(tmp_path: Path):
    security = security_of(tmp_path, {"security.protocol": "SSL"} | stores(tmp_path))
    assert security.hides_certificate
    assert asyncio.run(common_name_of(security.own, tmp_path, ssl.CERT_OPTIONAL)) == "node"
    assert asyncio.run(common_name_of(security.clients, tmp_path, ssl.CERT_OPTIONAL)) == ""


def test_a_start_fails_if_brokers_require_a_certificate_of_clients_that_have_none(tmp_path: Path):
    async def check(protocol: str) -> None:
        context = broker_context(tmp_path, ssl.CERT_REQUIRED)
        settings = {"security.protocol": protocol} | stores(tmp_path) | LOGIN
        async with await asyncio.start_server(lambda *ends: None, "127.0.0.1", 0, ssl=context) as server:
            brokers = [Broker(1, "127.0.0.1", server.sockets[0].getsockname()[1])]
            await check_connections_of_clients(security_of(tmp_path, settings), brokers, "node", 10)

    with pytest.raises(ConfigError, match=r"^cluster\.command\.config: clients get no connection .*certificate"):
        asyncio.run(check("SSL"))
    asyncio.run(check("SASL_SSL"))
