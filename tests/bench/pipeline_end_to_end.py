"""The pipeline from a topic of a running server to all tables: a back-fill, and the way of a single rebalance.

The audit topic itself takes no records from clients, so the back-fill reads a topic of as many partitions beside it.
"""

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any, Final, NamedTuple

from confluent_kafka import Producer
from deltalake import DeltaTable, QueryBuilder

from coordinator.internal_topics import AUDIT_TOPIC
from coordinator.pipeline.names import GENERATIONS, SILVER
from tests.pipeline.histories import realistic
from tests.pipeline.rebalances import OnlyMember
from tests.waiting import wait_for
from tests.wire_client import WireClient

ROOT: Final = Path(__file__).resolve().parents[2]
TEMPLATE_EVENTS: Final = 20_000
PARTITIONS: Final = 50
EVERY_MS: Final = 1_000
GROUPS: Final = 3
PAUSE_SECONDS: Final = (0.2, 3.0)


class Used(NamedTuple):
    """Of a job: seconds by the clock, seconds of CPU of its Python and of its JVM, and the most memory of the JVM."""

    seconds: float
    python: float
    jvm: float
    jvm_mb: int


def cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def fill_topic(bootstrap: str, topic: str, events: int) -> int:
    """Copies of one generated history, each with group ids of its own, keyed by group; the number of events."""
    with WireClient(bootstrap) as client:
        client.create_topic(topic, PARTITIONS)
    values = realistic(TEMPLATE_EVENTS)
    producer = Producer(
        {
            "bootstrap.servers": bootstrap,
            "compression.type": "lz4",
            "linger.ms": 20,
            "batch.num.messages": 10_000,
            "queue.buffering.max.messages": 200_000,
            "partitioner": "murmur2_random",
        }
    )
    copies = max(1, events // len(values))
    for copy in range(copies):
        own = b'"group-' + str(copy).encode() + b"-"
        for value in values:
            renamed = value.replace(b'"group-', own)
            key = renamed.partition(own)[2].partition(b'"')[0]
            while True:
                try:
                    producer.produce(topic, renamed, own + key)
                    break
                except BufferError:
                    producer.poll(0.1)
        producer.poll(0)
    assert producer.flush(60) == 0
    return copies * len(values)


@contextmanager
def job(bootstrap: str, tables: Path, *options: str) -> Iterator["subprocess.Popen[Any]"]:
    command = [sys.executable, "-m", "coordinator.cli", "pipeline", "run", "--bootstrap", bootstrap]
    process = subprocess.Popen(
        [*command, "--tables", str(tables), *options],
        stdout=subprocess.DEVNULL,
        start_new_session=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    try:
        yield process
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
        process.wait()


def back_fill(bootstrap: str, topic: str, tables: Path) -> Used:
    """One pass of `coordinator pipeline run`, with the start of the JVM. Raises RuntimeError when it fails."""
    before, started = os.times(), perf_counter()
    with job(bootstrap, tables, "--topic", topic) as process:
        jvm, jvm_mb = 0.0, 0
        while process.poll() is None:
            children = children_of(process.pid)
            jvm = max(jvm, sum(map(cpu_of_child, children)))
            jvm_mb = max([jvm_mb, *map(peak_mb_of_child, children)])
            time.sleep(0.2)
    after = os.times()
    if process.returncode:
        raise RuntimeError("the job failed")
    total = after.children_user + after.children_system - before.children_user - before.children_system
    return Used(perf_counter() - started, total - jvm, jvm, jvm_mb)


def children_of(pid: int) -> list[int]:
    try:
        return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except FileNotFoundError:
        return []


def cpu_of_child(pid: int) -> float:
    try:
        return cpu_seconds(pid)
    except (FileNotFoundError, ProcessLookupError):
        return 0.0


def peak_mb_of_child(pid: int) -> int:
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return 0
    peaks = [line.split()[1] for line in status.splitlines() if line.startswith("VmHWM")]
    return int(peaks[0]) // 1024 if peaks else 0  # a process that has ended has none


def rows_in(tables: Path, table: str) -> int:
    delta = DeltaTable(str(tables / table))
    return int(delta.count())


class Live(NamedTuple):
    """Seconds until the first batch is in the tables, and of each rebalance until its row is in `generations`."""

    first_batch: float
    rebalances: list[float]


def live(bootstrap: str, tables: Path, rebalances: int, every_ms: int = EVERY_MS, seed: int = 0) -> Live:
    """A running job, and members of groups of their own that rebalance at random moments."""
    chance = random.Random(seed)
    with WireClient(bootstrap) as client:
        started = perf_counter()
        with job(bootstrap, tables, "--topic", AUDIT_TOPIC, "--every-ms", str(every_ms)) as process:
            wait_for(lambda: is_there(tables, SILVER, "true"), 90, "the first batch", every_ms=50)
            first, took = perf_counter() - started, []
            members = [OnlyMember(client, f"live-{number}") for number in range(GROUPS)]
            for number in range(rebalances):
                time.sleep(chance.uniform(*PAUSE_SECONDS))
                member = members[number % GROUPS]  # in turn: nobody heartbeats, and sessions must not expire
                generation = member.rejoin()
                ended = perf_counter()
                where = f"group_id = '{member.group_id}' AND generation_id = {generation}"
                wait_for(partial(is_there, tables, GENERATIONS, where), 60, where, every_ms=50)
                took.append(perf_counter() - ended)
                assert process.poll() is None
        for member in members:
            member.leave()
    return Live(first, took)


def is_there(tables: Path, table: str, where: str) -> bool:
    """A reader that opens the table again, as others do."""
    path = str(tables / table)
    if not DeltaTable.is_deltatable(path):
        return False
    builder = QueryBuilder().register(table, DeltaTable(path))
    return bool(len(builder.execute(f"SELECT 1 FROM {table} WHERE {where} LIMIT 1").read_all()))


def percentile(values: list[float], percent: int) -> float:
    return sorted(values)[min(len(values) - 1, len(values) * percent // 100)]
