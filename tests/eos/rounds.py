"""Rounds in which something is killed while records are produced, and at the end what came out is compared."""

import random
import signal
import subprocess
import time
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

from confluent_kafka import Producer

from tests.eos.topics import COMMITTED, UNCOMMITTED, Topics
from tests.servers import QUICK_GROUPS, RunningServer
from tests.waiting import wait_for
from tests.wire_client import WireClient

PARTITIONS: Final = 3
WORKERS: Final = 3
SECONDS: Final = 120
PRODUCE_SECONDS: Final = 1
SOURCE: Final = "source"
SINK: Final = "sink"
SETTINGS: Final = QUICK_GROUPS | {
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "1000",
    # What members of the classic protocol ask for themselves.
    "group.streams.min.session.timeout.ms": "3000",
    "group.streams.session.timeout.ms": "3000",
    "group.streams.min.heartbeat.interval.ms": "500",
    "group.streams.heartbeat.interval.ms": "500",
    "group.streams.num.standby.replicas": "1",
    "group.streams.initial.rebalance.delay.ms": "0",
}

SILENT_SECONDS: Final = 8
"""After this time without a sign of life a worker hangs: librdkafka's send_offsets_to_transaction has no timeout."""

Command = Callable[[str, int, Path], list[str]]
"""(bootstrap, number of the worker, the file that it touches) → the command that runs a worker."""


