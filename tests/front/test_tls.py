"""Connections with TLS: who their clients are, what is refused, and how they end."""

import socket
import ssl
import struct
from pathlib import Path
from typing import Any

import pytest

from _wire.messages.api_versions import ApiVersionsRequest
from _wire.messages.metadata import MetadataRequest
from _wire.records import build_batch
from coordinator.client.requests import Sent
from tests.certificates import Authority, authority
from tests.front.tls_node import TlsNode, play
from tests.wire_client import ConnectionClosed, WireClient, fetch_request

FRAME = struct.pack(">ihhih", 10, 18, 0, 1, -1)
"""A request for ApiVersions, version 0."""


def connect(address: str, context: ssl.SSLContext | None = None) -> WireClient:
    return WireClient(address, tls=context or authority().client_context())


def raw_connection(address: str) -> socket.socket:
    host, _, port = address.rpartition(":")
    return socket.create_connection((host, int(port)), timeout=10)


def reads_to_the_end(sock: socket.socket) -> bytes:
    """What the server still sends until it closes."""
    data = b""
    try:
        while part := sock.recv(65536):
            data += part
    except ConnectionResetError:
        pass
    return data


# ---- what works


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_a_member_lives_over_tls(tmp_path, version):
    def member(address: str) -> str | None:
        context = authority().client_context()
        context.minimum_version = context.maximum_version = version
        with connect(address, context) as client:
            member_id = client.join_alone("g")
            assert [client.heartbeat_error("g", member_id) for _ in range(3)] == [0, 0, 0]
            assert isinstance(client.socket, ssl.SSLSocket)
            return client.socket.version()

    async def story(served: TlsNode) -> None:
        assert await served.client(member, served.address()) == version.name.replace("_", ".")

    play(tmp_path, story)


def test_each_listener_names_its_own_address(tmp_path):
    def broker(address: str, context: ssl.SSLContext | None) -> str:
        with WireClient(address, tls=context) as client:
            (found,) = client.request(MetadataRequest(topics=[]), 9).brokers
            return f"{found.host}:{found.port}"

    async def story(served: TlsNode) -> None:
        plain, tls = served.address("PLAINTEXT"), served.address()
        assert await served.client(broker, plain, None) == plain
        assert await served.client(broker, tls, authority().client_context()) == tls

    play(tmp_path, story, listeners="SSL://127.0.0.1:0,PLAINTEXT://127.0.0.1:0")


def principal_of(tmp_path: Path, context: ssl.SSLContext, **settings: str) -> str:
    """Who the server says that a client is."""
    found = []

    async def story(served: TlsNode) -> None:
        client = await served.client(connect, served.address(), context)
        with client:
            await served.client(client.request, ApiVersionsRequest(), 0)
            (connection,) = served.connections
            found.append(str(connection.principal))

    play(tmp_path, story, **settings)
    return found[0]


def test_a_client_is_who_its_certificate_says(tmp_path):
    context = authority().client_context(authority().issue("C=DE,O=org,CN=alice"), tmp_path)
    assert principal_of(tmp_path, context, ssl_client_auth="required") == "User:C=DE,O=org,CN=alice"


def test_rules_map_the_name_of_the_certificate(tmp_path):
    context = authority().client_context(authority().issue("CN=Alice,O=org"), tmp_path)
    rules = "RULE:^CN=(.*?),.*$/$1/L,DEFAULT"
    name = principal_of(tmp_path, context, ssl_client_auth="requested", ssl_principal_mapping_rules=rules)
    assert name == "User:alice"


@pytest.mark.parametrize("auth", ["none", "requested"])
def test_a_client_without_a_certificate_is_anonymous(tmp_path, auth):
    assert principal_of(tmp_path, authority().client_context(), ssl_client_auth=auth) == "User:ANONYMOUS"


def test_a_certificate_that_nobody_asks_for_makes_no_principal(tmp_path):
    context = authority().client_context(authority().issue("CN=alice"), tmp_path)
    assert principal_of(tmp_path, context) == "User:ANONYMOUS"


# ---- what is refused


