"""How many audit events a second of CPU the pipeline takes from bronze into all other tables (no server).

python tests/bench/bench_pipeline.py            # EVENTS=1000000

It also measures a micro-batch of 100 events at the end, when the tables are full, and the memory of the JVM.
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
from coordinator.pipeline.names import BRONZE  # noqa: E402
from coordinator.pipeline.session import spark_session  # noqa: E402
from coordinator.pipeline.tables import Tables  # noqa: E402
from tests.pipeline.histories import realistic  # noqa: E402

TEMPLATE_EVENTS = 20_000
SMALL_BATCH = 100
SMALL_BATCHES = 8


def jvm_of(spark: SparkSession) -> int:
    jvm: Any = spark.sparkContext._jvm
    return int(jvm.java.lang.ProcessHandle.current().pid())


def cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


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


def take_in(spark: SparkSession, tables: Tables) -> tuple[float, float]:
    """Seconds, and seconds of CPU of the JVM and of Python, until the tables hold all that bronze holds."""
    pid = jvm_of(spark)
    started, used = perf_counter(), cpu_seconds(pid) + process_time()
    events_query(spark, tables).trigger(availableNow=True).start().awaitTermination()
    return perf_counter() - started, cpu_seconds(pid) + process_time() - used


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


def main(events: int) -> None:
    started = perf_counter()
    with tempfile.TemporaryDirectory() as folder, spark_session() as spark:
        print(f"Spark session: {perf_counter() - started:.1f} s")
        tables = Tables(Path(folder))
        count = fill_bronze(spark, tables, events)
        seconds, cpu = take_in(spark, tables)
        print(
            f"back-fill: {count:,} events in {seconds:.1f} s and {cpu:.1f} s of CPU: "
            f"{count / seconds:,.0f} a second, {count / cpu:,.0f} a second of CPU"
        )
        took = small_batches(spark, tables)
        print(f"micro-batch of {SMALL_BATCH} events: " + ", ".join(f"{each:.2f}" for each in took) + " s")
        print(f"largest memory of the JVM: {peak_mb(jvm_of(spark)):,} MB")


if __name__ == "__main__":
    main(int(os.environ.get("EVENTS", "1000000")))
