"""Plays a script with the drivers of the matrix on a server of its own, and notes what was done when."""

import time
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Final

from kafka.admin import NewPartitions

from coordinator.explain.history import GroupHistory
from interop.builds import ALL, CONSUMER, BuiltDriver
from interop.driver import Driver, DriverFailed, Member, python_driver
from interop.scene import Scene
from tests.servers import QUICK_GROUPS, RunningServer
from tests.world.clients import ClientKind
from tests.world.real.script import HEARTBEAT_MS, KINDS, MAX_POLL_MS, SESSION_MS, UNTIL_MS, RealConsumer, Script
from tests.world.topics import TopicChange
from tests.world.truth import Away, AwayKind, Departure, Ended, ProcessTruth, Subscribed, Way

HOST: Final = "/127.0.0.1"
SETTINGS: Final = QUICK_GROUPS | {
    "group.consumer.min.session.timeout.ms": "500",
    "group.consumer.min.heartbeat.interval.ms": "100",
}
COMMIT_MS: Final = 2_000
TOPIC_ID: Final = b"t"
LEAVE_SECONDS: Final = 20


def now() -> int:
    """Wall clock, in ms since the epoch."""
    return time.time_ns() // 1_000_000


def built(client: str) -> Callable[[], Driver]:
    """How the driver of a client is started: Python's with the libraries of this environment."""
    name = client.removesuffix("-consumer")
    if name in ("kafka-python", "confluent-kafka"):
        return partial(Driver, python_driver(name))
    driver: BuiltDriver = ALL[client].built()
    return driver.start


class Process:
    """A process with one member, as the player has made it."""

    def __init__(self, driver: Driver, member: Member, truth: ProcessTruth) -> None:
        self.driver, self.member, self.truth = driver, member, truth

    @property
    def is_stopped(self) -> bool:
        return self.truth.suspended.is_on


