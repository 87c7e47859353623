"""Starts a server again and again on the same data, and ends it at random moments."""

import random
import threading
from collections import Counter
from pathlib import Path
from typing import Final

from coordinator.client.wire import ClientError
from tests.crash.audit import AuditReader
from tests.crash.consumer_members import ConsumerGroupMember
from tests.crash.share_consumers import ShareConsumer
from tests.crash.stock_consumers import StockConsumers
from tests.crash.streams_members import StreamsGroupMember
from tests.crash.workers import (
    CommittingClient,
    CompactedTopic,
    IdempotentProducer,
    PartitionMover,
    ShortLivedTopics,
    StaticMember,
    Worker,
)
from tests.servers import QUICK_GROUPS, RunningServer
from tests.wire_client import WireClient

SETTINGS: Final = QUICK_GROUPS | {
    "offsets.topic.num.partitions": "4",
    "offsets.topic.segment.bytes": "1048576",
    "log.cleaner.backoff.ms": "50",
    "log.cleaner.min.cleanable.ratio": "0.01",
    "log.segment.delete.delay.ms": "100",
    "log.retention.check.interval.ms": "100",
    "group.audit.offsets.interval.ms": "1000",
    "group.consumer.assignment.interval.ms": "0",
    "group.consumer.heartbeat.interval.ms": "500",
    "group.consumer.min.heartbeat.interval.ms": "500",
    "group.share.assignment.interval.ms": "0",
    "group.streams.initial.rebalance.delay.ms": "0",
    "group.streams.assignment.interval.ms": "0",
    "group.streams.num.standby.replicas": "1",
    "share.coordinator.state.topic.num.partitions": "2",
    "share.coordinator.snapshot.update.records.per.snapshot": "20",
    "share.coordinator.state.topic.prune.interval.ms": "500",
}
"""Small segments, which are cleaned all the time."""
WORK_SECONDS_MAX: Final = 1.2
STOP_SECONDS: Final = 20
SECOND_DIRECTORY_CHANCE: Final = 0.3
"""Of a run that it adds a directory to log.dirs, which the runs after it have, too."""


class CrashRuns:
    """The server, and the workers that know what it has acknowledged."""

    def __init__(self, folder: Path, seed: int) -> None:
        self._random = random.Random(seed)
        self._server = RunningServer(folder, SETTINGS)
        self._audit = AuditReader()
        self._producers = [
            IdempotentProducer("produced-a", 2, seed),
            IdempotentProducer("produced-b", 3, seed + 1),
        ]
        self._consumers = StockConsumers([producer.name for producer in self._producers])
        self._workers: list[Worker] = [
            *self._producers,
            CompactedTopic("compacted", seed),
            *(CommittingClient(f"committing-{number}", seed + number) for number in range(3)),
            *(StaticMember(f"static-{number}", seed + number) for number in range(2)),
            *(ConsumerGroupMember("consumer-group", number, seed) for number in range(3)),
            *(StreamsGroupMember("streams-group", number, seed) for number in range(3)),
            *(ShareConsumer(f"share-group-{number}", seed + number) for number in range(2)),
            ShortLivedTopics(seed),
            PartitionMover("mover", seed),
        ]
        self.ends: Counter[str] = Counter()

    def run(self) -> None:
        """One life of the server.

        Raises:
            AssertionError: something that was acknowledged is not there, or something deleted is there again.
        """
        if len(self._server.log_dirs) == 1 and self._random.random() < SECOND_DIRECTORY_CHANCE:
            self._server.log_dirs.append(self._server.folder / "data-2")
        self._server.start()
        way = self._random.choices(("killed", "killed early", "stopped"), (70, 15, 15))[0]
        self.ends[way] += 1
        if way == "killed early":
            self._pause(0.05)
            self._server.kill()
            return
        self._check()
        if not self._consumers.have_started and all(producer.is_created for producer in self._producers):
            self._consumers.start(self._server.bootstrap)
        self._work(way)

    def _check(self) -> None:
        with WireClient(self._server.bootstrap, "check") as client:
            for worker in self._workers:
                worker.check(client)

    def _work(self, way: str) -> None:
        threads = [threading.Thread(target=self._work_until_the_end, args=(worker,)) for worker in self._workers]
        for thread in threads:
            thread.start()
        self._pause(WORK_SECONDS_MAX)
        if way == "killed":
            self._server.kill()
        else:
            assert self._server.stop() == 0, "a clean stop failed; the log of the server says why"
        for thread in threads:
            thread.join(STOP_SECONDS)
            assert not thread.is_alive(), "a worker does not notice the end of the server"
        problems = [f"{worker.name}: {worker.problem}" for worker in self._workers if worker.problem]
        assert not problems, "; ".join(problems)

    def _work_until_the_end(self, worker: Worker) -> None:
        try:
            with WireClient(self._server.bootstrap, worker.name) as client:
                while worker.problem is None:
                    worker.work(client)
        except ClientError:
            return  # the server is gone
        except AssertionError as problem:
            worker.problem = str(problem) or "an assertion failed"

    def _pause(self, seconds_max: float) -> None:
        """The moment of the end is what is random here; nothing is waited for."""
        threading.Event().wait(self._random.uniform(0, seconds_max))

    def check_the_end(self) -> None:
        """After the last run: all of it once more, and the numbers of the audit."""
        self._server.start()
        self._check()
        if self._consumers.have_started:
            written = {where: count for producer in self._producers for where, count in producer.written().items()}
            self.ends["records read by stock consumers"] += self._consumers.check(written)
            self._consumers.close()
        self._audit.check(self._server.bootstrap)
        assert self._server.stop() == 0

    def described(self) -> str:
        done = Counter[str]()
        for worker in self._workers:
            done.update(worker.acknowledged)
        counts = [f"{count} {what}" for what, count in (*sorted(done.items()), *sorted(self.ends.items()))]
        return ", ".join(counts)
