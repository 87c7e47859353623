"""How ours does at size, each check on a server of its own: large groups, many groups, memory, start, system calls."""

import re
import shutil
import signal
import statistics
import subprocess
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, NamedTuple

from _wire.messages.heartbeat import HeartbeatRequest
from tests.bench.coordinator.groupload import LoadGenerator
from tests.bench.coordinator.servers import STOP_SECONDS, Starter, Target, ours, ours_starting, pin
from tests.waiting import wait_for
from tests.wire_client import WireClient

STORM_SIZES: Final = (100, 1000, 5000, 10_000)
STORM_ROUNDS: Final = {100: 100, 1000: 10, 5000: 3, 10_000: 3}
STORM_SECONDS_MAX: Final = 1.5
STORM_GROWTH_MAX: Final = 1.3
GROUPS: Final = 100_000
CONNECTIONS_OF_GROUPS: Final = 1000
STEADY_SECONDS: Final = 30
STEADY_WARM_UP_SECONDS: Final = 6
"""Two heartbeats of each member: until the backlog of making the groups is gone."""

SESSION: Final = "10s"
CONNECTION_KIB_MAX: Final = 3
GROUP_KIB_MAX: Final = 4
READY_MS_MAX: Final = 250
IDLE_MIB_MAX: Final = 40
PIPELINED: Final = 16
BATCHES: Final = 20
TRACED_CALL: Final = re.compile(r"\d+ +(?P<name>\w+)\((?P<descriptor>\d+),.* = (?P<result>-?\d+)")
"""A line of strace -f."""


class Check(NamedTuple):
    """A row of the table."""

    title: str
    figure: str
    target: str
    met: bool | None


class LeftOut(RuntimeError):
    """It cannot be measured here; the message is one line."""


class Bench(NamedTuple):
    generator: LoadGenerator
    scratch: Path
    server_core: int
    rounds: int

    @contextmanager
    def server(self, starter: Starter = ours) -> Iterator[Target]:
        """A server of ours that has served nobody yet."""
        with TemporaryDirectory(dir=self.scratch) as folder, ExitStack() as stack:
            target = starter(Path(folder), stack)
            pin(target.pid, self.server_core)
            yield target

    def run(self, target: Target, arguments: str) -> dict[str, Any]:
        return self.generator.run(target, arguments.split())


def storms(bench: Bench) -> list[Check]:
    """What a member of a storm costs, from small groups to the largest."""
    costs = {}
    with bench.server() as target:
        for size in STORM_SIZES:
            storm = f"rebalance --storm --members {size} --conns {size} --parallel 64 --rounds {STORM_ROUNDS[size]}"
            costs[size] = float(bench.run(target, storm)["server_cpu_us_per_member"])
    smallest, largest = STORM_SIZES[0], STORM_SIZES[-1]
    seconds, growth = costs[largest] * largest / 1e6, costs[largest] / costs[smallest]
    each = ", ".join(f"{cost:.1f} at {size:,}" for size, cost in costs.items())
    return [
        Check(
            f"rebalance of {largest:,} members, s of server CPU",
            f"{seconds:.2f}",
            f"<= {STORM_SECONDS_MAX}",
            seconds <= STORM_SECONDS_MAX,
        ),
        Check(
            "µs per member of a storm",
            f"{each} ({growth:.2f} times)",
            f"<= {STORM_GROWTH_MAX} times",
            growth <= STORM_GROWTH_MAX,
        ),
    ]


def many_groups(bench: Bench) -> list[Check]:
    """All sessions of very many groups kept alive over few connections."""
    arguments = f"steady --groups {GROUPS} --conns {CONNECTIONS_OF_GROUPS} --parallel 64 --session {SESSION} --no-leave"
    with bench.server() as target:
        result = bench.run(target, f"{arguments} --warmup {STEADY_WARM_UP_SECONDS} --seconds {STEADY_SECONDS}")
    figure = (
        f"{result['heartbeats_per_s']:,} heartbeats a second, {result['server_cpu_us_per_op']:.1f} µs each, "
        f"p99 {result['heartbeat_us']['p99'] / 1000:.1f} ms, none failed"
    )
    title = f"{GROUPS:,} groups of one, {CONNECTIONS_OF_GROUPS:,} connections, sessions of {SESSION[:-1]} s"
    return [Check(title, figure, "no session expires", not result["errors"])]


