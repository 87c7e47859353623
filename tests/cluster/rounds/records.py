"""Records that are produced without pause, and what an exactly-once copy makes of them."""

import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any, Final, Self

from confluent_kafka import Consumer, Producer, TopicPartition

from interop.driver import Partition

SOURCE: Final = "rounds-source"
SINK: Final = "rounds-copy"
PARTITIONS: Final = 4
COPY_GROUP: Final = "exactly-once-copy"
COPIERS: Final = 2
RECORDS_PER_SECOND: Final = 40
DELIVERY_MS: Final = 120_000
SILENT_SECONDS: Final = 15
"""After this time without a sign of life a copier hangs: librdkafka's send_offsets_to_transaction has no timeout."""
STOP_SECONDS: Final = 10


class NumberedRecords:
    """A thread that produces the numbers from 0 on, each to the partition that is the rest of its division."""

    def __init__(self, bootstrap: str, topic: str = SOURCE, partitions: int = PARTITIONS) -> None:
        self._topic, self._partitions = topic, partitions
        self._producer = Producer(
            {
                "bootstrap.servers": bootstrap,
                "enable.idempotence": True,
                "delivery.timeout.ms": DELIVERY_MS,
                "reconnect.backoff.max.ms": 500,
                "linger.ms": 20,
                "log_level": 2,
            }
        )
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._lock = threading.Lock()
        self._ends: dict[Partition, int] = {}
        self._acknowledged: set[int] = set()
        self.problems: list[str] = []

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *problem: object) -> None:
        self._stopping.set()
        self._thread.join(STOP_SECONDS)

    def acknowledged(self) -> tuple[dict[Partition, int], set[int]]:
        """The end of each partition after the records that were acknowledged so far, and their numbers."""
        with self._lock:
            return dict(self._ends), set(self._acknowledged)

    def _run(self) -> None:
        number = 0
        while not self._stopping.wait(1 / RECORDS_PER_SECOND):
            value = b"%d" % number
            self._producer.produce(self._topic, value, partition=number % self._partitions, on_delivery=self._delivered)
            self._producer.poll(0)
            number += 1

    def _delivered(self, error: Any, message: Any) -> None:
        number = int(message.value())
        with self._lock:
            if error is not None:
                self.problems.append(f"record {number} was not delivered within {DELIVERY_MS} ms: {error}")
                return
            where = message.topic(), message.partition()
            self._ends[where] = max(self._ends.get(where, 0), message.offset() + 1)
            self._acknowledged.add(number)


class ExactlyOnceCopy:
    """Processes that copy the records in transactions, and a reader of what they have committed."""

    def __init__(self, folder: Path, nodes: str, brokers: str) -> None:
        self._folder = folder
        self._nodes = nodes
        self._reader = Consumer(
            {
                "bootstrap.servers": brokers,
                "group.id": "reader",
                "enable.auto.commit": False,
                "isolation.level": "read_committed",
                "auto.offset.reset": "earliest",
                "reconnect.backoff.max.ms": 500,
                "log_level": 2,
            }
        )
        self._copied: Counter[int] = Counter()
        self._copiers: dict[int, subprocess.Popen[bytes]] = {}
        self.hung = 0

    def __enter__(self) -> Self:
        for number in range(COPIERS):
            self._start(number)
        self._reader.assign([TopicPartition(SINK, index, 0) for index in range(PARTITIONS)])
        return self

    def __exit__(self, *problem: object) -> None:
        for number in list(self._copiers):
            self._end(number)
        self._reader.close()

    def _start(self, number: int) -> None:
        alive = self._alive(number)
        alive.touch()
        arguments = [self._nodes, COPY_GROUP, f"rounds-copy-{number}", SOURCE, SINK, str(alive)]
        command = [sys.executable, "-m", "tests.eos.worker", *arguments]
        with (self._folder / f"copier-{number}.log").open("ab") as log:
            self._copiers[number] = subprocess.Popen(command, stdout=log, stderr=log)

    def _alive(self, number: int) -> Path:
        return self._folder / f"copier-{number}.alive"

    def _end(self, number: int) -> None:
        copier = self._copiers.pop(number)
        copier.kill()
        copier.wait(STOP_SECONDS)

    def apply(self) -> None:
        """Read what was copied, and replace copiers that hang. Raises AssertionError: one has ended."""
        for message in self._reader.consume(1_000, 0.01):
            if message.error() is None:
                self._copied[int(message.value() or b"")] += 1
        for number, copier in list(self._copiers.items()):
            assert copier.poll() is None, f"copier {number} ended with status {copier.returncode}"
            if time.time() - self._alive(number).stat().st_mtime > SILENT_SECONDS:
                self.hung += 1
                self._end(number)
                self._start(number)

    def twice(self) -> list[str]:
        found = sorted(number for number, count in self._copied.items() if count > 1)
        return [f"the copy has {len(found)} records more than once: {found[:10]}"] if found else []

    def missing(self, numbers: set[int]) -> list[str]:
        found = sorted(numbers - self._copied.keys())
        return [f"the copy lacks {len(found)} records: {found[:10]}"] if found else []