def refused(tmp_path: Path, context: ssl.SSLContext, **settings: str) -> str:
    """The reason why a client is refused, from the log."""
    reasons: list[str] = []

    def attempt(address: str) -> None:
        with pytest.raises((ssl.SSLError, ConnectionClosed, OSError)), connect(address, context) as client:
            client.request(ApiVersionsRequest(), 0)

    async def story(served: TlsNode) -> None:
        await served.client(attempt, served.address())
        await served.until(lambda: not served.limits.accepted_count, "the end of the connection")
        assert served.connections == []
        reasons.extend(served.closed_because())

    play(tmp_path, story, **settings)
    (reason,) = reasons
    return reason


def test_a_client_without_a_required_certificate_is_refused(tmp_path):
    reason = refused(tmp_path, authority().client_context(), ssl_client_auth="required")
    assert reason == "TLS handshake failed: peer did not return a certificate"


def test_a_client_that_goes_on_sending_is_told_why_it_is_refused(tmp_path):
    """With TLS 1.3 a client has sent requests when the server has seen its certificate, or that it has none."""

    def attempt(address: str) -> str:
        context = authority().client_context()
        with context.wrap_socket(raw_connection(address), server_hostname="localhost") as sock:
            try:
                for _ in range(100):
                    sock.sendall(bytes(10_000))
                sock.recv(1)
            except ssl.SSLError as problem:
                return str(problem.reason)
            except OSError:
                # The data did not get through any more; what the server has said before is still there.
                return alert_of(sock)
        return "nothing"

    def alert_of(sock: ssl.SSLSocket) -> str:
        try:
            return "nothing" if sock.recv(1) == b"" else "data"
        except ssl.SSLError as problem:
            return str(problem.reason)
        except OSError as problem:
            return str(problem)

    async def story(served: TlsNode) -> None:
        told = [await served.client(attempt, served.address()) for _ in range(20)]
        assert told == ["TLSV13_ALERT_CERTIFICATE_REQUIRED"] * 20

    play(tmp_path, story, ssl_client_auth="required")


def test_a_certificate_of_another_authority_is_refused(tmp_path):
    stranger = Authority("Stranger").issue("CN=mallory")
    context = authority().client_context(stranger, tmp_path)
    reason = refused(tmp_path, context, ssl_client_auth="requested")
    assert reason == "TLS handshake failed: unable to get local issuer certificate"


def test_a_client_for_which_no_rule_applies_is_refused(tmp_path):
    context = authority().client_context(authority().issue("CN=alice"), tmp_path)
    reason = refused(tmp_path, context, ssl_client_auth="required", ssl_principal_mapping_rules="RULE:^O=(.*)$/$1/")
    assert reason == "no rule of ssl.principal.mapping.rules applies to the name 'CN=alice'"


def test_a_client_that_does_not_trust_the_server_is_logged(tmp_path):
    reason = refused(tmp_path, Authority("Stranger").client_context())
    assert reason == "TLS handshake failed: tlsv1 alert unknown ca"


def test_a_version_that_is_not_enabled_is_refused(tmp_path):
    context = authority().client_context()
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    assert refused(tmp_path, context, ssl_enabled_protocols="TLSv1.3") == "TLS handshake failed: unsupported protocol"


def test_plain_text_at_a_listener_with_tls_is_logged_as_that(tmp_path):
    def attempt(address: str) -> bytes:
        with raw_connection(address) as sock:
            sock.sendall(FRAME)
            return reads_to_the_end(sock)

    async def story(served: TlsNode) -> None:
        await served.client(attempt, served.address())
        (reason,) = served.closed_because()
        assert reason == "plain text at a listener with TLS; the client needs security.protocol=SSL or SASL_SSL"

    play(tmp_path, story)


@pytest.mark.parametrize(
    ("first_bytes", "reason"),
    [
        (bytes.fromhex("1603010200010001fc0303"), "TLS at a listener without TLS; the client needs security.protocol="),
        (b"GET / HTTP/1.1\r\n", "HTTP at a listener of Kafka's protocol"),
        (b"\x7f\xff\xff\xff", "a request has 2147483647 bytes, but socket.request.max.bytes is 104857600"),
    ],
)
def test_another_protocol_at_a_listener_without_tls_is_logged_as_that(tmp_path, first_bytes, reason):
    def attempt(address: str) -> bytes:
        with raw_connection(address) as sock:
            sock.sendall(first_bytes)
            return reads_to_the_end(sock)

    async def story(served: TlsNode) -> None:
        assert await served.client(attempt, served.address("PLAINTEXT")) == b""
        (found,) = served.closed_because()
        assert found.startswith(reason)

    play(tmp_path, story, listeners="PLAINTEXT://127.0.0.1:0")


