"""README's sample of `groups why` is what the command prints of the events of that run (tests/cli/data)."""

from pathlib import Path
from typing import Any

from arro3.core import Array, DataType, Table
from click.testing import CliRunner
from deltalake import write_deltalake

from coordinator.cli import main

ROOT = Path(__file__).parents[2]
EVENTS = Path(__file__).parent / "data" / "why_billing.jsonl"
COMMAND = "$ coordinator groups why billing\n"
COLUMNS = "100"


def test_the_sample_of_the_readme_is_what_the_command_prints(tmp_path: Path) -> None:
    values = EVENTS.read_bytes().splitlines()
    columns: dict[str, Any] = {
        "partition": Array([0] * len(values), DataType.int32()),
        "offset": Array(list(range(len(values))), DataType.int64()),
        "key": Array([b"billing"] * len(values), DataType.binary()),
        "value": Array(values, DataType.binary()),
    }
    write_deltalake(tmp_path / "bronze", Table.from_pydict(columns))
    arguments = ["groups", "why", "billing", "--utc", "--tables", str(tmp_path)]
    done = CliRunner().invoke(main, arguments, env={"COLUMNS": COLUMNS})
    assert done.exit_code == 0, done.output
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert done.output == readme.split(COMMAND)[1].split("```")[0]
