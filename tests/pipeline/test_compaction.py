"""A live run of many tiny batches: few files, the same rows, and nobody who reads meanwhile notices."""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from coordinator.pipeline import tables as tables_module
from coordinator.pipeline.batch import Batches
from coordinator.pipeline.bronze import create_bronze
from coordinator.pipeline.columns import TABLES
from coordinator.pipeline.compaction import Compaction
from coordinator.pipeline.folder import (
    BRONZE_KEPT_HOURS,
    CHECKPOINT_EVERY_COMMITS,
    COMPACT_EVERY_BATCHES,
    table_to_compact,
)
from coordinator.pipeline.job import events_query
from coordinator.pipeline.names import BRONZE, GENERATIONS, OPEN_GENERATIONS, SILVER
from coordinator.pipeline.reader import read_generations
from coordinator.pipeline.reading import AUDIT_READING
from coordinator.pipeline.tables import Tables
from tests.pipeline.histories import realistic
from tests.pipeline.records import contents, records

BATCHES = 330
PER_BATCH = 4


def files_of(table: Path) -> list[Path]:
    return [path for path in table.glob("*.parquet")]


def logs_of(table: Path) -> list[Path]:
    return [path for path in (table / "_delta_log").glob("*.json") if path.stem.isdecimal()]


@contextmanager
def reading(tables: Tables) -> Iterator[list[int]]:
    """A reader that opens the tables again and again; its counts of generations, of which none may fail."""
    stop, counts, problems = threading.Event(), [], []

    def read() -> None:
        try:
            while not stop.is_set():
                counts.append(len(read_generations(tables.root)))
        except BaseException as problem:
            problems.append(problem)

    thread = threading.Thread(target=read)
    thread.start()
    try:
        yield counts
    finally:
        stop.set()
        thread.join()
    assert problems == []


def take_in_tiny_batches(tables: Tables, values: list[bytes]) -> None:
    batches = Batches(tables)
    for batch_id in range(BATCHES):
        first = batch_id * PER_BATCH
        batches.take_in(records(values[first : first + PER_BATCH], first), batch_id)
        if (table := table_to_compact(batch_id)) not in (None, BRONZE):
            tables.compact(table)


def test_a_live_run_keeps_the_files_few_and_the_rows_as_they_are(tables: Tables, tmp_path: Path):
    values = realistic(BATCHES * PER_BATCH)
    Batches(tables)  # creates the tables
    early = {name: DeltaTable(tables.path(name)) for name in TABLES}  # a reader that opened them at the start
    with reading(tables) as counts:
        take_in_tiny_batches(tables, values)
    assert len(counts) > 5
    fresh = Tables(tmp_path / "fresh")
    Batches(fresh).take_in(records(values), 0)
    assert contents(tables) == contents(fresh)
    assert {delta.count() for delta in early.values()} == {0}
    for name in TABLES:
        delta = DeltaTable(tables.path(name))
        since = BATCHES % COMPACT_EVERY_BATCHES
        assert len(delta.file_uris()) <= since + 1, name
        if delta.version() > CHECKPOINT_EVERY_COMMITS:
            assert list(Path(tables.path(name), "_delta_log").glob("*.checkpoint.parquet")), name


def test_a_reader_of_an_older_version_can_read_to_its_end(tables: Tables):
    values = realistic(BATCHES * PER_BATCH)
    batches = Batches(tables)
    for batch_id in range(40):
        batches.take_in(records(values[batch_id * 4 : batch_id * 4 + 4], batch_id * 4), batch_id)
    opened = {name: DeltaTable(tables.path(name)) for name in (SILVER, GENERATIONS, OPEN_GENERATIONS)}
    before = {name: delta.count() for name, delta in opened.items()}
    for name in opened:
        for file in files_of(Path(tables.path(name))):  # kept are files by when they were replaced, not written
            os.utime(file, (0, 0))
        tables.compact(name)
    assert {name: delta.to_pyarrow_table().num_rows for name, delta in opened.items()} == before
    assert before[SILVER] == 160
    assert len(DeltaTable(tables.path(SILVER)).file_uris()) == 1


def test_what_nobody_may_read_any_more_is_deleted(tables: Tables, monkeypatch: pytest.MonkeyPatch):
    """As after the hours for which it is kept: here they are none."""
    none = {
        "delta.logRetentionDuration": "interval 0 hours",
        "delta.deletedFileRetentionDuration": "interval 0 hours",
        "delta.checkpointInterval": str(CHECKPOINT_EVERY_COMMITS),
    }
    monkeypatch.setattr(tables_module, "properties", lambda table: none)
    take_in_tiny_batches(tables, realistic(BATCHES * PER_BATCH))
    since = BATCHES % COMPACT_EVERY_BATCHES
    for name in (SILVER, GENERATIONS, OPEN_GENERATIONS):
        assert len(files_of(Path(tables.path(name)))) <= since + 1, name
        assert len(logs_of(Path(tables.path(name)))) <= 2 * CHECKPOINT_EVERY_COMMITS, name


def append_to_bronze(spark: SparkSession, tables: Tables, values: list[bytes], first: int) -> None:
    rows = spark.createDataFrame(
        [(bytearray(value), 0, first + place) for place, value in enumerate(values)],
        "value binary, partition int, offset bigint",
    )
    rows.coalesce(1).write.format("delta").mode("append").save(tables.path(BRONZE))


def test_bronze_is_compacted_while_spark_streams_from_it(spark: SparkSession, tables: Tables, tmp_path: Path):
    """The stream reads what is appended and not what a compaction writes again."""
    values, part = realistic(80), 10
    create_bronze(spark, tables)
    compaction = Compaction(spark, tables)
    turn = next(batch_id for batch_id in range(2 * COMPACT_EVERY_BATCHES) if table_to_compact(batch_id) == BRONZE)
    query = events_query(spark, tables).trigger(processingTime="50 milliseconds").start()
    try:
        for first in range(0, len(values), part):
            append_to_bronze(spark, tables, values[first : first + part], first)
            if first % 40 == 0:
                query.processAllAvailable()
            compaction.after_batch(turn)
        query.processAllAvailable()
    finally:
        query.stop()
    assert len(DeltaTable(tables.path(BRONZE)).file_uris()) == 1
    operations = [each["operation"] for each in DeltaTable(tables.path(BRONZE)).history()]
    assert "OPTIMIZE" in operations
    fresh = Tables(tmp_path / "fresh")
    Batches(fresh).take_in(records(values), 0)
    assert contents(tables) == contents(fresh)


def test_after_hours_between_the_two_queries_bronze_is_read_before_it_grows(
    spark: SparkSession, tables: Tables, monkeypatch: pytest.MonkeyPatch
):
    from coordinator.pipeline import job

    create_bronze(spark, tables)
    append_to_bronze(spark, tables, realistic(10), 0)
    age = {"hours": 0.1}
    monkeypatch.setattr(Tables, "hours_since_commit", lambda self, table: age["hours"])
    assert job.catch_up(spark, tables, AUDIT_READING, threading.Event())
    assert not Path(tables.path(SILVER)).exists()
    age["hours"] = BRONZE_KEPT_HOURS
    assert job.catch_up(spark, tables, AUDIT_READING, threading.Event())
    assert len(contents(tables)[SILVER]) == 10


def test_the_age_of_the_last_commit(spark: SparkSession, tables: Tables):
    assert tables.hours_since_commit(BRONZE) is None
    create_bronze(spark, tables)
    hours = tables.hours_since_commit(BRONZE)
    assert hours is not None
    assert timedelta(hours=hours) < timedelta(minutes=10)
