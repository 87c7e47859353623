"""Clients that do not read, or do not end what they began: closed in time, and nobody else is."""

import struct
import threading
import time
from collections.abc import Iterator
from itertools import pairwise
from typing import Any, Final, cast

import pytest

from _wire.messages.api_versions import ApiVersionsRequest
from _wire.records import build_batch
from coordinator.config.network_keys import (
    CONNECTIONS_MAX_IDLE_MS,
    CONNECTIONS_MAX_STALLED_MS,
    CONNECTIONS_MAX_UNSENT_BYTES,
    QUEUED_MAX_REQUEST_BYTES,
)
from coordinator.config.settings import Config
from coordinator.front.connection import Connection
from coordinator.front.limits import ABORTS_APART_MS, ConnectionLimits
from coordinator.front.request_context import Endpoint
from coordinator.front.slow_peers import BYTES_PER_MS_MIN, CHECK_INTERVAL_MS, SlowPeers
from coordinator.groups.sessions import SessionTable
from coordinator.timers.wheel import TimerWheel
from tests.front.manual_scheduler import ManualScheduler
from tests.servers import QUICK_GROUPS, RunningServer
from tests.waiting import wait_for
from tests.wire_client import ConnectionClosed, WireClient, fetch_request

MIB: Final = 1 << 20
STALLED_MS: Final = 10_000
REQUESTS_MAX: Final = 10 * MIB
UNSENT_MAX: Final = 10 * MIB
HEADER: Final = struct.pack(">hhih", 3, 1, 7, -1)
"""Of a Metadata request."""


class Transport:
    """The server's end of a socket whose client reads what the test says."""

    def __init__(self) -> None:
        self.protocol: Any = None
        self.unsent = 0
        self.is_closing = self.is_aborted = self.is_reading_paused = False

    def get_extra_info(self, name: str) -> Any:
        return ("10.0.0.1", 1234)

    def get_write_buffer_size(self) -> int:
        return self.unsent

    def write(self, data: bytes) -> None:
        was_full = self.unsent > 64 * 1024
        self.unsent += len(data)
        if self.unsent > 64 * 1024 and not was_full:
            self.protocol.pause_writing()

    def read(self, size: int) -> None:
        """The client reads so many bytes."""
        was_full = self.unsent > 16 * 1024
        self.unsent -= size
        assert self.unsent >= 0
        if was_full and self.unsent <= 16 * 1024:
            self.protocol.resume_writing()
        if self.is_closing and not self.unsent:
            self.protocol.connection_lost(None)

    def pause_reading(self) -> None:
        self.is_reading_paused = True

    def resume_reading(self) -> None:
        self.is_reading_paused = False

    def close(self) -> None:
        self.is_closing = True
        if not self.unsent:
            self.protocol.connection_lost(None)

    def abort(self) -> None:
        """The end of the connection is noticed later, as by an event loop."""
        self.is_aborted = True


class Peers:
    """Connections, SlowPeers, and a dispatcher that answers nothing by itself."""

    def __init__(self) -> None:
        settings = {
            CONNECTIONS_MAX_STALLED_MS: STALLED_MS,
            QUEUED_MAX_REQUEST_BYTES: REQUESTS_MAX,
            CONNECTIONS_MAX_UNSENT_BYTES: UNSENT_MAX,
        }
        self.scheduler = ManualScheduler()
        self.slow_peers = SlowPeers(
            Config({key.name: str(value) for key, value in settings.items()}),
            self.scheduler.as_loop_scheduler,
            self.scheduler.now_ms,
        )
        self.scheduler.on_due(self.slow_peers.due)
        self.holds_requests = self.slow_peers.holds_requests
        self.holds_responses = self.slow_peers.holds_responses
        self.closed = self.slow_peers.closed
        self.reasons: list[tuple[Connection, str]] = []

    def opened(self, connection: Connection) -> None:
        """Nothing limits the connections here."""

    def serve(self, connection: Connection, frame: bytes) -> None:
        """The connection is busy until the test calls `finish`."""

    def rejected(self, connection: Connection, reason: str) -> None:
        self.reasons.append((connection, reason))

    def connect(self) -> tuple[Any, Transport]:
        endpoint = Endpoint("PLAINTEXT", "127.0.0.1", 9092)
        connection: Any = Connection(self, endpoint, SessionTable(TimerWheel(0), 0), self.scheduler.now_ms, 100 * MIB)
        transport = Transport()
        transport.protocol = connection
        connection.connection_made(cast(Any, transport))
        return connection, transport

    def advance(self, ms: int) -> None:
        self.scheduler.advance(ms)

    def assert_nothing_is_held(self) -> None:
        """The books are empty: a check later, no timer is left, and the whole budget is free again."""
        self.advance(CHECK_INTERVAL_MS)
        assert not self.scheduler.has_timers
        before = len(self.reasons)
        held, _ = self.connect()
        self.holds_requests(held, REQUESTS_MAX)
        self.holds_responses(held, UNSENT_MAX)
        assert len(self.reasons) == before
        self.holds_requests(held, REQUESTS_MAX + 1)
        assert [each for each, _ in self.reasons[before:]] == [held]