def memory_of_connections(bench: Bench) -> list[Check]:
    with bench.server() as target:
        result = bench.run(target, "connect --conns 5000 --parallel 64 --hold 2")
    kib = float(result["server_kib_per_conn"])
    return [
        Check("KiB per idle connection", f"{kib:.2f}", f"<= {CONNECTION_KIB_MAX}", kib <= CONNECTION_KIB_MAX),
    ]


def memory_of_groups(bench: Bench) -> list[Check]:
    with bench.server() as target:
        result = bench.run(target, "groups --groups 20000 --parallel 64 --no-leave")
    kib = float(result["server_kib_per_member"])
    return [Check("KiB per group of one member", f"{kib:.2f}", f"<= {GROUP_KIB_MAX}", kib <= GROUP_KIB_MAX)]


def start(bench: Bench) -> list[Check]:
    """From the start of the process to the first synced member."""
    first_ms, idle_mib = [], []
    for _ in range(bench.rounds):
        with bench.server(ours_starting) as target:
            result = bench.run(target, "ready --hold 2")
        first_ms.append(result["first_group_ms"])
        idle_mib.append(result["server_rss_kib"] / 1024)
    ms, mib = statistics.median(first_ms), statistics.median(idle_mib)
    return [
        Check("first synced member after the start, ms", f"{ms:.0f}", f"<= {READY_MS_MAX}", ms <= READY_MS_MAX),
        Check("MiB when idle", f"{mib:.1f}", f"<= {IDLE_MIB_MAX}", mib <= IDLE_MIB_MAX),
    ]


def system_calls(bench: Bench) -> list[Check]:
    """Batches of pipelined Heartbeats, each sent in one write, under strace."""
    with bench.server() as target, WireClient(target.bootstrap) as client:
        member_id = client.join_alone("pipelined")
        heartbeat = HeartbeatRequest(group_id="pipelined", generation_id=1, member_id=member_id)
        sent_bytes = 0
        with _traced(target.pid, bench.scratch) as trace:
            for _ in range(BATCHES):
                frames = [client.frame(heartbeat, 4) for _ in range(PIPELINED)]
                batch = b"".join(data for data, _ in frames)
                client.socket.sendall(batch)
                sent_bytes += len(batch)
                for _, sent in frames:
                    assert client.receive(sent).error_code == 0
        reads, writes = _calls(trace, sent_bytes)
    figure = f"{reads / BATCHES:.2f} reads, {writes / BATCHES:.2f} writes"
    title = f"system calls for {PIPELINED} pipelined Heartbeats"
    return [Check(title, figure, "1 and 1", reads == writes == BATCHES)]


@contextmanager
def _traced(pid: int, scratch: Path) -> Iterator[Path]:
    """strace on a process; its file is complete afterwards. Raises LeftOut."""
    strace = shutil.which("strace")
    if strace is None:
        raise LeftOut("strace is not installed")
    found = scratch / "strace.out"
    calls = "trace=read,readv,recvfrom,recvmsg,write,writev,sendto,sendmsg"
    process = subprocess.Popen([strace, "-f", "-qq", "-e", calls, "-o", str(found), "-p", str(pid)])
    try:
        wait_for(lambda: process.poll() is not None or _is_traced(pid), STOP_SECONDS, "strace to attach")
        if process.poll() is not None:
            raise LeftOut("strace may not attach")
        yield found
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(STOP_SECONDS)


def _is_traced(pid: int) -> bool:
    return "TracerPid:\t0\n" not in Path(f"/proc/{pid}/status").read_text()


def _calls(trace: Path, received_bytes: int) -> tuple[int, int]:
    """Reads and writes on the descriptor that read so many bytes; a read that found nothing counts too."""
    reads: dict[str, list[int]] = defaultdict(list)
    writes: dict[str, int] = defaultdict(int)
    for line in trace.read_text().splitlines():
        called = TRACED_CALL.match(line)
        if called is None:
            continue
        if called["name"].startswith(("read", "recv")):
            reads[called["descriptor"]].append(max(0, int(called["result"])))
        else:
            writes[called["descriptor"]] += 1
    (connection,) = (descriptor for descriptor, sizes in reads.items() if sum(sizes) == received_bytes)
    return len(reads[connection]), writes[connection]


CHECKS: Final[dict[str, Callable[[Bench], list[Check]]]] = {
    "storms": storms,
    "steady": many_groups,
    "connection-memory": memory_of_connections,
    "group-memory": memory_of_groups,
    "start": start,
    "calls": system_calls,
}
"""By the names that ONLY takes."""
