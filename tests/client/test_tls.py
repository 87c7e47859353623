"""Clients of this project at a listener with TLS: what they trust, what they prove, and what is said if that fails."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from coordinator.client.bootstrap import Bootstrap
from coordinator.client.group_description import list_groups
from coordinator.client.security import ClientSecurity
from coordinator.client.wire import ClientError, WireConnection
from coordinator.config.key import ConfigError
from tests.certificates import Authority, authority, tls_settings
from tests.servers import RunningServer

PASSWORD = "store-s3cret"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    folder: Path = tmp_path_factory.mktemp("tls")
    with RunningServer(folder, tls_settings(folder)) as running:
        yield running


@pytest.fixture
def trusting(tmp_path: Path) -> dict[str, str]:
    """The settings of a client that trusts the authority of the server."""
    trust = tmp_path / "authority.pem"
    trust.write_text(authority().certificate_pem)
    return {
        "security.protocol": "SSL",
        "ssl.truststore.location": str(trust),
        "ssl.truststore.type": "PEM",
    }


def at(server: RunningServer, settings: dict[str, str]) -> Bootstrap:
    return Bootstrap(server.bootstrap, ClientSecurity(settings))


def test_a_client_that_trusts_the_server_is_served(server, trusting):
    assert list_groups(at(server, trusting)) == []


def test_trust_may_be_in_the_settings_themselves(server):
    settings = {
        "security.protocol": "SSL",
        "ssl.truststore.certificates": authority().certificate_pem,
        "ssl.truststore.type": "PEM",
    }
    assert list_groups(at(server, settings)) == []


def test_trust_may_be_in_a_pkcs12_file(server, trusting, tmp_path):
    path = authority().issue("CN=client").write_pkcs12(tmp_path / "trust.p12", PASSWORD, [authority()])
    settings = {
        "ssl.truststore.location": str(path),
        "ssl.truststore.type": "PKCS12",
        "ssl.truststore.password": PASSWORD,
    }
    assert list_groups(at(server, trusting | settings)) == []


def test_the_certificate_of_another_authority_is_not_trusted(server, trusting, tmp_path):
    Path(trusting["ssl.truststore.location"]).write_text(Authority("Another").certificate_pem)
    with pytest.raises(ClientError, match=r"no TLS connection to .*: its certificate is not trusted: .*issuer"):
        WireConnection(at(server, trusting), "test")


def test_a_certificate_for_another_host_is_not_trusted(tmp_path, trusting):
    settings = tls_settings(tmp_path)
    authority().issue("CN=elsewhere", names=["elsewhere.test"]).write(Path(settings["ssl.keystore.location"]))
    with RunningServer(tmp_path, settings) as server:
        with pytest.raises(ClientError, match=r"its certificate is not trusted: .*not valid for"):
            WireConnection(at(server, trusting), "test")
        assert list_groups(at(server, trusting | {"ssl.endpoint.identification.algorithm": ""})) == []


def test_a_client_has_its_certificate(tmp_path, trusting):
    identity = authority().issue("CN=alice").write(tmp_path / "alice.pem")
    own = {"ssl.keystore.location": str(identity), "ssl.keystore.type": "PEM"}
    with RunningServer(tmp_path, tls_settings(tmp_path, ssl_client_auth="required")) as server:
        assert list_groups(at(server, trusting | own)) == []
        with pytest.raises(ClientError, match=r"requires a certificate of the client: ssl\.keystore\.location"):
            list_groups(at(server, trusting))


def test_clear_text_is_no_tls(trusting, tmp_path):
    with (
        RunningServer(tmp_path) as server,
        pytest.raises(ClientError, match="no TLS connection to"),
    ):
        WireConnection(at(server, trusting), "test")


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"ssl.truststore.location": "/nowhere.pem"}, "ssl.truststore.location=/nowhere.pem: No such file"),
        ({"ssl.truststore.type": "JCEKS"}, "ssl.truststore.type=JCEKS: expected one of"),
        ({"ssl.enabled.protocols": "TLSv1"}, "ssl.enabled.protocols=TLSv1"),
    ],
)
def test_settings_that_cannot_be_used_are_told_in_one_line(trusting: dict[str, str], settings: Any, problem: str):
    with pytest.raises(ConfigError) as found:
        ClientSecurity(trusting | settings)
    assert problem in str(found.value)
    assert "\n" not in str(found.value)
