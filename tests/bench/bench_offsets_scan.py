"""How fast the records of one group are found among committed offsets, and what following them costs.

    python tests/bench/bench_offsets_scan.py

1. The scan alone, over batches in memory, by compression and by records per batch: for one group, and for all groups
   with a table of their commits, as `groups list` and `watch` do. Beside it what reads batches into records here
   (`parse_batch`) with a comparison of each key, and the same with kafka-python.
2. One partition of `__consumer_offsets` with RECORDS committed offsets of GROUPS groups, ten to a batch, and 200
   generations of the one that is asked for. This project's server serves it: the time until its records are read, the
   CPU time and the memory of the reader.
3. All groups of that partition.
4. Following RATE commits a second, each a batch of its own, and the generations of 1,000 groups: CPU per second.

Environment:
    RECORDS=20000000  committed offsets (1.6 GB)
    GROUPS=10000      groups that commit
    RATE=50000        commits a second
    SECONDS=20        how long they are followed
    FOLDER=           where the directories are made; the system's for temporary files by default
"""

import os
import resource
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from bisect import bisect_right
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from kafka.record import MemoryRecords  # noqa: E402

from _wire.batch_reader import parse_batch  # noqa: E402
from _wire.batches import batch_headers, end_of_whole_batches, set_batch_position  # noqa: E402
from _wire.compression import COMPRESSIONS  # noqa: E402
from _wire.group_records import GroupRecordScan  # noqa: E402
from _wire.group_table import GroupTable  # noqa: E402
from _wire.messages.fetch import FetchResponse  # noqa: E402
from _wire.messages.find_coordinator import FindCoordinatorRequest  # noqa: E402
from _wire.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup  # noqa: E402
from _wire.records import build_batch  # noqa: E402
from coordinator.client.wire import WireConnection  # noqa: E402
from coordinator.internal_topics import OFFSETS_TOPIC  # noqa: E402
from coordinator.log.config import LogConfig  # noqa: E402
from coordinator.log.data_dirs.directory import LogDirectory  # noqa: E402
from coordinator.log.segments.segment_file import PrebuiltBatch  # noqa: E402
from coordinator.observe.records.following import OffsetsFollower  # noqa: E402
from coordinator.observe.records.listing import list_groups_of_records  # noqa: E402
from coordinator.observe.records.reader import read_offsets_partition  # noqa: E402
from tests.observe.records.commits import KeyAndValue, commit, generation  # noqa: E402
from tests.observe.records.scripted import Log, ScriptedBroker  # noqa: E402
from tests.servers import RunningServer  # noqa: E402
from tests.waiting import wait_for  # noqa: E402
from tests.wire_client import WireClient  # noqa: E402

RECORDS: Final = int(os.environ.get("RECORDS", "20_000_000"))
GROUPS: Final = int(os.environ.get("GROUPS", "10_000"))
RATE: Final = int(os.environ.get("RATE", "50_000"))
SECONDS: Final = int(os.environ.get("SECONDS", "20"))
FOLDER: Final = os.environ.get("FOLDER") or None
TOPIC: Final = "orders.events"
WANTED: Final = "group-00007-billing"
GENERATIONS: Final = 200
OFFSETS_PER_COMMIT: Final = 10
SCANNED: Final = 500_000
"""Records of each of the scans in memory."""
PEER_BYTES: Final = 2 << 20
"""Of them that the slower ways read."""
BATCHES: Final = 500
"""That are made; the log repeats them with offsets of their own."""
SEGMENT: Final = LogConfig(segment_bytes=104_857_600)
NOW_MS: Final = time.time_ns() // 1_000_000
FOLLOWED_GROUPS: Final = 1_000
PARTITIONS: Final = 50
STEP_SECONDS: Final = 0.1


def group(number: int) -> str:
    return f"group-{number:05d}-billing"


