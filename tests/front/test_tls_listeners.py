"""Certificates are loaded again when their files change: for new connections, within Kafka's rules."""

import os
import ssl
import subprocess
import sys
from pathlib import Path

import pytest

from _wire.errors import ErrorCode
from _wire.messages.api_versions import ApiVersionsRequest
from _wire.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from tests.certificates import Authority, Identity, authority
from tests.front.tls_node import TlsNode, play
from tests.wire_client import WireClient

AT_START = "This server reads these configs when it starts: ["
DELETE = 1


def connect(address: str, context: ssl.SSLContext | None = None) -> WireClient:
    return WireClient(address, tls=context or authority().client_context())


def serial_of(address: str) -> int:
    """The serial number of the certificate that the server shows."""
    with connect(address) as client:
        assert isinstance(client.socket, ssl.SSLSocket)
        certificate = client.socket.getpeercert()
        assert certificate is not None
        return int(str(certificate["serialNumber"]), 16)


def replace(path: Path, text: str) -> None:
    """Change a file as tools do that renew certificates: in one step."""
    new = path.with_suffix(".new")
    new.write_text(text, encoding="ascii")
    os.replace(new, path)


async def shows(served: TlsNode, identity: Identity) -> None:
    """Wait until new connections get this certificate."""
    for _ in range(200):
        if await served.client(serial_of, served.address()) == identity.certificate.serial_number:
            return
        await served.client(lambda: None)
    raise AssertionError("the certificate is not shown")


def test_new_connections_get_a_changed_certificate_and_others_stay(tmp_path):
    async def story(served: TlsNode) -> None:
        with await served.client(connect, served.address()) as before:
            renewed = authority().issue()
            replace(tmp_path / "server.pem", renewed.pem)
            await served.until(lambda: served.lines.of("certificate loaded again"), "the load")
            await shows(served, renewed)
            assert (await served.client(before.request, ApiVersionsRequest(), 0)).error_code == 0
        assert not served.lines.of("certificate reload failed; keeping the current one")

    play(tmp_path, story, ssl_store_check_interval_ms="100")


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (
            lambda: authority().issue("CN=other").pem,
            "another distinguished name than before; to use it, set ssl.allow.dn",
        ),
        (lambda: authority().issue(names=["localhost"]).pem, "lacks an alternative name that it had before"),
        (lambda: "nonsense", "expected one private key"),
        (lambda: authority().issue().key_pem() + authority().issue().certificate_pem, "does not belong to the first"),
    ],
)
def test_a_certificate_that_cannot_be_used_leaves_the_one_before(tmp_path, change, problem):
    async def story(served: TlsNode) -> None:
        before = await served.client(serial_of, served.address())
        replace(tmp_path / "server.pem", change())
        event = "certificate reload failed; keeping the current one"
        await served.until(lambda: served.lines.of(event), "the line about it")
        assert problem in served.lines.of(event)[0]["problem"]
        assert await served.client(serial_of, served.address()) == before
        renewed = authority().issue()
        replace(tmp_path / "server.pem", renewed.pem)
        await served.until(lambda: served.lines.of("certificate loaded again"), "the load")
        assert len(served.lines.of(event)) == 1, "one line for each change"

    play(tmp_path, story, ssl_store_check_interval_ms="100")


def test_another_name_can_be_allowed(tmp_path):
    async def story(served: TlsNode) -> None:
        renamed = authority().issue("CN=other")
        replace(tmp_path / "server.pem", renamed.pem)
        await served.until(lambda: served.lines.of("certificate loaded again"), "the load")
        await shows(served, renamed)

    play(tmp_path, story, ssl_store_check_interval_ms="100", ssl_allow_dn_changes="true")


def test_a_changed_trust_store_decides_over_new_clients(tmp_path):
    new = Authority("New")
    identity = new.issue("CN=alice")

    def attempt(address: str) -> bool:
        context = authority().client_context(identity, tmp_path)
        try:
            with connect(address, context) as client:
                return bool(client.request(ApiVersionsRequest(), 0).error_code == 0)
        except Exception:
            return False

    async def story(served: TlsNode) -> None:
        assert not await served.client(attempt, served.address())
        replace(tmp_path / "authority.pem", authority().certificate_pem + new.certificate_pem)
        await served.until(lambda: served.lines.of("certificate loaded again"), "the load")
        assert await served.client(attempt, served.address())

    play(tmp_path, story, ssl_store_check_interval_ms="100", ssl_client_auth="required")


