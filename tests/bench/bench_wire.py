"""Decode a request and encode its response: ours, kafka-python's, and franz-go's kmsg; record batches against aiokafka.

    python tests/bench/bench_wire.py

Medians over interleaved repeats, in CPU time of the measuring thread. Ours is measured as Python calls it and as a
compiled server does. Where Go or aiokafka is not installed, that column is left out, and it says so.
"""

import json
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from importlib import import_module, util
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from _wire.headers import encode_request, encode_response
from _wire.records import build_batch, parse_batch
from coordinator.groups.sessions import SessionTable
from coordinator.timers.wheel import TimerWheel
from tests.bench.wire.loops import answer_heartbeats_in_place, decode_and_encode
from tests.bench.wire.messages import Pair, pairs

REPEATS = 7
OURS_TIMES = 20_000
PEER_TIMES = 300
IN_PLACE_TIMES = 1_000_000
LENGTH_BYTES = 4
RECORDS = 1000
RECORD_BYTES = 200
KMSG = Path(__file__).parent / "wire" / "kmsg"


def nanoseconds(run: Callable[[], object], times: int) -> float:
    """CPU time of one call, over `times` calls."""
    started = time.thread_time_ns()
    for _ in range(times):
        run()
    return (time.thread_time_ns() - started) / times


