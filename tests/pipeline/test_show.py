import io
import re
from pathlib import Path

import pytest
from click.testing import CliRunner
from rich.console import Console

from coordinator.cli import main
from coordinator.core.causes import Cause
from coordinator.explain.storms import Storm
from coordinator.pipeline.batch import Batches
from coordinator.pipeline.reader import read_generations
from coordinator.pipeline.show import print_findings, print_generations, print_storms
from coordinator.pipeline.tables import Tables
from tests.pipeline.history import History, eventful, member
from tests.pipeline.records import records

LONG = "a-client-id-that-is-longer-than-a-column-" + "x" * 60


@pytest.fixture
def filled(tables: Tables) -> Path:
    hostile = History("sly").created().stable_with(Cause.NEW_MEMBER, member("evil\x1b]0;owned\x07\u202e"))
    long = History("long").created().stable_with(Cause.NEW_MEMBER, member(LONG))
    values = [*eventful("orders").values(), *eventful("pay[ments]").values(), *hostile.values(), *long.values()]
    Batches(tables).add_records(records(values), 0)
    return tables.root


def printed(tables: Path, group_id: str | None = None) -> str:
    output = io.StringIO()
    print_generations(Console(file=output), read_generations(tables, group_id))
    return output.getvalue()


def test_a_table_per_group_with_a_line_per_generation(filled: Path):
    lines = [line.split() for line in printed(filled).splitlines() if line.strip()]
    title = lines.index(["Generations", "of", "group", "pay[ments]"])
    assert [line[0:1] + line[3:6] for line in lines[title:] if line[0] in "12345"][:5] == [
        ["1", "stable", "new_member", "a"],
        ["2", "superseded", "new_member", "till-1"],
        ["3", "stable", "session_expired", "till-1"],
        ["4", "emptied", "member_left", "a"],
        ["5", "in_progress", "new_member", "till-1"],
    ]


@pytest.mark.parametrize("width", [80, 100, 250])
def test_no_line_is_wider_than_the_terminal_and_no_name_is_cut(filled: Path, width: int):
    output = io.StringIO()
    print_generations(Console(file=output, force_terminal=True, width=width, no_color=True), read_generations(filled))
    lines = [re.sub(r"\x1b\[[0-9;]*m", "", line) for line in output.getvalue().splitlines()]
    assert max(map(len, lines)) <= width
    orders = lines[lines.index(next(line for line in lines if line.startswith("Generations of group orders"))) :]
    third = next(line.split() for line in orders if line.split()[:1] == ["3"])
    assert third[3:5] == ["stable", "session_expired"]
    assert any("unowned, partition ms" in line for line in orders[:3]) == (width == 250)


def on_terminal(tables: Path, width: int, *, explains: bool = False) -> list[str]:
    output = io.StringIO()
    console = Console(file=output, force_terminal=True, width=width, no_color=True)
    print_generations(console, read_generations(tables), explains=explains)
    return re.sub(r"\x1b\[[0-9;]*m", "", output.getvalue()).splitlines()


def columns(lines: list[str], group_id: str) -> str:
    title = lines.index(next(line for line in lines if line.startswith(f"Generations of group {group_id}")))
    return " ".join(lines[title + 2].split())


def test_a_terminal_leaves_out_as_few_columns_as_it_has_to(filled: Path):
    everything = "gen began (UTC) outcome cause caused by members join ms sync ms total ms partitions moved"
    assert columns(on_terminal(filled, 220), "orders") == f"{everything} unowned, partition ms reason"
    assert columns(on_terminal(filled, 160), "orders") == f"{everything} unowned, partition ms"
    assert columns(on_terminal(filled, 120), "orders") == (
        "gen began (UTC) outcome cause caused by members total ms partitions moved"
    )
    assert columns(on_terminal(filled, 80), "orders") == "gen began (UTC) outcome cause caused by total ms"


@pytest.mark.parametrize("width", [80, 100, 132, 250])
def test_what_is_told_beside_the_table_is_wrapped_at_the_width_of_the_terminal(filled: Path, width: int):
    lines = on_terminal(filled, width, explains=True)
    assert max(map(len, lines)) <= width
    first = lines.index(next(line for line in lines if line.startswith("generation 4 began 22:13:20 UTC because a ")))
    told = lines[first]
    for line in lines[first + 1 :]:
        if not line.startswith("  "):
            break
        told += f" {line.strip()}"
    assert told.endswith('saying "closing down". Nobody was left: the group became empty at 22:13:20 UTC.')


def test_findings_and_storms_are_wrapped_on_a_terminal_and_are_lines_of_a_pipe():
    row = {
        "group_id": "orders",
        "first_generation_id": 3,
        "last_generation_id": 9,
        "headline": "words " * 30 + "end",
        "evidence": ["proof " * 30 + "end"],
        "advice": "look " * 30 + "end",
    }
    storm = Storm("orders", 0, 600_000, 12, 12, 1, (), (("member_left", 9), ("new_member", 3)))
    for is_terminal in (True, False):
        output = io.StringIO()
        console = Console(file=output, force_terminal=is_terminal, width=80, no_color=True)
        print_findings(console, [row])
        print_storms(console, [storm])
        lines = re.sub(r"\x1b\[[0-9;]*m", "", output.getvalue()).splitlines()
        if is_terminal:
            assert max(map(len, lines)) <= 80
            assert [line[:10] for line in lines if line.startswith("  ")][1:6] == [
                "  words wo",
                "  - proof ",
                "    proof ",
                "    proof ",
                "  try: loo",
            ]
        else:
            assert [line[:11] for line in lines[:3]] == ["group order", "  - proof p", "  try: look"]
            assert len(lines) == 3 + 3
        assert " ".join(" ".join(lines).split()).count("end") == 3


def test_of_one_group_each_generation_is_told_as_by_groups_why(filled: Path):
    done = CliRunner().invoke(main, ["pipeline", "show", "--tables", str(filled), "--group", "orders"])
    assert done.exit_code == 0, done.output
    told = [line for line in done.output.splitlines() if line.startswith("generation ")]
    assert len(told) == 5
    assert told[3] == (
        'generation 4 began 22:13:20 UTC because a (127.0.0.1) left, saying "closing down".'
        " Nobody was left: the group became empty at 22:13:20 UTC."
    )
    assert "generation" not in CliRunner().invoke(main, ["pipeline", "show", "--tables", str(filled)]).output


def test_times_and_reasons_are_shown_and_names_are_whole(filled: Path):
    text = printed(filled)
    assert "2023-11-14 22:13:20.020" in text
    assert "closing down" in text
    assert LONG in text


def test_what_a_client_sends_does_not_reach_the_terminal_raw(filled: Path):
    text = printed(filled, "sly")
    assert not {"\x1b", "\x07", "\u202e"} & set(text)
    assert "evil\\x1b]0;owned\\x07\\u202e" in text


def test_a_group_that_is_not_there_is_one_line_and_exit_code_1(filled: Path):
    done = CliRunner().invoke(main, ["pipeline", "show", "--tables", str(filled), "--group", "gone\x1b[2J"])
    assert (done.exit_code, done.output) == (1, "Error: the tables have no generation of group gone\\x1b[2J\n")


def test_a_quote_in_a_group_id_is_only_a_character(filled: Path):
    assert read_generations(filled, "' OR '1' = '1") == []


def test_a_folder_without_tables_is_one_line(tmp_path: Path):
    done = CliRunner().invoke(main, ["pipeline", "show", "--tables", str(tmp_path)])
    assert done.exit_code == 1
    assert "has no table generations" in done.output
    assert done.output.count("\n") == 1