def test_nothing_of_tls_is_loaded_without_a_listener_that_has_it(tmp_path):
    script = f"""
import asyncio, sys
from coordinator.config.settings import Config
from coordinator.node.node import Node

async def main():
    node = Node(Config({{"log.dirs": {str(tmp_path)!r}, "listeners": "PLAINTEXT://127.0.0.1:0"}}))
    await node.start()
    await node.stop()

asyncio.run(main())
print([name for name in sys.modules if name.partition(".")[0] == "cryptography" or ".tls" in name])
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def alter(
    address: str, name: str, value: str | None, operation: int = 0, validate_only: bool = False
) -> tuple[int, str]:
    """Set a config of the broker; the error, and its message."""
    entry = AlterableConfig(name=name, config_operation=operation, value=value)
    resource = AlterConfigsResource(resource_type=4, resource_name="1", configs=[entry])
    request = IncrementalAlterConfigsRequest(resources=[resource], validate_only=validate_only)
    with connect(address) as client:
        (result,) = client.request(request, 1).responses
    return result.error_code, result.error_message or ""


def test_setting_the_location_again_loads_the_store_again(tmp_path):
    name, location = "listener.name.ssl.ssl.keystore.location", str(tmp_path / "server.pem")

    async def story(served: TlsNode) -> None:
        renewed = authority().issue()
        replace(tmp_path / "server.pem", renewed.pem)
        assert (await served.client(alter, served.address(), name, location, 0, True))[0] == ErrorCode.INVALID_REQUEST
        assert await served.client(serial_of, served.address()) != renewed.certificate.serial_number
        assert await served.client(alter, served.address(), name, location) == (0, "")
        assert await served.client(serial_of, served.address()) == renewed.certificate.serial_number
        replace(tmp_path / "server.pem", authority().issue("CN=other").pem)
        error, message = await served.client(alter, served.address(), name, location)
        assert error == ErrorCode.INVALID_REQUEST
        assert "another distinguished name than before" in message
        assert await served.client(serial_of, served.address()) == renewed.certificate.serial_number

    play(tmp_path, story, ssl_store_check_interval_ms="-1")


@pytest.mark.parametrize(
    ("name", "value", "problem"),
    [
        ("listener.name.other.ssl.keystore.location", "x", AT_START),
        ("listener.name.ssl.ssl.client.auth", "none", AT_START),
        ("ssl.keystore.location", "x", "can be dynamically updated only per-listener using the listener prefix: ["),
        ("listener.name.other.ssl.keystore.type", "ZIP", "Invalid value ZIP for configuration ssl.keystore.type: "),
    ],
)
def test_other_changes_of_listeners_are_refused(tmp_path, name, value, problem):
    async def story(served: TlsNode) -> None:
        error, message = await served.client(alter, served.address(), name, value)
        assert error == ErrorCode.INVALID_REQUEST
        assert problem in message
        # What is not set can be removed, as on Kafka.
        assert await served.client(alter, served.address(), name, None, DELETE) == (ErrorCode.NONE, "")
        assert served.lines.of("certificate loaded again") == []

    play(tmp_path, story)


@pytest.mark.parametrize(
    ("setting", "value"),
    [("keystore.location", "/another/file.pem"), ("keystore.type", "ZIP"), ("truststore.password", "secret")],
)
def test_another_value_of_a_store_is_refused_with_what_to_do(tmp_path, setting, value):
    name = f"listener.name.ssl.ssl.{setting}"

    async def story(served: TlsNode) -> None:
        error, message = await served.client(alter, served.address(), name, value)
        assert error == ErrorCode.INVALID_REQUEST
        assert message.startswith(f"{name}: only the value that it has can be set while the server runs")
        assert value not in message
        assert served.lines.of("certificate loaded again") == []

    play(tmp_path, story)