def commits(count: int) -> list[KeyAndValue]:
    """Of ten partitions each."""
    return [
        commit(
            group(number // OFFSETS_PER_COMMIT % GROUPS),
            TOPIC,
            number % OFFSETS_PER_COMMIT,
            number,
            at_ms=NOW_MS,
        )
        for number in range(count)
    ]


def placed(batch: bytes, offset: int) -> bytes:
    """The checksum does not cover the offset."""
    copy = bytearray(batch)
    set_batch_position(copy, 0, offset, 0)
    return bytes(copy)


def scans() -> None:
    print(
        f"  {'compression':12} {'per batch':>9} {'bytes each':>10}   one group   all groups  (million records a second)"
    )
    for compression in COMPRESSIONS:
        for per_batch in (1, 10, 500):
            made = commits(per_batch * 50)
            batches = [
                build_batch(made[at : at + per_batch], compression=compression, timestamp_ms=NOW_MS)
                for at in range(0, len(made), per_batch)
            ]
            count = min(SCANNED, 100_000 * per_batch)
            data = b"".join(
                placed(batches[offset // per_batch % len(batches)], offset) for offset in range(0, count, per_batch)
            )
            one = rate(GroupRecordScan(WANTED.encode()), data)
            every = rate(GroupRecordScan(group_ids=frozenset(), table=GroupTable(100_000)), data)
            parsed = rate_of(parsed_records, data)
            # For the others it needs packages that are not there.
            peer = f"{rate_of(kafka_python_records, data):.3f}" if compression in ("none", "gzip") else "-"
            rates = f"{one:11.2f} {every:12.2f} {parsed:12.2f} {peer:>12}"
            print(f"  {compression:12} {per_batch:9} {len(data) / count:10.0f} {rates}", flush=True)


def rate(scan: GroupRecordScan, data: bytes) -> float:
    """Millions of records per second of CPU."""
    began, position = time.process_time(), 0
    while position < len(data):
        _, position = scan.scan(data, position)
    return scan.records / (time.process_time() - began) / 1e6


def rate_of(records: Callable[[bytes], Iterator[bytes | None]], data: bytes) -> float:
    """Of looking at the key of each record of the first PEER_BYTES."""
    part = data[: end_of_whole_batches(data[:PEER_BYTES])]
    began, count, found = time.process_time(), 0, 0
    group_ids = len(WANTED).to_bytes(2, "big") + WANTED.encode()
    for key in records(part):
        count += 1
        found += key is not None and key.startswith(group_ids, 2)
    return count / (time.process_time() - began) / 1e6


def parsed_records(data: bytes) -> Iterator[bytes | None]:
    for header in batch_headers(data):
        for record in parse_batch(data, header.position)[1]:
            yield record.key


def kafka_python_records(data: bytes) -> Iterator[bytes | None]:
    batches = MemoryRecords(data)
    while batches.has_next():
        batch = batches.next_batch()
        assert batch is not None
        assert batch.validate_crc()
        for record in batch:
            yield record.key


def fabricate(folder: Path) -> int:
    """Make the partition; its bytes."""
    directory = LogDirectory.open(folder)
    log = directory.open_log(OFFSETS_TOPIC, 0, SEGMENT)
    made = commits(BATCHES * OFFSETS_PER_COMMIT * 20)
    batches = [
        build_batch(made[at : at + OFFSETS_PER_COMMIT], timestamp_ms=NOW_MS)
        for at in range(0, len(made), OFFSETS_PER_COMMIT)
    ]
    offset, left, number = 0, RECORDS, 0
    waiting: list[PrebuiltBatch] = []
    every = RECORDS // GENERATIONS
    while left > 0:
        if offset >= number * (every + 1) and number < GENERATIONS:
            number += 1
            waiting.append(PrebuiltBatch(placed(build_batch([generation(WANTED, number)]), offset), offset))
            offset += 1
        waiting.append(
            PrebuiltBatch(
                placed(batches[left // OFFSETS_PER_COMMIT % len(batches)], offset), offset + OFFSETS_PER_COMMIT - 1
            )
        )
        offset += OFFSETS_PER_COMMIT
        left -= OFFSETS_PER_COMMIT
        if len(waiting) >= 1_000 or left <= 0:
            log.append_prebuilt(waiting, NOW_MS)
            waiting = []
    directory.close()
    return sum(path.stat().st_size for path in folder.rglob("*.log"))


def peak_mib() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def in_a_process(task: str, bootstrap: str) -> None:
    """So that its memory is its own."""
    pid = os.fork()
    if pid == 0:
        os.execv(sys.executable, [sys.executable, __file__, task, bootstrap])
    _, status = os.waitpid(pid, 0)
    assert status == 0, f"{task} failed"


def read(bootstrap: str) -> None:
    before = peak_mib()
    began, cpu = time.perf_counter(), time.process_time()
    with read_offsets_partition(bootstrap, WANTED, offsets_max=1_000) as reading:
        found = sum(1 for _ in reading)
    seconds, cpu = time.perf_counter() - began, time.process_time() - cpu
    assert found >= GENERATIONS, found
    assert reading.notes == []
    tell("records of one group", reading.scanned.records, seconds, cpu, before)
    print(f"    {found} records of the group, {reading.commits.commits:,} commits counted", flush=True)


def list_all(bootstrap: str) -> None:
    before = peak_mib()
    began, cpu = time.perf_counter(), time.process_time()
    listing = list_groups_of_records(bootstrap)
    tell("all groups", listing.records, time.perf_counter() - began, time.process_time() - cpu, before)
    print(f"    {len(listing.groups):,} groups", flush=True)


def tell(what: str, records: int, seconds: float, cpu: float, before_mib: float) -> None:
    print(
        f"  {what:22} {records:,} records in {seconds:.1f} s ({records / seconds / 1e6:.2f} million a second), "
        f"{cpu:.1f} s CPU ({records / cpu / 1e6:.2f} million per second of it), "
        f"peak {peak_mib():.0f} MiB, {peak_mib() - before_mib:.0f} more than before",
        flush=True,
    )


def served() -> None:
    scratch = Path(tempfile.mkdtemp(prefix="offsets-scan-", dir=FOLDER))
    try:
        began = time.perf_counter()
        segments = scratch / "segments"
        size = fabricate(segments)
        print(f"  {RECORDS:,} offsets, {size / 1e6:,.0f} MB, made in {time.perf_counter() - began:.0f} s", flush=True)
        server = RunningServer(scratch, {"offsets.topic.num.partitions": "1", "log.cleaner.enable": "false"})
        with server:
            make_topics(server.bootstrap)
            server.stop()
            target = scratch / "data" / f"{OFFSETS_TOPIC}-0"
            target.mkdir(exist_ok=True)
            for path in (segments / f"{OFFSETS_TOPIC}-0").iterdir():
                if path.suffix in (".log", ".index", ".timeindex"):
                    shutil.move(path, target / path.name)
            server.start()
            wait_until_loaded(server.bootstrap)
            in_a_process("read", server.bootstrap)
            in_a_process("list", server.bootstrap)
    finally:
        shutil.rmtree(scratch)


def make_topics(bootstrap: str) -> None:
    """Offsets of topics that are not there would be deleted. The first question for a coordinator makes the other."""
    with WireClient(bootstrap, "bench") as connection:
        connection.create_topic(TOPIC, OFFSETS_PER_COMMIT)
        request = FindCoordinatorRequest(coordinator_keys=[WANTED])
        wait_for(lambda: not connection.send_latest(request).coordinators[0].error_code, 60, "a coordinator")


def wait_until_loaded(bootstrap: str) -> None:
    request = OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id=WANTED, topics=None)])
    with WireConnection(bootstrap, "bench") as connection:
        wait_for(lambda: not connection.request(request, 8).groups[0].error_code, 300, "the groups to be loaded")


class GrowingLog(Log):
    """Grows by chunks of batches."""

    def __init__(self) -> None:
        super().__init__()
        self._chunks: list[bytes] = []
        self._ends: list[int] = []

    def append_chunk(self, chunk: bytes, end: int) -> None:
        self._chunks.append(chunk)
        self._ends.append(end)
        self.end = end

    def read(self, offset: int, bytes_max: int) -> bytes:
        return b"".join(self._chunks[bisect_right(self._ends, offset) :])[:bytes_max]


class BusyBroker(ScriptedBroker):
    """Waits for the bytes that a Fetch asks for, as brokers do. Forgets nothing: it lives for SECONDS."""

    def __init__(self, logs: list[GrowingLog]) -> None:
        super().__init__(logs)
        self.grown = threading.Condition()

    def _fetch(self, request: Any) -> FetchResponse:
        deadline = time.monotonic() + request.max_wait_ms / 1_000
        with self.grown:
            while True:
                answer = super()._fetch(request)
                size = sum(len(partition.records or b"") for partition in answer.responses[0].partitions)
                if size >= request.min_bytes or not self.grown.wait(max(0.0, deadline - time.monotonic())):
                    return answer


def busy_broker() -> None:
    """Serve PARTITIONS partitions that grow by RATE commits a second, each a batch, and by 100 generations."""
    logs = [GrowingLog() for _ in range(PARTITIONS)]
    one_each = [build_batch([commit], timestamp_ms=NOW_MS) for commit in commits(1_000)]
    groups = [build_batch([generation(group(each), 1)], timestamp_ms=NOW_MS) for each in range(FOLLOWED_GROUPS)]
    with BusyBroker(logs) as broker:
        print(broker.bootstrap, flush=True)
        began, steps = time.monotonic(), 0
        while steps * STEP_SECONDS < SECONDS + 5:
            for index, log in enumerate(logs):
                count = int(RATE * STEP_SECONDS) // PARTITIONS
                batches = [one_each[(each + index) % len(one_each)] for each in range(count)]
                if index < 10:
                    batches.append(groups[(steps * 10 + index) % len(groups)])
                chunk = b"".join(placed(batch, log.end + at) for at, batch in enumerate(batches))
                log.append_chunk(chunk, log.end + len(batches))
            steps += 1
            with broker.grown:
                broker.grown.notify_all()
            time.sleep(max(0.0, began + steps * STEP_SECONDS - time.monotonic()))


def followed() -> None:
    command = [sys.executable, __file__, "broker"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as broker:
        assert broker.stdout is not None
        follow(broker.stdout.readline().strip())
        broker.terminate()


def follow(bootstrap: str) -> None:
    before = peak_mib()
    group_ids = {group(each) for each in range(FOLLOWED_GROUPS)}
    with OffsetsFollower(bootstrap, groups=group_ids, table=GroupTable(100_000)) as following:
        parts = following.follow(following.ends())
        began, cpu = time.perf_counter(), time.process_time()
        committed = records = rounds = 0
        while time.perf_counter() - began < SECONDS:
            part = next(parts)
            committed += part.commits
            records += len(part.records)
            rounds += 1
        seconds, cpu = time.perf_counter() - began, time.process_time() - cpu
        behind = sum(following.ends().values()) - sum(part.positions.values())
    print(
        f"  followed for {seconds:.0f} s: {committed / seconds:,.0f} commits a second, "
        f"{records / seconds:.0f} records of {FOLLOWED_GROUPS:,} groups a second, {cpu / seconds:.3f} of a core, "
        f"{rounds / seconds:.0f} parts a second, {behind:,} behind at the end, "
        f"{peak_mib() - before:.0f} MiB more than before",
        flush=True,
    )


TASKS: Final[dict[str, Callable[[str], None]]] = {
    "read": read,
    "list": list_all,
    "broker": lambda _: busy_broker(),
}


def main() -> None:
    if len(sys.argv) > 1:
        TASKS[sys.argv[1]](sys.argv[-1])
        return
    print("The scan alone", flush=True)
    scans()
    print("One partition, served by this project's server", flush=True)
    served()
    print(f"Following {PARTITIONS} partitions", flush=True)
    followed()


if __name__ == "__main__":
    main()
