"""`coordinator groups list` and `describe`: groups as the server's own APIs tell them, also those of Apache Kafka."""

from collections.abc import Iterator
from dataclasses import asdict
from typing import Final

import click

from coordinator.audit.schema import MemberRef
from coordinator.cli.terminal import JSON_OPTION, one_line_errors, print_json, table
from coordinator.cli.what_if_report import runs
from coordinator.client.group_description import DescribedGroup, describe_group, list_groups
from coordinator.explain.words import Names, counted, plain

BOOTSTRAP_OPTION: Final = click.option(
    "--bootstrap",
    default="127.0.0.1:9092",
    show_default=True,
    metavar="HOST:PORT",
    help="The address of a server of the cluster.",
)


@click.command("list")
@BOOTSTRAP_OPTION
@JSON_OPTION
def list_command(bootstrap: str, as_json: bool) -> None:
    """Print all groups with their states."""
    with one_line_errors():
        groups = list_groups(bootstrap)
        if as_json:
            print_json([asdict(each) for each in groups])
            return
        if not groups:
            click.echo("there are no groups")
            return
        rows = [
            ("group", "state", "protocol type"),
            *((each.group_id, each.state, each.protocol_type) for each in groups),
        ]
        for line in table(rows):
            click.echo(line)


@click.command("describe")
@click.argument("group_id", metavar="GROUP")
@BOOTSTRAP_OPTION
@JSON_OPTION
def describe_command(group_id: str, bootstrap: str, as_json: bool) -> None:
    """Print the members of a group, what each owns, and the lag of each partition."""
    with one_line_errors():
        group = describe_group(bootstrap, group_id)
        if as_json:
            lags = [asdict(each) | {"lag": each.lag} for each in group.partitions]
            print_json(asdict(group) | {"partitions": lags})
            return
        for line in _lines(group):
            click.echo(line)


def _lines(group: DescribedGroup) -> Iterator[str]:
    by = f", assigned by {plain(group.protocol_name)}" if group.protocol_name else ""
    lags = [each.lag for each in group.partitions if each.lag is not None]
    lag = f"lag {sum(lags):,}" if lags else "lag unknown"
    yield (
        f"group {plain(group.group_id)}: {group.state}{by}, {counted(len(group.members), 'member')}, {lag} in"
        f" {counted(len(group.partitions), 'partition')}"
    )
    refs = {
        each.member_id: MemberRef(each.member_id, each.client_id, each.client_host, each.group_instance_id)
        for each in group.members
    }
    names = Names(refs.values())
    if group.members:
        yield ""
        rows = [("member", "host", "client id", "partitions", "assigned")]
        for each in group.members:
            flat = [(topic, index) for topic, indexes in (each.partitions or {}).items() for index in indexes]
            assigned = "cannot be read" if each.partitions is None else " ".join(runs(flat))
            host = each.client_host.removeprefix("/")
            rows.append((names.of(refs[each.member_id]), host, each.client_id, str(len(flat)), assigned))
        yield from table(sorted(rows[:1]) + sorted(rows[1:]), frozenset({3}))
    if group.partitions:
        yield ""
        rows_of_lag = [("topic", "partition", "committed", "log end", "lag", "member")]
        for at in group.partitions:
            numbers = [
                "-" if each is None else f"{each:,}" for each in (at.committed_offset, at.log_end_offset, at.lag)
            ]
            owner = names.of(refs[at.member_id]) if at.member_id in refs else "-"
            rows_of_lag.append((at.topic, str(at.partition), *numbers, owner))  # type: ignore[arg-type]
        yield from table(rows_of_lag, frozenset({1, 2, 3, 4}))
