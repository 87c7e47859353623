"""`coordinator groups reset-offsets`, `remove-members` and `delete`. What a change does is shown before it is done."""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import click

from coordinator.cli.server_options import server_option
from coordinator.cli.terminal import TABLE, one_line_errors, output_option, print_records
from coordinator.client import offsets_csv
from coordinator.client.bootstrap import Bootstrap
from coordinator.client.cluster import EARLIEST, LATEST
from coordinator.client.group_admin import (
    GroupPlan,
    OffsetChange,
    Target,
    change_offsets,
    delete_group,
    plan_delete_group,
    plan_reset,
    remove_members,
)
from coordinator.client.times import duration_ms, time_ms
from coordinator.client.wire import ClientError
from coordinator.explain.words import counted
from coordinator.printable import printable

REASON: Final = "removed by an administrator (coordinator groups remove-members)"
TARGETS: Final = ("to_earliest", "to_latest", "to_offset", "to_datetime", "by_duration", "shift_by", "from_file")
COLUMNS: Final = ("topic", "partition", "before", "after")


def offset_changes(group_id: str, changes: Sequence[OffsetChange]) -> list[dict[str, Any]]:
    """Records for `print_records`, with COLUMNS."""
    return [
        {
            "group": group_id,
            "topic": change.topic,
            "partition": change.partition,
            "before": change.before,
            "after": change.after,
        }
        for change in changes
    ]


@click.command("reset-offsets")
@click.argument("group_id", metavar="GROUP")
@click.option("--to-earliest", is_flag=True, help="To the first record of each partition.")
@click.option("--to-latest", is_flag=True, help="To the end of each partition.")
@click.option("--to-offset", metavar="N", type=click.IntRange(min=0), help="To this offset.")
@click.option("--to-datetime", metavar="TIME", help="To the first record from then on: 2026-11-26T08:00:00 (UTC).")
@click.option("--by-duration", metavar="DURATION", help="To the first record of the last PT1H30M or P7D.")
@click.option("--shift-by", metavar="N", type=int, help="N records forward, or back if N is negative.")
@click.option(
    "--from-file",
    metavar="FILE",
    type=click.Path(path_type=Path, exists=True, dir_okay=False, allow_dash=True),
    help="To the offsets of a file of `offsets export` or kafka-consumer-groups; - is stdin.",
)
@click.option("--topic", metavar="TOPIC[:PARTITION]", help="Only this topic. By default all with a committed offset.")
@click.option("--execute", is_flag=True, help="Commit the offsets. Without it, they are only shown.")
@server_option
@output_option
def reset_command(
    group_id: str, topic: str | None, execute: bool, bootstrap: Bootstrap, output: str, **targets: Any
) -> None:
    """Show what the committed offsets of GROUP would become, and with --execute commit them.

    The group must have no members then. An offset outside the log becomes its start or its end. A share group reads
    from the offsets from then on, and what it has acknowledged beyond them is forgotten.
    """
    with one_line_errors():
        target = _target(group_id, {name: targets[name] for name in TARGETS if targets[name] not in (None, False)})
        name, partition = _topic(topic)
        plan = plan_reset(bootstrap, group_id, target, name, partition)
        if execute:
            change_offsets(bootstrap, group_id, plan.offsets)
        print_records(offset_changes(group_id, plan.offsets), COLUMNS, output, "")
    if output == TABLE and not execute:
        click.echo(_what_is_left(group_id, plan, "nothing is changed yet: add --execute"))


def _target(group_id: str, given: dict[str, Any]) -> Target:
    if len(given) != 1:
        options = ", ".join(f"--{name.replace('_', '-')}" for name in TARGETS)
        raise click.UsageError(f"give exactly one of {options}")
    ((name, value),) = given.items()
    match name:
        case "to_earliest":
            return Target(timestamp=EARLIEST)
        case "to_latest":
            return Target(timestamp=LATEST)
        case "to_offset":
            return Target(offset=value)
        case "to_datetime":
            return Target(timestamp=time_ms(value))
        case "by_duration":
            return Target(timestamp=max(0, time.time_ns() // 1_000_000 - duration_ms(value)))
        case "shift_by":
            return Target(shift=value)
        case _:
            with click.open_file(str(value), encoding="utf-8") as lines:
                offsets = offsets_csv.read(lines, group_id).get(group_id)
            if not offsets:
                raise ClientError(f"{value} has no offsets of group {group_id}")
            return Target(offsets=offsets)


def _topic(text: str | None) -> tuple[str, int | None]:
    """TOPIC, or TOPIC:PARTITION as in Kafka's tools."""
    name, colon, partition = (text or "").partition(":")
    if colon and not (partition.isascii() and partition.isdecimal()):
        raise click.UsageError(f"{text} is not TOPIC or TOPIC:PARTITION")
    return name, int(partition) if colon else None


def _what_is_left(group_id: str, plan: GroupPlan, otherwise: str) -> str:
    if plan.members:
        have = "has a member" if len(plan.members) == 1 else f"has {len(plan.members)} members"
        return f"group {printable(group_id)} {have}: stop its consumers before --execute"
    return otherwise


@click.command("remove-members")
@click.argument("group_id", metavar="GROUP")
@click.argument("member_ids", metavar="[MEMBER...]", nargs=-1)
@click.option("--all", "all_members", is_flag=True, help="All members.")
@click.option("--reason", default=REASON, show_default=True, help="What the audit and the server's log tell.")
@server_option
def remove_members_command(
    group_id: str, member_ids: tuple[str, ...], all_members: bool, reason: str, bootstrap: Bootstrap
) -> None:
    """Remove members from GROUP by their member ids. The others rebalance; a client that still runs joins again."""
    if all_members == bool(member_ids):
        raise click.UsageError("name members, or give --all")
    with one_line_errors():
        if all_members:
            member_ids = tuple(member.member_id for member in plan_delete_group(bootstrap, group_id).members)
            if not member_ids:
                raise ClientError(f"group {group_id} has no members")
        remove_members(bootstrap, group_id, member_ids, reason)
    click.echo(f"removed {counted(len(member_ids), 'member')} from group {printable(group_id)}")


@click.command("delete")
@click.argument("group_ids", metavar="GROUP...", nargs=-1, required=True)
@click.option("--yes", is_flag=True, help="Do not ask.")
@server_option
def delete_command(group_ids: tuple[str, ...], yes: bool, bootstrap: Bootstrap) -> None:
    """Delete groups that have no members, and their committed offsets, or the states of a share group."""
    with one_line_errors():
        for group_id in dict.fromkeys(group_ids):
            plan = plan_delete_group(bootstrap, group_id)
            lost = counted(len(plan.offsets), "start offset" if plan.is_share else "committed offset")
            if not yes and not click.confirm(f"delete group {printable(group_id)} with {lost}?"):
                click.echo("nothing is deleted")
                continue
            delete_group(bootstrap, group_id)
            click.echo(f"deleted group {printable(group_id)} with {lost}")
