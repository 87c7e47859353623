"""Producing and fetching records, beside Apache Kafka in the same run (Java and Maven).

    python tests/bench/bench_broker.py

The clients are Kafka's own `kafka-producer-perf-test` and `kafka-consumer-perf-test` for both servers: records of 1 KB,
acks=all, idempotent; to one partition and to six; uncompressed, with lz4 and with zstd. Then transactions of a hundred
records by librdkafka (confluent-kafka). Told are the CPU time of the server per record, or per transaction, and the
throughput that the client saw. Each load runs once before it is measured, so that Kafka's code is compiled. Its topic
is deleted after it: on a virtual machine that has not used all of its memory yet, pages for more and more records cost
the system more and more time.

Environment:
    RECORDS=500000    records of a measured load; half of them before it
    ROUNDS=3          measurements of each load, of which the median is told
    TRANSACTIONS=300  transactions of a measured load
    ONLY=             loads whose name contains this, such as produce, fetch, lz4 or transactions
    FOLDER=           where the directories are made; the system's for temporary files by default
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Final, NamedTuple

ROOT: Final = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from confluent_kafka import Producer  # noqa: E402

from coordinator.pipeline.java import require_java  # noqa: E402
from tests.differential.kafka import RunningKafka, kafka_jars  # noqa: E402
from tests.servers import QUICK_GROUPS, RunningServer  # noqa: E402
from tests.wire_client import WireClient  # noqa: E402

RECORDS: Final = int(os.environ.get("RECORDS", "500_000"))
ROUNDS: Final = int(os.environ.get("ROUNDS", "3"))
TRANSACTIONS: Final = int(os.environ.get("TRANSACTIONS", "300"))
ONLY: Final = os.environ.get("ONLY", "")
FOLDER: Final = os.environ.get("FOLDER") or None
RECORD_BYTES: Final = 1_024
RECORDS_PER_TRANSACTION: Final = 100
TOPIC_OF_TRANSACTIONS: Final = "transactions"
TICKS_PER_SECOND: Final = os.sysconf("SC_CLK_TCK")
PRODUCED: Final = re.compile(r"\d+ records sent, ([\d.]+) records/sec")
TOPICS_WITH: Final = [(count, codec) for count in (1, 6) for codec in ("none", "lz4", "zstd")]


class Server(NamedTuple):
    """One of the two."""

    name: str
    bootstrap: str
    pid: int


class Measured(NamedTuple):
    """CPU time of the server per record or transaction in µs, and how many of them there were in a second."""

    cpu_us: float
    per_second: float


Load = Callable[[Server, int], float]
"""(server, count): have so many records or transactions, and return how many there were in a second."""


def run_tool(tool: str, *arguments: str) -> str:
    command = [
        str(require_java()),
        "-Xmx512m",
        "-cp",
        f"{kafka_jars()}/*",
        f"org.apache.kafka.tools.{tool}",
        *arguments,
    ]
    return subprocess.run(command, check=True, text=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout


def topic_of(partitions: int, codec: str) -> str:
    return f"{codec}-{partitions}"


def produce(partitions: int, codec: str) -> Load:
    def load(server: Server, count: int) -> float:
        settings = [f"bootstrap.servers={server.bootstrap}", "acks=all", f"compression.type={codec}"]
        sizes = ["--num-records", str(count), "--record-size", str(RECORD_BYTES), "--throughput", "-1"]
        topic = ["--topic", topic_of(partitions, codec)]
        told = run_tool("ProducerPerformance", *topic, *sizes, "--command-property", *settings)
        return float(PRODUCED.findall(told)[-1])

    return load


def fetch(partitions: int, codec: str) -> Load:
    def load(server: Server, count: int) -> float:
        where = ["--bootstrap-server", server.bootstrap, "--topic", topic_of(partitions, codec)]
        told = run_tool("ConsumerPerformance", *where, "--num-records", str(count), "--timeout", "60000")
        fields = told.strip().splitlines()[-1].split(",")
        return float(fields[-1])  # fetch.nMsg.sec: without the time of the rebalance

    return load


def transactions(server: Server, count: int) -> float:
    producer = Producer({"bootstrap.servers": server.bootstrap, "transactional.id": "bench", "linger.ms": 0})
    producer.init_transactions(30)
    value = os.urandom(RECORD_BYTES)
    began = time.perf_counter()
    for _ in range(count):
        producer.begin_transaction()
        for _ in range(RECORDS_PER_TRANSACTION):
            producer.produce(TOPIC_OF_TRANSACTIONS, value)
        producer.commit_transaction(30)
    return count / (time.perf_counter() - began)


@contextmanager
def a_topic(servers: list[Server], name: str, partitions: int) -> Iterator[None]:
    """Create the topic of a load on both servers; delete it after the load."""
    for server in servers:
        with WireClient(server.bootstrap) as client:
            client.create_topic(name, partitions)
    yield
    for server in servers:
        with WireClient(server.bootstrap) as client:
            client.delete_topic(name)


def cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS_PER_SECOND


def measure(load: Load, server: Server, count: int) -> Measured:
    before = cpu_seconds(server.pid)
    per_second = load(server, count)
    return Measured((cpu_seconds(server.pid) - before) / count * 1e6, per_second)


def compare(name: str, load: Load, servers: list[Server], count: int) -> None:
    """Both servers in turn, several times; one line with the medians and the ratio."""
    rounds: dict[str, list[Measured]] = {server.name: [] for server in servers}
    for server in servers:
        load(server, count // 2)
    for _ in range(ROUNDS):
        for server in servers:
            rounds[server.name].append(measure(load, server, count))
    cpu = {name: median(each.cpu_us for each in found) for name, found in rounds.items()}
    rate = {name: median(each.per_second for each in found) for name, found in rounds.items()}
    kafka, ours = (server.name for server in servers)
    print(
        f"    {name:22} {cpu[ours]:10.2f} {cpu[kafka]:10.2f} {cpu[ours] / cpu[kafka]:6.2f}"
        f" {rate[ours]:12,.0f} {rate[kafka]:12,.0f} {rate[ours] / rate[kafka]:6.2f}",
        flush=True,
    )


def main() -> None:
    scratch = Path(tempfile.mkdtemp(prefix="broker-", dir=FOLDER))
    (scratch / "kafka").mkdir()
    try:
        with RunningKafka(scratch / "kafka", {}, threads={}) as kafka, RunningServer(scratch, QUICK_GROUPS) as ours:
            servers = [Server("Kafka", kafka.bootstrap, kafka.pid), Server("coordinator", ours.bootstrap, ours.pid)]
            print(f"{RECORDS:,} records of {RECORD_BYTES} bytes, median of {ROUNDS}", flush=True)
            print(f"{'':26} {'CPU, µs each':>28} {'each per second':>32}")
            print(
                f"{'':26} {'ours':>10} {'Kafka':>10} {'ratio':>6} {'ours':>12} {'Kafka':>12} {'ratio':>6}", flush=True
            )
            for partitions, codec in TOPICS_WITH:
                with a_topic(servers, topic_of(partitions, codec), partitions):
                    if ONLY in (name := f"produce, {codec}, {partitions}"):
                        compare(name, produce(partitions, codec), servers, RECORDS)
                    if ONLY in (name := f"fetch, {codec}, {partitions}"):
                        for server in servers:
                            produce(partitions, codec)(server, RECORDS)  # at least what is fetched
                        compare(name, fetch(partitions, codec), servers, RECORDS)
            if ONLY in (name := "transactions of 100"):
                with a_topic(servers, TOPIC_OF_TRANSACTIONS, 6):
                    compare(name, transactions, servers, TRANSACTIONS)
    finally:
        shutil.rmtree(scratch)


if __name__ == "__main__":
    main()
