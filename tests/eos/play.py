"""Rounds in which records are produced and something is killed; at the end each record was copied exactly once."""

import os
import random
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Final

from confluent_kafka import Consumer, Producer, TopicPartition

from tests.servers import QUICK_GROUPS, RunningServer
from tests.waiting import wait_for
from tests.wire_client import WireClient

PARTITIONS: Final = 3
WORKERS: Final = 3
RECORDS_PER_ROUND: Final = 100
SECONDS: Final = 120
GROUP: Final = "copiers"
SOURCE: Final = "source"
SINK: Final = "sink"
SETTINGS: Final = QUICK_GROUPS | {"transaction.abort.timed.out.transaction.cleanup.interval.ms": "1000"}

JAVA_OPTIONS: Final = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xmx128m")
SILENT_SECONDS: Final = 15
"""After this time without a batch a worker hangs: librdkafka's send_offsets_to_transaction ignores its timeout."""

Command = Callable[[str, int, Path], list[str]]
"""(bootstrap, number of the worker, the file that it touches) → the command that runs a worker."""


def librdkafka(bootstrap: str, number: int, alive: Path) -> list[str]:
    """A worker of `worker.py`. Its transactional id is that of its predecessor, which it fences."""
    return [sys.executable, "-m", "tests.eos.worker", bootstrap, GROUP, f"copier-{number}", SOURCE, SINK, str(alive)]


def java(jars: Path, folder: Path) -> Command:
    """Workers of `EosWorker.java`, compiled into a folder against the jars of Kafka's clients."""
    class_path = f"{folder}{os.pathsep}{jars}/*"
    subprocess.run(
        ["javac", "-cp", class_path, "-d", str(folder), str(Path(__file__).parent / "EosWorker.java")], check=True
    )

    def command(bootstrap: str, number: int, alive: Path) -> list[str]:
        arguments = [bootstrap, GROUP, f"copier-{number}", SOURCE, SINK, str(alive)]
        return ["java", *JAVA_OPTIONS, "-cp", class_path, "EosWorker", *arguments]

    return command


class Play:
    """A server, workers, and what was produced."""

    def __init__(self, folder: Path, command: Command, seed: int) -> None:
        self.server = RunningServer(folder, SETTINGS)
        self._folder = folder
        self._command = command
        self._random = random.Random(seed)
        self._workers: dict[int, subprocess.Popen[bytes]] = {}
        self._sent = 0
        self.events: Counter[str] = Counter()

    def run(self, rounds: int, told: Callable[[str], None] = lambda line: None) -> None:
        """Play the rounds, wait until all is copied, and compare.

        Raises:
            AssertionError: a record is missing, or was copied twice, or was not copied in time.
        """
        with self.server:
            with WireClient(self.server.bootstrap) as client:
                for topic in (SOURCE, SINK):
                    client.create_topic(topic, PARTITIONS)
            try:
                for number in range(WORKERS):
                    self._start(number)
                for number in range(rounds):
                    event = self._random.choice((self._kill_server, self._kill_worker, self._add_worker, self._pause))
                    self._produce()
                    event()
                    self._replace_silent()
                    told(
                        f"round {number + 1}: {event.__name__.strip('_').replace('_', ' ')}, {self._sent} records sent"
                    )
                self._compare()
            finally:
                for worker in self._workers.values():
                    worker.kill()
                    worker.wait()

    def _start(self, number: int) -> None:
        alive = self._alive(number)
        alive.touch()
        command = self._command(self.server.bootstrap, number, alive)
        with (self._folder / f"worker-{number}.log").open("ab") as log:
            self._workers[number] = subprocess.Popen(command, stdout=log, stderr=log)

    def _alive(self, number: int) -> Path:
        return self._folder / f"worker-{number}.alive"

    def _replace_silent(self) -> None:
        """Replace the workers that do nothing any more."""
        for number, worker in list(self._workers.items()):
            assert worker.poll() is None, f"worker {number} ended: see its log in {self._folder}"
            if time.time() - self._alive(number).stat().st_mtime > SILENT_SECONDS:
                self.events["worker hung"] += 1
                worker.kill()
                worker.wait()
                self._start(number)

    def _produce(self) -> None:
        producer = Producer({"bootstrap.servers": self.server.bootstrap, "enable.idempotence": True})
        for _ in range(RECORDS_PER_ROUND):
            producer.produce(SOURCE, str(self._sent).encode(), partition=self._sent % PARTITIONS)
            self._sent += 1
        assert producer.flush(SECONDS) == 0

    # ---- what happens in a round

    def _kill_server(self) -> None:
        self.events["server killed"] += 1
        time.sleep(self._random.random())
        self.server.kill()
        self.server.start()

    def _kill_worker(self) -> None:
        self.events["worker killed"] += 1
        number = self._random.choice(list(self._workers))
        time.sleep(self._random.random())
        worker = self._workers.pop(number)
        worker.kill()
        worker.wait()
        self._start(number)

    def _add_worker(self) -> None:
        """A worker more, or the last one of these less: the group rebalances."""
        self.events["rebalance"] += 1
        extra = WORKERS
        if extra in self._workers:
            worker = self._workers.pop(extra)
            worker.terminate()
            worker.wait()
        else:
            self._start(extra)

    def _pause(self) -> None:
        self.events["pause"] += 1
        time.sleep(self._random.random())

    # ---- the end

    def _compare(self) -> None:
        copied: Counter[bytes] = Counter()
        consumer = Consumer(
            {
                "bootstrap.servers": self.server.bootstrap,
                "group.id": "reader",
                "enable.auto.commit": False,
                "isolation.level": "read_committed",
                "auto.offset.reset": "earliest",
            }
        )
        consumer.assign([TopicPartition(SINK, partition, 0) for partition in range(PARTITIONS)])

        def read() -> bool:
            for message in consumer.consume(1000, 0.2):
                if message.error() is None:
                    copied[message.value() or b""] += 1
            self._replace_silent()
            return len(copied) >= self._sent

        try:
            wait_for(read, SECONDS, f"{self._sent} records to be copied")
            for _ in range(10):
                read()
        finally:
            consumer.close()
        missing = [number for number in range(self._sent) if not copied[str(number).encode()]]
        assert missing == [], f"lost: {missing[:10]}"
        doubled = [value for value, count in copied.items() if count > 1]
        assert doubled == [], f"copied twice: {doubled[:10]}"
