"""`coordinator groups list` and `describe` with logs alone: the groups that they tell of, and who is in one."""

from collections.abc import Iterator
from typing import Any, Final

import click
import msgspec

from coordinator.cli.observed import bars
from coordinator.cli.terminal import clock, paragraph, print_records, table
from coordinator.cli.why import number_word
from coordinator.explain.history import GroupHistory
from coordinator.explain.words import Names, counted, plain
from coordinator.observe.log_groups import logged_groups
from coordinator.observe.logs.reader import read_broker_logs
from coordinator.observe.sources import LOGS, LogOptions
from coordinator.printable import printable

COLUMNS: Final = ("group_id", "group_type", "rebalances", "first", "last")


def print_logged_groups(logs: LogOptions, output: str, *, utc: bool) -> None:
    """Those whose lines may all be forged are named in a note, and not listed."""
    with bars() as progress:
        read = read_broker_logs(
            logs.paths,
            log_format=logs.log_format,
            zone=logs.zone,
            progress=lambda done, whole: progress(LOGS, done, whole),
        )
    for note in read.notes:
        click.echo(paragraph(f"! {printable(note)}", "  ", ""), err=True)
    groups = logged_groups(read.statements)
    at = clock(utc)
    rows = [
        msgspec.to_builtins(group) | {"first": at(group.first_ms), "last": at(group.last_ms)}
        for group in groups
        if not group.is_doubtful
    ]
    left_out = len(groups) - len(rows)
    if left_out:
        click.echo(f"! {left_out:,} groups are named by lines alone that may be forged or cut: left out", err=True)
    print_records(rows, COLUMNS, output, "the logs tell of no group")


def described(history: GroupHistory) -> dict[str, Any]:
    """A group as its lines tell it, for JSON."""
    return {
        "group_id": history.group_id,
        "state": history.state,
        "group_type": history.group_type,
        "generation_id": history.generation_id,
        "members": [msgspec.to_builtins(member.member) for member in history.members.values()],
    }


def described_lines(history: GroupHistory) -> Iterator[str]:
    members = [member.member for member in history.members.values()]
    yield paragraph(
        f"group {plain(history.group_id)}: {history.state}, {number_word(history)} {history.generation_id},"
        f" {counted(len(members), 'member')} by its lines"
    )
    if members:
        yield ""
        names = Names(members)
        yield from table([["member", "id"], *([names.of(member), plain(member.member_id)] for member in members)])
        yield ""
