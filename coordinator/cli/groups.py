"""`coordinator groups`: queries about consumer groups, to this server or to Apache Kafka."""

from collections.abc import Iterator
from typing import Final

import click

from coordinator.cli.describe import describe_command, list_command
from coordinator.cli.group_changes import delete_command, remove_members_command, reset_command
from coordinator.cli.group_history import diff_command, history_command
from coordinator.cli.server_options import server_option
from coordinator.cli.what_if_report import report
from coordinator.cli.why import command as why_command
from coordinator.client.bootstrap import Bootstrap
from coordinator.client.consumer_groups import describe_consumers
from coordinator.client.groups import DescribedConsumers
from coordinator.client.what_if import what_if, with_new_members, without_member
from coordinator.client.wire import ClientError
from coordinator.core.assignors.registry import ASSIGNORS as CLIENT_ASSIGNORS
from coordinator.core.consumer.assignors.registry import ASSIGNORS as SERVER_ASSIGNORS
from coordinator.printable import printable

ASSIGNORS: Final = ", ".join(dict.fromkeys((*CLIENT_ASSIGNORS, *SERVER_ASSIGNORS)))


@click.group
def command() -> None:
    """Query and change the consumer groups of a server."""


QUERIES: Final = (list_command, describe_command, why_command, history_command, diff_command)
CHANGES: Final = (reset_command, remove_members_command, delete_command)
for subcommand in (*QUERIES, *CHANGES):
    command.add_command(subcommand)


@command.command("what-if")
@click.argument("group_id", metavar="GROUP")
@click.option("--assignor", "assignor_name", required=True, metavar="NAME", help=f"One of {ASSIGNORS}.")
@click.option("--without", metavar="MEMBER", help="Leave out this member (member, instance or client id).")
@click.option("--with", "new_members", metavar="N", type=click.IntRange(min=1), help="Add N new members.")
@server_option
def print_what_if(
    group_id: str, assignor_name: str, without: str | None, new_members: int | None, bootstrap: Bootstrap
) -> None:
    """Print which partitions would move if the group rebalanced with this assignor. Nothing is changed.

    New members subscribe to all topics that the group subscribes to. Of a streams group (assignor: sticky) it prints
    which tasks would move; new members are in processes of their own.
    """
    if assignor_name not in CLIENT_ASSIGNORS and assignor_name not in SERVER_ASSIGNORS:
        raise click.ClickException(f"there is no assignor {assignor_name}; choose one of {ASSIGNORS}")
    if without is not None and new_members is not None:
        raise click.ClickException("--without and --with cannot be combined")
    try:
        for group in describe_consumers(bootstrap, group_id):
            for line in _what_if(group, assignor_name, without, new_members):
                click.echo(line)
    except ClientError as problem:
        raise click.ClickException(printable(str(problem))) from problem


def _what_if(
    group: DescribedConsumers, assignor_name: str, without: str | None, new_members: int | None
) -> Iterator[str]:
    assignor = group.assignors.get(assignor_name)
    if assignor is None:
        uses = f"group {group.group_id} uses the {group.protocol} protocol"
        raise ClientError(f"{uses}; choose one of its assignors: {', '.join(group.assignors)}")
    members = group.members
    if without is not None:
        members = without_member(group, without)
    elif new_members is not None:
        members = with_new_members(group, new_members)
    return report(group, what_if(assignor, group.members, members, group.topics))
