"""`coordinator groups history` and `diff`: the generations of a group, and what changed between two of them."""

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from coordinator.cli.source import Source, source_options
from coordinator.cli.terminal import (
    JSON_OPTION,
    UTC_OPTION,
    Clock,
    clock,
    one_line_errors,
    paragraph,
    print_json,
    table,
)
from coordinator.cli.what_if_report import runs
from coordinator.cli.why import generations_lines, summary
from coordinator.explain.absences import absences
from coordinator.explain.difference import Difference, compare
from coordinator.explain.history import GroupHistory
from coordinator.explain.words import Names, counted, plain


@click.command("history")
@click.argument("group_id", metavar="GROUP")
@source_options
@UTC_OPTION
@JSON_OPTION
def history_command(group_id: str, bootstrap: str, tables: Path | None, utc: bool, as_json: bool) -> None:
    """Print all generations of a group that are known, the newest last."""
    with one_line_errors():
        history, _ = Source(bootstrap, tables).history(group_id)
        if as_json:
            print_json([summary(history, each) for each in history.generations])
            return
        for line in generations_lines(history, list(history.generations), clock(utc)):
            click.echo(line)
        for line in _notes(history, clock(utc)):
            click.echo(line)


def _notes(history: GroupHistory, at: Clock) -> Iterator[str]:
    """What happened beside the generations."""
    notes: list[tuple[int, str]] = []
    for reset in history.resets:
        count = sum(map(len, reset.partitions.values())) + reset.unnamed_partitions
        notes.append((reset.time_ms, f"{plain(reset.requested_by.client_id)} reset {counted(count, 'offset')}"))
    for gone in history.deletions:
        count = sum(map(len, gone.partitions.values())) + gone.unnamed_partitions
        what = "expired" if type(gone).__name__ == "OffsetsExpired" else "deleted"
        notes.append((gone.time_ms, f"{counted(count, 'committed offset')} {what}"))
    for refused in history.rejected:
        who = Names([refused.member]).full(refused.member)
        times = counted(refused.count, "time")
        notes.append((refused.time_ms, f"{refused.api} of {who} was rejected with {refused.error}, {times} so far"))
    for loaded in history.loads:
        notes.append((loaded.time_ms, "the coordinator loaded the group again"))
    notes += absences(history)
    for removed in history.removals:
        notes.append((removed.time_ms, f"the group was removed: {removed.cause.value.replace('_', ' ')}"))
    for time_ms, text in sorted(notes):
        yield paragraph(f"{at(time_ms)}  {text}", " " * 9, " " * 7)


@click.command("diff")
@click.argument("group_id", metavar="GROUP")
@click.argument("first", metavar="N", type=int)
@click.argument("second", metavar="M", type=int)
@source_options
@JSON_OPTION
def diff_command(group_id: str, first: int, second: int, bootstrap: str, tables: Path | None, as_json: bool) -> None:
    """Print who came, who went and which partitions changed hands between generations N and M."""
    with one_line_errors():
        history, _ = Source(bootstrap, tables).history(group_id)
        chosen = []
        for number in (first, second):
            found = history.generation(number)
            if found is None:
                raise click.ClickException(f"group {plain(group_id)} has no generation {number}")
            chosen.append(found)
        difference = compare(*chosen)
        if as_json:
            print_json(_document(difference))
            return
        for line in _lines(group_id, difference):
            click.echo(line)


def _document(difference: Difference) -> dict[str, Any]:
    return asdict(difference)


def _lines(group_id: str, difference: Difference) -> Iterator[str]:
    names = Names([*difference.came, *difference.went, *difference.stayed])
    yield paragraph(f"group {plain(group_id)}, from generation {difference.first} to {difference.second}")
    for what, members in (("came", difference.came), ("went", difference.went)):
        if members:
            yield paragraph(f"{what}: {', '.join(names.full(each) for each in members)}", "      ", "")
    if not difference.came and not difference.went:
        yield "the members are the same"
    rows = [("member", "kept", "gained", "lost", "what")]
    for change in difference.changes:
        signed = (("+", change.gained), ("-", change.lost))
        what = "  ".join(f"{sign} {' '.join(runs(flat))}" for sign, part in signed if (flat := _flat(part)))
        rows.append(
            (
                names.of(change.member),
                str(change.kept),
                str(len(_flat(change.gained))),
                str(len(_flat(change.lost))),
                what,
            )
        )
    if len(rows) > 1:
        yield from table(rows, frozenset({1, 2, 3}))
    yield f"{counted(difference.moved, 'partition')} changed hands"


def _flat(partitions: dict[str, list[int]]) -> list[tuple[str, int]]:
    return [(topic, index) for topic, indexes in sorted(partitions.items()) for index in indexes]
