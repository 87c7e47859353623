"""What compaction of __consumer_offsets takes and saves: disk, the time of a start, and how long clients wait.

    make bench-cleaner COMMITS=10000000 KEYS=10000

Fabricates a data directory whose one partition of __consumer_offsets holds COMMITS commits of KEYS (group, topic,
partition), in batches of BATCH (10), which are appended as the server does it. Then it starts the server three times:
without compaction, with it, and after it. While logs are compacted, a member of a group sends one Heartbeat after the
other; so it does for QUIET_SECONDS (5) before.

Environment: COMMITS, KEYS, BATCH, QUIET_SECONDS as above; FOLDER, where the directory is made (10,000,000 commits take
1.2 GB, and half as much again while they are compacted).
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from _wire.errors import NONE  # noqa: E402
from _wire.messages.heartbeat import HeartbeatRequest  # noqa: E402
from _wire.messages.list_groups import ListGroupsRequest  # noqa: E402
from _wire.messages.sync_group import SyncGroupRequest  # noqa: E402
from coordinator.client.wire import WireConnection  # noqa: E402
from coordinator.core.offsets.records import CommittedOffset, offset_records  # noqa: E402
from coordinator.core.stored_batch import StoredBatch  # noqa: E402
from coordinator.groups.offsets_stream import OffsetsStream  # noqa: E402
from coordinator.internal_topics import OFFSETS_TOPIC  # noqa: E402
from coordinator.log.config import LogConfig  # noqa: E402
from coordinator.log.data_dirs.directory import LogDirectory  # noqa: E402
from coordinator.runtime.interfaces import StoreError  # noqa: E402
from coordinator.runtime.store import LogStore  # noqa: E402
from tests.wire_client import join_request  # noqa: E402

COMMITS: Final = int(os.environ.get("COMMITS", "10000000"))
KEYS: Final = int(os.environ.get("KEYS", "10000"))
BATCH: Final = int(os.environ.get("BATCH", "10"))
QUIET_SECONDS: Final = float(os.environ.get("QUIET_SECONDS", "5"))
FOLDER: Final = os.environ.get("FOLDER") or None
PARTITIONS_OF_A_GROUP: Final = 100
SEGMENT_BYTES: Final = 104_857_600
READY_SECONDS: Final = 600
LIST_GROUPS_VERSION: Final = 4
POLL_SECONDS: Final = 0.01


def raise_problem(problem: StoreError | None) -> None:
    if problem is not None:
        raise problem


def fabricate(folder: Path) -> None:
    """Make a data directory, left as by a clean stop."""
    Server(folder, groups=0).stop()  # it makes the topics
    directory = LogDirectory.open(folder)
    config = LogConfig(segment_bytes=SEGMENT_BYTES)
    offsets = directory.open_log(OFFSETS_TOPIC, 0, config)
    store = LogStore(OffsetsStream(offsets, 0), appended=lambda log: None)
    now_ms = int(time.time() * 1000)
    for first in range(0, COMMITS, BATCH):
        records: list[tuple[bytes, bytes | None]] = []
        for number in range(first, min(first + BATCH, COMMITS)):
            group, partition = divmod(number * 7919 % KEYS, PARTITIONS_OF_A_GROUP)
            position = CommittedOffset(number, 0, "", now_ms)
            records += offset_records(f"consumer-group-{group}", {"orders": {partition: position}})
        store.append([], [StoredBatch(None, records)], now_ms, raise_problem)
    directory.close()


def log_bytes(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.glob(f"{OFFSETS_TOPIC}-0/*.log"))


class Server:
    """A server process on a data directory, from its start until it serves all groups."""

    def __init__(self, folder: Path, groups: int = KEYS // PARTITIONS_OF_A_GROUP, **settings: object) -> None:
        self._groups = groups
        ready = folder.parent / "ready.json"
        ready.unlink(missing_ok=True)
        self._lines = folder.parent / "server.log"
        command = [sys.executable, "-m", "coordinator.cli", "serve", "--listen", "127.0.0.1:0"]
        command += ["--data-dir", str(folder), "--ready-file", str(ready)]
        settings = {"offsets_topic_num_partitions": 1, "group_initial_rebalance_delay_ms": 0} | settings
        for name, value in settings.items():
            command += ["--set", f"{name.replace('_', '.')}={value}"]
        began = time.perf_counter()
        with self._lines.open("wb") as lines:
            self._process = subprocess.Popen(command, cwd=ROOT, stdout=lines, stderr=lines)
        deadline = began + READY_SECONDS
        while not ready.exists() and time.perf_counter() < deadline:
            time.sleep(POLL_SECONDS)
        self.bootstrap = json.loads(ready.read_text())["bootstrap"]
        while not self._is_loaded() and time.perf_counter() < deadline:
            time.sleep(POLL_SECONDS)
        self.start_seconds = time.perf_counter() - began

    def _is_loaded(self) -> bool:
        with WireConnection(self.bootstrap, "bench") as connection:
            response = connection.request(ListGroupsRequest(), LIST_GROUPS_VERSION)
        return response.error_code == NONE and len(response.groups) >= self._groups

    def line_with(self, text: str) -> str | None:
        return next((line for line in self._lines.read_text(errors="replace").splitlines() if text in line), None)

    def peak_mib(self) -> float:
        status = Path(f"/proc/{self._process.pid}/status").read_text()
        return int(status.partition("VmHWM:")[2].split()[0]) / 1024

    def stop(self) -> None:
        self._process.terminate()
        self._process.wait()


class Member:
    """A member of a group that sends one Heartbeat after the other."""

    def __init__(self, bootstrap: str) -> None:
        self._connection = WireConnection(bootstrap, "bench")
        joined = self._connection.request(join_request("victim"), 3)
        assert joined.error_code == NONE, joined
        synced = self._connection.request(
            SyncGroupRequest(group_id="victim", generation_id=joined.generation_id, member_id=joined.member_id), 3
        )
        assert synced.error_code == NONE, synced
        self._heartbeat = HeartbeatRequest(
            group_id="victim", generation_id=joined.generation_id, member_id=joined.member_id
        )

    def beat(self) -> float:
        """How long one takes, in ms."""
        began = time.perf_counter()
        assert self._connection.request(self._heartbeat, 3).error_code == NONE
        return (time.perf_counter() - began) * 1000

    def close(self) -> None:
        self._connection.__exit__()


def show_waits(name: str, waits: list[float]) -> None:
    waits.sort()
    half, late, last = waits[len(waits) // 2], waits[int(len(waits) * 0.99)], waits[-1]
    print(f"Heartbeat {name}: {len(waits):,}, p50 {half:.2f} ms, p99 {late:.2f} ms, max {last:.1f} ms", flush=True)


def compact(folder: Path, load_seconds: float) -> None:
    """Let the server compact, and measure its clients meanwhile."""
    backoff_ms = int((1.5 * load_seconds + QUIET_SECONDS + 5) * 1000)
    server = Server(folder, log_cleaner_backoff_ms=backoff_ms)
    member = Member(server.bootstrap)
    quiet: list[float] = []
    until = time.perf_counter() + QUIET_SECONDS
    while time.perf_counter() < until:
        quiet.append(member.beat())
    before_mib = server.peak_mib()
    cleaned_files = f"{OFFSETS_TOPIC}-0/*.log.cleaned"
    busy: list[float] = []
    while not any(folder.glob(cleaned_files)) and server.line_with("compacted a log") is None:
        waits = [member.beat() for _ in range(200)]
        busy = [*busy, *waits][-2_000_000:]
    while (line := server.line_with("compacted a log")) is None:
        busy += [member.beat() for _ in range(200)]
    text = re.sub(r"\x1b\[[0-9;]*m", "", line)
    print(text.partition("compacted a log")[2].strip())
    took_ms = int(re.search(r"\bms=(\d+)", text)[1])  # type: ignore[index]
    # The first of them were sent before the compaction began.
    during = busy[-max(1, _count_within(busy, took_ms)) :]
    show_waits(f"in {QUIET_SECONDS:.0f} s before", quiet)
    show_waits(f"in the {took_ms / 1000:.1f} s of the compaction", during)
    print(f"peak memory of the process: {before_mib:.0f} MiB before, {server.peak_mib():.0f} MiB after")
    member.close()
    server.stop()


def _count_within(waits: list[float], took_ms: float) -> int:
    """How many of the last waits make up this time."""
    total, count = 0.0, 0
    for wait in reversed(waits):
        total += wait
        if total > took_ms:
            break
        count += 1
    return count


def main() -> None:
    scratch = Path(tempfile.mkdtemp(prefix="cleaner-", dir=FOLDER))
    try:
        folder = scratch / "data"
        began = time.perf_counter()
        fabricate(folder)
        print(f"{COMMITS:,} commits of {KEYS:,} keys, made in {time.perf_counter() - began:.0f} s", flush=True)
        server = Server(folder, log_cleaner_enable="false")
        print(f"before: {log_bytes(folder) / 1e6:,.1f} MB, ready after {server.start_seconds:.2f} s", flush=True)
        load_seconds = server.start_seconds
        server.stop()
        compact(folder, load_seconds)
        server = Server(folder)
        print(f"after: {log_bytes(folder) / 1e6:,.1f} MB, ready after {server.start_seconds:.2f} s")
        server.stop()
    finally:
        shutil.rmtree(scratch)


if __name__ == "__main__":
    main()
