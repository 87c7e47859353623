"""A world: a coordinator, the processes of its clients, the network between them, and what is written down of it."""

from collections.abc import Callable
from random import Random
from typing import Final

from coordinator.core.client_connection import ClientConnection
from tests.world.classic_consumer import ClassicConsumer
from tests.world.clients import KINDS
from tests.world.history import ConsumerSetup, History
from tests.world.modern_consumer import ModernConsumer
from tests.world.network import Network
from tests.world.process import Process
from tests.world.recorder import Recorder
from tests.world.schedule import Schedule
from tests.world.server import WorldServer
from tests.world.spans import FOREVER
from tests.world.truth import Away, AwayKind, Ended, Holding, ProcessTruth, Truth

BEGIN_MS: Final = 0, 300
"""When a process that was started is ready to join: at least and at most."""


class Consumer:
    """One deployed consumer: its setup, and the process that runs now."""

    def __init__(self, number: int, setup: ConsumerSetup) -> None:
        self.number, self.setup = number, setup
        self.process: Process | None = None
        self.host = 0
        """How often it has moved to another host."""

    @property
    def is_running(self) -> bool:
        return self.process is not None and self.process.is_alive


class World:
    """Plays by itself; `actions.Actions` makes things happen in it."""

    def __init__(self, history: History) -> None:
        self.history = history
        self.random = Random(history.setup.seed)
        self.schedule = Schedule()
        self.server = WorldServer(history.setup)
        self.begin_ms = self.server.now_ms
        self.topics = self.server.world_topics
        self.truth = Truth()
        self.recorder = Recorder(self.truth, self.topics, self.server)
        self.network = Network(self)
        self.found_later: list[Callable[[], None]] = []
        """What a coordinator that stands still will find besides requests."""
        self.is_batching = False
        self.absent: tuple[AwayKind, int] | None = None
        """How and since when nobody coordinates."""
        self.consumers = [Consumer(number, setup) for number, setup in enumerate(history.setup.consumers)]
        for name, partitions in history.setup.topics:
            self.topics.create(name, partitions)
        for consumer in self.consumers:
            if consumer.setup.starts:
                self.start_process(consumer)

    @property
    def now_ms(self) -> int:
        return self.server.clock.now_ms()

    # ---- time

    def run_until(self, until_ms: int) -> None:
        """Let all happen that is due, in order."""
        clock = self.server.clock
        while True:
            planned_ms, deadline_ms = self.schedule.next_ms(), self.server.next_deadline_ms()
            known = [each for each in (planned_ms, deadline_ms) if each is not None]
            due_ms = min(known, default=FOREVER)
            if due_ms > until_ms:
                break
            if due_ms > clock.now_ms():
                clock.advance(due_ms - clock.now_ms())
            if deadline_ms is not None and deadline_ms <= due_ms:
                self.iterate()
            else:
                self.schedule.pop()()
        clock.advance(max(0, until_ms - clock.now_ms()))

    def iterate(self) -> None:
        """One iteration of the coordinator's event loop, if it runs."""
        if self.server.listens:
            self.server.end_iteration()
            self.recorder.watch()

    def finish(self) -> None:
        """Nothing more happens: what goes on is written down as far as it went."""
        for process in self.processes():
            process.note_progress()
            for partition, (member_id, since_ms) in process.held.items():
                self.recorder.held(Holding(partition, process.truth, member_id, (since_ms, FOREVER)))
        self.truth.topic_changes, self.truth.log_end_at = self.topics.changes, self.topics.log_end_at
        self.truth.topics = self.topics
        if self.absent is not None:
            self.truth.away.append(Away(*self.absent, self.now_ms + 1))
        self.truth.ended_ms = self.now_ms

    def processes(self) -> list[Process]:
        """Those that run."""
        return [
            consumer.process
            for consumer in self.consumers
            if consumer.process is not None and consumer.process.is_alive
        ]

    # ---- processes

    def start_process(self, consumer: Consumer) -> Process:
        """A process of a consumer, which joins soon."""
        setup = consumer.setup
        truth = ProcessTruth(
            len(self.truth.processes),
            consumer.number,
            KINDS[setup.kind],
            setup.client_id or f"consumer-{consumer.number}",
            f"/10.0.{consumer.host}.{consumer.number + 1}",
            setup.instance_id,
            self.now_ms,
        )
        self.truth.processes.append(truth)
        kind = ModernConsumer if truth.kind.is_modern else ClassicConsumer
        consumer.process = process = kind(self, truth, setup)
        process.after(self.random.randint(*BEGIN_MS), process.begin)
        return process

    def connected(self, process: Process, connection: ClientConnection) -> None:
        self.recorder.connected(connection, process.truth)

    def end_process(self, consumer: Consumer, how: Ended) -> None:
        if consumer.process is not None and consumer.process.is_alive:
            consumer.process.end(how)

    # ---- the coordinator

    def goes_away(self, kind: AwayKind) -> None:
        """Nobody coordinates from now on."""
        self.absent = kind, self.now_ms

    def is_back(self, next_node_id: int | None = None) -> None:
        if self.absent is not None:
            self.truth.away.append(Away(*self.absent, self.now_ms, next_node_id))
            self.absent = None

    def coordinator_ended(self) -> None:
        """All connections are gone."""
        self.network.unread = []
        self.found_later = []
        for process in self.processes():
            process.unread = []
            process.no_more_muted()  # what counts for a quota is kept in memory
            process.connection_lost()
