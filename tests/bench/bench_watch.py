"""What `coordinator watch` costs: CPU and memory of its process, own server included.

    python tests/bench/bench_watch.py

A broker in another process has PARTITIONS partitions of `__consumer_offsets` that grow by RATE committed offsets a
second, each a batch of its own, and by CHANGES rebalances a second of 1,000 groups. A log has the lines of these, among
other lines: LINES a second. CPU is that of the process by /proc, user and system, after it has caught up.

Environment:
    RATE=50000     commits a second
    CHANGES=20     rebalances a second: each of the 1,000 groups rebalances each 50 s
    LINES=500      lines of the log a second
    SECONDS=30     how long it is measured
"""

import os
import subprocess
import sys
import tempfile
import time
from datetime import datetime
from pathlib import Path
from typing import Final, TextIO
from urllib.request import urlopen

ROOT: Final = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from _wire.records import build_batch  # noqa: E402
from coordinator.core.partitioning import partition_for  # noqa: E402
from tests.bench.bench_offsets_scan import BusyBroker, GrowingLog, commits, group, placed  # noqa: E402
from tests.observe.records.commits import generation  # noqa: E402
from tests.watch.watching import events_of, into  # noqa: E402

RATE: Final = int(os.environ.get("RATE", "50_000"))
CHANGES: Final = int(os.environ.get("CHANGES", "20"))
LINES: Final = int(os.environ.get("LINES", "500"))
SECONDS: Final = int(os.environ.get("SECONDS", "30"))
PARTITIONS: Final = 50
GROUPS: Final = 1_000
STEP_SECONDS: Final = 0.1
SETTLE_SECONDS: Final = 10
LIFE_SECONDS: Final = SECONDS + SETTLE_SECONDS + 15
TICKS: Final = os.sysconf("SC_CLK_TCK")
LOGGER: Final = "(org.apache.kafka.coordinator.group.GroupMetadataManager)"


def busy_broker(log_path: Path) -> None:
    logs = [GrowingLog() for _ in range(PARTITIONS)]
    one_each = [build_batch([commit], timestamp_ms=now_ms()) for commit in commits(1_000)]
    with BusyBroker(logs) as broker, log_path.open("a") as log:
        print(broker.bootstrap, flush=True)
        began, steps, changes = time.monotonic(), 0, 0
        while steps * STEP_SECONDS < LIFE_SECONDS:
            of: dict[int, list[bytes]] = {}
            while changes < steps * STEP_SECONDS * CHANGES or changes < GROUPS:
                number, group_id = 1 + changes // GROUPS, group(changes % GROUPS)
                write_lines(log, group_id, number)
                record = build_batch([generation(group_id, number)], timestamp_ms=now_ms())
                of.setdefault(partition_for(group_id, PARTITIONS), []).append(record)
                changes += 1
            for index, partition in enumerate(logs):
                count = int(RATE * STEP_SECONDS) // PARTITIONS
                batches = [one_each[(each + index) % len(one_each)] for each in range(count)] + of.get(index, [])
                chunk = b"".join(placed(batch, partition.end + at) for at, batch in enumerate(batches))
                partition.append_chunk(chunk, partition.end + len(batches))
            for _ in range(int(LINES * STEP_SECONDS)):
                log.write(f"[{clock()}] INFO [LocalLog partition=orders-3] Rolled new segment. (kafka.log.LocalLog)\n")
            log.flush()
            steps += 1
            with broker.grown:
                broker.grown.notify_all()
            time.sleep(max(0.0, began + steps * STEP_SECONDS - time.monotonic()))


def write_lines(log: TextIO, group_id: str, number: int) -> None:
    head = f"[{clock()}] INFO [GroupCoordinator id=1 topic=__consumer_offsets partition=1]"
    member = f"{group_id}-1-dd41d344-ccfe-447a-9f2e-ab286f3289f1"
    log.write(
        f"{head} Preparing to rebalance group {group_id} in state PreparingRebalance with old generation {number - 1}"
        f" (reason: explicit `LeaveGroup` request for ({member}) members.). {LOGGER}\n"
        f"{head} Group {group_id} with generation {number} is now empty. {LOGGER}\n"
    )


def clock() -> str:
    return datetime.now().strftime("%Y-%m-%d %H:%M:%S,%f")[:-3]


def now_ms() -> int:
    return time.time_ns() // 1_000_000


def cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def commits_read(page: str) -> float:
    text = urlopen(page).read().decode()
    return float(text.partition("\ncoordinator_watch_commits_total ")[2].split()[0])


def memory_mib(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "server.log"
        command = [sys.executable, __file__, "broker", str(log)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as broker:
            assert broker.stdout is not None
            bootstrap = broker.stdout.readline().strip()
            arguments = ("--broker-log", str(log), "--admin", "127.0.0.1:0")
            with into(Path(folder) / "watch", bootstrap, *arguments) as watch:
                time.sleep(SETTLE_SECONDS)
                page = f"http://{watch.wait()['admin']}/metrics"
                committed = commits_read(page)
                began, cpu = time.monotonic(), cpu_seconds(watch.pid)
                time.sleep(SECONDS)
                used, took = cpu_seconds(watch.pid) - cpu, time.monotonic() - began
                rate = (commits_read(page) - committed) / took
                peak = memory_mib(watch.pid)
                broker.wait()
                time.sleep(5)
                found = events_of(watch.wait()["bootstrap"])
                tail = (Path(folder) / "watch" / "watch.log").read_text().splitlines()[-3:]
    events = sum(map(len, found.values()))
    print(
        f"{rate:,.0f} commits, {CHANGES} rebalances of {GROUPS:,} groups and {LINES} lines a second: "
        f"{used / took:.3f} of a core over {took:.0f} s, {peak:.0f} MiB at most,"
        f" {events:,} events of {len(found):,} groups"
    )
    print("\n".join(tail))


if __name__ == "__main__":
    if sys.argv[1:2] == ["broker"]:
        busy_broker(Path(sys.argv[2]))
    else:
        main()