def times_for(pair: Pair) -> int:
    return max(200, OURS_TIMES // (1 + len(pair.response.encode(pair.version)) // 500))


def ours_from_python(pair: Pair) -> float:
    body, kind = pair.request.encode(pair.version), type(pair.request)

    def run() -> None:
        kind.decode(body, pair.version)
        encode_response(1, pair.response, pair.version)

    return nanoseconds(run, times_for(pair))


def ours_compiled(pair: Pair) -> float:
    body, times = pair.request.encode(pair.version), times_for(pair)
    key = pair.request.API_KEY
    started = time.thread_time_ns()
    decode_and_encode(key, body, pair.version, pair.response, times)
    return (time.thread_time_ns() - started) / times


def kafka_python(pair: Pair) -> float:
    body = pair.request.encode(pair.version)
    name = type(pair.request).__name__
    module = next(
        module
        for module in (import_module(f"kafka.protocol.{each}") for each in ("consumer", "metadata"))
        if hasattr(module, name)
    )
    request = getattr(module, name)
    response = getattr(module, name.replace("Request", "Response")).decode(
        pair.response.encode(pair.version), version=pair.version
    )
    response._header = None  # its decode leaves out what its encode asks for

    def run() -> None:
        request.decode(body, version=pair.version)
        response.encode(version=pair.version)

    return nanoseconds(run, max(20, PEER_TIMES // (1 + len(body) // 500)))


def kmsg() -> list[dict[str, float]]:
    """Name → nanoseconds of franz-go, one per repeat; empty without Go."""
    if shutil.which("go") is None:
        print("Go is not installed: the column of franz-go's kmsg is left out")
        return []
    asked = [
        {
            "name": pair.name,
            "key": pair.request.API_KEY,
            "version": pair.version,
            "request": pair.request.encode(pair.version).hex(),
            "response": pair.response.encode(pair.version).hex(),
            "times": times_for(pair) * 5,
        }
        for pair in pairs()
    ]
    with tempfile.TemporaryDirectory() as scratch:
        binary = str(Path(scratch) / "kmsgbench")
        subprocess.run(["go", "build", "-o", binary, "."], cwd=KMSG, check=True)
        run = subprocess.run(
            [binary], input=json.dumps({"pairs": asked, "repeats": REPEATS}), capture_output=True, text=True, check=True
        )
    return [json.loads(line) for line in run.stdout.splitlines()]


def messages_table() -> None:
    went = kmsg()
    heading = f"{'decode request + encode response, ns':36}{'compiled':>10}{'Python':>10}{'kafka-python':>14}"
    print(f"\n{heading}{'kmsg':>9}{'x faster':>10}{'/ kmsg':>8}{'x faster from Python':>22}")
    measured: dict[str, list[tuple[float, float, float]]] = {}
    for _ in range(REPEATS):
        for pair in pairs():
            row = (ours_compiled(pair), ours_from_python(pair), kafka_python(pair))
            measured.setdefault(pair.name, []).append(row)
    for name, rows in measured.items():
        compiled, python, theirs = (statistics.median(column) for column in zip(*rows, strict=True))
        line = f"{name:36}{compiled:10,.0f}{python:10,.0f}{theirs:14,.0f}"
        go = statistics.median(each[name] for each in went) if went else None
        beside_go = f"{'-':>9}{theirs / compiled:10.1f}{'-':>8}"
        if go is not None:
            beside_go = f"{go:9,.0f}{theirs / compiled:10.1f}{compiled / go:8.2f}"
        print(f"{line}{beside_go}{theirs / python:22.1f}")


def in_place_table() -> None:
    """The Heartbeat of a steady member, from the receive buffer into the send buffer."""
    pair = next(pair for pair in pairs() if pair.name.startswith("Heartbeat"))
    request: Any = pair.request
    frame = encode_request(1, "bench", request, pair.version)[LENGTH_BYTES:]
    sessions = SessionTable(TimerWheel(0), seed=1)
    sessions.start(request.group_id, request.member_id, request.group_instance_id, 10_000, 10_000, True, 0)
    sessions.set_group(request.group_id, request.generation_id, True)
    print(f"\n{f'{pair.name} in place, ns':36}{'median':>10}")
    for name, table in (("read and answer", None), ("with its session found and renewed", sessions)):
        repeats = []
        for _ in range(REPEATS):
            started = time.thread_time_ns()
            answered = answer_heartbeats_in_place(frame, table, 1, IN_PLACE_TIMES)
            repeats.append((time.thread_time_ns() - started) / IN_PLACE_TIMES)
            assert answered == IN_PLACE_TIMES
        print(f"{name:36}{statistics.median(repeats):10.1f}")


def records_table() -> None:
    value = bytes(RECORD_BYTES)
    records = [(b"key", value, ()) for _ in range(RECORDS)]
    batch = build_batch(records, timestamp_ms=1)
    ours_build, ours_parse, theirs_build, theirs_parse = [], [], [], []
    has_aiokafka = util.find_spec("aiokafka") is not None
    for _ in range(REPEATS):
        ours_build.append(nanoseconds(lambda: build_batch(records, timestamp_ms=1), 100))
        ours_parse.append(nanoseconds(lambda: parse_batch(batch), 100))
        if has_aiokafka:
            theirs_build.append(nanoseconds(_aiokafka_build(value), 100))
            theirs_parse.append(nanoseconds(_aiokafka_parse(batch), 100))
    print(f"\n{f'record batch of {RECORDS} x {RECORD_BYTES} B, us':36}{'ours':>10}{'aiokafka':>10}{'x faster':>10}")
    for name, ours, theirs in (("build", ours_build, theirs_build), ("parse", ours_parse, theirs_parse)):
        mine = statistics.median(ours)
        if theirs:
            other = statistics.median(theirs)
            print(f"{name:36}{mine / 1000:10.1f}{other / 1000:10.1f}{other / mine:10.1f}")
        else:
            print(f"{name:36}{mine / 1000:10.1f}{'-':>10}{'-':>10}")
    if not has_aiokafka:
        print("aiokafka is not installed: its column is left out")


def _aiokafka_build(value: bytes) -> Callable[[], object]:
    from aiokafka.record._crecords import DefaultRecordBatchBuilder

    def run() -> object:
        builder = DefaultRecordBatchBuilder(2, 0, False, -1, -1, -1, 1 << 20)
        for offset in range(RECORDS):
            builder.append(offset, 1, b"key", value, [])
        return builder.build()

    return run


def _aiokafka_parse(batch: bytes) -> Callable[[], object]:
    from aiokafka.record._crecords import DefaultRecordBatch

    def run() -> object:
        parsed = DefaultRecordBatch(batch)
        assert parsed.validate_crc()
        return [(record.offset, record.key, record.value) for record in parsed]

    return run


if __name__ == "__main__":
    messages_table()
    in_place_table()
    records_table()
