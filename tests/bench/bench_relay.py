"""What the relay costs: CPU time per MiB that it passes on, and throughput, beside a bare uvloop that looks at nothing.

    python tests/bench/bench_relay.py

A client and a broker of plain sockets, in processes of their own, send frames of one size, several at a time: Produce
to the broker, or responses to Fetch from it. Between them is nothing, the floor (two protocols that write what they
receive to each other), or the relay. Requests of ListOffsets without content measure what a frame costs.

Environment:
    MIB=512          what is passed on in one measurement
    FRAMES=100000    requests without content in one measurement
    ROUNDS=5         measurements of each, alternately; medians are told
    ONLY=            loads whose name contains this
    WATCH=           1: only what it costs to watch groups
    MEMBERS=10000    members of watched groups, whose heartbeats come one by one
    KAFKA=           1: also Kafka's own perf tools on a real Kafka, directly and through the relay (Java and Maven)
    RECORDS=1000000  records of 1 KB of a measurement with Kafka
"""

import asyncio
import multiprocessing
import os
import re
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from statistics import median
from time import perf_counter, sleep
from typing import Any, Final, NamedTuple

ROOT: Final = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

import uvloop  # noqa: E402

from _wire.headers import encode_request, encode_response  # noqa: E402
from _wire.messages.consumer_group_heartbeat import (  # noqa: E402
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)
from _wire.messages.heartbeat import HeartbeatRequest, HeartbeatResponse  # noqa: E402
from _wire.messages.offset_commit import OffsetCommitRequest, OffsetCommitResponse  # noqa: E402
from _wire.messages.produce import (  # noqa: E402
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
    TopicProduceResponse,
)
from coordinator.pipeline.java import require_java  # noqa: E402
from tests.cluster.relay.relay_process import RelayProcess  # noqa: E402
from tests.differential.kafka import RunningKafka, kafka_jars  # noqa: E402
from tests.wire_client import WireClient  # noqa: E402

MIB: Final = 1 << 20
TOTAL_MIB: Final = int(os.environ.get("MIB", "512"))
FRAMES: Final = int(os.environ.get("FRAMES", "100_000"))
ROUNDS: Final = int(os.environ.get("ROUNDS", "5"))
ONLY: Final = os.environ.get("ONLY", "")
RECORDS: Final = int(os.environ.get("RECORDS", "1_000_000"))
MEMBERS: Final = int(os.environ.get("MEMBERS", "10_000"))
MEMBERS_SECONDS: Final = 15
HEARTBEAT_SECONDS: Final = 3
HOST: Final = "127.0.0.1"
GROUP: Final = "group-1"
MEMBER: Final = "consumer-1-6d0a5e8e-0b1f-4c7f-8f6a-0c8f3c1f7a11"
BROKER_ID: Final = 1
DEFAULT_BATCH_BYTES: Final = 16_384
LARGE_BATCH_BYTES: Final = 262_144
IN_FLIGHT: Final = 5
"""Of a Java producer (max.in.flight.requests.per.connection)."""
SMALL_IN_FLIGHT: Final = 100
SIZES: Final = (16 << 10, 256 << 10, MIB, 16 * MIB)
CORRELATION_ID: Final = bytes(4)
SMALL_RESPONSE: Final = (4).to_bytes(4, "big") + CORRELATION_ID
FETCH: Final = bytes.fromhex("0001000c") + CORRELATION_ID + b"\xff\xff\x00"
PRODUCE: Final = bytes.fromhex("00000007") + CORRELATION_ID + b"\xff\xff" + b"\xff\xff" + b"\x00\x01"
PRODUCE_RESPONSE_V13: Final = encode_response(
    0, ProduceResponse(responses=[TopicProduceResponse(partition_responses=[PartitionProduceResponse()])]), 13
)[4:]
LIST_OFFSETS: Final = bytes.fromhex("00020007") + CORRELATION_ID + b"\xff\xff\x00"


class Load(NamedTuple):
    """`frames` requests and responses of this size, without their lengths."""

    name: str
    request: bytes
    response: bytes
    frames: int
    in_flight: int

    @property
    def mib(self) -> float:
        return self.frames * (len(self.request) + len(self.response)) / MIB