# ---- back pressure and ends


RECORDS = 2_000_000
VALUE = bytes(range(256)) * (RECORDS // 512)


def produce_and_fetch(client: WireClient, count: int) -> list[Sent]:
    """Ask `count` times for two megabytes, and read none of it."""
    client.create_topic("t")
    for _ in range(2):
        assert client.produce("t", build_batch([(None, VALUE, ())])).error_code == 0
    return [client.send(fetch_request("t", 0, max_bytes=RECORDS), 11) for _ in range(count)]


def test_what_a_client_does_not_read_is_known_and_no_further_request_is_handled(tmp_path):
    async def story(served: TlsNode) -> None:
        client = await served.client(connect, served.address())
        with client:
            requests = await served.client(produce_and_fetch, client, 50)
            (connection,) = served.connections
            await served.until(lambda: connection.unsent_bytes() > 1 << 16, "what is not read")
            assert 1 << 16 < connection.unsent_bytes() <= RECORDS + (1 << 18)

            def read_all() -> None:
                for request in requests:
                    (partition,) = client.receive(request).responses[0].partitions
                    assert bytes(partition.records).count(VALUE) >= 1

            await served.client(read_all)
            await served.until(lambda: connection.unsent_bytes() == 0, "all to be read")

    play(tmp_path, story)


def test_a_client_that_does_not_read_is_closed_in_time(tmp_path):
    async def story(served: TlsNode) -> None:
        client = await served.client(connect, served.address())
        with client:
            await served.client(produce_and_fetch, client, 20)
            await served.until(lambda: not served.connections, "the connection to be closed")
        assert any("the client does not read its responses" in reason for reason in served.closed_because())

    play(tmp_path, story, connections_max_stalled_ms="1000")


def test_responses_are_sent_before_the_end(tmp_path):
    """Also to a client that has sent the end of its session, or of its stream."""

    def attempt(address: str, is_session_ended: bool) -> bytes:
        with connect(address) as client:
            assert isinstance(client.socket, ssl.SSLSocket)
            client.socket.sendall(FRAME * 3)
            if is_session_ended:
                data = client.socket.recv(65536)
                client.socket.unwrap()  # waits for the end of the server's
                return data
            socket.socket.shutdown(client.socket, socket.SHUT_WR)
            return reads_to_the_end(client.socket)

    async def story(served: TlsNode) -> None:
        for is_session_ended in (False, True):
            data = await served.client(attempt, served.address(), is_session_ended)
            assert data.count(b"\0\0\0\x01\0\0") == 3
        await served.until(lambda: not served.connections, "the end of both")

    play(tmp_path, story)


def test_a_stop_ends_sessions_properly(tmp_path):
    clients: list[WireClient] = []

    async def story(served: TlsNode) -> None:
        client = await served.client(connect, served.address())
        await served.client(client.request, ApiVersionsRequest(), 0)
        clients.append(client)

    play(tmp_path, story)
    with clients[0] as client:
        assert client.socket.recv(1) == b"", "close_notify, not an error"


def test_counts_return_to_nothing(tmp_path):
    def visit(address: str) -> None:
        with raw_connection(address):
            pass
        with raw_connection(address) as sock:
            sock.sendall(b"\x16\x03\x01")
        with connect(address) as client:
            client.request(ApiVersionsRequest(), 0)

    async def story(served: TlsNode) -> None:
        limits: Any = served.limits
        for _ in range(5):
            await served.client(visit, served.address())
        await served.until(lambda: not limits.accepted_count, "the end of all connections")
        assert (served.tls.handshakes.count, limits._per_ip, served.connections) == (0, {}, [])
        assert served.closed_because() == [], "a client that gives up is nothing to tell"

    play(tmp_path, story)