@pytest.fixture
def peers() -> Peers:
    return Peers()


def frame(size: int) -> bytes:
    return struct.pack(">i", size) + HEADER + bytes(size - len(HEADER))


def aborted(*transports: Transport) -> list[bool]:
    return [transport.is_aborted for transport in transports]


# ---- requests that do not end


def test_a_request_that_does_not_end_is_aborted_after_the_time(peers):
    connection, transport = peers.connect()
    connection.data_received(frame(5000)[:1600])
    peers.advance(STALLED_MS)
    assert not transport.is_aborted
    peers.advance(1600 // BYTES_PER_MS_MIN + CHECK_INTERVAL_MS)
    assert transport.is_aborted
    assert peers.reasons == [(connection, "a request was not sent to its end (connections.max.stalled.ms)")]


def test_byte_by_byte_is_no_progress(peers):
    connection, transport = peers.connect()
    for byte in frame(5000):
        connection.data_received(bytes([byte]))
        peers.advance(10)
        if transport.is_aborted:
            break
    assert transport.is_aborted
    assert peers.scheduler.now_ms() - 1_000_000 <= STALLED_MS + 5000 // BYTES_PER_MS_MIN + CHECK_INTERVAL_MS


def test_a_length_cut_in_two_counts_as_begun(peers):
    connection, transport = peers.connect()
    connection.data_received(b"\x00\x00")
    peers.advance(STALLED_MS + 2 * CHECK_INTERVAL_MS)
    assert transport.is_aborted


def test_a_slow_client_may_take_the_time_of_16_kb_a_second(peers):
    connection, transport = peers.connect()
    data = frame(1_000_000)
    for first in range(0, len(data), 1600):
        connection.data_received(data[first : first + 1600])
        peers.advance(100)
    assert not transport.is_aborted
    assert peers.scheduler.now_ms() - 1_000_000 > 6 * STALLED_MS
    connection.finish()
    peers.assert_nothing_is_held()


def test_a_client_whose_requests_never_end_with_what_is_received_is_not_hurt(peers):
    """A fast producer: every read ends within a request, for minutes."""
    connection, transport = peers.connect()
    connection.data_received(frame(1000)[:500])
    for _ in range(300):
        connection.data_received(frame(1000)[500:] + frame(1000)[:500])
        connection.finish()
        peers.advance(1_000)
    assert not transport.is_aborted
    connection.data_received(frame(1000)[500:])
    connection.finish()
    peers.assert_nothing_is_held()


def test_a_client_whose_requests_are_not_read_is_not_hurt(peers):
    """Reading stops behind a request that waits for long; the half request is not the client's fault."""
    connection, transport = peers.connect()
    connection.data_received(frame(100) + frame(2 * MIB) + frame(5000)[:100])
    assert transport.is_reading_paused
    peers.advance(10 * STALLED_MS)
    assert not transport.is_aborted
    connection.finish()
    assert not transport.is_reading_paused
    peers.advance(STALLED_MS // 2)
    assert not transport.is_aborted, "the time begins when reading goes on"
    peers.advance(STALLED_MS + CHECK_INTERVAL_MS)
    assert transport.is_aborted


def test_a_request_that_ended_leaves_nothing_behind(peers):
    connection, transport = peers.connect()
    data = frame(5000)
    connection.data_received(data[:100])
    connection.data_received(data[100:])
    connection.finish()
    peers.advance(10 * STALLED_MS)
    assert not transport.is_aborted
    peers.assert_nothing_is_held()


def test_the_largest_holder_of_requests_is_closed_above_the_budget(peers):
    (small, small_end), (large, large_end), (last, last_end) = (peers.connect() for _ in range(3))
    small.data_received(frame(4 * MIB)[: 3 * MIB])
    large.data_received(frame(6 * MIB)[: 5 * MIB])
    assert aborted(small_end, large_end) == [False, False]
    last.data_received(frame(4 * MIB)[: 3 * MIB])
    assert aborted(small_end, large_end, last_end) == [False, True, False]
    assert "queued.max.request.bytes" in peers.reasons[0][1]
    # Its end is noticed later; until then it is closed once, and counted no more.
    last.data_received(bytes(MIB // 2))
    assert [connection for connection, _ in peers.reasons] == [large]
    for each in (small, large, last):
        each.connection_lost(None)
    peers.assert_nothing_is_held()


def test_requests_that_wait_to_be_handled_count_too(peers):
    """The first is being handled, the others wait behind it."""
    many = [peers.connect() for _ in range(11)]
    for connection, _ in many:
        connection.data_received(frame(100) + frame(MIB - 200))
    assert sum(transport.is_aborted for _, transport in many) == 1


# ---- responses that are not read


def respond(connection: Any, transport: Transport, size: int) -> None:
    """Send a response of so many bytes, as `send_response` does."""
    connection.data_received(frame(100))
    transport.write(bytes(size))


def test_unread_responses_are_aborted_after_the_time(peers):
    connection, transport = peers.connect()
    respond(connection, transport, MIB)
    peers.advance(STALLED_MS)
    assert not transport.is_aborted
    peers.advance(2 * CHECK_INTERVAL_MS)
    assert transport.is_aborted
    assert peers.reasons == [(connection, "the client does not read its responses (connections.max.stalled.ms)")]


def test_a_consumer_that_pauses_for_less_than_the_time_is_not_hurt(peers):
    connection, transport = peers.connect()
    for _ in range(5):
        respond(connection, transport, MIB)
        peers.advance(STALLED_MS - 1)
        transport.read(MIB)
        connection.finish()
    assert not transport.is_aborted
    peers.assert_nothing_is_held()


def test_a_client_that_reads_16_kb_a_second_is_not_hurt(peers):
    connection, transport = peers.connect()
    respond(connection, transport, 4 * MIB)
    while transport.unsent:
        transport.read(min(1640, transport.unsent))
        peers.advance(100)
        assert not transport.is_aborted
    connection.finish()
    peers.assert_nothing_is_held()


def test_a_client_that_reads_byte_by_byte_is_aborted(peers):
    connection, transport = peers.connect()
    respond(connection, transport, MIB)
    for _ in range(STALLED_MS // 100 + 20):
        transport.read(1)
        peers.advance(100)
    assert transport.is_aborted


def test_a_response_in_one_piece_is_held_whole_until_its_end(peers):
    """The transport keeps all of it: what the client has read of it is no memory that is free again."""
    ends = []
    for _ in range(3):
        connection, transport = peers.connect()
        connection.data_received(frame(100))
        connection.send_frame(bytes(4 * MIB))
        assert transport.unsent == 4 * MIB
        ends.append(transport)
        if len(ends) < 3:
            transport.read(3 * MIB)
            peers.advance(CHECK_INTERVAL_MS)
    assert sorted(aborted(*ends)) == [False, False, True]


IDLE_MS: Final = 2_000


def idle_limited(peers: Peers) -> tuple[Any, Transport]:
    """A connection with `connections.max.idle.ms`, and a response that its client has begun to read."""
    limits = ConnectionLimits(Config({CONNECTIONS_MAX_IDLE_MS.name: str(IDLE_MS)}), peers.scheduler.as_loop_scheduler)
    peers.scheduler.on_due(limits.due)
    connection, transport = peers.connect()
    limits.opened(connection)
    connection.data_received(frame(100))
    connection.send_frame(bytes(4 * MIB))
    return connection, transport


@pytest.mark.parametrize("read_bytes", [0, 100_000])
def test_a_connection_whose_client_stopped_reading_is_closed_by_the_idle_limit(peers, read_bytes):
    _, transport = idle_limited(peers)
    transport.read(read_bytes)
    peers.advance(2 * IDLE_MS)
    assert transport.is_aborted
    assert "connections.max.idle.ms" in peers.reasons[0][1]


def test_idle_connections_that_hold_much_are_closed_one_after_the_other(peers):
    """To give back what one holds takes some ms, and they may have become idle in the same one."""
    limits = ConnectionLimits(Config({CONNECTIONS_MAX_IDLE_MS.name: str(IDLE_MS)}), peers.scheduler.as_loop_scheduler)
    peers.scheduler.on_due(limits.due)
    ends = []
    for _ in range(3):
        connection, transport = peers.connect()
        limits.opened(connection)
        connection.data_received(frame(100))
        connection.send_frame(bytes(4 * MIB))
        ends.append(transport)
    peers.advance(IDLE_MS - 1)
    closed = [sum(aborted(*ends))]
    for _ in range(2 * IDLE_MS):
        peers.advance(1)
        closed.append(sum(aborted(*ends)))
    assert closed[-1] == 3
    assert max(after - before for before, after in pairwise(closed)) == 1
    moments = [closed.index(count) for count in (1, 2, 3)]
    assert moments[2] - moments[0] >= 2 * ABORTS_APART_MS


def test_a_connection_whose_client_reads_is_not_idle(peers):
    _, transport = idle_limited(peers)
    for _ in range(16):
        transport.read(MIB // 4)
        assert not transport.is_closing and not transport.is_aborted
        peers.advance(IDLE_MS)
    assert not transport.is_aborted
    peers.advance(IDLE_MS)
    assert transport.is_closing, "nothing is left to be read"


def test_the_largest_holder_of_responses_is_closed_above_the_budget(peers):
    (small, small_end), (large, large_end), (last, last_end) = (peers.connect() for _ in range(3))
    respond(small, small_end, 3 * MIB)
    respond(large, large_end, 5 * MIB)
    respond(last, last_end, 3 * MIB)
    assert aborted(small_end, large_end, last_end) == [False, True, False]
    assert "connections.max.unsent.bytes" in peers.reasons[0][1]
    for each in (small, large, last):
        each.connection_lost(None)
    peers.assert_nothing_is_held()


def test_what_was_read_meanwhile_is_not_counted_for_the_budget(peers):
    (first, first_end), (second, second_end) = (peers.connect() for _ in range(2))
    respond(first, first_end, 8 * MIB)
    first_end.read(7 * MIB)
    peers.advance(CHECK_INTERVAL_MS)
    respond(second, second_end, 8 * MIB)
    assert aborted(first_end, second_end) == [False, False]


def test_a_closed_connection_whose_last_bytes_are_not_read_is_aborted(peers):
    """Few enough to pause nothing, they would keep the socket for ever."""
    connection, transport = peers.connect()
    respond(connection, transport, 10_000)
    connection.close()
    assert not transport.is_aborted
    peers.advance(STALLED_MS + 2 * CHECK_INTERVAL_MS)
    assert transport.is_aborted


def test_a_client_that_ends_its_side_and_reads_nothing_is_aborted(peers):
    connection, transport = peers.connect()
    respond(connection, transport, 10_000)
    connection.eof_received()
    transport.close()
    peers.advance(STALLED_MS + 2 * CHECK_INTERVAL_MS)
    assert transport.is_aborted


def test_a_closed_connection_that_reads_most_of_it_is_aborted_too(peers):
    connection, transport = peers.connect()
    respond(connection, transport, MIB)
    connection.close()
    transport.read(MIB - 5_000)
    assert not transport.is_aborted
    peers.advance(STALLED_MS + 2 * CHECK_INTERVAL_MS)
    assert transport.is_aborted


def test_a_closed_connection_that_reads_to_the_end_is_not_aborted(peers):
    connection, transport = peers.connect()
    respond(connection, transport, MIB)
    connection.close()
    peers.advance(STALLED_MS // 2)
    transport.read(MIB)
    assert not transport.is_aborted
    peers.assert_nothing_is_held()


# ---- over real sockets


@pytest.fixture
def server(tmp_path: Any) -> Iterator[RunningServer]:
    settings = QUICK_GROUPS | {CONNECTIONS_MAX_STALLED_MS.name: "1000"}
    with RunningServer(tmp_path, settings) as running:
        yield running


def test_a_client_that_reads_nothing_loses_its_connection_and_no_other_does(server):
    with WireClient(server.bootstrap) as healthy, WireClient(server.bootstrap) as stuck:
        healthy.create_topic("large")
        for _ in range(20):
            assert healthy.produce("large", build_batch([(None, bytes(1_000_000), ())])).error_code == 0
        request = fetch_request("large", max_bytes=20_000_000)
        stuck.send(request, 11)
        wait_for(lambda: "does not read its responses" in server.log.read_text(), 15, "the end of the connection")
        assert len(healthy.receive(healthy.send(request, 11)).responses) == 1
        with pytest.raises(ConnectionClosed):
            stuck.read_frame()


def test_a_client_that_sends_byte_by_byte_loses_its_connection(server):
    with WireClient(server.bootstrap) as healthy, WireClient(server.bootstrap) as slow:
        slow.socket.sendall(struct.pack(">i", 100_000) + HEADER)
        pace, deadline = threading.Event(), time.monotonic() + 15
        with pytest.raises(OSError, match=r"Connection reset|Broken pipe"):
            while time.monotonic() < deadline:
                slow.socket.sendall(b"\x00")
                pace.wait(0.02)
        assert healthy.request(ApiVersionsRequest(), 0).error_code == 0
    wait_for(lambda: "a request was not sent to its end" in server.log.read_text(), 5, "the line about it")
