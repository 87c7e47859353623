"""How many audit events a second of CPU the pipeline takes, and how long a rebalance takes to its row.

python tests/bench/bench_pipeline.py            # EVENTS=1000000 REBALANCES=40 ONLY=bronze,topic,live

- bronze: from bronze into all other tables (no server); then micro-batches of 100 events when the tables are full, and
  the memory of the JVM.
- topic: from a topic of a running server into all tables, by `coordinator pipeline run`.
- live: `coordinator pipeline run --every-ms`: the time until the first batch, and from the end of a rebalance until a
  reader finds its row in `generations`.
"""

import os
import sys
import tempfile
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from coordinator.pipeline.bronze import COLUMNS, create_bronze  # noqa: E402
from coordinator.pipeline.job import events_query  # noqa: E402
from coordinator.pipeline.names import BRONZE, SILVER  # noqa: E402
from coordinator.pipeline.session import spark_session  # noqa: E402
from coordinator.pipeline.tables import Tables  # noqa: E402
from tests.bench.pipeline_end_to_end import (  # noqa: E402
    EVERY_MS,
    back_fill,
    cpu_seconds,
    fill_topic,
    live,
    percentile,
    rows_in,
)
from tests.pipeline.histories import realistic  # noqa: E402
from tests.servers import RunningServer  # noqa: E402

TEMPLATE_EVENTS = 20_000
SMALL_BATCH = 100
SMALL_BATCHES = 8


def jvm_of(spark: SparkSession) -> int:
    jvm: Any = spark.sparkContext._jvm
    return int(jvm.java.lang.ProcessHandle.current().pid())


def peak_mb(pid: int) -> int:
    line = next(line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) // 1024


def fill_bronze(spark: SparkSession, tables: Tables, events: int) -> int:
    """Copies of one generated history, each with group ids of its own; returns the number of events."""
    create_bronze(spark, tables)
    values = realistic(TEMPLATE_EVENTS)
    copies = max(1, events // len(values))
    template = spark.createDataFrame([(i, value.decode()) for i, value in enumerate(values)], "at bigint, json string")
    template = template.coalesce(1).persist()
    for first in range(0, copies, 4):
        copied = (
            spark.range(first, min(first + 4, copies), 1, 2)
            .withColumnRenamed("id", "copy")
            .crossJoin(F.broadcast(template))
        )
        value = F.regexp_replace("json", '"group_id":"', F.concat(F.lit('"group_id":"copy'), F.col("copy"), F.lit("-")))
        rows = copied.select(
            F.lit("__group_audit").alias("topic"),
            F.lit(0).alias("partition"),
            (F.col("copy") * len(values) + F.col("at")).alias("offset"),
            F.current_timestamp().alias("timestamp"),
            F.lit(None).cast(COLUMNS["headers"].dataType).alias("headers"),
            F.lit(b"group").alias("key"),
            value.cast("binary").alias("value"),
        )
        rows.write.format("delta").mode("append").save(tables.path(BRONZE))
    return copies * len(values)


def take_in(spark: SparkSession, tables: Tables) -> tuple[float, float, float]:
    """Seconds, and seconds of CPU of the JVM and of Python, until the tables hold all that bronze holds."""
    pid = jvm_of(spark)
    started, jvm, python = perf_counter(), cpu_seconds(pid), process_time()
    events_query(spark, tables).trigger(availableNow=True).start().awaitTermination()
    return perf_counter() - started, cpu_seconds(pid) - jvm, process_time() - python


def small_batches(spark: SparkSession, tables: Tables) -> list[float]:
    """Seconds of each micro-batch of SMALL_BATCH events of a new group."""
    took = []
    for number in range(SMALL_BATCHES):
        values = realistic(SMALL_BATCH, seed=number + 1, prefix=f"small-{number}-")
        rows = spark.createDataFrame(
            [(bytearray(value), 1, number * SMALL_BATCH + place) for place, value in enumerate(values)],
            "value binary, partition int, offset bigint",
        ).coalesce(1)
        rows.write.format("delta").mode("append").save(tables.path(BRONZE))
        query = events_query(spark, tables).trigger(availableNow=True).start()
        query.awaitTermination()
        took.append(query.lastProgress["durationMs"]["addBatch"] / 1000 if query.lastProgress else 0.0)
    return took


def from_bronze(events: int) -> None:
    started = perf_counter()
    with tempfile.TemporaryDirectory() as folder, spark_session() as spark:
        print(f"Spark session: {perf_counter() - started:.1f} s")
        tables = Tables(Path(folder))
        count = fill_bronze(spark, tables, events)
        seconds, jvm, python = take_in(spark, tables)
        cpu = jvm + python
        print(
            f"back-fill from bronze: {count:,} events in {seconds:.1f} s; CPU: JVM {jvm:.1f} s, Python {python:.1f} s: "
            f"{count / seconds:,.0f} a second, {count / cpu:,.0f} a second of CPU"
        )
        took = small_batches(spark, tables)
        print(f"micro-batch of {SMALL_BATCH} events: " + ", ".join(f"{each:.2f}" for each in took) + " s")
        print(f"largest memory of the JVM: {peak_mb(jvm_of(spark)):,} MB")


def from_topic(bootstrap: str, events: int, folder: Path) -> None:
    started = perf_counter()
    count = fill_topic(bootstrap, "copied-audit", events)
    print(f"topic filled with {count:,} events in {perf_counter() - started:.1f} s")
    used = back_fill(bootstrap, "copied-audit", folder)
    assert rows_in(folder, SILVER) == count
    cpu = used.python + used.jvm
    print(
        f"back-fill from the topic: {count:,} events in {used.seconds:.1f} s; CPU: JVM {used.jvm:.1f} s, "
        f"Python {used.python:.1f} s: {count / cpu:,.0f} a second of CPU, {cpu / count * 1e6:.1f} µs an event"
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
    if "bronze" in parts:
        from_bronze(events)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with RunningServer(folder) as server:
            if "topic" in parts:
                from_topic(server.bootstrap, events, folder / "back-fill")
            if "live" in parts:
                live_mode(server.bootstrap, rebalances, folder / "live")


if __name__ == "__main__":
    main(
        int(os.environ.get("EVENTS", "1000000")),
        int(os.environ.get("REBALANCES", "40")),
        os.environ.get("ONLY", "bronze,topic,live"),
    )
