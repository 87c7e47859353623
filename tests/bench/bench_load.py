"""How long a start takes to read committed offsets, beside Apache Kafka on the same segments (Java and Maven).

    python tests/bench/bench_load.py

Fabricates the 50 partitions of `__consumer_offsets` with RECORDS offsets that GROUPS groups committed, ten at a time.
Each server is started once on its own, empty, and then on these segments, after a clean stop. Told are the time from
its start until every partition answers an OffsetFetch, the CPU time until then, and what both have over the empty
start. Meanwhile a client sends an ApiVersions request every 2 ms: its longest wait is told too.

Environment:
    RECORDS=10000000  committed offsets (10,000,000 take 0.6 GB twice)
    GROUPS=10000      groups that commit
    PEERS=kafka       "" leaves Kafka out
    FOLDER=           where the directories are made; the system's for temporary files by default
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NamedTuple

ROOT: Final = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from _wire.errors import NONE  # noqa: E402
from _wire.messages.api_versions import ApiVersionsRequest  # noqa: E402
from _wire.messages.find_coordinator import FindCoordinatorRequest  # noqa: E402
from _wire.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup  # noqa: E402
from _wire.records import build_batch  # noqa: E402
from coordinator.client.wire import WireConnection  # noqa: E402
from coordinator.config.group_keys import OFFSETS_TOPIC_NUM_PARTITIONS  # noqa: E402
from coordinator.config.settings import Config  # noqa: E402
from coordinator.core.offsets.records import CommittedOffset, offset_records  # noqa: E402
from coordinator.core.partitioning import partition_for  # noqa: E402
from coordinator.internal_topics import OFFSETS_TOPIC  # noqa: E402
from coordinator.log.config import LogConfig  # noqa: E402
from coordinator.log.data_dirs.directory import LogDirectory  # noqa: E402
from coordinator.log.partition.partition_log import PartitionLog  # noqa: E402
from coordinator.log.segments.segment_file import PrebuiltBatch  # noqa: E402
from tests.differential.kafka import RunningKafka  # noqa: E402

RECORDS: Final = int(os.environ.get("RECORDS", "10_000_000"))
GROUPS: Final = int(os.environ.get("GROUPS", "10_000"))
PEERS: Final = os.environ.get("PEERS", "kafka").split()
FOLDER: Final = os.environ.get("FOLDER") or None
PARTITIONS: Final[int] = Config({})[OFFSETS_TOPIC_NUM_PARTITIONS]
OFFSETS_PER_COMMIT: Final = 10
SEGMENT: Final = LogConfig(segment_bytes=104_857_600)
READY_SECONDS: Final = 600
POLL_SECONDS: Final = 0.002
API_VERSIONS_VERSION: Final = 3
FIND_COORDINATOR_VERSION: Final = 4
OFFSET_FETCH_VERSION: Final = 8
BATCHES_PER_WRITE: Final = 100


class Start(NamedTuple):
    """A start until everything is served."""

    seconds: float
    cpu_seconds: float
    longest_wait_ms: float


def fabricate(folder: Path) -> None:
    """Make a data directory, left as by a clean stop."""
    directory = LogDirectory.open(folder)
    logs = [directory.open_log(OFFSETS_TOPIC, partition, SEGMENT) for partition in range(PARTITIONS)]
    now_ms = int(time.time() * 1000)
    waiting: list[list[PrebuiltBatch]] = [[] for _ in logs]
    ends = [0] * len(logs)
    for number in range(RECORDS // OFFSETS_PER_COMMIT):
        group_id = f"group-{number % GROUPS}"
        partition = partition_for(group_id, PARTITIONS)
        offsets = {index: CommittedOffset(number, -1, "", now_ms) for index in range(OFFSETS_PER_COMMIT)}
        records = offset_records(group_id, {"orders": offsets})
        batch = build_batch(records, base_offset=ends[partition], timestamp_ms=now_ms, partition_leader_epoch=0)
        ends[partition] += OFFSETS_PER_COMMIT
        waiting[partition].append(PrebuiltBatch(batch, ends[partition] - 1))
        if len(waiting[partition]) == BATCHES_PER_WRITE:
            write(logs[partition], waiting[partition], now_ms)
    for log, batches in zip(logs, waiting, strict=True):
        write(log, batches, now_ms)
    directory.close()


def write(log: PartitionLog, batches: list[PrebuiltBatch], now_ms: int) -> None:
    if batches:
        log.append_prebuilt(batches, now_ms)
        batches.clear()


def group_of_each_partition() -> list[str]:
    found: dict[int, str] = {}
    number = 0
    while len(found) < PARTITIONS:
        found.setdefault(partition_for(f"group-{number}", PARTITIONS), f"group-{number}")
        number += 1
    return [found[partition] for partition in range(PARTITIONS)]


def cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Waits(threading.Thread):
    """A client that asks all the time; the longest of its waits."""

    def __init__(self, bootstrap: str) -> None:
        super().__init__(daemon=True)
        self.longest_ms = 0.0
        self.is_over = threading.Event()
        self._server = bootstrap

    def run(self) -> None:
        with WireConnection(self._server, "victim") as connection:
            while not self.is_over.wait(POLL_SECONDS):
                began = time.perf_counter()
                connection.request(ApiVersionsRequest(), API_VERSIONS_VERSION)
                self.longest_ms = max(self.longest_ms, (time.perf_counter() - began) * 1000)


def wait_until_served(bootstrap: str, group_ids: list[str]) -> None:
    """Return when an OffsetFetch of each of these groups is answered."""
    deadline = time.monotonic() + READY_SECONDS
    with WireConnection(bootstrap, "bench") as connection:
        request = FindCoordinatorRequest(coordinator_keys=group_ids[:1])
        connection.request(request, FIND_COORDINATOR_VERSION)  # creates the topic
        while time.monotonic() < deadline:
            groups = [OffsetFetchRequestGroup(group_id=group_id, topics=None) for group_id in group_ids]
            answered = connection.request(OffsetFetchRequest(groups=groups), OFFSET_FETCH_VERSION).groups
            if all(each.error_code == NONE for each in answered):
                return
            time.sleep(POLL_SECONDS)
    raise TimeoutError(f"not all partitions were loaded within {READY_SECONDS} s")


def measured(began: float, bootstrap: str, pid: int) -> Start:
    waits = Waits(bootstrap)
    waits.start()
    wait_until_served(bootstrap, group_of_each_partition())
    seconds, cpu = time.perf_counter() - began, cpu_seconds(pid)
    waits.is_over.set()
    waits.join()
    return Start(seconds, cpu, waits.longest_ms)


@contextmanager
def ours(folder: Path) -> Iterator[Start]:
    """A start of this server on a data directory; stopped cleanly afterwards."""
    ready = folder.parent / "ready.json"
    ready.unlink(missing_ok=True)
    began = time.perf_counter()
    command = [sys.executable, "-m", "coordinator.cli", "serve", "--listen", "127.0.0.1:0"]
    command += ["--data-dir", str(folder), "--ready-file", str(ready)]
    process = subprocess.Popen(command, cwd=ROOT, stderr=subprocess.DEVNULL)
    try:
        while not ready.exists():
            assert process.poll() is None, "the server stopped"
            time.sleep(POLL_SECONDS)
        yield measured(began, json.loads(ready.read_text())["bootstrap"], process.pid)
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait()


def our_starts(scratch: Path, segments: Path) -> tuple[Start, Start]:
    folder = scratch / "coordinator" / "data"
    folder.parent.mkdir()
    with ours(folder):
        pass
    with ours(folder) as empty:
        pass
    put_segments(segments, folder)
    with ours(folder):  # the audit gets to know the groups
        pass
    with ours(folder) as full:
        pass
    return empty, full


def put_segments(segments: Path, folder: Path) -> None:
    """Put the segments into the data directory of a server that is stopped and has the topic."""
    for partition in range(PARTITIONS):
        target = folder / f"{OFFSETS_TOPIC}-{partition}"
        target.mkdir(exist_ok=True)
        for path in (segments / f"{OFFSETS_TOPIC}-{partition}").iterdir():
            if path.suffix in (".log", ".index", ".timeindex"):
                shutil.copy2(path, target / path.name)


def kafka_starts(scratch: Path, segments: Path) -> tuple[Start, Start]:
    folder = scratch / "kafka"
    folder.mkdir()

    def start(kafka: RunningKafka) -> Start:
        began = time.perf_counter()
        kafka.start()
        return measured(began, kafka.bootstrap, kafka.pid)

    with RunningKafka(folder, {"offsets.topic.num.partitions": str(PARTITIONS)}, threads={}) as kafka:
        wait_until_served(kafka.bootstrap, group_of_each_partition())
        kafka.stop()
        empty = start(kafka)
        kafka.stop()
        put_segments(segments, folder / "data")
        full = start(kafka)
        kafka.stop()
    return empty, full


def show(name: str, starts: Callable[[], tuple[Start, Start]]) -> Start:
    empty, full = starts()
    over = Start(full.seconds - empty.seconds, full.cpu_seconds - empty.cpu_seconds, full.longest_wait_ms)
    for label, each in (("empty", empty), ("full", full), ("difference", over)):
        wait = f"{each.longest_wait_ms:8.1f} ms" if label != "difference" else ""
        print(f"    {name:14} {label:11} {each.seconds:8.2f} s {each.cpu_seconds:8.2f} s CPU {wait}", flush=True)
    rate = RECORDS / over.cpu_seconds / 1e6
    print(f"    {name:14} {rate:.2f} million records per second of CPU", flush=True)
    return over


def main() -> None:
    scratch = Path(tempfile.mkdtemp(prefix="load-", dir=FOLDER))
    try:
        segments = scratch / "full" / "data"
        segments.parent.mkdir()
        began = time.perf_counter()
        fabricate(segments)
        size = sum(path.stat().st_size for path in segments.rglob("*.log"))
        took = time.perf_counter() - began
        print(f"{RECORDS:,} offsets of {GROUPS:,} groups, {size / 1e6:,.0f} MB, made in {took:.0f} s", flush=True)
        print(f"{'':31} until all is served, its CPU time, longest wait of a client", flush=True)
        if "kafka" in PEERS:
            peer = show("Kafka 4.3.1", lambda: kafka_starts(scratch, segments))
            mine = show("coordinator", lambda: our_starts(scratch, segments))
            print(
                f"    of Kafka's: {mine.seconds / peer.seconds:.2f} of the time, "
                f"{mine.cpu_seconds / peer.cpu_seconds:.2f} of the CPU time",
                flush=True,
            )
        else:
            show("coordinator", lambda: our_starts(scratch, segments))
    finally:
        shutil.rmtree(scratch)


if __name__ == "__main__":
    main()
