"""How many audit events a second the pipeline takes from bronze into generations (Spark on two cores, no server).

python tests/bench/bench_pipeline.py [EVENTS]
"""

import sys
import tempfile
from pathlib import Path
from time import perf_counter

from pyspark.sql import SparkSession

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from coordinator.core.causes import Cause  # noqa: E402
from coordinator.pipeline.bronze import COLUMNS  # noqa: E402
from coordinator.pipeline.generations import generations_query  # noqa: E402
from coordinator.pipeline.session import spark_session  # noqa: E402
from coordinator.pipeline.tables import BRONZE, Tables  # noqa: E402
from tests.pipeline.history import History, member  # noqa: E402

GENERATIONS_PER_GROUP = 25


def values(events: int) -> list[tuple[bytearray]]:
    """As many encoded events, of groups that rebalance again and again."""
    found: list[tuple[bytearray]] = []
    while len(found) < events:
        history = History(f"group-{len(found)}").created()
        for _ in range(GENERATIONS_PER_GROUP):
            history.stable_with(Cause.NEW_MEMBER, member("a"))
        found.extend((bytearray(value),) for value in history.values())
    return found[:events]


def fill_bronze(spark: SparkSession, tables: Tables, batch: list[tuple[bytearray]]) -> None:
    tables.create(spark, BRONZE, COLUMNS)
    rows = spark.createDataFrame(batch, "value binary")
    rows.write.format("delta").mode("append").save(tables.path(BRONZE))


def take_in(spark: SparkSession, tables: Tables) -> float:
    """Seconds until generations holds all that bronze holds."""
    started = perf_counter()
    generations_query(spark, tables).trigger(availableNow=True).start().awaitTermination()
    return perf_counter() - started


def main(events: int) -> None:
    started = perf_counter()
    with tempfile.TemporaryDirectory() as folder, spark_session() as spark:
        print(f"Spark session: {perf_counter() - started:.1f} s")
        batch, tables = values(events), Tables(Path(folder))
        for name in ("cold JVM", "into the filled table", "once more"):
            fill_bronze(spark, tables, batch)
            seconds = take_in(spark, tables)
            print(f"generations, {name}: {events:,} events in {seconds:.1f} s, {events / seconds:,.0f} a second")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100_000)
