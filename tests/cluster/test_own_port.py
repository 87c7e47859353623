"""What is refused at a node's own port."""

from pathlib import Path

import pytest

from _wire.errors import ErrorCode
from _wire.messages.api_versions import ApiVersionsRequest
from _wire.messages.find_coordinator import FindCoordinatorRequest
from _wire.messages.metadata import MetadataRequest
from coordinator.client.bootstrap import Bootstrap
from coordinator.client.security import ClientSecurity
from coordinator.client.wire import ConnectionClosed
from tests.cluster.sasl_node import PORTS, SaslNode
from tests.sasl_server import PLAIN_MODULE, plain_jaas
from tests.wire_client import WireClient, fetch_request, produce_request

TRANSACTION = 1
SETTINGS = {
    "sasl.enabled.mechanisms": "PLAIN",
    "listener.name.sasl_plaintext.plain.sasl.jaas.config": plain_jaas(alice="alice-secret"),
}
LOGIN = ClientSecurity(
    {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "PLAIN",
        "sasl.jaas.config": f'{PLAIN_MODULE} username="alice" password="alice-secret";',
    }
)


def test_requests_to_leaders_of_partitions_close_the_connection(tmp_path: Path) -> None:
    """The answer to a Fetch would be held whole, for as long as its client does not read."""
    with SaslNode(tmp_path, SETTINGS, {"SASL_PLAINTEXT": "SASL_PLAINTEXT"}, {}) as node:
        own, broker = (Bootstrap(node.addresses[PORTS[name]], LOGIN) for name in ("node", "broker"))
        for request, version in ((fetch_request("t"), 11), (produce_request("t", None), 9)):
            with WireClient(own) as client, pytest.raises(ConnectionClosed):
                client.request(request, version)
        with WireClient(own) as client:
            assert client.request(MetadataRequest(topics=[]), 9).brokers
        with WireClient(broker) as client:
            (answered,) = client.request(fetch_request("t"), 11).responses
            assert answered.partitions


def test_who_looks_a_coordinator_up_again_and_again_is_told_once_to_ask_later(tmp_path: Path) -> None:
    """At a broker's port, too: the client does not reach the coordinator that it was told."""
    with SaslNode(tmp_path, SETTINGS, {"SASL_PLAINTEXT": "SASL_PLAINTEXT"}, {}) as node:
        for name in ("node", "broker"):
            with WireClient(Bootstrap(node.addresses[PORTS[name]], LOGIN)) as client:
                assert [looked_up(client, "t-1") for _ in range(5)] == [0] * 5, "only librdkafka is told"
                client.request(
                    ApiVersionsRequest(client_software_name="librdkafka", client_software_version="2.16.1"), 3
                )
                errors = [looked_up(client, "t-1") for _ in range(5)]
            assert errors == [0, 0, 0, ErrorCode.COORDINATOR_NOT_AVAILABLE, 0], name


def looked_up(client: WireClient, transactional_id: str) -> int:
    """The error of the answer: transactions stay with the cluster."""
    request = FindCoordinatorRequest(coordinator_keys=[transactional_id], key_type=TRANSACTION)
    (coordinator,) = client.request(request, 4).coordinators
    return int(coordinator.error_code)
