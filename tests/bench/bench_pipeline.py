"""How many audit events a second of CPU the pipeline takes, and how long a rebalance takes to its row.

python tests/bench/bench_pipeline.py            # EVENTS=1000000 REBALANCES=40 ONLY=memory,topic,live

- memory: records in memory into all tables but bronze (no Spark, no server); then batches of 100 events when the tables
  are full.
- topic: from a topic of a running server into all tables, by `coordinator pipeline run`.
- live: `coordinator pipeline run --every-ms`: the time until the first batch, and from the end of a rebalance until a
  reader finds its row in `generations`.
"""

import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from coordinator.pipeline.batch import Batches  # noqa: E402
from coordinator.pipeline.bronze import RECORDS_PER_BATCH  # noqa: E402
from coordinator.pipeline.names import SILVER  # noqa: E402
from coordinator.pipeline.tables import Tables  # noqa: E402
from tests.bench.pipeline_end_to_end import (  # noqa: E402
    EVERY_MS,
    back_fill,
    fill_topic,
    live,
    percentile,
    rows_in,
)
from tests.bench.pipeline_executors import cluster_fill  # noqa: E402
from tests.pipeline.histories import realistic  # noqa: E402
from tests.pipeline.records import records  # noqa: E402
from tests.servers import RunningServer  # noqa: E402

TEMPLATE_EVENTS = 20_000
SMALL_BATCH = 100
SMALL_BATCHES = 8
ON_EXECUTORS = "--fold-on-executors"
EXECUTORS: tuple[tuple[int, tuple[str, ...]], ...] = ((1, ()), (1, (ON_EXECUTORS,)), (4, (ON_EXECUTORS,)))
"""Number of executors, and options."""


def jvm_of(spark: SparkSession) -> int:
    jvm: Any = spark.sparkContext._jvm
    return int(jvm.java.lang.ProcessHandle.current().pid())


def copies(events: int) -> Iterator[pa.Table]:
    """Batches of copies of one generated history, each with group ids of its own."""
    values, offset = realistic(TEMPLATE_EVENTS), 0
    per_batch = RECORDS_PER_BATCH // len(values)
    for first in range(0, max(1, events // len(values)), per_batch):
        own = (b'"group_id":"copy' + str(copy).encode() + b"-" for copy in range(first, first + per_batch))
        found = [value.replace(b'"group_id":"', partition) for partition in own for value in values]
        yield records(found, offset)
        offset += len(found)


def add_records(batches: Batches, batch: pa.Table, batch_id: int) -> tuple[float, float]:
    """Seconds, and seconds of CPU."""
    started, cpu = perf_counter(), process_time()
    batches.add_records(batch, batch_id)
    return perf_counter() - started, process_time() - cpu


def from_memory(events: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        batches, seconds, cpu, count, batch_id = Batches(Tables(Path(folder))), 0.0, 0.0, 0, -1
        for batch_id, batch in enumerate(copies(events)):
            took = add_records(batches, batch, batch_id)
            seconds, cpu, count = seconds + took[0], cpu + took[1], count + batch.num_rows
        print(
            f"fold and tables, without Spark: {count:,} events in {seconds:.1f} s, {cpu:.1f} s of CPU: "
            f"{count / cpu:,.0f} a second of CPU, {cpu / count * 1e6:.1f} µs an event"
        )
        took_small = []
        for number in range(SMALL_BATCHES):
            values = realistic(SMALL_BATCH, seed=number + 1, prefix=f"small-{number}-")
            batch = records(values, number * SMALL_BATCH, partition=1)
            took_small.append(add_records(batches, batch, batch_id + 1 + number)[0])
        print(f"batch of {SMALL_BATCH} events: " + ", ".join(f"{each:.2f}" for each in took_small) + " s")


def from_topic(bootstrap: str, events: int, folder: Path) -> None:
    started = perf_counter()
    count = fill_topic(bootstrap, "copied-audit", events)
    print(f"topic filled with {count:,} events in {perf_counter() - started:.1f} s")
    used = back_fill(bootstrap, "copied-audit", folder)
    assert rows_in(folder, SILVER) == count
    cpu = used.python + used.jvm
    print(
        f"back-fill from the topic: {count:,} events in {used.seconds:.1f} s; CPU: JVM {used.jvm:.1f} s, "
        f"Python {used.python:.1f} s: {count / cpu:,.0f} a second of CPU, {cpu / count * 1e6:.1f} µs an event; "
        f"the JVM took {used.jvm_mb:,} MB at most"
    )


def on_executors(bootstrap: str, events: int, folder: Path) -> None:
    """The fold in the driver, on one executor and on four, each of one core."""
    count = fill_topic(bootstrap, "folded-audit", events)
    for place, (executors, options) in enumerate(EXECUTORS):
        here = folder / str(place)
        here.mkdir(parents=True)
        used = cluster_fill(bootstrap, "folded-audit", here, executors, *options)
        assert rows_in(here / "tables", SILVER) == count
        each = ", ".join(f"{seconds:.1f}" for seconds in used.executors)
        print(
            f"{executors} executors, {' '.join(options) or 'fold in the driver'}: {count:,} events in "
            f"{used.seconds:.1f} s; CPU: driver {used.driver_python:.1f} s in Python and {used.driver_jvm:.1f} s "
            f"in the JVM, executors {each} s",
            flush=True,
        )


def live_mode(bootstrap: str, rebalances: int, folder: Path) -> None:
    found = live(bootstrap, folder, rebalances)
    print(f"start until the first batch is in the tables: {found.first_batch:.1f} s")
    print(
        f"rebalance until its row is read, --every-ms {EVERY_MS}, {len(found.rebalances)} rebalances: "
        f"p50 {percentile(found.rebalances, 50):.2f} s, p95 {percentile(found.rebalances, 95):.2f} s, "
        f"largest {max(found.rebalances):.2f} s"
    )


def main(events: int, rebalances: int, only: str) -> None:
    parts = only.split(",")
    if "memory" in parts:
        from_memory(events)
    if not {"topic", "live", "executors"} & set(parts):
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with RunningServer(folder) as server:
            if "topic" in parts:
                from_topic(server.bootstrap, events, folder / "back-fill")
            if "executors" in parts:
                on_executors(server.bootstrap, events, folder / "executors")
            if "live" in parts:
                live_mode(server.bootstrap, rebalances, folder / "live")


if __name__ == "__main__":
    main(
        int(os.environ.get("EVENTS", "1000000")),
        int(os.environ.get("REBALANCES", "40")),
        os.environ.get("ONLY", "memory,topic,live"),
    )
