"""The tables after batches that were killed anywhere: equal, row for row, to those of one undisturbed batch."""

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import deltalake
import msgspec
import pytest
from deltalake import DeltaTable

from coordinator.pipeline import tables as tables_module
from coordinator.pipeline.batch import Batches
from coordinator.pipeline.columns import TABLES
from coordinator.pipeline.names import GENERATIONS, SILVER
from coordinator.pipeline.state import StateFolder, StateMissing
from coordinator.pipeline.tables import Tables
from tests.pipeline.histories import realistic
from tests.pipeline.history import eventful
from tests.pipeline.records import contents, records

EVENTS = 600
BATCH = 60


class Killed(Exception):
    pass


@pytest.fixture
def fresh(tmp_path: Path) -> dict[str, list[str]]:
    once = Tables(tmp_path / "fresh")
    Batches(once).add_records(records(realistic(EVENTS)), 0)
    return contents(once)


@pytest.mark.parametrize("seed", range(3))
def test_killed_at_random_equals_a_fresh_run(
    tables: Tables, fresh: dict[str, list[str]], monkeypatch: pytest.MonkeyPatch, seed: int
):
    """Before and after any write of a table or of the state; the next start repeats the batch."""
    chance, values = random.Random(seed), realistic(EVENTS)

    def killing(write: Any) -> Any:
        def instead(*args: Any, **options: Any) -> Any:
            if chance.random() < 0.08:
                raise Killed
            result = write(*args, **options)
            if chance.random() < 0.08:
                raise Killed
            return result

        return instead

    monkeypatch.setattr(tables_module, "write_deltalake", killing(deltalake.write_deltalake))
    monkeypatch.setattr(StateFolder, "after", killing(StateFolder.after))
    kills = 0
    batches = Batches(tables)
    for batch_id, first in enumerate(range(0, EVENTS, BATCH)):
        while True:
            try:
                batches.add_records(records(values[first : first + BATCH], first), batch_id)
                break
            except Killed:
                kills += 1
                batches = Batches(Tables(tables.root))  # another process
    assert kills >= 5
    assert contents(tables) == fresh


@pytest.mark.parametrize("parts", [lambda state: state[0], lambda state: state[:1], lambda state: [*state[:-1], 99]])
def test_a_state_of_another_version_is_refused_in_one_line(tables: Tables, parts: Callable[[list[Any]], Any]):
    """It was a map of the groups alone, then an array without a version."""
    Batches(tables).add_records(records(eventful().values()[:4]), 0)
    files = tables.state_files()
    for name in files.names():
        files.write(name, msgspec.msgpack.encode(parts(msgspec.msgpack.decode(files.read(name)))))
    with pytest.raises(StateMissing, match=r"another version of this program.*delete the tables and run again") as told:
        StateFolder(files).before(1)
    assert "\n" not in str(told.value)


def test_partitions_that_come_late_change_nothing(tables: Tables, tmp_path: Path):
    early, late = eventful("early").values(), eventful("late").values()
    batches = Batches(tables)
    for batch_id, values in enumerate((early, late)):
        batches.add_records(records(values, partition=batch_id), batch_id)
    together = Tables(tmp_path / "together")
    Batches(together).add_records(records([*late, *early]), 0)
    assert contents(tables) == contents(together)


def test_compaction_leaves_the_rows_and_joins_the_files(tables: Tables):
    values, batches = realistic(EVENTS), Batches(tables)
    for batch_id, first in enumerate(range(0, EVENTS, BATCH)):
        batches.add_records(records(values[first : first + BATCH], first), batch_id)
    before = contents(tables)
    assert len(DeltaTable(tables.path(SILVER)).file_uris()) == EVENTS // BATCH
    for table in TABLES:
        tables.compact(table)
    assert len(DeltaTable(tables.path(SILVER)).file_uris()) == 1
    assert contents(tables) == before
    batches.add_records(records(realistic(10, seed=9, prefix="more-")), EVENTS // BATCH)
    assert len(contents(tables)[SILVER]) == EVENTS + 10


def test_a_lost_state_is_named(tables: Tables):
    Batches(tables).add_records(records(realistic(10)), 0)
    for path in Path(tables.checkpoint("state")).iterdir():
        path.unlink()
    with pytest.raises(StateMissing, match=r"has no 0\.part; delete the tables"):
        Batches(tables).add_records(records(realistic(10, seed=1)), 1)


def test_a_number_too_large_for_a_column_stops_nothing(tables: Tables):
    values = eventful().values()
    too_large = values[2].replace(b'"join_ms":10', b'"join_ms":1e30')
    assert too_large != values[2]
    Batches(tables).add_records(records([*values[:2], too_large, *values[3:]]), 0)
    assert len(contents(tables)[GENERATIONS]) == 4