class Measured(NamedTuple):
    cpu_ms: float
    seconds: float


def loads() -> list[Load]:
    found = []
    for size in SIZES:
        name = f"{size >> 10} KiB" if size < MIB else f"{size >> 20} MiB"
        frames = max(TOTAL_MIB * MIB // size, 1)
        found.append(
            Load(f"Produce, {name}", PRODUCE + bytes(size - len(PRODUCE)), SMALL_RESPONSE[4:], frames, IN_FLIGHT)
        )
        found.append(Load(f"Fetch, {name}", FETCH, CORRELATION_ID + bytes(size - 4), frames, IN_FLIGHT))
    alone = FRAMES // 10
    found.append(Load("Produce v13, 16 KiB, one at a time", produce_v13(16 << 10), PRODUCE_RESPONSE_V13, alone, 1))
    found.append(Load("Fetch, 16 KiB, one at a time", FETCH, CORRELATION_ID + bytes(16 << 10), alone, 1))
    found.append(Load("requests without content", LIST_OFFSETS, SMALL_RESPONSE[4:], FRAMES, SMALL_IN_FLIGHT))
    return found


def produce_v13(size: int) -> bytes:
    """A request whose response is rewritten."""
    records = PartitionProduceData(records=bytes(size))
    request = ProduceRequest(acks=-1, topic_data=[TopicProduceData(partition_data=[records])])
    return encode_request(0, "client", request, 13)[4:]


def with_length(body: bytes) -> bytes:
    return len(body).to_bytes(4, "big") + body


def broker(listening: socket.socket, load: Load) -> None:
    """Answer each request of one connection. All have the same size, so nothing is parsed."""
    connection, _ = listening.accept()
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    response, request_bytes = with_length(load.response), 4 + len(load.request)
    buffer = bytearray(max(MIB, 2 * request_bytes))
    received = 0
    while count := connection.recv_into(buffer):
        received += count
        complete, received = divmod(received, request_bytes)
        if complete:
            connection.sendall(response * complete if len(response) < MIB else response)
            for _ in range(complete - 1 if len(response) >= MIB else 0):
                connection.sendall(response)


def exchange(port: int, load: Load) -> float:
    """Send all requests, so many at a time, and read all responses; how long it took."""
    request, response_bytes = with_length(load.request), 4 + len(load.response)
    buffer = bytearray(MIB)
    with socket.create_connection((HOST, port)) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        begin = perf_counter()
        sent = answered = received = 0
        while answered < load.frames:
            new = min(load.frames, answered + load.in_flight) - sent
            if new:
                connection.sendall(request * new)
                sent += new
            received += connection.recv_into(buffer)
            complete, received = divmod(received, response_bytes)
            answered += complete
        return perf_counter() - begin


class Floor(asyncio.Protocol):
    """Writes what it receives to its peer, and reads as long as that takes it."""

    def __init__(self) -> None:
        self.peer: Floor
        self.transport: Any = None

    def connection_made(self, transport: Any) -> None:
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self.peer.transport.write(data)

    def pause_writing(self) -> None:
        self.peer.transport.pause_reading()

    def resume_writing(self) -> None:
        self.peer.transport.resume_reading()

    def connection_lost(self, problem: Exception | None) -> None:
        self.peer.transport.close()


def floor(port: int, upstream_port: int, is_ready: Any) -> None:
    async def main() -> None:
        loop = asyncio.get_running_loop()

        # Each measurement has one connection.
        client, upstream = Floor(), Floor()
        client.peer, upstream.peer = upstream, client
        await loop.create_connection(lambda: upstream, HOST, upstream_port)
        await loop.create_server(lambda: client, HOST, port)
        is_ready.set()
        await asyncio.Event().wait()

    uvloop.run(main())


@contextmanager
def floor_process(upstream_port: int) -> Iterator[tuple[int, int]]:
    """Port and process id."""
    with socket.socket() as free:
        free.bind((HOST, 0))
        port = free.getsockname()[1]
    is_ready = multiprocessing.Event()
    process = multiprocessing.Process(target=floor, args=(port, upstream_port, is_ready), daemon=True)
    process.start()
    is_ready.wait(10)
    try:
        yield port, process.pid or 0
    finally:
        process.terminate()
        process.join()


@contextmanager
def relay_process(upstream_port: int) -> Iterator[tuple[int, int]]:
    with RelayProcess(BROKER_ID, f"{HOST}:{upstream_port}") as relay:
        yield int(relay.bootstrap.rpartition(":")[2]), relay.pid


@contextmanager
def nothing(upstream_port: int) -> Iterator[tuple[int, int]]:
    yield upstream_port, 0


@contextmanager
def watching_process(watched: str, upstream_port: int) -> Iterator[tuple[int, int]]:
    with RelayProcess(BROKER_ID, f"{HOST}:{upstream_port}", watched) as relay:
        yield int(relay.bootstrap.rpartition(":")[2]), relay.pid


BETWEEN: Final[dict[str, Callable[[int], Any]]] = {
    "nothing": nothing,
    "floor": floor_process,
    "relay": relay_process,
    "watching others": partial(watching_process, "other-*"),
    "watching these": partial(watching_process, "group-*"),
}
PASSING_ON: Final = ("nothing", "floor", "relay")
WATCHING: Final = ("relay", "watching others", "watching these")


def cpu_ms(pid: int) -> float:
    return int(Path(f"/proc/{pid}/schedstat").read_text(encoding="ascii").split()[0]) / 1e6 if pid else 0.0


def measure(between: str, load: Load) -> Measured:
    with socket.create_server((HOST, 0)) as listening:
        process = multiprocessing.Process(target=broker, args=(listening, load), daemon=True)
        process.start()
        with BETWEEN[between](listening.getsockname()[1]) as (port, pid):
            before = cpu_ms(pid)
            seconds = exchange(port, load)
            used_ms = cpu_ms(pid) - before
        process.join(10)
        process.terminate()
        return Measured(used_ms, seconds)


def compare() -> None:
    print("| load | relay, ms CPU per MiB | floor | relay / floor | MiB/s, relay / floor | MiB/s, relay / nothing |")
    print("|---|---|---|---|---|---|")
    for load in loads():
        if ONLY not in load.name:
            continue
        rounds: dict[str, list[Measured]] = {name: [] for name in PASSING_ON}
        for _ in range(ROUNDS):
            for name in PASSING_ON:
                rounds[name].append(measure(name, load))
        cpu = {name: median(each.cpu_ms for each in found) for name, found in rounds.items()}
        seconds = {name: median(each.seconds for each in found) for name, found in rounds.items()}
        is_small = load.mib < load.frames / 1024
        per, unit = (load.frames / 1_000, " µs each") if is_small else (load.mib, "")
        print(
            f"| {load.name} | {cpu['relay'] / per:.2f}{unit} | {cpu['floor'] / per:.2f}{unit} "
            f"| {cpu['relay'] / cpu['floor']:.2f} | {seconds['floor'] / seconds['relay']:.2f} "
            f"| {seconds['nothing'] / seconds['relay']:.2f} |",
            flush=True,
        )


def compare_watching() -> None:
    """What it costs to watch groups: the relay alone, with other groups watched, and with these."""
    print("\n| load | relay | watching others | watching these | µs for each request | MiB/s, watching / relay |")
    print("|---|---|---|---|---|---|")
    for load in group_loads():
        if ONLY not in load.name:
            continue
        rounds: dict[str, list[Measured]] = {name: [] for name in WATCHING}
        for _ in range(ROUNDS):
            for name in WATCHING:
                rounds[name].append(measure(name, load))
        cpu = {name: median(each.cpu_ms for each in found) for name, found in rounds.items()}
        seconds = {name: median(each.seconds for each in found) for name, found in rounds.items()}
        per = load.frames / 1_000
        alone, others, these = (cpu[name] / per for name in ("relay", "watching others", "watching these"))
        rate = seconds["relay"] / seconds["watching these"]
        per_request = f"{alone:.2f} | {others:.2f} | {these:.2f} | {these - alone:+.2f}"
        print(f"| {load.name} | {per_request} | {rate:.2f} |", flush=True)


def group_loads() -> list[Load]:
    """What members send again and again, and what all clients do beside."""
    beat = HeartbeatRequest(group_id=GROUP, generation_id=7, member_id=MEMBER)
    epoch_beat = ConsumerGroupHeartbeatRequest(group_id=GROUP, member_id=MEMBER, member_epoch=7)
    epoch_answer = ConsumerGroupHeartbeatResponse(member_id=MEMBER, member_epoch=7, heartbeat_interval_ms=5_000)
    commit = OffsetCommitRequest(group_id=GROUP, generation_id_or_member_epoch=7, member_id=MEMBER)
    found = [
        ("Heartbeat", encode_request(0, "c", beat, 4), encode_response(0, HeartbeatResponse(), 4)),
        (
            "ConsumerGroupHeartbeat",
            encode_request(0, "c", epoch_beat, 1),
            encode_response(0, epoch_answer, 1),
        ),
        ("OffsetCommit", encode_request(0, "c", commit, 9), encode_response(0, OffsetCommitResponse(), 9)),
    ]
    loads = [
        Load(f"{name}, {how}", request[4:], response[4:], frames, in_flight)
        for name, request, response in found
        for how, frames, in_flight in (("100 at a time", FRAMES, SMALL_IN_FLIGHT), ("one at a time", FRAMES // 10, 1))
    ]
    loads.append(Load("Fetch, 16 KiB", FETCH, CORRELATION_ID + bytes(16 << 10), TOTAL_MIB * 64, IN_FLIGHT))
    return loads


async def _members_at(port: int, seconds: float, is_ready: Any) -> None:
    """MEMBERS members, two by way of each connection, each of which sends a heartbeat every three seconds."""
    loop = asyncio.get_running_loop()
    beats = (
        HeartbeatRequest(group_id=f"group-{number % 100}", generation_id=7, member_id=f"m-{number}")
        for number in range(MEMBERS)
    )
    frames = [encode_request(0, "c", beat, 4) for beat in beats]
    clients = [(await loop.create_connection(asyncio.Protocol, HOST, port))[0] for _ in range(MEMBERS // 2)]
    is_ready.set()
    until, turn = loop.time() + seconds + HEARTBEAT_SECONDS, 0
    started = loop.time()
    while loop.time() < until:
        due = int((loop.time() - started) * MEMBERS / HEARTBEAT_SECONDS)
        for number in range(turn, due):
            clients[number % len(clients)].write(frames[number % MEMBERS])
        turn = max(turn, due)
        await asyncio.sleep(0.002)


async def _answer_at(listening: socket.socket) -> None:
    answer = encode_response(0, HeartbeatResponse(), 4)

    class Answers(asyncio.Protocol):
        def connection_made(self, transport: Any) -> None:
            self.transport = transport

        def data_received(self, data: bytes) -> None:
            if len(data) >= 4:
                self.transport.write(answer)

    await asyncio.get_running_loop().create_server(Answers, sock=listening)
    await asyncio.Event().wait()


def members(port: int, seconds: float, is_ready: Any) -> None:
    uvloop.run(_members_at(port, seconds, is_ready))


def answers(listening: socket.socket) -> None:
    uvloop.run(_answer_at(listening))


def compare_members() -> None:
    """The share of a core that MEMBERS members take, whose heartbeats come one by one."""
    print(f"\n| {MEMBERS:,} members, a heartbeat each {HEARTBEAT_SECONDS} s | share of a core |")
    print("|---|---|")
    for name in WATCHING:
        with socket.create_server((HOST, 0), backlog=1_000) as listening:
            broker_process = multiprocessing.Process(target=answers, args=(listening,), daemon=True)
            broker_process.start()
            with BETWEEN[name](listening.getsockname()[1]) as (port, pid):
                is_ready = multiprocessing.Event()
                process = multiprocessing.Process(target=members, args=(port, MEMBERS_SECONDS, is_ready), daemon=True)
                process.start()
                is_ready.wait(60)
                sleep(HEARTBEAT_SECONDS)
                before, begin = cpu_ms(pid), perf_counter()
                process.join(MEMBERS_SECONDS + 30)
                used = (cpu_ms(pid) - before) / 1_000 / (perf_counter() - begin)
                process.terminate()
            broker_process.terminate()
        print(f"| {name} | {used:.1%} |", flush=True)


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
    if not os.environ.get("WATCH"):
        compare()
    compare_watching()
    compare_members()
    if os.environ.get("KAFKA"):
        compare_with_kafka()
