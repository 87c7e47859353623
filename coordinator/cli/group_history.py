"""`coordinator groups history` and `diff`: the generations of a group, and what changed between two of them."""

from collections import deque
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

import click

from coordinator.cli.source import Source, source_options
from coordinator.cli.terminal import (
    UTC_OPTION,
    Clock,
    clock,
    json_option,
    one_line_errors,
    paragraph,
    print_json,
    table,
)
from coordinator.cli.what_if_report import runs
from coordinator.cli.why import generation_json, generations_lines, head_notes, number_word
from coordinator.explain.difference import Difference, compare
from coordinator.explain.history import GroupHistory
from coordinator.explain.notes import Note, notes
from coordinator.explain.words import Names, counted, plain


@click.command("history")
@click.argument("group_id", metavar="GROUP")
@source_options
@UTC_OPTION
@json_option
def history_command(group_id: str, source: Source, utc: bool, as_json: bool) -> None:
    """Print all generations of a group that are known, with what happened beside them, the newest last.

    Of a Kafka without an audit topic, they are read from the records of __consumer_offsets and the brokers' logs.
    """
    with one_line_errors():
        loaded = source.read(group_id)
        history = loaded.history
        if as_json:
            print_json([generation_json(history, generation) for generation in history.generations])
            return
        for line in head_notes(loaded):
            click.echo(line)
        for line in _in_order(history, clock(utc)):
            click.echo(line)
        if loaded.unknown:
            click.echo(f"\n{paragraph(loaded.unknown)}")


def _in_order(history: GroupHistory, at: Clock) -> Iterator[str]:
    """The generations and what happened beside them."""
    waiting = deque(notes(history))
    for generation in history.generations:
        started_ms = generation.started_ms
        while waiting and started_ms is not None and waiting[0].time_ms < started_ms:
            yield _note(waiting.popleft(), at)
        yield from generations_lines(history, [generation], at)
    for note in waiting:
        yield _note(note, at)


def _note(note: Note, at: Clock) -> str:
    return paragraph(f"{at(note.time_ms)}  {note.text}", " " * 9, " " * 7)


@click.command("diff")
@click.argument("group_id", metavar="GROUP")
@click.argument("first", metavar="N", type=int)
@click.argument("second", metavar="M", type=int)
@source_options
@json_option
def diff_command(group_id: str, first: int, second: int, source: Source, as_json: bool) -> None:
    """Print who came, who went and which partitions changed hands between generations N and M."""
    with one_line_errors():
        history = source.read(group_id).history
        chosen = []
        for number in (first, second):
            found = history.generation(number)
            if found is None:
                raise click.ClickException(f"group {plain(group_id)} has no {number_word(history)} {number}")
            chosen.append(found)
        difference = compare(*chosen)
        if as_json:
            print_json(_document(difference))
            return
        for line in _lines(group_id, difference):
            click.echo(line)


def _document(difference: Difference) -> dict[str, Any]:
    return asdict(difference)


def _second_name(difference: Difference) -> str:
    """The number alone if both are called the same."""
    first, second = (name.rpartition(" ")[0] for name in difference.names)
    return str(difference.second) if first == second else difference.names[1]


def _lines(group_id: str, difference: Difference) -> Iterator[str]:
    names = Names([*difference.came, *difference.went, *difference.stayed])
    yield paragraph(f"group {plain(group_id)}, from {difference.names[0]} to {_second_name(difference)}")
    for what, members in (("came", difference.came), ("went", difference.went)):
        if members:
            yield paragraph(f"{what}: {', '.join(names.full(member) for member in members)}", "      ", "")
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
