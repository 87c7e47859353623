"""One connection, byte by byte: order, limits, and what a client may do wrong."""

import os
import select
import socket
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Final

import pytest

from _wire.errors import ErrorCode
from _wire.headers import encode_request
from _wire.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from _wire.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from _wire.messages.metadata import MetadataRequest
from _wire.records import build_batch, parse_records
from tests.servers import QUICK_GROUPS, RunningServer
from tests.waiting import wait_for
from tests.wire_client import WireClient, fetch_request, join_request

MIB: Final = 1 << 20
REQUEST_BYTES_MAX: Final = 4 * MIB
QUIET_SECONDS: Final = 0.3
"""How long no response may come for a request to count as waiting."""
NOT_AN_API: Final = 999
API_VERSIONS: Final = 18
JOIN_GROUP: Final = 11
NO_TAGS: Final = b"\x00"


@pytest.fixture(scope="module")
def limited(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    """A server that takes requests of 4 MiB at most, and whose memory only these tests use."""
    settings = QUICK_GROUPS | {"socket.request.max.bytes": str(REQUEST_BYTES_MAX)}
    with RunningServer(tmp_path_factory.mktemp("limited"), settings) as running:
        yield running


class OwnAddressClient(WireClient):
    """A client with an address of its own: the log has one line per address and second."""

    addresses = (f"127.0.{number // 250 + 1}.{number % 250 + 1}" for number in count())

    def __init__(self, bootstrap: str) -> None:
        super().__init__(bootstrap)
        peer = self.socket.getpeername()
        self.socket.close()
        self.address = next(self.addresses)
        self.socket = socket.create_connection(peer, timeout=20, source_address=(self.address, 0))


@pytest.fixture
def client(limited: RunningServer) -> Iterator[OwnAddressClient]:
    with OwnAddressClient(limited.bootstrap) as connected:
        yield connected


@pytest.fixture
def logged(limited: RunningServer) -> Callable[[], list[str]]:
    """The lines that the server has logged since the test began."""
    begin = limited.log.stat().st_size

    def lines() -> list[str]:
        with limited.log.open("rb") as log:
            log.seek(begin)
            return log.read().decode().splitlines()

    return lines


def works(server: RunningServer) -> bool:
    """Whether a connection of its own is served."""
    with WireClient(server.bootstrap) as other:
        return bool(other.request(ApiVersionsRequest(), 0).error_code == ErrorCode.NONE)


def raw_request(api_key: int, version: int, body: bytes = b"", correlation_id: int = 7) -> bytes:
    """A frame with a v1 header, whatever the body."""
    header = api_key.to_bytes(2, "big") + version.to_bytes(2, "big") + correlation_id.to_bytes(4, "big") + b"\xff\xff"
    return (len(header) + len(body)).to_bytes(4, "big") + header + body


def with_trailing_bytes(frame: bytes, trailing: bytes) -> bytes:
    """The frame with more bytes after the last field of its request, counted in its length."""
    body = frame[4:] + trailing
    return len(body).to_bytes(4, "big") + body


# ---- order


def test_many_requests_in_one_write_are_answered_in_their_order(client):
    member_id = client.join_alone("pipelined")
    known, unknown = (
        HeartbeatRequest(group_id="pipelined", generation_id=1, member_id=each) for each in (member_id, "unknown")
    )
    requests = [(ApiVersionsRequest(), 1), (known, 3), (MetadataRequest(topics=[]), 1), (unknown, 3)] * 300
    frames = [client.frame(request, version) for request, version in requests]
    client.socket.sendall(b"".join(data for data, _ in frames))
    answers = [client.receive(sent) for _, sent in frames]
    for versions, alive, metadata, gone in zip(*(answers[first::4] for first in range(4)), strict=True):
        assert versions.api_keys
        assert alive.error_code == ErrorCode.NONE
        assert (metadata.topics, len(metadata.brokers)) == ([], 1)
        assert gone.error_code == ErrorCode.UNKNOWN_MEMBER_ID


def test_large_records_are_sent_between_the_answers_of_other_requests(client):
    client.create_topic("large")
    values = [bytes([65 + number]) * 300_000 for number in range(3)]
    for value in values:
        assert client.produce("large", build_batch([(None, value)])).error_code == ErrorCode.NONE
    frames = []
    for offset in range(3):
        frames += [client.frame(ApiVersionsRequest(), 1), client.frame(fetch_request("large", offset), 12)]
    client.socket.sendall(b"".join(data for data, _ in frames))
    answers = [client.receive(sent) for _, sent in frames]
    assert all(versions.api_keys for versions in answers[::2])
    for offset, answer in enumerate(answers[1::2]):
        records = parse_records(answer.responses[0].partitions[0].records)
        assert [record.value for record in records] == values[offset:]


def test_a_frame_may_come_byte_by_byte(client):
    client.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    data, sent = client.frame(ApiVersionsRequest(), 1)
    for byte in data:
        client.socket.sendall(bytes([byte]))
    assert client.receive(sent).error_code == ErrorCode.NONE


def test_frames_cut_anywhere_are_put_together(client):
    first, sent_first = client.frame(ApiVersionsRequest(), 1)
    second, sent_second = client.frame(MetadataRequest(topics=[]), 1)
    both = first + second
    for part in (both[: len(first) - 3], both[len(first) - 3 : len(first) + 2], both[len(first) + 2 :]):
        client.socket.sendall(part)
    assert client.receive(sent_first).error_code == ErrorCode.NONE
    assert len(client.receive(sent_second).brokers) == 1


def test_a_waiting_join_blocks_only_its_own_connection(limited, client):
    leader_id = client.join_alone("waiting")
    with WireClient(limited.bootstrap) as newcomer:
        waiting = newcomer.send(join_request("waiting"), 3)
        wait_for(
            lambda: client.heartbeat_error("waiting", leader_id) == ErrorCode.REBALANCE_IN_PROGRESS,
            5,
            "the rebalance to start",
        )
        heartbeat = newcomer.send(HeartbeatRequest(group_id="waiting", generation_id=1, member_id=leader_id), 3)
        assert not select.select([newcomer.socket], [], [], QUIET_SECONDS)[0], "the heartbeat waits behind the join"
        rejoined = client.request(join_request("waiting", leader_id), 3)
        assert rejoined.generation_id == newcomer.receive(waiting).generation_id == 2
        assert newcomer.receive(heartbeat).error_code == ErrorCode.ILLEGAL_GENERATION


def test_a_heartbeat_never_overtakes_an_earlier_response(limited, client):
    """The heartbeat could be answered at once; the fetch before it waits."""
    client.create_topic("overtaking")
    member_id = client.join_alone("overtaking")
    waiting = client.send(fetch_request("overtaking", max_wait_ms=200), 11)
    beat = client.send(HeartbeatRequest(group_id="overtaking", generation_id=1, member_id=member_id), 3)
    assert client.receive(waiting).error_code == ErrorCode.NONE
    assert client.receive(beat).error_code == ErrorCode.NONE


# ---- bytes after the last field


@pytest.mark.parametrize("version", range(9, 14))
def test_metadata_with_the_bytes_that_librdkafka_appends_is_answered(client, version):
    everything = MetadataRequest(topics=None, allow_auto_topic_creation=False)
    assert version < 13 or everything.encode(version).hex(" ") + " 01 00 00" == "00 00 00 00 01 00 00"
    data, sent = client.frame(everything, version)
    client.socket.sendall(with_trailing_bytes(data, b"\x01\x00\x00"))
    assert client.receive(sent) == client.request(everything, version)


# ---- what is not served


def test_an_unknown_api_key_closes_the_connection(limited, client, logged):
    client.socket.sendall(raw_request(NOT_AN_API, 0))
    assert client.is_closed_by_peer()
    assert_one_line(limited, client, logged, "API key 999 is not served")


@pytest.mark.parametrize("version", [-1, 10, 32767])
def test_an_unknown_version_of_join_group_closes_the_connection(limited, client, logged, version):
    client.socket.sendall(raw_request(JOIN_GROUP, version & 0xFFFF, NO_TAGS))
    assert client.is_closed_by_peer()
    assert_one_line(limited, client, logged, f"JoinGroup version {version} is not served")


@pytest.mark.parametrize("version", [5, 99])
def test_an_unknown_version_of_api_versions_is_answered_in_v0(client, version):
    client.socket.sendall(raw_request(API_VERSIONS, version, NO_TAGS))
    frame = client.read_frame()
    assert frame[:4] == (7).to_bytes(4, "big")
    response = ApiVersionsResponse.decode(frame, 0, 4)
    assert response.error_code == ErrorCode.UNSUPPORTED_VERSION
    assert [api_key.api_key for api_key in response.api_keys] == [API_VERSIONS]
    assert client.request(ApiVersionsRequest(), 0).error_code == ErrorCode.NONE, "the connection goes on"


def test_a_malformed_body_closes_its_connection_and_no_other(limited, client, logged):
    with WireClient(limited.bootstrap) as other:
        assert other.request(ApiVersionsRequest(), 0).error_code == ErrorCode.NONE
        client.socket.sendall(raw_request(JOIN_GROUP, 3, b"\x00\x40group"))
        assert client.is_closed_by_peer()
        assert other.request(ApiVersionsRequest(), 0).error_code == ErrorCode.NONE
    assert_one_line(limited, client, logged, "JoinGroup")


def test_requests_before_a_malformed_one_are_answered(client):
    data, sent = client.frame(ApiVersionsRequest(), 1)
    client.socket.sendall(data + raw_request(JOIN_GROUP, 3, b"\x00\x40group"))
    assert client.receive(sent).error_code == ErrorCode.NONE
    assert client.is_closed_by_peer()


@pytest.mark.parametrize("body", [b"", b"\x00", b"\x00\x12", b"\x00\x12\x00\x00\x00\x00\x00"])
def test_a_frame_too_short_for_a_header_closes_the_connection(limited, client, logged, body):
    client.socket.sendall(len(body).to_bytes(4, "big") + body)
    assert client.is_closed_by_peer()
    assert_one_line(limited, client, logged, "RequestHeader")


@pytest.mark.parametrize("length", [REQUEST_BYTES_MAX + 1, 0x7FFFFFFF, 0xFFFFFFFF, 0x80000000])
def test_a_frame_too_large_closes_the_connection_before_it_is_read(limited, client, logged, length):
    client.socket.sendall(length.to_bytes(4, "big"))
    assert client.is_closed_by_peer()
    assert_one_line(limited, client, logged, "socket.request.max.bytes")


def test_the_frame_before_one_too_large_is_answered(limited, client, logged):
    data, sent = client.frame(ApiVersionsRequest(), 1)
    client.socket.sendall(data + (REQUEST_BYTES_MAX + 1).to_bytes(4, "big"))
    assert client.receive(sent).error_code == ErrorCode.NONE
    assert client.is_closed_by_peer()
    assert_one_line(limited, client, logged, "socket.request.max.bytes")


@pytest.mark.parametrize(
    ("garbage", "reason"),
    [
        (b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", "HTTP at a listener of Kafka's protocol"),
        (b"\x16\x03\x01\x02\x00" * 50, "TLS at a listener without TLS"),
    ],
)
def test_another_protocol_closes_the_connection_and_is_named(limited, client, logged, garbage, reason):
    client.socket.sendall(garbage)
    assert client.is_closed_by_peer()
    assert_one_line(limited, client, logged, reason)


def assert_one_line(server, client, logged, part):
    def lines() -> list[str]:
        return [line for line in logged() if part in line]

    (line,) = wait_for(lines, 5, "the server to log")
    assert works(server)
    assert "connection closed" in line
    assert f"client=/{client.address} " in line


def test_a_client_that_disconnects_is_not_logged(limited, logged):
    for data in (b"", b"\x00\x00", raw_request(API_VERSIONS, 0)):
        with WireClient(limited.bootstrap) as client:
            client.socket.sendall(data)
    with WireClient(limited.bootstrap) as client:
        member_id = client.join_alone("goes-away")
        client.send(join_request("goes-away"), 3)
    assert works(limited)
    with WireClient(limited.bootstrap) as client:
        wait_for(
            lambda: client.heartbeat_error("goes-away", member_id) == ErrorCode.REBALANCE_IN_PROGRESS,
            5,
            "the join to be taken, though nobody waits for its answer",
        )
    assert [line for line in logged() if "group transition" not in line] == []


# ---- limits of memory


def memory_bytes(server: RunningServer) -> int:
    """Resident memory of the server."""
    pages = Path(f"/proc/{server.pid}/statm").read_text().split()[1]
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


def send_until_stuck(sock: socket.socket, data: bytes, bytes_at_most: int) -> int:
    """Write `data` again and again until the peer takes no more; how many bytes it took."""
    sock.setblocking(False)
    view, taken, position = memoryview(data), 0, 0
    while taken < bytes_at_most and select.select([], [sock], [], QUIET_SECONDS)[1]:
        sent = sock.send(view[position:])
        taken += sent
        position = (position + sent) % len(data)
    return taken


def test_unread_responses_are_not_accumulated(limited):
    """Answers are far larger than their requests: what the client does not take stops the reading."""
    with WireClient(limited.bootstrap) as client:
        for number in range(40):
            client.create_topic(f"pile-{number:03}-{'x' * 200}")
        before = memory_bytes(limited)
        data, _ = client.frame(MetadataRequest(topics=None), 1)
        taken = send_until_stuck(client.socket, data * 2000, 64 * MIB)
        assert taken < 64 * MIB, "the server stopped reading"
        assert memory_bytes(limited) - before < 32 * MIB
    assert works(limited)


def test_large_responses_are_made_one_after_the_other(limited):
    with WireClient(limited.bootstrap) as client:
        client.create_topic("large-answers")
        for _ in range(3):
            assert client.produce("large-answers", build_batch([(None, bytes(MIB - 1000), ())])).error_code == 0
        before = memory_bytes(limited)
        data, _ = client.frame(fetch_request("large-answers", max_bytes=3 * MIB), 11)
        client.socket.sendall(data * 500)
        with WireClient(limited.bootstrap) as other:
            other.request(ApiVersionsRequest(), 0)
        assert memory_bytes(limited) - before < 64 * MIB
    assert works(limited)


def test_the_next_large_response_is_made_when_the_client_has_read_the_one_before(limited):
    """Both requests come at once; the second is not handled before the answer to the first is in the socket."""
    with WireClient(limited.bootstrap) as client, WireClient(limited.bootstrap) as other:
        client.create_topic("larger-answers")
        for _ in range(30):
            assert client.produce("larger-answers", build_batch([(None, bytes(MIB - 1000), ())])).error_code == 0
        data, _ = client.frame(fetch_request("larger-answers", max_bytes=30 * MIB), 11)
        before = memory_bytes(limited)
        client.socket.sendall(data * 10)
        assert select.select([client.socket], [], [], 20)[0], "the first response begins"
        for _ in range(10):
            other.request(ApiVersionsRequest(), 0)
        assert memory_bytes(limited) - before < 50 * MIB


def test_requests_behind_a_waiting_one_are_not_accumulated(limited, client):
    leader_id = client.join_alone("piled-behind")
    before = memory_bytes(limited)
    with WireClient(limited.bootstrap) as newcomer:
        newcomer.send(join_request("piled-behind"), 3)
        large, _ = newcomer.frame(join_request("other", metadata=bytes(2 * MIB)), 3)
        taken = send_until_stuck(newcomer.socket, large, 256 * MIB)
        assert taken < 64 * MIB, "the server stopped reading"
        assert memory_bytes(limited) - before < 64 * MIB
    assert client.request(join_request("piled-behind", leader_id, timeout_ms=500), 3).error_code is not None


def test_reading_resumes_when_responses_are_read(client):
    data, _ = client.frame(MetadataRequest(topics=[]), 1)
    requests = send_until_stuck(client.socket, data * 1000, 8 * MIB) // len(data)
    client.socket.setblocking(True)
    assert requests > 1000
    for _ in range(requests):
        client.read_frame()


# ---- the fast path


@pytest.mark.parametrize("version", range(5))
def test_the_fast_path_of_heartbeats_has_the_bytes_of_the_core(client, version):
    member_id = client.join_alone(f"bytes-{version}")
    request = HeartbeatRequest(group_id=f"bytes-{version}", generation_id=1, member_id=member_id)
    data = encode_request(0x01020304, "someone", request, version)
    answers = []
    # A client id of over 16 KiB is left to the full decoder, and so is its heartbeat to the core.
    for frame in (data, encode_request(0x01020304, "x" * 20_000, request, version)):
        client.socket.sendall(frame)
        answers.append(client.read_frame())
    header = b"\x01\x02\x03\x04" + (b"\x00" if version >= 4 else b"")
    assert answers == [header + HeartbeatResponse().encode(version)] * 2


@pytest.mark.parametrize("version", [3, 4])
def test_a_static_member_is_known_by_its_instance_id(client, version):
    group_id = f"static-{version}"
    member_id = client.join_alone(group_id, instance_id="one")

    def error_with(instance_id):
        request = HeartbeatRequest(
            group_id=group_id, generation_id=1, member_id=member_id, group_instance_id=instance_id
        )
        return client.request(request, version).error_code

    assert error_with("one") == ErrorCode.NONE
    assert error_with(None) == ErrorCode.NONE
    assert error_with("two") == ErrorCode.UNKNOWN_MEMBER_ID


@pytest.mark.parametrize("version", range(5))
@pytest.mark.parametrize("client_id", ["someone", "x" * 20_000], ids=["fast path", "full decoder"])
def test_a_heartbeat_with_trailing_bytes_is_answered(client, version, client_id):
    group_id = f"trailing-{version}-{len(client_id)}"
    member_id = client.join_alone(group_id)
    request = HeartbeatRequest(group_id=group_id, generation_id=1, member_id=member_id)
    frame = with_trailing_bytes(encode_request(7, client_id, request, version), b"\x01\x00\x00")
    client.socket.sendall(frame * 2)
    header = b"\x00\x00\x00\x07" + (b"\x00" if version >= 4 else b"")
    for _ in range(2):
        assert client.read_frame() == header + HeartbeatResponse().encode(version)
