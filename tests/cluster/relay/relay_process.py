"""A relay as a process of its own, between stock clients and a broker.

    python -m tests.cluster.relay.relay_process BASE_PORT ID=HOST:PORT... [--watch PATTERN]

Clients reach broker ID at 127.0.0.1, port BASE_PORT + ID. There are no nodes: the cluster coordinates all groups. With
--watch, what passes of these groups is read as in a node that watches; what is seen is thrown away.
"""

import asyncio
import socket
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Self

import uvloop

from coordinator.cluster.found import NOT_FOUND
from coordinator.cluster.log.group_patterns import GroupPattern
from coordinator.cluster.relay.broker_listeners import BrokerListeners
from coordinator.cluster.relay.directory import Address, CoordinatorNode, Owner
from coordinator.cluster.relay.held_bytes import HeldBytes
from coordinator.cluster.relay.relayed_connection import RelayParts
from coordinator.cluster.relay.tap import Tap
from coordinator.cluster.relay.upstreams import Upstreams
from coordinator.cluster.watching import COLLECT_SECONDS, SILENCE_SECONDS
from coordinator.config.network_keys import SOCKET_REQUEST_MAX_BYTES
from coordinator.config.settings import Config
from coordinator.front.connection_rate import ConnectionRate
from coordinator.front.limits import ConnectionLimits
from coordinator.runtime.slices import Slices

ROOT: Final = Path(__file__).parents[3]
HOST: Final = "127.0.0.1"
READY: Final = "ready"


class Cluster:
    """A directory of brokers that stay where they are."""

    def __init__(self, base_port: int, brokers: Mapping[int, Address]) -> None:
        self._base_port = base_port
        self._brokers = brokers

    def broker_address(self, broker_id: int) -> Address | None:
        return Address(HOST, self._base_port + broker_id) if broker_id in self._brokers else None

    def broker_upstream(self, broker_id: int) -> Address | None:
        return self._brokers.get(broker_id)

    def nodes(self) -> Sequence[CoordinatorNode]:
        return ()

    def owner_of(self, group_id: str, answered: Callable[[Owner], None]) -> None:
        answered(NOT_FOUND)

    def owned_groups(self, answered: Callable[[frozenset[str] | None], None]) -> None:
        answered(frozenset())


def watching(pattern: str) -> Tap:
    """A tap that is emptied as often as in a node."""
    loop, tap = asyncio.get_running_loop(), Tap(1, GroupPattern(pattern).matches)

    def take() -> None:
        tap.drain()
        loop.call_later(COLLECT_SECONDS, take)

    def find_silent() -> None:
        tap.find_silent()
        loop.call_later(SILENCE_SECONDS, find_silent)

    take()
    find_silent()
    return tap


async def serve(base_port: int, brokers: Mapping[int, Address], watched: str | None) -> None:
    config = Config({})
    directory = Cluster(base_port, brokers)
    parts = RelayParts(
        directory=directory,
        upstreams=Upstreams(directory),
        slices=Slices(asyncio.get_running_loop().call_soon),
        held=HeldBytes(),
        on_rejected=lambda address, reason: print(f"{address}: {reason}", file=sys.stderr, flush=True),
        request_bytes_max=config[SOCKET_REQUEST_MAX_BYTES],
        tap=None if watched is None else watching(watched),
    )
    scheduler: Any = None  # nothing of the limits that needs it is used
    listeners = BrokerListeners(HOST, base_port, parts, ConnectionLimits(config, scheduler), ConnectionRate(1 << 30))
    listeners.follow(brokers)
    print(READY, flush=True)
    await asyncio.Event().wait()


class RelayProcess:
    """The relay for one broker. Leaving its context stops it."""

    def __init__(self, broker_id: int, upstream: str, watched: str | None = None) -> None:
        """`watched`: the pattern of groups that are watched; None: nothing is looked at for that."""
        with socket.socket() as sock:
            sock.bind((HOST, 0))
            port = sock.getsockname()[1]
        self.bootstrap: Final = f"{HOST}:{port}"
        self.command: Final = [
            sys.executable,
            "-m",
            "tests.cluster.relay.relay_process",
            str(port - broker_id),
            f"{broker_id}={upstream}",
            *([] if watched is None else ["--watch", watched]),
        ]
        self._process: subprocess.Popen[str] | None = None

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(self.command, stdout=subprocess.PIPE, text=True, cwd=ROOT)
        assert self._process.stdout is not None
        # The log goes there, too.
        started = any(line.strip() == READY for line in self._process.stdout)
        assert started, "the relay did not start"
        return self

    def __exit__(self, *problem: object) -> None:
        assert self._process is not None
        self._process.terminate()
        self._process.wait(10)


def main() -> None:
    base_port, *named = sys.argv[1:]
    watched = named.pop() if "--watch" in named else None
    if watched is not None:
        named.remove("--watch")
    brokers = {}
    for member_id in named:
        broker_id, _, address = member_id.partition("=")
        host, _, port = address.rpartition(":")
        brokers[int(broker_id)] = Address(host, int(port))
    uvloop.run(serve(int(base_port), brokers, watched))


if __name__ == "__main__":
    main()