class Player:
    """A script while it is played. Each kind of step is a method that takes a consumer and a value."""

    def __init__(self, script: Script, folder: Path, stack: ExitStack) -> None:
        self.script = script
        self.server = stack.enter_context(RunningServer(folder, SETTINGS))
        self.drivers = {consumer.client: built(consumer.client) for consumer in script.consumers}
        self.scene = Scene(
            self.server,
            self.drivers[script.consumers[0].client],
            f"r{script.seed}",
            stack,
            session_ms=SESSION_MS,
            partitions=script.partitions,
            others=self.drivers,
        )
        self.begin_ms = now()
        self.processes: list[Process] = []
        self.away: list[Away] = []
        self.running: dict[int, Process] = {}
        """Consumer → its process."""
        self.topic_changes = [TopicChange(self.begin_ms, self.scene.topic, TOPIC_ID, script.partitions)]
        self._later: list[tuple[int, int, Callable[[], None]]] = []
        self._count = 0

    # ---- time

    def at(self, at_ms: int, callback: Callable[[], None]) -> None:
        self._count += 1
        self._later.append((at_ms, self._count, callback))

    def play(self, tell: Callable[[GroupHistory, int], None]) -> None:
        """Play all steps. `tell` is called with what is known of the group, at the times that the script says."""
        for number, consumer in enumerate(self.script.consumers):
            if consumer.starts:
                self.start(number, 0)
        self.scene.produce(20)
        for step in self.script.steps:
            kind = getattr(self, step.kind)
            self.at(self.begin_ms + step.at_ms, partial(kind, step.who, step.value))
        for at_ms in self.script.reported_ms:
            self.at(self.begin_ms + at_ms, lambda: tell(self.scene.history(), now()))
        for at_ms in range(COMMIT_MS, UNTIL_MS, COMMIT_MS):
            self.at(self.begin_ms + at_ms, self.commit)
        self.at(self.begin_ms + UNTIL_MS, lambda: tell(self.scene.history(), now()))
        while self._later:
            first = min(self._later)
            self._later.remove(first)
            time.sleep(max(0, first[0] - now()) / 1_000)
            first[2]()
        for process in self.processes:
            process.driver.take_in_all()

    # ---- processes

    def start(self, who: int, value: int) -> None:
        """A new process, unless one runs."""
        if who in self.running:
            return
        consumer = self.script.consumers[who]
        driver = self.scene.driver(consumer.client)
        truth = ProcessTruth(len(self.processes), who, _kind(consumer), f"c{who}", HOST, consumer.instance_id, now())
        truth.subscriptions.append(Subscribed(now(), (self.scene.topic,), consumer.assignors, ""))
        options = {"client_id": f"c{who}", "heartbeat_interval_ms": HEARTBEAT_MS, "max_poll_interval_ms": MAX_POLL_MS}
        if consumer.protocol != CONSUMER:
            options["assignors"] = list(consumer.assignors)
        if consumer.instance_id is not None:
            options["instance_id"] = consumer.instance_id
        member = self.scene.again(
            driver, f"c{who}-{len(self.processes)}", (self.scene.topic,), protocol=consumer.protocol, **options
        )
        process = self.running[who] = Process(driver, member, truth)
        self.processes.append(process)

    def kill(self, who: int, value: int) -> None:
        """SIGKILL; a new process follows after `value` ms, if that is not 0."""
        process = self.running.pop(who, None)
        if process is not None:
            process.driver.take_in_all()
            process.truth.disconnections.append(now())
            process.driver.kill()
            self._ended(process, Ended.KILLED)
        self._start_after(who, value)

    def close(self, who: int, value: int) -> None:
        """The consumer is closed in order, and its process ends."""
        process = self.running.get(who)
        if process is None or process.is_stopped:
            return
        del self.running[who]
        began_ms = now()
        is_static = process.truth.instance_id is not None
        way = Way.FOR_A_MOMENT if is_static and process.truth.kind.is_modern else Way.CLOSED
        process.truth.departures.append(Departure(began_ms, "", way, ""))
        try:
            process.member.leave()
        except DriverFailed:
            process.truth.out.begin(began_ms)  # it could not, as without a server: its process ends all the same
        process.truth.out.begin(began_ms)
        process.truth.disconnections.append(now())
        process.driver.take_in_all()
        process.driver.kill()
        self._ended(process, Ended.CLOSED)
        self._start_after(who, value)

    def _start_after(self, who: int, value: int) -> None:
        if value:
            self.at(now() + value, lambda: self.start(who, 0))

    def _ended(self, process: Process, how: Ended) -> None:
        truth, at_ms = process.truth, now()
        truth.suspended.end(at_ms)
        truth.blocked.end(at_ms)
        truth.ended_ms, truth.ended = at_ms, how
        truth.disconnections.append(at_ms)

    def suspend(self, who: int, value: int) -> None:
        """SIGSTOP, and SIGCONT after `value` ms."""
        process = self.running.get(who)
        if process is None or process.is_stopped:
            return
        process.driver.stop()
        process.truth.suspended.begin(now())
        self.at(now() + value, lambda: self._resume(process))

    def _resume(self, process: Process) -> None:
        if process.truth.ended is None and process.is_stopped:
            process.driver.go_on()
            process.truth.suspended.end(now())

    def block(self, who: int, value: int) -> None:
        """The application does not call poll() for `value` ms."""
        process = self.running.get(who)
        if process is None or process.is_stopped or process.truth.blocked.is_on:
            return
        process.member.pause()
        process.truth.blocked.begin(now())
        self.at(now() + value, lambda: self._unblock(process))

    def _unblock(self, process: Process) -> None:
        if process.truth.ended is None:
            process.member.resume()
            began_ms = process.truth.blocked.all[-1][0]
            process.truth.blocked.end(now())
            if now() - began_ms >= MAX_POLL_MS and process.truth.kind.leaves_late:
                left = Departure(began_ms + MAX_POLL_MS, "", Way.POLL_TIMEOUT, "")
                process.truth.departures.append(left)

    def commit(self) -> None:
        for process in self.running.values():
            if not process.is_stopped and not process.truth.blocked.is_on and not process.driver.has_ended:
                process.member.send("commit")

    # ---- the server

    def grow(self, who: int, value: int) -> None:
        partitions = self.topic_changes[-1].partitions + value
        self.scene.admin().create_partitions({self.scene.topic: NewPartitions(partitions)})
        self.topic_changes.append(TopicChange(now(), self.scene.topic, TOPIC_ID, partitions))

    def kill_server(self, who: int, value: int) -> None:
        self._restart(AwayKind.KILLED, self.server.kill, value)

    def stop_server(self, who: int, value: int) -> None:
        self._restart(AwayKind.STOPPED, self.server.stop, value)

    def _restart(self, kind: AwayKind, end: Callable[[], object], ms: int) -> None:
        from_ms = now()
        end()
        time.sleep(ms / 1_000)
        self.server.start()
        self.away.append(Away(kind, from_ms, now()))


def _kind(consumer: RealConsumer) -> ClientKind:
    known = KINDS[consumer.kind]
    is_modern = consumer.protocol == CONSUMER
    return ClientKind(
        consumer.kind,
        "",
        9,
        beats_alone=True,
        says_why=known.says_why and not is_modern,
        leaves_late=known.leaves_late,
        is_modern=is_modern,
    )
