"""A live run of many tiny batches: few files, the same rows, and nobody who reads meanwhile notices."""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from coordinator.pipeline import folder
from coordinator.pipeline import tables as tables_module
from coordinator.pipeline.batch import Batches
from coordinator.pipeline.columns import BRONZE_COLUMNS, TABLES
from coordinator.pipeline.folder import CHECKPOINT_EVERY_COMMITS, table_to_compact
from coordinator.pipeline.names import BRONZE, GENERATIONS, OPEN_GENERATIONS, SILVER
from coordinator.pipeline.reader import read_generations
from coordinator.pipeline.tables import Tables
from tests.pipeline.histories import realistic
from tests.pipeline.records import contents, records

COMPACT_EVERY_BATCHES = 40
"""In place of the many of a run, so that the tests end soon."""
BATCHES = 2 * COMPACT_EVERY_BATCHES + 30
"""Each table is compacted twice, so that files that a compaction made are compacted, too."""
PER_BATCH = 4
READS_EVERY_SECONDS = 0.05


@pytest.fixture(autouse=True)
def compacted_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folder, "COMPACT_EVERY_BATCHES", COMPACT_EVERY_BATCHES)


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
            while not stop.wait(READS_EVERY_SECONDS):
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
        batches.add_records(records(values[first : first + PER_BATCH], first), batch_id)
        if (table := table_to_compact(batch_id)) is not None:
            tables.compact(table)


def test_a_live_run_keeps_the_files_few_and_the_rows_as_they_are(tables: Tables, tmp_path: Path):
    values = realistic(BATCHES * PER_BATCH)
    Batches(tables)  # creates the tables
    early = {name: DeltaTable(tables.path(name)) for name in TABLES}  # a reader that opened them at the start
    with reading(tables) as counts:
        take_in_tiny_batches(tables, values)
    assert len(counts) > 5
    fresh = Tables(tmp_path / "fresh")
    Batches(fresh).add_records(records(values), 0)
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
        batches.add_records(records(values[batch_id * 4 : batch_id * 4 + 4], batch_id * 4), batch_id)
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
    monkeypatch.setattr(tables_module, "PROPERTIES", none)
    take_in_tiny_batches(tables, realistic(BATCHES * PER_BATCH))
    since = BATCHES % COMPACT_EVERY_BATCHES
    for name in (SILVER, GENERATIONS, OPEN_GENERATIONS):
        assert len(files_of(Path(tables.path(name)))) <= since + 1, name
        assert len(logs_of(Path(tables.path(name)))) <= 2 * CHECKPOINT_EVERY_COMMITS, name


def test_bronze_is_compacted_like_the_others(tables: Tables):
    tables.create()
    at = datetime(2026, 1, 1, tzinfo=UTC)
    rows = [
        {"topic": "t", "partition": 0, "offset": offset, "timestamp": at, "value": value, "headers": [{"key": "k"}]}
        for offset, value in enumerate(realistic(20))
    ]
    for batch_id, row in enumerate(rows):
        tables.append(BRONZE, pa.Table.from_pylist([row], schema=BRONZE_COLUMNS), batch_id)
    assert len(DeltaTable(tables.path(BRONZE)).file_uris()) == len(rows)
    tables.compact(BRONZE)
    assert len(DeltaTable(tables.path(BRONZE)).file_uris()) == 1
    kept = pa.table(DeltaTable(tables.path(BRONZE)).to_pyarrow_table()).sort_by("offset")
    assert kept.column("value").to_pylist() == [row["value"] for row in rows]
    assert tables.has_batch(BRONZE, len(rows) - 1) and not tables.has_batch(BRONZE, len(rows))
