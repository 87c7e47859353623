"""`coordinator offsets`: committed offsets as CSV that Kafka's own tools read and write."""

from pathlib import Path

import click

from coordinator.cli.group_changes import COLUMNS, offset_changes
from coordinator.cli.server_options import server_option
from coordinator.cli.terminal import TABLE, one_line_errors, output_option, print_records
from coordinator.client import offsets_csv
from coordinator.client.bootstrap import Bootstrap
from coordinator.client.group_admin import Target, change_offsets, plan_delete_group, plan_reset
from coordinator.client.group_description import list_groups
from coordinator.client.wire import ClientError
from coordinator.explain.words import counted
from coordinator.printable import printable


@click.group
def command() -> None:
    """Export and import committed offsets."""


@command.command("export")
@click.argument("group_ids", metavar="[GROUP...]", nargs=-1)
@click.option("--all-groups", is_flag=True, help="Those of all groups.")
@server_option
def export_command(group_ids: tuple[str, ...], all_groups: bool, bootstrap: Bootstrap) -> None:
    """Print the committed offsets of groups as CSV.

    A line is `topic,partition,offset` if one group is named, otherwise `group,topic,partition,offset`, as
    `kafka-consumer-groups --reset-offsets --from-file` reads them.
    """
    if all_groups == bool(group_ids):
        raise click.UsageError("name groups, or give --all-groups")
    with one_line_errors():
        names = (
            [group.group_id for group, _ in list_groups(bootstrap)] if all_groups else list(dict.fromkeys(group_ids))
        )
        found: offsets_csv.Offsets = {}
        for group_id in names:
            offsets = plan_delete_group(bootstrap, group_id).offsets
            found[group_id] = {(offset.topic, offset.partition): offset.before or 0 for offset in offsets}
            if not all_groups and not offsets:
                raise ClientError(f"group {group_id} has no committed offsets")
    click.echo(offsets_csv.written(found, with_group=len(group_ids) != 1), nl=False)


@command.command("import")
@click.argument("file", metavar="FILE", type=click.Path(path_type=Path, exists=True, dir_okay=False, allow_dash=True))
@click.option("--group", "group_id", metavar="GROUP", help="Only this group; the one of lines that name none.")
@click.option("--execute", is_flag=True, help="Commit the offsets. Without it, they are only shown.")
@server_option
@output_option
def import_command(file: Path, group_id: str | None, execute: bool, bootstrap: Bootstrap, output: str) -> None:
    """Show what committed offsets would become by FILE (- is stdin), and with --execute commit them.

    The groups must have no members then. An offset outside the log becomes its start or its end.
    """
    with one_line_errors():
        with click.open_file(str(file), encoding="utf-8") as lines:
            found = offsets_csv.read(lines, group_id)
        if not found:
            raise ClientError(f"{file} has no offsets" + (f" of group {group_id}" if group_id else ""))
        plans = {
            imported_id: plan_reset(bootstrap, imported_id, Target(offsets=offsets))
            for imported_id, offsets in sorted(found.items())
        }
        busy = [imported_id for imported_id, plan in plans.items() if plan.members]
        if execute and busy:
            raise ClientError(f"{_to_be_stopped(busy)}; nothing was changed")
        if execute:
            for imported_id, plan in plans.items():
                change_offsets(bootstrap, imported_id, plan.offsets)
        records = [
            record for imported_id, plan in plans.items() for record in offset_changes(imported_id, plan.offsets)
        ]
        print_records(records, ("group", *COLUMNS), output, "")
    if output == TABLE and not execute:
        click.echo(_to_be_stopped(busy) if busy else "nothing is changed yet: add --execute")


def _to_be_stopped(busy: list[str]) -> str:
    return f"{counted(len(busy), 'group')} with members: stop the consumers of {', '.join(map(printable, busy))} first"
