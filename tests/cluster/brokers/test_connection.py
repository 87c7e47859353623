"""A connection to a broker: order, time-outs, what is no response, and the loss of the connection."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from _wire.headers import decode_request_header, encode_response
from _wire.messages.api_versions import ApiVersion, ApiVersionsRequest, ApiVersionsResponse
from _wire.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from _wire.structs import Message
from coordinator.client.bootstrap import Bootstrap
from coordinator.client.requests import FRAME_BYTES_MAX
from coordinator.cluster.brokers.connecting import connect
from coordinator.cluster.brokers.connection import BrokerConnection
from coordinator.cluster.brokers.errors import BrokerError, ResponseTooLarge
from tests.cluster.relay.scripted import Peer

SECONDS = 10
SUPPORTED = [ApiVersion(api_key=ApiVersionsRequest.API_KEY, max_version=4), ApiVersion(api_key=12, max_version=2)]


async def answer(peer: Peer, response: Message) -> None:
    """Read a request, and answer it in its version."""
    header, _ = decode_request_header(await peer.read_frame())
    peer.write(encode_response(header.correlation_id, response, header.api_version))


def with_broker(
    play: Callable[[BrokerConnection, Peer], Awaitable[None]],
    timeout_seconds: float = SECONDS,
    before: Callable[[], None] = lambda: None,
) -> None:
    """Play with a connection that was made, and the broker's end of it."""

    async def run() -> None:
        peers: asyncio.Queue[Peer] = asyncio.Queue()
        server = await asyncio.start_server(lambda r, w: peers.put_nowait(Peer(r, w)), "127.0.0.1", 0)
        address = f"127.0.0.1:{server.sockets[0].getsockname()[1]}"

        async def introduce() -> Peer:
            peer = await peers.get()
            await answer(peer, ApiVersionsResponse(api_keys=SUPPORTED))
            return peer

        async with asyncio.timeout(SECONDS), server:
            making = connect(Bootstrap(address), "test", timeout_seconds, before)
            connection, peer = await asyncio.gather(making, introduce())
            await play(connection, peer)
            connection.close()

    asyncio.run(run())


def heartbeat() -> HeartbeatRequest:
    return HeartbeatRequest(group_id="g", generation_id=1, member_id="m")


def test_responses_reach_who_asked_in_the_order_of_the_requests() -> None:
    async def play(connection: BrokerConnection, peer: Peer) -> None:
        first = asyncio.ensure_future(connection.request(heartbeat()))
        second = asyncio.ensure_future(connection.request(heartbeat()))
        await answer(peer, HeartbeatResponse(error_code=1))
        await answer(peer, HeartbeatResponse(error_code=2))
        assert [(await first).error_code, (await second).error_code] == [1, 2]
        assert connection.outstanding == 0

    with_broker(play)


def test_the_latest_version_that_both_sides_have_is_used() -> None:
    async def play(connection: BrokerConnection, peer: Peer) -> None:
        assert connection.latest_version(heartbeat()) == 2
        assert connection.latest_version(heartbeat(), 1) == 1
        with pytest.raises(BrokerError, match="supports no version of ApiVersions"):
            connection.latest_version(ApiVersionsRequest(), -1)

    with_broker(play)


def test_what_expires_is_looked_at_before_responses_are_handled() -> None:
    order: list[str] = []

    async def play(connection: BrokerConnection, peer: Peer) -> None:
        order.clear()
        connection.send(heartbeat(), 0, lambda response: order.append("answered"))
        await answer(peer, HeartbeatResponse())
        while "answered" not in order:
            await asyncio.sleep(0)
        assert order[:2] == ["before", "answered"]

    with_broker(play, before=lambda: order.append("before"))


def test_a_request_that_is_not_answered_in_time_closes_the_connection() -> None:
    async def play(connection: BrokerConnection, peer: Peer) -> None:
        late = asyncio.ensure_future(connection.request(heartbeat()))
        with pytest.raises(BrokerError, match=r"did not respond within 0\.05 s"):
            await connection.request(heartbeat(), timeout_seconds=0.05)
        with pytest.raises(BrokerError, match="did not respond"):
            await late
        assert not connection.is_open
        with pytest.raises(BrokerError):
            await connection.request(heartbeat())

    with_broker(play)


@pytest.mark.parametrize(
    "sent",
    [
        b"\x00\x00\x00\x06\x7f\xff\xff\xff\x00\x00",
        b"\x00\x00\x00\x04\x00\x00\x00\x02",
        b"HTTP/1.1 400 Bad Request\r\n\r\n",
        b"\xff\xff\xff\xff",
    ],
    ids=["another correlation id", "cut off", "HTTP", "negative length"],
)
def test_what_is_no_response_closes_the_connection(sent: bytes) -> None:
    async def play(connection: BrokerConnection, peer: Peer) -> None:
        asked = asyncio.ensure_future(connection.request_in(heartbeat(), 0))
        await peer.read_frame()
        peer.write(sent)
        with pytest.raises(BrokerError):
            await asked
        assert not connection.is_open

    with_broker(play)


def test_a_broker_that_goes_away_fails_all_that_wait() -> None:
    async def play(connection: BrokerConnection, peer: Peer) -> None:
        asked = [asyncio.ensure_future(connection.request(heartbeat())) for _ in range(3)]
        await peer.read_frame()
        peer.reset()
        for each in asked:
            with pytest.raises(BrokerError, match="closed the connection"):
                await each

    with_broker(play)


def test_who_was_cancelled_does_not_get_the_response_of_others() -> None:
    async def play(connection: BrokerConnection, peer: Peer) -> None:
        given_up = asyncio.ensure_future(connection.request(heartbeat()))
        await asyncio.sleep(0)
        given_up.cancel()
        asked = asyncio.ensure_future(connection.request(heartbeat()))
        await answer(peer, HeartbeatResponse(error_code=1))
        await answer(peer, HeartbeatResponse(error_code=2))
        assert (await asked).error_code == 2

    with_broker(play)


@pytest.mark.parametrize("address", ["nowhere", ":1", "127.0.0.1:99999", "127.0.0.1:x"])
def test_an_address_that_is_none(address: str) -> None:
    with pytest.raises(BrokerError):
        asyncio.run(connect(Bootstrap(address), "test", SECONDS, lambda: None))


def test_a_response_that_is_too_large_is_told_to_who_asked_for_it() -> None:
    async def play(connection: BrokerConnection, peer: Peer) -> None:
        answered, large, later = (asyncio.ensure_future(connection.request(heartbeat())) for _ in range(3))
        header, _ = decode_request_header(await peer.read_frame())
        whole = encode_response(header.correlation_id, HeartbeatResponse(), header.api_version)
        peer.write(whole + (FRAME_BYTES_MAX + 1).to_bytes(4, "big"))
        assert (await answered).error_code == 0
        with pytest.raises(ResponseTooLarge):
            await large
        with pytest.raises(BrokerError) as lost:
            await later
        assert not isinstance(lost.value, ResponseTooLarge)

    with_broker(play)