class Rounds(ABC):
    """A server, workers, and what was produced."""

    def __init__(self, folder: Path, command: Command, seed: int, group: str, records_per_round: int) -> None:
        """`group`: the consumer group of the workers, which reads SOURCE and commits with what it writes to SINK."""
        self.server = RunningServer(folder, SETTINGS)
        self.events: Counter[str] = Counter()
        self.figures: dict[str, int] = {}
        """What was compared at the end."""
        self._folder = folder
        self._command = command
        self._random = random.Random(seed)
        self._group = group
        self._records_per_round = records_per_round
        self._workers: dict[int, subprocess.Popen[bytes]] = {}
        self._frozen: dict[int, subprocess.Popen[bytes]] = {}
        self._sent = 0
        self._topics: Topics

    def run(self, rounds: int, told: Callable[[str], None] = lambda line: None) -> None:
        """Play the rounds, wait until all is done, and compare.

        Raises:
            AssertionError: something is missing, is there twice, or was not done in time.
        """
        with self.server:
            with WireClient(self.server.bootstrap) as client:
                for topic in (SOURCE, SINK):
                    client.create_topic(topic, PARTITIONS)
            self._topics = Topics(self.server.bootstrap)
            try:
                for number in range(WORKERS):
                    self._start(number)
                self._produce_during(lambda: None)
                self._wait_until_read(self._sent)
                for number in range(rounds):
                    event = self._random.choice(self._events())
                    before = self._sent
                    self._produce_during(event)
                    self._wait_until_read(before)
                    told(
                        f"round {number + 1}: {event.__name__.strip('_').replace('_', ' ')}, {self._sent} records sent"
                    )
                self._wait_until_read(self._sent)
                self._wait(lambda: self._topics.is_settled(SINK), "the last transaction to end")
                assert self._topics.committed(self._group, SOURCE) == self._topics.ends(SOURCE, COMMITTED)
                self._compare()
            finally:
                for worker in (*self._workers.values(), *self._frozen.values()):
                    worker.kill()
                    worker.wait()

    def _events(self) -> list[Callable[[], None]]:
        return [self._kill_server, self._kill_worker, self._freeze_worker, self._add_worker, self._pause]

    @abstractmethod
    def _record(self, number: int) -> bytes:
        """The value of the record of that number, which goes to partition number % PARTITIONS of SOURCE."""

    @abstractmethod
    def _compare(self) -> None:
        """Compare what is in SINK with what was produced, and set `figures`."""

    def _written(self) -> dict[str, int]:
        """How many records SINK has for committed readers, and how many of aborted transactions beside them."""
        committed, all_of_them = (
            sum(len(records) for records in self._topics.read(SINK, isolation))
            for isolation in (COMMITTED, UNCOMMITTED)
        )
        return {"records produced": self._sent, "records out": committed, "records aborted": all_of_them - committed}

    def _start(self, number: int) -> None:
        alive = self._alive(number)
        alive.touch()
        command = self._command(self.server.bootstrap, number, alive)
        with (self._folder / f"worker-{number}.log").open("ab") as log:
            self._workers[number] = subprocess.Popen(command, stdout=log, stderr=log)

    def _alive(self, number: int) -> Path:
        return self._folder / f"worker-{number}.alive"

    def _wait(self, condition: Callable[[], bool], what: str) -> None:
        """Wait for the condition, and see to the workers meanwhile."""

        def holds() -> bool:
            self._replace_silent()
            return condition()

        wait_for(holds, SECONDS, what, every_ms=100)

    def _wait_until_read(self, count: int) -> None:
        """Wait until the group has committed that it read the first `count` records."""
        self._wait(
            lambda: sum(self._topics.committed(self._group, SOURCE)) >= count,
            f"{count} of {self._sent} records to be read",
        )

    def _replace_silent(self) -> None:
        """Replace the workers that do nothing any more."""
        for number, worker in list(self._workers.items()):
            assert worker.poll() is None, f"worker {number} ended: see its log in {self._folder}"
            if time.time() - self._alive(number).stat().st_mtime > SILENT_SECONDS:
                self.events["worker hung"] += 1
                worker.kill()
                worker.wait()
                self._start(number)

    def _produce_during(self, event: Callable[[], None]) -> None:
        records = [self._record(self._sent + each) for each in range(self._records_per_round)]
        with ThreadPoolExecutor(1) as other_thread:
            produced = other_thread.submit(self._produce, self._sent, records)
            self._sent += len(records)
            event()
            produced.result()

    def _produce(self, first: int, records: list[bytes]) -> None:
        """Produce the records over PRODUCE_SECONDS, so that workers have open transactions whenever one is killed."""
        producer = Producer({"bootstrap.servers": self.server.bootstrap, "enable.idempotence": True, "log_level": 2})
        for number, record in enumerate(records, first):
            producer.produce(SOURCE, record, partition=number % PARTITIONS)
            time.sleep(PRODUCE_SECONDS / len(records))
        assert producer.flush(SECONDS) == 0

    def _wait_a_while(self) -> None:
        """Wait for a random part of the time in which records are produced; at first the workers have none yet."""
        time.sleep(PRODUCE_SECONDS * (0.2 + 0.8 * self._random.random()))

    # ---- what happens in a round

    def _kill_server(self) -> None:
        self.events["server killed"] += 1
        self._wait_a_while()
        self.server.kill()
        self.server.start()

    def _kill_worker(self) -> None:
        self.events["worker killed"] += 1
        self._start(self._killed())

    def _killed(self) -> int:
        """Kill some worker; its number."""
        number = self._random.choice(list(self._workers))
        self._wait_a_while()
        worker = self._workers.pop(number)
        worker.kill()
        worker.wait()
        return number

    def _freeze_worker(self) -> None:
        """A worker that goes on after the others have taken over its partitions, in the midst of its transaction."""
        self.events["worker frozen"] += 1
        number = self._random.choice(list(self._workers))
        self._wait_a_while()
        worker = self._frozen[number] = self._workers.pop(number)
        worker.send_signal(signal.SIGSTOP)
        self._wait_until_read(self._sent)
        worker.send_signal(signal.SIGCONT)
        self._alive(number).touch()
        self._workers[number] = self._frozen.pop(number)

    def _add_worker(self) -> None:
        """A worker more, or the last one of these less: the group rebalances."""
        self.events["rebalance"] += 1
        extra = WORKERS
        if extra in self._workers:
            worker = self._workers.pop(extra)
            worker.terminate()
            worker.wait(SECONDS)
        else:
            self._start(extra)

    def _pause(self) -> None:
        self.events["pause"] += 1
        self._wait_a_while()
