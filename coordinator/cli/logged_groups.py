"""`coordinator groups list --broker-log`: the groups that logs of brokers tell of, without a cluster."""

import click
import msgspec

from coordinator.cli.observed import bars
from coordinator.cli.terminal import clock, paragraph, print_records
from coordinator.observe.log_groups import logged_groups
from coordinator.observe.logs.reader import read_broker_logs
from coordinator.observe.sources import LOGS, LogOptions
from coordinator.printable import printable

COLUMNS = ("group_id", "group_type", "rebalances", "first", "last")


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
        msgspec.to_builtins(each) | {"first": at(each.first_ms), "last": at(each.last_ms)}
        for each in groups
        if not each.is_doubtful
    ]
    left_out = len(groups) - len(rows)
    if left_out:
        click.echo(f"! {left_out:,} groups are named by lines alone that may be forged or cut: left out", err=True)
    print_records(rows, COLUMNS, output, "the logs tell of no group")
