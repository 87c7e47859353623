"""What may be between a client and a broker, as processes of their own: nothing, a floor, or the relay."""

import asyncio
import multiprocessing
import socket
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Final

import uvloop

from tests.cluster.relay.relay_process import RelayProcess

HOST: Final = "127.0.0.1"
BROKER_ID: Final = 1


class Floor(asyncio.Protocol):
    """Writes what it receives to its peer, and reads as long as that takes it."""

    def __init__(self) -> None:
        self.peer: Floor
        self.transport: Any = None

    def connection_made(self, transport: Any) -> None:
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self.peer.transport.write(data)

    def pause_writing(self) -> None:
        self.peer.transport.pause_reading()

    def resume_writing(self) -> None:
        self.peer.transport.resume_reading()

    def connection_lost(self, problem: Exception | None) -> None:
        self.peer.transport.close()


def floor(port: int, upstream_port: int, is_ready: Any) -> None:
    async def main() -> None:
        loop = asyncio.get_running_loop()

        # Each measurement has one connection.
        client, upstream = Floor(), Floor()
        client.peer, upstream.peer = upstream, client
        await loop.create_connection(lambda: upstream, HOST, upstream_port)
        await loop.create_server(lambda: client, HOST, port)
        is_ready.set()
        await asyncio.Event().wait()

    uvloop.run(main())


@contextmanager
def floor_process(upstream_port: int) -> Iterator[tuple[int, int]]:
    """Port and process id."""
    with socket.socket() as free:
        free.bind((HOST, 0))
        port = free.getsockname()[1]
    is_ready = multiprocessing.Event()
    process = multiprocessing.Process(target=floor, args=(port, upstream_port, is_ready), daemon=True)
    process.start()
    is_ready.wait(10)
    try:
        yield port, process.pid or 0
    finally:
        process.terminate()
        process.join()


@contextmanager
def relay_process(upstream_port: int, watched: str | None = None) -> Iterator[tuple[int, int]]:
    with RelayProcess(BROKER_ID, f"{HOST}:{upstream_port}", watched) as relay:
        yield int(relay.bootstrap.rpartition(":")[2]), relay.pid


@contextmanager
def nothing(upstream_port: int) -> Iterator[tuple[int, int]]:
    yield upstream_port, 0


RELAY: Final = "relay"
"""It looks at nothing for watching: what passing on costs."""
WATCHED: Final[dict[str, str | None]] = {RELAY: None, "watching others": "other-*", "watching these": "group-*"}
"""Name of a relay → the groups that it watches."""
BETWEEN: Final[dict[str, Callable[[int], AbstractContextManager[tuple[int, int]]]]] = {
    "nothing": nothing,
    "floor": floor_process,
    **{name: partial(relay_process, watched=watched) for name, watched in WATCHED.items()},
}
"""Name → (port of the broker) → port and process id of what is between."""


def cpu_ms(pid: int) -> float:
    """Of the first thread, which is the one that passes on."""
    return int(Path(f"/proc/{pid}/schedstat").read_text(encoding="ascii").split()[0]) / 1e6 if pid else 0.0
