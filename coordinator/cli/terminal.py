"""How the commands print: times, tables whose names are never folded, paragraphs, JSON."""

import csv
import io
import json
import re
import shutil
import sys
import textwrap
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import wraps
from typing import Any, Final

import click

from coordinator.client.wire import ClientError
from coordinator.printable import printable

Clock = Callable[[int], str]

WIDTH: Final = 100
"""Of output that is no terminal."""

_KEPT_SPACE: Final = "\0"
_KEPT_TOGETHER: Final = re.compile(r'"[^"]*"|\d (?:ms|s|min|h|d)\b|\d{4}-\d\d-\d\d \d\d:')

INTERRUPTED: Final = 130
"""The exit code of a command that Ctrl-C ended, as shells have it."""

UTC_OPTION = click.option("--utc", is_flag=True, help="Print times in UTC instead of local time.")
TABLE: Final = "table"
JSON: Final = "json"
CSV: Final = "csv"
Command = Callable[..., Any]


def output_option(command: Command) -> Command:
    """For a command with the parameter `output`: TABLE, JSON or CSV; `--json` is short for `--output json`."""

    @wraps(command)
    def chosen(*args: Any, output: str, as_json: bool, **others: Any) -> Any:
        return command(*args, output=JSON if as_json else output, **others)

    help_text = "As a table for people, as JSON (times are ms since the epoch), or as CSV with a head."
    option = click.option(
        "--output", type=click.Choice([TABLE, JSON, CSV]), default=TABLE, show_default=True, help=help_text
    )
    return option(click.option("--json", "as_json", is_flag=True, help="Short for --output json.")(chosen))


def json_option(command: Command) -> Command:
    """For a command with the parameter `as_json`: `--output json`, or `--json` for short."""

    @wraps(command)
    def chosen(*args: Any, output: str, as_json: bool, **others: Any) -> Any:
        return command(*args, as_json=as_json or output == JSON, **others)

    help_text = "As text for people, or as JSON. Times are ms since the epoch."
    option = click.option(
        "--output", type=click.Choice([TABLE, JSON]), default=TABLE, show_default=True, help=help_text
    )
    return option(click.option("--json", "as_json", is_flag=True, help="Short for --output json.")(chosen))


def print_csv(rows: Sequence[Sequence[object]]) -> None:
    """Lines of CSV; the first row is the head. None is an empty value."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    click.echo(text.getvalue(), nl=False)


def print_records(
    records: Sequence[dict[str, Any]], names: Sequence[str], output: str, empty: str, heads: Sequence[str] = ()
) -> None:
    """Records as JSON, as CSV, or as a table of the values with these names; `empty` is told in place of no lines.

    `heads` are the heads of the table if the names are too long for it.
    """
    if output == JSON:
        print_json(records)
    elif output == CSV:
        print_csv([names, *([record[name] for name in names] for record in records)])
    elif records:
        numbers = frozenset(
            position for position, name in enumerate(names) if any(type(record[name]) is int for record in records)
        )
        head = heads or [name.replace("_", " ") for name in names]
        for line in table([head, *([_cell(record[name]) for name in names] for record in records)], numbers):
            click.echo(line)
    else:
        click.echo(empty)


def _cell(value: object) -> str:
    match value:
        case None:
            return "-"
        case bool():
            return "yes" if value else "no"
        case int():
            return f"{value:,}"
        case _:
            return str(value)


def clock(utc: bool) -> Clock:
    """ms since the epoch → `2026-03-01 12:03:07+01:00`, the time zone being that of the machine at that time."""

    def text(time_ms: int) -> str:
        at = datetime.fromtimestamp(time_ms / 1000, UTC)
        return (at if utc else at.astimezone()).isoformat(sep=" ", timespec="seconds")

    return text


def print_json(value: Any) -> None:
    """One document. Characters outside ASCII are escaped, so that no text of a client reaches the terminal raw."""
    click.echo(json.dumps(value, indent=2))


def width() -> int:
    return shutil.get_terminal_size((WIDTH, 24)).columns if sys.stdout.isatty() else WIDTH


def paragraph(text: str, indent: str = "", first: str | None = None) -> str:
    """Text in lines of the terminal's width. Names are not broken, and numbers stay with their units."""
    whole = _KEPT_TOGETHER.sub(lambda found: found[0].replace(" ", _KEPT_SPACE), text)
    filled = textwrap.fill(
        whole,
        max(20, width()),
        initial_indent=indent if first is None else first,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return filled.replace(_KEPT_SPACE, " ")


def table(rows: Sequence[Sequence[str]], right: frozenset[int] = frozenset()) -> Iterator[str]:
    """Lines with columns as wide as their content; the first row is the head. `right`: columns of numbers."""
    shown = [[printable(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*shown, strict=True)]
    for row in shown:
        cells = [
            cell.rjust(size) if number in right else cell.ljust(size)
            for number, (cell, size) in enumerate(zip(row, widths, strict=True))
        ]
        yield "  ".join(cells).rstrip()


@contextmanager
def one_line_errors() -> Iterator[None]:
    """An error that the user can do something about ends the command with one line on stderr and exit code 1."""
    try:
        yield
    except ClientError as problem:
        raise click.ClickException(printable(str(problem))) from problem
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
