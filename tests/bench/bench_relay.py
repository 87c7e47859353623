"""What the relay costs: CPU time per MiB that it passes on, and throughput, beside a bare uvloop that looks at nothing.

    python tests/bench/bench_relay.py

A client and a broker of plain sockets, in processes of their own, send frames of one size, several at a time: Produce
to the broker, or responses to Fetch from it. Between them is nothing, the floor (two protocols that write what they
receive to each other), or the relay. Requests of ListOffsets without content measure what a frame costs. What it costs
to watch groups is told by relays that run side by side and are loaded in turn, and by counted instructions (valgrind).

Environment:
    MIB=512          what is passed on in one measurement
    FRAMES=100000    requests without content in one measurement
    ROUNDS=5         measurements of each, alternately; medians are told
    TURNS=40         turns of each relay, for what it costs to watch
    TURN_FRAMES=5000 requests of one turn
    ONLY=            loads whose name contains this
    WATCH=           1: only what it costs to watch groups; counted: only its instructions
    MEMBERS=10000    members of watched groups, whose heartbeats come one by one
    KAFKA=           1: also Kafka's own perf tools on a real Kafka, directly and through the relay (Java and Maven)
    RECORDS=1000000  records of 1 KB of a measurement with Kafka
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from statistics import median, quantiles
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from coordinator.pipeline.java import require_java  # noqa: E402
from tests.bench.relay.between import BROKER_ID, RELAY, WATCHED, cpu_ms  # noqa: E402
from tests.bench.relay.counted import counted  # noqa: E402
from tests.bench.relay.exchanges import Measured, through  # noqa: E402
from tests.bench.relay.loads import Load, loads_of_data, loads_of_groups  # noqa: E402
from tests.bench.relay.members import HEARTBEAT_SECONDS, share_of_core  # noqa: E402
from tests.cluster.relay.relay_process import RelayProcess  # noqa: E402
from tests.differential.kafka import RunningKafka, kafka_jars  # noqa: E402
from tests.wire_client import WireClient  # noqa: E402

TOTAL_MIB: Final = int(os.environ.get("MIB", "512"))
FRAMES: Final = int(os.environ.get("FRAMES", "100_000"))
ROUNDS: Final = int(os.environ.get("ROUNDS", "5"))
TURNS: Final = int(os.environ.get("TURNS", "40"))
TURN_FRAMES: Final = int(os.environ.get("TURN_FRAMES", "5_000"))
ONLY: Final = os.environ.get("ONLY", "")
WATCH: Final = os.environ.get("WATCH", "")
RECORDS: Final = int(os.environ.get("RECORDS", "1_000_000"))
MEMBERS: Final = int(os.environ.get("MEMBERS", "10_000"))
DEFAULT_BATCH_BYTES: Final = 16_384
LARGE_BATCH_BYTES: Final = 262_144
PASSING_ON: Final = ("nothing", "floor", RELAY)


def compare() -> None:
    print("| load | relay, ms CPU per MiB | floor | relay / floor | MiB/s, relay / floor | MiB/s, relay / nothing |")
    print("|---|---|---|---|---|---|")
    for load in loads_of_data(TOTAL_MIB, FRAMES):
        if ONLY not in load.name:
            continue
        rounds: dict[str, list[Measured]] = {name: [] for name in PASSING_ON}
        for _ in range(ROUNDS):
            for name in PASSING_ON:
                with through(name, load) as exchange:
                    rounds[name].append(exchange.measure(load.frames))
        cpu = {name: median(each.cpu_ms for each in found) for name, found in rounds.items()}
        seconds = {name: median(each.seconds for each in found) for name, found in rounds.items()}
        is_small = load.mib < load.frames / 1024
        per, unit = (load.frames / 1_000, " µs each") if is_small else (load.mib, "")
        print(
            f"| {load.name} | {cpu[RELAY] / per:.2f}{unit} | {cpu['floor'] / per:.2f}{unit} "
            f"| {cpu[RELAY] / cpu['floor']:.2f} | {seconds['floor'] / seconds[RELAY]:.2f} "
            f"| {seconds['nothing'] / seconds[RELAY]:.2f} |",
            flush=True,
        )


def compare_watching() -> None:
    """What it costs to watch groups: the relay alone, with other groups watched, and with these, in turn."""
    print("\n| load | relay, µs for each request | watching others | watching these | requests/s, these / relay |")
    print("|---|---|---|---|---|")
    for load in loads_of_groups(TURN_FRAMES):
        if ONLY not in load.name:
            continue
        turns = turns_of(load)
        columns = [f"{median(each.cpu_ms for each in turns[RELAY]) / TURN_FRAMES * 1_000:.2f}"]
        for name in (each for each in WATCHED if each != RELAY):
            more = [
                (its.cpu_ms - alone.cpu_ms) / TURN_FRAMES * 1_000
                for its, alone in zip(turns[name], turns[RELAY], strict=True)
            ]
            columns.append(f"{middle_of(more, '+.2f')}")
        rates = [alone.seconds / its.seconds for its, alone in zip(turns["watching these"], turns[RELAY], strict=True)]
        print(f"| {load.name} | {' | '.join(columns)} | {middle_of(rates, '.3f')} |", flush=True)


def turns_of(load: Load) -> dict[str, list[Measured]]:
    """Relay → what its turns took. The relays run side by side, so that other work of the machine meets all alike."""
    with ExitStack() as stack:
        exchanges = {name: stack.enter_context(through(name, load)) for name in WATCHED}
        for exchange in exchanges.values():
            exchange.measure(TURN_FRAMES)
        turns: dict[str, list[Measured]] = {name: [] for name in WATCHED}
        for turn in range(TURNS):
            names = list(WATCHED)
            for name in names[turn % len(names) :] + names[: turn % len(names)]:
                turns[name].append(exchanges[name].measure(TURN_FRAMES))
        return turns


def middle_of(figures: list[float], form: str) -> str:
    """The median, and the middle half."""
    low, middle, high = quantiles(figures, n=4)
    return f"{middle:{form}} ({low:{form}} to {high:{form}})"


def count_watching() -> None:
    """The same in instructions of user space, one request at a time: as exact on a busy machine."""
    if shutil.which("valgrind") is None:
        print("left out: there is no valgrind (Debian: apt-get install valgrind)")
        return
    loads = [load for load in loads_of_groups(TURN_FRAMES) if ONLY in load.name]
    figures = {name: dict(counted(loads, name)) for name in WATCHED}
    print("\n| instructions for a request and its answer | relay | watching others | watching these | these / relay |")
    print("|---|---|---|---|---|")
    for load in loads:
        alone, others, these = (figures[name][load.name] for name in WATCHED)
        print(f"| {load.name} | {alone:,.0f} | {others:,.0f} | {these:,.0f} | {these / alone:.3f} |")


def compare_members() -> None:
    """The share of a core that MEMBERS members take, whose heartbeats come one by one."""
    print(f"\n| {MEMBERS:,} members, a heartbeat each {HEARTBEAT_SECONDS} s | share of a core |")
    print("|---|---|")
    for name in WATCHED:
        print(f"| {name} | {share_of_core(name, MEMBERS):.1%} |", flush=True)


def tool(name: str, *arguments: str) -> str:
    command = [
        str(require_java()),
        "-Xmx512m",
        "-cp",
        f"{kafka_jars()}/*",
        f"org.apache.kafka.tools.{name}",
        *arguments,
    ]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def produced(bootstrap: str, topic: str, batch_bytes: int = DEFAULT_BATCH_BYTES) -> float:
    """MB per second."""
    properties = [f"bootstrap.servers={bootstrap}", "acks=all", f"batch.size={batch_bytes}"]
    sizes = ["--num-records", str(RECORDS), "--record-size", "1024", "--throughput", "-1"]
    output = tool("ProducerPerformance", "--topic", topic, *sizes, "--producer-props", *properties)
    return float(re.findall(r"\(([\d.]+) MB/sec\)", output)[-1])


def produced_in_large_batches(bootstrap: str, topic: str) -> float:
    return produced(bootstrap, topic, LARGE_BATCH_BYTES)


def fetched(bootstrap: str, topic: str) -> float:
    """MB per second. The topic has twice as many records."""
    options = ["--bootstrap-server", bootstrap, "--topic", topic, "--num-records", str(2 * RECORDS)]
    output = tool("ConsumerPerformance", *options)
    return float(output.splitlines()[-1].split(",")[3])


RUNS: Final = {
    "produce, batch.size=16384": (produced, 1),
    "produce, batch.size=262144": (produced_in_large_batches, 1),
    "fetch": (fetched, 2),
}
"""What is run, and on how many times RECORDS."""


def compare_with_kafka() -> None:
    rates: dict[tuple[str, str], list[float]] = {}
    used: dict[str, list[float]] = {}
    with (
        tempfile.TemporaryDirectory() as folder,
        RunningKafka(Path(folder), {"group.initial.rebalance.delay.ms": "0"}, {}) as kafka,
        RelayProcess(BROKER_ID, kafka.bootstrap) as relay,
    ):
        for number in range(ROUNDS + 1):
            for way, bootstrap in (("directly", kafka.bootstrap), ("relay", relay.bootstrap)):
                topic = f"{way}-{number}"
                with WireClient(kafka.bootstrap) as wire:
                    wire.create_topic(topic)
                    for name, (run, _) in RUNS.items():
                        before = cpu_ms(relay.pid)
                        rate = run(bootstrap, topic)
                        if number:  # in the first round Kafka's code is compiled
                            rates.setdefault((name, way), []).append(rate)
                            if way == "relay":
                                used.setdefault(name, []).append(cpu_ms(relay.pid) - before)
                    wire.delete_topic(topic)
    print("| Kafka's perf tool | relay, ms CPU per MiB | MB/s, relay / directly |")
    print("|---|---|---|")
    for name, (_, times) in RUNS.items():
        ratio = median(rates[name, "relay"]) / median(rates[name, "directly"])
        print(f"| {name} | {median(used[name]) / (times * RECORDS / 1024):.2f} | {ratio:.2f} |")


if __name__ == "__main__":
    if not WATCH:
        compare()
    if WATCH != "counted":
        compare_watching()
    count_watching()
    if WATCH != "counted":
        compare_members()
    if os.environ.get("KAFKA"):
        compare_with_kafka()
