"""Ports for brokers with the TLS of the node's listener, whose handshakes are bounded as at the listener itself."""

import asyncio
import ssl
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from _wire.messages.find_coordinator import Coordinator, FindCoordinatorRequest, FindCoordinatorResponse
from _wire.messages.produce import ProduceRequest
from coordinator.cluster.relay import relayed_connection
from coordinator.cluster.relay.directory import Address
from coordinator.cluster.relay.upstreams import WRITE_BUFFER_HIGH_BYTES, Upstreams
from coordinator.config.settings import Config
from coordinator.front.limits import ConnectionLimits
from coordinator.front.listener import parse_listeners
from coordinator.front.tls_handshakes import TlsHandshakes
from coordinator.front.tls_listeners import TlsListeners
from coordinator.front.tls_transport import UNSENT_BYTES_HIGH
from coordinator.runtime.slices import Slices
from tests.certificates import authority, server_identity, tls_settings
from tests.cluster.relay.scripted import (
    BROKER_ID,
    FRAME_BYTES_MAX,
    LOOPS,
    Peer,
    Scene,
    encoded,
    frame,
    play,
    request,
    response,
)
from tests.cluster.relay.test_broker_listeners import FETCH, Ports
from tests.cluster.relay.traffic import MIB, READ_BYTES, STALLED_BYTES_MAX, small_buffers, stall
from tests.front.test_tls_handshakes import HELLO_BEGUN

LARGE_BYTES = 60 * MIB
ENCRYPTED_AT_ONCE = 1 << 17
"""More than the portion that is encrypted at a time, with all of its records."""


class Scheduler:
    """Timers of the event loop."""

    def __init__(self) -> None:
        self._due: list[Callable[[object, int], None]] = []
        self._loop = asyncio.get_running_loop()

    def now_ms(self) -> int:
        return int(self._loop.time() * 1000)

    def on_due(self, due: Callable[[object, int], None]) -> None:
        self._due.append(due)

    def start(self, key: object, at_ms: int) -> int:
        self._loop.call_later(max(at_ms - self.now_ms(), 0) / 1000 + 0.001, self._fire, key)
        return 1

    def _fire(self, key: object) -> None:
        for due in self._due:
            due(key, self.now_ms())


class TlsPorts(Ports):
    """The port of a broker, with TLS."""

    def __init__(self, scene: Scene, folder: Path, settings: dict[str, str]) -> None:
        config = Config(tls_settings(folder) | settings)
        scheduler: Any = Scheduler()
        limits = ConnectionLimits(config, scheduler)
        self.handshakes = TlsHandshakes(
            config,
            scheduler,
            Slices(scene.loop.call_soon),
            scheduler.now_ms,
            limits=limits,
            on_rejected=scene.parts.on_rejected,
        )
        self.tls = TlsListeners(config, parse_listeners(config), self.handshakes)
        super().__init__(scene, settings, self.tls.protocol_of("SSL"), limits)
        self.listeners.follow([BROKER_ID])

    @property
    def reasons(self) -> list[str]:
        """Why connections were closed."""
        return [reason for _, reason in self.scene.rejected]


