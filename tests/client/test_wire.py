"""The client against servers that misbehave; with real ones it is used all over the tests."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from _wire.headers import encode_response
from _wire.messages.api_versions import ApiVersion, ApiVersionsRequest, ApiVersionsResponse
from _wire.messages.describe_groups import DescribeGroupsRequest
from coordinator.client.wire import ClientError, ConnectionClosed, WireConnection
from tests.servers import RunningServer

ANSWERS_API_VERSIONS = encode_response(
    1, ApiVersionsResponse(api_keys=[ApiVersion(api_key=15, min_version=90, max_version=99)]), 0
)


@contextmanager
def answering(*answers: bytes) -> Iterator[str]:
    """A server that reads a request, writes the next of these, and closes when there is none left."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            connection, _ = listener.accept()
            with connection:
                for answer in answers:
                    connection.recv(1 << 16)
                    connection.sendall(answer)

        thread = threading.Thread(target=serve)
        thread.start()
        yield f"127.0.0.1:{listener.getsockname()[1]}"
        thread.join(10)


@pytest.mark.parametrize("bootstrap", ["here", "here:", ":9092", "here:http", ""])
def test_an_address_has_a_host_and_a_port(bootstrap):
    with pytest.raises(ClientError, match="is not HOST:PORT"):
        WireConnection(bootstrap, "test")


@pytest.mark.parametrize("port", [1, 99999])
def test_an_unreachable_server(port):
    with pytest.raises(ClientError, match=f"cannot reach 127.0.0.1:{port}: "):
        WireConnection(f"127.0.0.1:{port}", "test")


def test_of_several_servers_the_first_that_can_be_reached_is_used(server: RunningServer):
    with WireConnection(f"127.0.0.1:1, {server.bootstrap},127.0.0.1:2", "test") as client:
        assert client.bootstrap == server.bootstrap
        assert client.latest_version(ApiVersionsRequest.API_KEY) > 0


def test_of_several_servers_none_can_be_reached():
    with pytest.raises(ClientError, match=r"cannot reach 127.0.0.1:1: .*; cannot reach 127.0.0.1:2: "):
        WireConnection("127.0.0.1:1,127.0.0.1:2", "test")


def test_each_of_several_addresses_has_a_host_and_a_port(server: RunningServer):
    with pytest.raises(ClientError, match="here is not HOST:PORT"):
        WireConnection(f"{server.bootstrap},here", "test")


def test_another_protocol_is_detected():
    with (
        answering(b"HTTP/1.1 400 Bad Request\r\n\r\n") as bootstrap,
        WireConnection(bootstrap, "test") as client,
        pytest.raises(ClientError, match="does not use Kafka's protocol"),
    ):
        client.request(ApiVersionsRequest(), 0)


@pytest.mark.parametrize("answer", [b"", b"\0\0\0\x09\0\0"])
def test_a_connection_that_is_closed_before_the_response(answer):
    with (
        answering(answer) as bootstrap,
        WireConnection(bootstrap, "test") as client,
        pytest.raises(ConnectionClosed, match="closed the connection"),
    ):
        client.request(ApiVersionsRequest(), 0)


def test_a_response_that_cannot_be_decoded():
    with (
        answering(b"\0\0\0\x05\0\0\0\1\0") as bootstrap,
        WireConnection(bootstrap, "test") as client,
        pytest.raises(ClientError, match="sent a response that cannot be decoded"),
    ):
        client.request(ApiVersionsRequest(), 0)


def test_a_response_to_another_request():
    with (
        answering(b"\0\0\0\x04\0\0\0\7") as bootstrap,
        WireConnection(bootstrap, "test") as client,
        pytest.raises(ClientError, match="correlation_id at byte 0: 7 instead of 1"),
    ):
        client.request(ApiVersionsRequest(), 0)


def test_no_response_in_time():
    with (
        socket.create_server(("127.0.0.1", 0)) as silent,
        WireConnection(f"127.0.0.1:{silent.getsockname()[1]}", "test", timeout_seconds=0.1) as client,
        pytest.raises(ClientError, match="did not respond within"),
    ):
        client.request(ApiVersionsRequest(), 0)


def test_no_common_version():
    with (
        answering(ANSWERS_API_VERSIONS) as bootstrap,
        WireConnection(bootstrap, "test") as client,
        pytest.raises(ClientError, match="supports no version of DescribeGroups that this client supports"),
    ):
        client.send_latest(DescribeGroupsRequest(groups=["g"]))


def test_the_latest_common_version_is_used(server: RunningServer):
    with WireConnection(server.bootstrap, "test") as client:
        (group,) = client.send_latest(DescribeGroupsRequest(groups=["nobody"])).groups
    assert group.error_message is not None, "present from version 6 on"
