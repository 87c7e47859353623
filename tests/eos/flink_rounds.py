"""Rounds of Flink's Kafka sink with exactly once: its job and the server are killed, each record is there once."""

import random
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from tests.eos.rounds import PARTITIONS, SETTINGS, SINK
from tests.eos.topics import COMMITTED, UNCOMMITTED, Topics
from tests.servers import RunningServer
from tests.waiting import wait_for
from tests.wire_client import WireClient

RECORDS_PER_SECOND: Final = 500
RECORDS_PER_ROUND: Final = 1_500
WAIT_SECONDS: Final = 1.5
"""An event comes within this time from the start of its round: some checkpoints may complete in it, or none."""
PROGRESS_RECORDS: Final = 300
PROGRESS_SECONDS: Final = 180
NAMINGS: Final = ("POOLING", "INCREMENTING")
"""How the sink names its transactions: from a pool, with ListTransactions after a start, or by checkpoint."""


class FlinkRounds:
    """A server, and a job that writes numbers to a topic in transactions, one of each subtask for each checkpoint."""

    def __init__(self, folder: Path, command: Sequence[str], seed: int, naming: str = NAMINGS[0]) -> None:
        """`command` runs Sink.java."""
        self.server = RunningServer(folder, SETTINGS)
        self.events: Counter[str] = Counter()
        self.figures: dict[str, int] = {}
        """What was compared at the end."""
        self._folder = folder
        self._command = list(command)
        self._naming = naming
        self._random = random.Random(seed)
        self._job: subprocess.Popen[bytes] | None = None
        self._count = 0

    def run(self, rounds: int, told: Callable[[str], None] = lambda line: None) -> None:
        """Play the rounds, let the job end, and compare.

        Raises:
            AssertionError: a number is missing or there twice, or the job does not go on.
        """
        self._count = (rounds + 1) * RECORDS_PER_ROUND
        with self.server:
            with WireClient(self.server.bootstrap) as client:
                client.create_topic(SINK, PARTITIONS)
            topics = Topics(self.server.bootstrap)
            try:
                self._start()
                self._wait_for_records(topics, 1)
                for number in range(rounds):
                    event = self._random.choice(self._events())
                    before = self._written(topics)
                    time.sleep(WAIT_SECONDS * self._random.random())
                    event()
                    self._wait_for_records(topics, before + PROGRESS_RECORDS)
                    name = event.__name__.strip("_").replace("_", " ")
                    told(f"round {number + 1}: {name}, {self._written(topics)} offsets of {self._count} records")
                assert self._job is not None
                wait_for(self._has_ended, PROGRESS_SECONDS, "the job to end", every_ms=200)
                self._compare(topics)
            finally:
                if self._job is not None:
                    self._job.kill()
                    self._job.wait()

    def _compare(self, topics: Topics) -> None:
        wait_for(lambda: topics.is_settled(SINK), PROGRESS_SECONDS, "the last transaction to end", every_ms=200)
        found: Counter[int] = Counter()
        for records in topics.read(SINK, COMMITTED):
            found.update(int(record.value() or b"") for record in records)
        everything = sum(len(records) for records in topics.read(SINK, UNCOMMITTED))
        lost = self._count - sum(number in found for number in range(self._count))
        twice = found.total() - len(found)
        self.figures = {
            "records": self._count,
            "records aborted": everything - found.total(),
            "lost": lost,
            "twice": twice,
        }
        assert (lost, twice, len(found)) == (0, 0, self._count), self.figures

    # ---- the job

    def _start(self) -> None:
        arguments = [
            self.server.bootstrap,
            SINK,
            str(self._count),
            str(RECORDS_PER_SECOND),
            str(self._folder / "checkpoints"),
            self._naming,
            str(self._folder / "fail"),
        ]
        with (self._folder / "job.log").open("ab") as log:
            self._job = subprocess.Popen([*self._command, *arguments], stdout=log, stderr=log)

    def _has_ended(self) -> bool:
        assert self._job is not None
        status = self._job.poll()
        assert status in (None, 0), f"the job ended with {status}: see job.log in {self._folder}"
        return status == 0

    def _written(self, topics: Topics) -> int:
        """How many offsets there are for committed readers."""
        return sum(topics.ends(SINK, COMMITTED))

    def _wait_for_records(self, topics: Topics, offsets: int) -> None:
        wait_for(
            lambda: self._has_ended() or self._written(topics) >= offsets,
            PROGRESS_SECONDS,
            f"{offsets} offsets in the topic",
            every_ms=200,
        )

    # ---- what happens in a round

    def _events(self) -> list[Callable[[], None]]:
        return [self._kill_server, self._kill_job, self._fail_task, self._kill_job_and_server, self._pause]

    def _kill_server(self) -> None:
        self.events["server killed"] += 1
        self.server.kill()
        self.server.start()

    def _kill_job(self) -> None:
        """The process of all tasks; the next one goes on from the newest checkpoint."""
        self.events["job killed"] += 1
        self._end_job()
        self._start()

    def _end_job(self) -> None:
        assert self._job is not None
        self._job.kill()
        self._job.wait()

    def _kill_job_and_server(self) -> None:
        self.events["job and server killed"] += 1
        self._end_job()
        self.server.kill()
        self.server.start()
        self._start()

    def _fail_task(self) -> None:
        """A task fails; Flink starts the tasks again in the same process."""
        self.events["task failed"] += 1
        fail = self._folder / "fail"
        fail.touch()
        wait_for(lambda: self._has_ended() or not fail.exists(), PROGRESS_SECONDS, "a task to fail", every_ms=50)
        fail.unlink(missing_ok=True)

    def _pause(self) -> None:
        self.events["pause"] += 1