async def use_broker_with_tls(scene: Scene, folder: Path) -> None:
    """Have another broker in place of that of the scene."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(server_identity().write(folder / "broker.pem"))
    accept = scene.accepted.put_nowait
    broker = await asyncio.start_server(lambda *ends: accept(Peer(*ends)), "127.0.0.1", 0, ssl=context)
    scene.servers.append(broker)
    scene.directory.upstreams[BROKER_ID] = Address("localhost", broker.sockets[0].getsockname()[1])
    scene.parts = replace(scene.parts, upstreams=Upstreams(scene.directory, authority().client_context()))


def play_tls(
    run: Any,
    folder: Path,
    story: Callable[[TlsPorts], Awaitable[None]],
    *,
    has_broker_tls: bool = False,
    **settings: str,
) -> None:
    async def with_ports(scene: Scene) -> None:
        if has_broker_tls:
            await use_broker_with_tls(scene, folder)
        ports = TlsPorts(scene, folder, {name.replace("_", "."): text for name, text in settings.items()})
        try:
            await story(ports)
        finally:
            ports.tls.close()
            ports.listeners.close()
            await scene.until(lambda: ports.limits.accepted_count == 0)

    play(run, with_ports)


@LOOPS
def test_requests_and_responses_pass(run, tmp_path):
    async def story(ports: TlsPorts) -> None:
        client, broker = await ports.pair(ssl=authority().client_context())
        client.write(FETCH)
        assert await broker.read(len(FETCH)) == FETCH
        broker.write(response(1, b"records"))
        assert (await client.read_frame()).endswith(b"records")

    play_tls(run, tmp_path, story)


@LOOPS
def test_a_handshake_that_stalls_has_no_connection_to_the_broker_and_ends_in_time(run, tmp_path):
    async def story(ports: TlsPorts) -> None:
        silent, half = await ports.connect(), await ports.connect()
        half.write(HELLO_BEGUN)
        await ports.scene.until(lambda: ports.handshakes.count == 2)
        assert ports.limits.accepted_count == 2
        for client in (silent, half):
            assert await client.read_to_end() == b""
        assert ports.reasons == ["no TLS handshake within 200 ms (ssl.handshake.timeout.ms)"] * 2
        assert ports.scene.accepted.empty()
        await ports.scene.until(lambda: ports.limits.accepted_count == 0)

    play_tls(run, tmp_path, story, ssl_handshake_timeout_ms="200")


@LOOPS
def test_the_oldest_of_too_many_handshakes_goes_and_who_means_it_is_served(run, tmp_path):
    async def story(ports: TlsPorts) -> None:
        stalled = [await ports.connect() for _ in range(4)]
        assert await stalled[0].read_to_end() == b""
        client, broker = await ports.pair(ssl=authority().client_context())
        client.write(FETCH)
        assert await broker.read(len(FETCH)) == FETCH
        assert set(ports.reasons) == {"more than 3 TLS handshakes from one address (ssl.handshakes.max.per.ip)"}

    play_tls(run, tmp_path, story, ssl_handshakes_max_per_ip="3")


@LOOPS
def test_plain_text_is_closed_with_one_reason_and_reaches_no_broker(run, tmp_path):
    async def story(ports: TlsPorts) -> None:
        client = await ports.connect()
        client.write(request(18, 3, 1, b"\x05kafka\x041.0\x00"))
        await client.read_to_end()
        assert ports.reasons == [
            "plain text at a listener with TLS; the client needs security.protocol=SSL or SASL_SSL"
        ]
        assert ports.scene.accepted.empty()

    play_tls(run, tmp_path, story)


@LOOPS
def test_a_client_without_the_certificate_that_is_required_reaches_no_broker(run, tmp_path):
    async def story(ports: TlsPorts) -> None:
        try:
            client = await ports.connect(ssl=authority().client_context())
            await client.read_to_end()
        except ssl.SSLError:
            pass  # by TLS 1.3 the client is told after its own handshake
        await ports.scene.until(lambda: ports.reasons)
        assert "peer did not return a certificate" in ports.reasons[0]
        assert ports.scene.accepted.empty()
        trusted = authority().client_context(authority().issue("CN=billing"), tmp_path)
        client, broker = await ports.pair(ssl=trusted)
        client.write(FETCH)
        assert await broker.read(len(FETCH)) == FETCH

    play_tls(run, tmp_path, story, ssl_client_auth="required")


@LOOPS
@pytest.mark.parametrize("has_broker_tls", [False, True])
def test_what_a_client_does_not_read_stays_with_the_broker(run, tmp_path, has_broker_tls):
    async def story(ports: TlsPorts) -> None:
        client, broker = await ports.pair(ssl=authority().client_context())
        small_buffers(client)
        client.write(FETCH)
        await broker.read(len(FETCH))
        client.stop_reading()
        broker.write((LARGE_BYTES + 4).to_bytes(4, "big") + (1).to_bytes(4, "big"))
        taken = await stall(ports.scene, broker, bytes(READ_BYTES))
        (port,) = ports.listeners._ports.values()
        (connection,) = port.connections
        transport = connection._client
        assert connection._is_client_full
        assert transport._tcp.get_write_buffer_size() <= ENCRYPTED_AT_ONCE
        assert UNSENT_BYTES_HIGH < transport.get_write_buffer_size() <= ENCRYPTED_AT_ONCE + 2 * READ_BYTES
        assert ports.scene.held.sum_bytes == 0
        assert taken < LARGE_BYTES
        client.start_reading()
        broker.write(bytes(LARGE_BYTES - taken))
        assert len(await client.read(LARGE_BYTES + 8)) == LARGE_BYTES + 8

    play_tls(run, tmp_path, story, has_broker_tls=has_broker_tls)


@LOOPS
def test_a_new_certificate_is_that_of_the_next_connection(run, tmp_path):
    async def serial_of(ports: TlsPorts) -> str:
        client, _ = await ports.pair(ssl=authority().client_context())
        ends: ssl.SSLObject = client.writer.get_extra_info("ssl_object")
        return str((ends.getpeercert() or {})["serialNumber"])

    async def story(ports: TlsPorts) -> None:
        before = await serial_of(ports)
        new = authority().issue()
        new.write(tmp_path / "server.pem")
        (listener,) = ports.tls._by_name.values()
        assert await ports.tls.load_changed(listener) == ""
        after = await serial_of(ports)
        assert int(before, 16) != int(after, 16) == new.certificate.serial_number

    play_tls(run, tmp_path, story)


@LOOPS
@pytest.mark.parametrize("has_broker_tls", [False, True])
def test_what_a_broker_does_not_read_stays_with_the_client(run, tmp_path, has_broker_tls):
    async def story(ports: TlsPorts) -> None:
        client, broker = await ports.pair(ssl=authority().client_context())
        small_buffers(broker)
        broker.stop_reading()
        data = encoded(1, ProduceRequest(acks=0), 9)[4:] + bytes(FRAME_BYTES_MAX)
        produce = frame(data[:FRAME_BYTES_MAX])
        taken = await stall(ports.scene, client, produce)
        (port,) = ports.listeners._ports.values()
        (connection,) = port.connections
        assert connection._is_upstream_full
        assert connection._upstream.get_write_buffer_size() <= WRITE_BUFFER_HIGH_BYTES + 2 * READ_BYTES
        assert ports.scene.held.sum_bytes == 0
        assert taken < STALLED_BYTES_MAX
        broker.start_reading()
        for _ in range(taken // len(produce)):
            assert len(await broker.read_frame()) == FRAME_BYTES_MAX

    play_tls(run, tmp_path, story, has_broker_tls=has_broker_tls)


@LOOPS
def test_a_rewritten_response_that_a_client_does_not_read_is_counted(run, tmp_path):
    async def story(ports: TlsPorts) -> None:
        client, broker = await ports.pair(ssl=authority().client_context())
        small_buffers(client)
        client.stop_reading()
        keys = ["other" * 20] * 100_000
        client.write(encoded(1, FindCoordinatorRequest(coordinator_keys=keys[:1]), 4))
        await broker.read_frame()
        many = [Coordinator(key=key, node_id=BROKER_ID, host="b", port=1) for key in keys]
        body = FindCoordinatorResponse(coordinators=many).encode(4)
        broker.write(frame((1).to_bytes(4, "big") + b"\x00" + body))
        (port,) = ports.listeners._ports.values()
        (connection,) = port.connections
        await ports.scene.until(lambda: connection._is_client_full)
        assert ports.scene.held.sum_bytes > 4 * MIB
        assert connection._client._tcp.get_write_buffer_size() <= ENCRYPTED_AT_ONCE
        client.start_reading()
        assert len(await client.read_frame()) > 10 * MIB
        await ports.scene.until(lambda: ports.scene.held.sum_bytes == 0)

    play_tls(run, tmp_path, story)


@LOOPS
def test_a_client_that_reads_nothing_for_long_is_closed(run, tmp_path, monkeypatch):
    monkeypatch.setattr(relayed_connection, "CLIENT_STALLED_SECONDS", 0.05)

    async def story(ports: TlsPorts) -> None:
        client, broker = await ports.pair(ssl=authority().client_context())
        small_buffers(client)
        client.stop_reading()
        client.write(FETCH)
        await broker.read(len(FETCH))
        broker.write(response(1, bytes(32 * MIB)))
        await ports.scene.until(lambda: ports.reasons)
        assert ports.reasons == ["the client does not read its responses"]
        await ports.scene.until(lambda: ports.limits.accepted_count == 0)

    play_tls(run, tmp_path, story)
