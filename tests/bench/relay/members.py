"""10,000 members whose heartbeats come one by one, by way of a relay: the share of a core that it takes."""

import asyncio
import multiprocessing
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter, sleep
from typing import Any, Final

import uvloop

from _wire.headers import encode_request, encode_response
from _wire.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from tests.bench.relay.between import BETWEEN, HOST, cpu_ms

HEARTBEAT_SECONDS: Final = 3
GROUPS: Final = 100
MEASURED_SECONDS: Final = 15
FORMED_SECONDS: Final = 60


async def _members_at(port: int, members: int, seconds: float, is_ready: Any) -> None:
    """Two members by way of each connection."""
    loop = asyncio.get_running_loop()
    beats = (
        HeartbeatRequest(group_id=f"group-{number % GROUPS}", generation_id=7, member_id=f"m-{number}")
        for number in range(members)
    )
    frames = [encode_request(0, "c", beat, 4) for beat in beats]
    clients = [(await loop.create_connection(asyncio.Protocol, HOST, port))[0] for _ in range(members // 2)]
    is_ready.set()
    until, turn = loop.time() + seconds + HEARTBEAT_SECONDS, 0
    started = loop.time()
    while loop.time() < until:
        due = int((loop.time() - started) * members / HEARTBEAT_SECONDS)
        for number in range(turn, due):
            clients[number % len(clients)].write(frames[number % members])
        turn = max(turn, due)
        await asyncio.sleep(0.002)


async def _answer_at(listening: socket.socket) -> None:
    answer = encode_response(0, HeartbeatResponse(), 4)

    class Answers(asyncio.Protocol):
        def connection_made(self, transport: Any) -> None:
            self.transport = transport

        def data_received(self, data: bytes) -> None:
            if len(data) >= 4:
                self.transport.write(answer)

    await asyncio.get_running_loop().create_server(Answers, sock=listening)
    await asyncio.Event().wait()


def _members(port: int, members: int, seconds: float, is_ready: Any) -> None:
    uvloop.run(_members_at(port, members, seconds, is_ready))


def _answers(listening: socket.socket) -> None:
    uvloop.run(_answer_at(listening))


@contextmanager
def _broker() -> Iterator[int]:
    with socket.create_server((HOST, 0), backlog=1_000) as listening:
        process = multiprocessing.Process(target=_answers, args=(listening,), daemon=True)
        process.start()
        try:
            yield listening.getsockname()[1]
        finally:
            process.terminate()
            process.join()


def share_of_core(between: str, members: int) -> float:
    """What the process between takes of a core while all members are there."""
    with _broker() as broker_port, BETWEEN[between](broker_port) as (port, pid):
        is_ready = multiprocessing.Event()
        process = multiprocessing.Process(
            target=_members, args=(port, members, MEASURED_SECONDS, is_ready), daemon=True
        )
        process.start()
        is_ready.wait(FORMED_SECONDS)
        sleep(HEARTBEAT_SECONDS)
        before, begin = cpu_ms(pid), perf_counter()
        process.join(MEASURED_SECONDS + 30)
        used = (cpu_ms(pid) - before) / 1_000 / (perf_counter() - begin)
        process.terminate()
        return used
