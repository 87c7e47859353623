"""What a start costs with a long audit topic: its time and peak memory, after a clean stop.

    python tests/bench/bench_audit_start.py [EVENTS ...]

Fabricates a data directory with so many audit events (by default 5,000 and 5,000,000) in the topic's 50 partitions,
starts the server four times, and removes the directory. The first start finds no checkpoint and reads the whole topic;
the others read from the checkpoint that it wrote, after clean stops and at last after a `kill -9`.

Environment:
    GROUPS=500  live groups of three members, whose rebalances are the events
    FOLDER=     where the directory is made (5,000,000 events take 3.2 GB); the system's for temporary files by default
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from itertools import cycle
from pathlib import Path
from typing import Any, Final, cast

import msgspec

ROOT: Final = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from _wire.errors import NONE  # noqa: E402
from _wire.messages.list_groups import ListGroupsRequest  # noqa: E402
from coordinator.audit.projector import AuditProjector  # noqa: E402
from coordinator.client.wire import WireConnection  # noqa: E402
from coordinator.config.group_keys import OFFSETS_TOPIC_NUM_PARTITIONS  # noqa: E402
from coordinator.config.settings import Config  # noqa: E402
from coordinator.core.classic.events import GenerationStable, GenerationStarted  # noqa: E402
from coordinator.core.groups.event import GroupEvent  # noqa: E402
from coordinator.core.groups.group import Group  # noqa: E402
from coordinator.core.kinds.table import new_group  # noqa: E402
from coordinator.core.partitioning import partition_for  # noqa: E402
from coordinator.core.stored_batch import StoredBatch  # noqa: E402
from coordinator.groups.audit_stream import AuditStream  # noqa: E402
from coordinator.groups.offsets_stream import OffsetsStream  # noqa: E402
from coordinator.internal_topics import AUDIT_TOPIC, OFFSETS_TOPIC  # noqa: E402
from coordinator.log.config import LogConfig  # noqa: E402
from coordinator.log.data_dirs.directory import LogDirectory  # noqa: E402
from coordinator.runtime.interfaces import StoreError  # noqa: E402
from coordinator.runtime.store import LogStore  # noqa: E402
from tests.audit.stories import rejoin, subscription, sync  # noqa: E402
from tests.simulation.simulation import Simulation  # noqa: E402

GROUPS: Final = int(os.environ.get("GROUPS", "500"))
FOLDER: Final = os.environ.get("FOLDER") or None
PARTITIONS: Final[int] = Config({})[OFFSETS_TOPIC_NUM_PARTITIONS]
GROUPS_IN_A_BATCH: Final = 5
"""Their rebalances are appended together."""
READY_SECONDS: Final = 600
LIST_GROUPS_VERSION: Final = 4
POLL_SECONDS: Final = 0.002


def recorded_events() -> tuple[list[GroupEvent], list[GroupEvent]]:
    """What a group of three members does to become Stable, and then in each further rebalance."""
    sim = Simulation()
    leader = sim.join("consumer-a", metadata=subscription("orders")).response.member_id
    sync(sim, {})
    for name in ("consumer-b", "consumer-c"):
        sim.join(name, metadata=subscription("orders"))
    sim.join("consumer-a", leader, metadata=subscription("orders"))
    plan = {member_id: {"orders": [at, at + 3]} for at, member_id in enumerate(sim.group.members)}
    sync(sim, plan)
    count = len(sim.events)
    rejoin(sim)
    sync(sim, plan)
    events = cast("list[GroupEvent]", sim.events)
    return events[:count], events[count:]


def raise_problem(problem: StoreError | None) -> None:
    if problem is not None:
        raise problem


class Partition:
    """A partition of both topics, and the groups in it."""

    def __init__(self, directory: LogDirectory, index: int) -> None:
        audit = directory.open_log(AUDIT_TOPIC, index, LogConfig(), lazy=True)
        offsets = directory.open_log(OFFSETS_TOPIC, index, LogConfig(), lazy=True)
        self.store = LogStore(OffsetsStream(offsets, 0), AuditStream(audit, 0), appended=lambda log: None)
        self.projector = AuditProjector(node_id=1)
        self.groups: list[Group] = []

    def play(self, groups: list[Group], beginning: list[GroupEvent], rebalance: list[GroupEvent], now_ms: int) -> int:
        """Append the next rebalance of each group; returns how many audit events that is."""
        for group in groups:
            for event in rebalance if group.membership.generation_id else beginning:
                classic = group.membership
                changes: dict[str, object] = {"group_id": group.group_id, "at_ms": now_ms}
                if isinstance(event, GenerationStarted):
                    changes["generation_id"] = classic.generation_id + 1
                elif isinstance(event, GenerationStable):
                    changes["generation_id"] = classic.generation_id
                changed = msgspec.structs.replace(cast("Any", event), **changes)
                state, generation_id = classic.state, classic.generation_id
                changed.apply(group)
                self.projector.project(changed, group, state, generation_id)
        records = self.projector.pop_records()
        self.store.append(records, [], now_ms, raise_problem)
        return len(records)

    def store_groups(self, now_ms: int) -> None:
        """As the compacted topic has them: their last state only."""
        records = []
        for group in self.groups:
            records.extend(group.kind.records.of_state(group.membership))
        if records:
            self.store.append([], [StoredBatch(None, records)], now_ms, raise_problem)


def fabricate(folder: Path, events: int) -> int:
    """Make a data directory, left as by a clean stop; returns how many audit events are in it."""
    directory = LogDirectory.open(folder)
    partitions = [Partition(directory, index) for index in range(PARTITIONS)]
    for number in range(GROUPS):
        group_id = f"group-{number}"
        partitions[partition_for(group_id, PARTITIONS)].groups.append(new_group(group_id))
    beginning, rebalance = recorded_events()
    batches = [
        (partition, partition.groups[at : at + GROUPS_IN_A_BATCH])
        for partition in partitions
        for at in range(0, len(partition.groups), GROUPS_IN_A_BATCH)
    ]
    # A day ago, so that no group is old enough for a snapshot because of its age.
    now_ms = int(time.time() * 1000) - 24 * 3_600_000
    count = 0
    for number, (partition, groups) in enumerate(cycle(batches)):
        if count >= events and number >= len(batches):
            break
        count += partition.play(groups, beginning, rebalance, now_ms)
    for partition in partitions:
        partition.store_groups(now_ms)
    directory.close()
    return count


class Server:
    """A server process on a data directory, from its start until it serves all groups."""

    def __init__(self, folder: Path) -> None:
        ready = folder.parent / "ready.json"
        ready.unlink(missing_ok=True)
        began = time.perf_counter()
        command = [sys.executable, "-m", "coordinator.cli", "serve", "--listen", "127.0.0.1:0"]
        command += ["--data-dir", str(folder), "--ready-file", str(ready)]
        self._process = subprocess.Popen(command, cwd=ROOT, stderr=subprocess.DEVNULL)
        deadline = began + READY_SECONDS
        while not ready.exists() and time.perf_counter() < deadline:
            time.sleep(POLL_SECONDS)
        self._bootstrap = json.loads(ready.read_text())["bootstrap"]
        while self._listed() < GROUPS and time.perf_counter() < deadline:
            time.sleep(POLL_SECONDS)
        self.start_seconds = time.perf_counter() - began
        status = Path(f"/proc/{self._process.pid}/status").read_text()
        self.peak_mib = int(status.partition("VmHWM:")[2].split()[0]) / 1024

    def _listed(self) -> int:
        """Groups that are listed by now; -1 while a partition is loading."""
        with WireConnection(self._bootstrap, "bench") as connection:
            response = connection.request(ListGroupsRequest(), LIST_GROUPS_VERSION)
        return len(response.groups) if response.error_code == NONE else -1

    def end(self, number: signal.Signals) -> None:
        self._process.send_signal(number)
        self._process.wait()


def measure(folder: Path, name: str, ends_with: signal.Signals) -> None:
    server = Server(folder)
    time.sleep(0 if ends_with is signal.SIGTERM else 1)
    server.end(ends_with)
    print(f"    {name:36} {server.start_seconds:8.2f} s {server.peak_mib:8.1f} MiB", flush=True)


def main() -> None:
    for events in [int(each) for each in sys.argv[1:]] or [5_000, 5_000_000]:
        scratch = Path(tempfile.mkdtemp(prefix="audit-start-", dir=FOLDER))
        try:
            folder = scratch / "data"
            began = time.perf_counter()
            count = fabricate(folder, events)
            size = sum(path.stat().st_size for path in folder.rglob(f"{AUDIT_TOPIC}-*/*.log"))
            took = time.perf_counter() - began
            print(f"{count:,} events, {size / 1e6:,.0f} MB, {GROUPS} groups, made in {took:.0f} s", flush=True)
            measure(folder, "without a checkpoint", signal.SIGTERM)
            measure(folder, "after a clean stop", signal.SIGTERM)
            measure(folder, "after a clean stop, again", signal.SIGKILL)
            measure(folder, "after kill -9", signal.SIGKILL)
        finally:
            shutil.rmtree(scratch)


if __name__ == "__main__":
    main()
