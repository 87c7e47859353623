import io

from pyspark.sql import SparkSession
from rich.console import Console

from coordinator.pipeline.events import typed_events
from coordinator.pipeline.generations import COLUMNS, KINDS, generation_rows, merge_generations
from coordinator.pipeline.show import print_generations, read_generations
from coordinator.pipeline.tables import GENERATIONS, Tables
from tests.pipeline.conftest import Bronze
from tests.pipeline.history import eventful


def test_a_table_per_group_with_a_line_per_generation(spark: SparkSession, raw: Bronze, tables: Tables):
    values = [*eventful("orders").values(), *eventful("pay[ments]").values()]
    merge_generations(tables.create(spark, GENERATIONS, COLUMNS), generation_rows(typed_events(raw(values), KINDS)))
    printed = io.StringIO()
    print_generations(Console(file=printed), read_generations(spark, tables))
    lines = [line.split() for line in printed.getvalue().splitlines() if line.strip()]
    assert ["Generations", "of", "group", "pay[ments]"] in lines
    assert [line for line in lines if line[0] == "1"] == 2 * [
        ["1", "stable", "new_member", "a", "1", "10", "20", "30", "0", "of", "6", "180"]
    ]
    assert [line[:4] for line in lines if line[0] in "2345"][:4] == [
        ["2", "superseded", "new_member", "till-1"],
        ["3", "stable", "session_expired", "till-1"],
        ["4", "emptied", "member_left", "a"],
        ["5", "in_progress", "new_member", "till-1"],
    ]


def test_one_group_alone(spark: SparkSession, raw: Bronze, tables: Tables):
    values = [*eventful("orders").values(), *eventful("payments").values()]
    merge_generations(tables.create(spark, GENERATIONS, COLUMNS), generation_rows(typed_events(raw(values), KINDS)))
    assert {row["group_id"] for row in read_generations(spark, tables, "payments")} == {"payments"}
