"""All processes of a history on one clock: the brokers, the nodes, and the clients."""

import random
from collections import Counter
from collections.abc import Sequence
from typing import Final

from coordinator.cluster.parts import TRANSACTIONAL_ID_PREFIX
from tests.cluster.simulation.brokers import ModelBroker
from tests.cluster.simulation.clients import SimulatedClient
from tests.cluster.simulation.cluster import BROKERS, PARTITIONS, Cluster
from tests.cluster.simulation.consumers import SimulatedConsumer
from tests.cluster.simulation.loop import ProcessLoop
from tests.cluster.simulation.network import End, Events, Network
from tests.cluster.simulation.nodes import NodeProcess
from tests.cluster.simulation.reports import Reports

GROUPS: Final = ("a", "b", "c")
CONSUMER_GROUP: Final = "k"
"""That of the clients that have the protocol of KIP-848."""
TURNS_MAX: Final = 100_000
"""Turns without time passing after which something goes round in a circle."""


class World:
    """Everything there is. It is played step by step (`faults.py`), and checked while it runs (`reports.py`)."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.reports = Reports()
        self.cluster = Cluster(self.random, self.reports.appended)
        self.reports.has_sentinel = self.cluster.has_members
        self.clock = self.cluster.clock
        self.began_ms = self.clock.now_ms()
        self.events = Events(self.clock)
        self.network = Network(self.clock, self.events, self.random)
        self.network.on_write = self._on_write
        self.brokers = [ModelBroker(each, self.cluster, self.network, self.reports) for each in range(BROKERS)]
        self.nodes: list[NodeProcess] = []
        self.clients_loop = ProcessLoop(self.clock, self.network, "clients")  # type: ignore[abstract]
        self.clients: list[SimulatedClient] = []
        self.history: list[str] = []
        self.seen: Counter[str] = Counter()
        self._pauses: dict[str, tuple[int, int]] = {}
        """Host → after how many looks at its clock or sent messages it stands still, and for how long."""

    def log(self, line: str) -> None:
        self.history.append(f"{self.clock.now_ms() - self.began_ms:8} {line}")

    # ---- who there is

    def add_node(self) -> NodeProcess:
        process = NodeProcess(len(self.nodes), self.clock, self.network, self.cluster, self._on_read)
        self.nodes.append(process)
        process.start()
        return process

    def add_client(self, *, is_classic: bool | None = None) -> SimulatedClient:
        """One of the classic protocol, or of KIP-848; None: by chance."""
        number = len(self.clients)
        if is_classic is None:
            is_classic = self.random.random() < 0.6
        instance_id = f"static-{number}" if is_classic and self.random.random() < 0.3 else None
        make = SimulatedClient if is_classic else SimulatedConsumer
        client = make(
            f"client-{number}",
            self.random.choice(GROUPS) if is_classic else CONSUMER_GROUP,
            instance_id,
            self.clients_loop,
            self._hosts,
            self.reports,
            self.random,
            self.log,
        )
        self.clients.append(client)
        client.start()
        return client

    def _hosts(self) -> Sequence[str]:
        return [process.host for process in self.nodes]

    # ---- pauses

    def pause_soon(self, process: NodeProcess, looks: int, ms: int) -> None:
        """The process stands still after it has looked at its clock, or sent messages, so many times."""
        self._pauses[process.host] = looks, ms

    def _on_read(self, process: NodeProcess) -> None:
        self._count(process)

    def _on_write(self, end: End) -> None:
        for process in self.nodes:
            if process.loop is end.loop:
                self._count(process)

    def _count(self, process: NodeProcess) -> None:
        pause = self._pauses.get(process.host)
        if pause is None or process.loop.is_paused or not process.runs:
            return
        looks, ms = pause
        if looks > 0:
            self._pauses[process.host] = looks - 1, ms
            return
        del self._pauses[process.host]
        self._stand_still(process, ms)

    def _stand_still(self, process: NodeProcess, ms: int) -> None:
        """Everything else goes on meanwhile, in the middle of whatever the process does."""
        self.log(f"{process.host} stands still for {ms} ms")
        self.seen["pause"] += 1
        loop = process.loop
        loop.is_paused = True
        try:
            self.run(ms)
        finally:
            loop.is_paused = False
        self.log(f"{process.host} goes on")
        if process.loop is loop:
            process.went_on(ms)

    # ---- time

    def run(self, ms: int) -> None:
        """Let so much time pass."""
        until_ms = self.clock.now_ms() + ms
        while True:
            self._run_now()
            next_ms = self._next_ms()
            if next_ms is None or next_ms > until_ms:
                break
            if next_ms > self.clock.now_ms():
                self.clock.advance(next_ms - self.clock.now_ms())
        if until_ms > self.clock.now_ms():
            self.clock.advance(until_ms - self.clock.now_ms())

    @property
    def _loops(self) -> list[ProcessLoop]:
        return [self.clients_loop, *(process.loop for process in self.nodes)]

    def _next_ms(self) -> int | None:
        times = [self.events.next_ms(), self.cluster.next_ms()]
        times += [loop.next_timer_ms() for loop in self._loops if loop.can_turn]
        return min((time_ for time_ in times if time_ is not None), default=None)

    def _run_now(self) -> None:
        """Everything that is due, in turns of the processes, until nobody has anything to do."""
        for _ in range(TURNS_MAX):
            self.events.run_due()
            self.cluster.run_due()
            busy = [loop for loop in self._loops if loop.can_turn and self._is_busy(loop)]
            if not busy:
                self._raise_problems()
                return
            self.random.choice(busy).turn()
        raise AssertionError(f"somebody is still busy after {TURNS_MAX} turns without time passing")

    def _is_busy(self, loop: ProcessLoop) -> bool:
        due_ms = loop.next_timer_ms()
        return not loop.is_idle or (due_ms is not None and due_ms <= self.clock.now_ms())

    def _raise_problems(self) -> None:
        for loop in self._loops:
            if loop.problems:
                raise loop.problems[0]
        for task in (*(client.task for client in self.clients), *(process.main for process in self.nodes)):
            if task is not None and task.done() and not task.cancelled():
                problem = task.exception()
                if problem is not None:
                    raise problem

    # ---- logs

    def expire_transactional_ids(self) -> None:
        self.cluster.expire_transactional_ids([f"{TRANSACTIONAL_ID_PREFIX}{each}" for each in range(PARTITIONS)])
