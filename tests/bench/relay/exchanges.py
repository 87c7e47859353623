"""A client and a broker of plain sockets, which exchange frames of one size."""

import multiprocessing
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter
from typing import Final, NamedTuple, Self

from tests.bench.relay.between import BETWEEN, HOST, cpu_ms
from tests.bench.relay.loads import MIB, Load, with_length

END_SECONDS: Final = 10


class Measured(NamedTuple):
    cpu_ms: float
    seconds: float


def answer_all(listening: socket.socket, load: Load) -> None:
    """Answer each request of one connection. All have the same size, so nothing is parsed."""
    connection, _ = listening.accept()
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    response, request_bytes = with_length(load.response), 4 + len(load.request)
    buffer = bytearray(max(MIB, 2 * request_bytes))
    received = 0
    while count := connection.recv_into(buffer):
        received += count
        complete, received = divmod(received, request_bytes)
        if complete:
            connection.sendall(response * complete if len(response) < MIB else response)
            for _ in range(complete - 1 if len(response) >= MIB else 0):
                connection.sendall(response)


class Client:
    """One connection."""

    def __init__(self, port: int) -> None:
        self._connection = socket.create_connection((HOST, port))
        self._connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._buffer = bytearray(MIB)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *problem: object) -> None:
        self._connection.close()

    def exchange(self, load: Load, frames: int) -> float:
        """Send so many requests, some at a time, and read all responses; how long it took."""
        request, response_bytes = with_length(load.request), 4 + len(load.response)
        begin = perf_counter()
        sent = answered = received = 0
        while answered < frames:
            new = min(frames, answered + load.in_flight) - sent
            if new:
                self._connection.sendall(request * new)
                sent += new
            received += self._connection.recv_into(self._buffer)
            complete, received = divmod(received, response_bytes)
            answered += complete
        return perf_counter() - begin


@contextmanager
def answering(listening: socket.socket, load: Load) -> Iterator[int]:
    """The port of a broker that answers the next connection."""
    process = multiprocessing.Process(target=answer_all, args=(listening, load), daemon=True)
    process.start()
    try:
        yield listening.getsockname()[1]
    finally:
        process.terminate()
        process.join(END_SECONDS)


class Exchange:
    """A load through what is between, with one connection that stays."""

    def __init__(self, client: Client, load: Load, pid: int) -> None:
        self._client, self._load, self._pid = client, load, pid

    def measure(self, frames: int) -> Measured:
        before = cpu_ms(self._pid)
        seconds = self._client.exchange(self._load, frames)
        return Measured(cpu_ms(self._pid) - before, seconds)


@contextmanager
def through(between: str, load: Load) -> Iterator[Exchange]:
    """An exchange by way of what `BETWEEN` names."""
    with (
        socket.create_server((HOST, 0)) as listening,
        answering(listening, load) as broker_port,
        BETWEEN[between](broker_port) as (port, pid),
        Client(port) as client,
    ):
        yield Exchange(client, load, pid)
