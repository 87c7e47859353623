"""`coordinator cluster`: which groups the nodes in front of a Kafka cluster coordinate."""

import sys
from collections.abc import Sequence
from time import monotonic, sleep
from typing import Final

import click

from coordinator.cli.server_options import server_option
from coordinator.cli.terminal import json_option, one_line_errors, print_json, table
from coordinator.client.bootstrap import Bootstrap
from coordinator.client.group_owners import (
    ChangeResult,
    GroupChange,
    WatchedResult,
    change_owners,
    change_watched,
    describe_ownership,
)
from coordinator.printable import printable

ASKED_AGAIN_SECONDS: Final = 1.0
MEMBERS_SHOWN: Final = 3
HELD: Final = 1
DRY_RUN_OPTION: Final = click.option("--dry-run", is_flag=True, help="Say what would happen, and change nothing.")
NAMES_ARGUMENT: Final = click.argument("names", metavar="GROUP|PATTERN...", nargs=-1, required=True)


@click.group
def command() -> None:
    """Adopt groups of a Kafka cluster, give them back, watch others, and show who coordinates what.

    Patterns have * for any characters and ? for one. --bootstrap names a node (`coordinator serve --cluster`).
    """


@command.command("adopt", short_help="Have the nodes coordinate groups.")
@NAMES_ARGUMENT
@DRY_RUN_OPTION
@click.option(
    "--wait",
    "wait_seconds",
    type=click.IntRange(min=0),
    default=0,
    metavar="SECONDS",
    help="How long to wait until nobody is in the groups at the cluster, and all partitions are led (0).",
)
@server_option
@one_line_errors()
def adopt_command(names: Sequence[str], dry_run: bool, wait_seconds: int, bootstrap: Bootstrap) -> None:
    """Have the nodes coordinate these groups, and groups that are made later and match.

    A group whose members are at the cluster stays there until they have left: stop them, or wait for a restart of them
    with the address of a node as bootstrap server.
    """
    result = change_owners(bootstrap, names, is_adopted=True, validate_only=dry_run)
    until = monotonic() + wait_seconds
    while not dry_run and (_held(result) or result.problems) and monotonic() < until:
        sleep(ASKED_AGAIN_SECONDS)
        result = change_owners(bootstrap, names, is_adopted=True)
    _print(result, "would be adopted" if dry_run else "adopted", "stays with the cluster: its members there are")


@command.command("release", short_help="Give groups back to the cluster.")
@NAMES_ARGUMENT
@DRY_RUN_OPTION
@server_option
@one_line_errors()
def release_command(names: Sequence[str], dry_run: bool, bootstrap: Bootstrap) -> None:
    """Give these groups back to the cluster, with their committed offsets.

    A group that has members here stays: stop them first. Then start them with a broker as bootstrap server.
    """
    result = change_owners(bootstrap, names, is_adopted=False, validate_only=dry_run)
    _print(result, "would be given back" if dry_run else "given back", "stays with the nodes: its members here are")


@command.command("watch", short_help="Tell of groups that stay with the cluster.")
@NAMES_ARGUMENT
@DRY_RUN_OPTION
@server_option
@one_line_errors()
def watch_command(names: Sequence[str], dry_run: bool, bootstrap: Bootstrap) -> None:
    """Have all nodes watch these groups, and groups that are made later and match: they stay with the cluster.

    What passes by way of the nodes is seen from now on; nothing has to be stopped.
    """
    result = change_watched(bootstrap, names, is_watched=True, validate_only=dry_run)
    _print_watched(result, "would be watched" if dry_run else "is watched")


@command.command("unwatch", short_help="Watch groups no more.")
@NAMES_ARGUMENT
@DRY_RUN_OPTION
@server_option
@one_line_errors()
def unwatch_command(names: Sequence[str], dry_run: bool, bootstrap: Bootstrap) -> None:
    """Have all nodes tell no more of these groups. Give the names and patterns that `cluster status` lists.

    A group that another pattern is about is still watched by that, unless it is named here itself.
    """
    result = change_watched(bootstrap, names, is_watched=False, validate_only=dry_run)
    _print_watched(result, "would be watched by this no more" if dry_run else "is watched by this no more")


def _print_watched(result: WatchedResult, done: str) -> None:
    """One line for each group; exit with 1 if the rule is not everywhere."""
    for group_id, is_owned in result.groups.items():
        own = "is coordinated by the nodes, which tell of it for that"
        click.echo(f"{printable(group_id)} {own if is_owned else done}")
    if not result.groups and not result.problems:
        click.echo("no group at the cluster matches; the rule holds for groups that are made later")
    for problem in result.problems:
        click.echo(f"coordinator: {printable(problem)}", err=True)
    if result.problems:
        sys.exit(HELD)


def _held(result: ChangeResult) -> list[GroupChange]:
    return [group for group in result.groups if group.members]


def _print(result: ChangeResult, done: str, held: str) -> None:
    """One line for each group; exit with 1 if a group could not be moved, or the rule is not everywhere."""
    for group in result.groups:
        name = printable(group.group_id)
        if group.members:
            shown = ", ".join(printable(member) for member in group.members[:MEMBERS_SHOWN])
            more = len(group.members) - MEMBERS_SHOWN
            click.echo(f"{name} {held} {shown}{f' and {more} more' if more > 0 else ''}")
        elif group.state in ("", "Dead"):
            click.echo(f"{name} {done} with its first member: there is no such group yet")
        else:
            click.echo(f"{name} {done}")
    if not result.groups and not result.problems:
        click.echo("no group matches yet; the rule holds for groups that are made later")
    for problem in result.problems:
        click.echo(f"coordinator: {printable(problem)}", err=True)
    if _held(result) or result.problems:
        sys.exit(HELD)


@command.command("status", short_help="Show the nodes, what they lead, and which groups they own.")
@server_option
@json_option
@one_line_errors()
def status_command(bootstrap: Bootstrap, as_json: bool) -> None:
    """Show the nodes with the partitions that they lead, the rules, and how many groups they own."""
    ownership = describe_ownership(bootstrap)
    if as_json:
        print_json(
            {
                "nodes": [node._asdict() for node in ownership.nodes],
                "rules": [rule._asdict() for rule in ownership.rules],
                "unreachable": list(ownership.unreachable),
                "unchecked": list(ownership.unchecked),
                "watched": [rule._asdict() for rule in ownership.watched],
            }
        )
        return
    rows = [
        [
            str(node.node_id),
            node.address,
            str(len(node.partitions)),
            str(len(node.unserved)),
            str(len(node.groups)),
            str(len(node.without_sentinel)),
            str(node.watched_groups),
        ]
        for node in ownership.nodes
    ]
    head = ["node", "address", "partitions", "not served", "groups", "without sentinel", "watched"]
    for line in table([head, *rows], right=frozenset({0, 2, 3, 4, 5, 6})):
        click.echo(line)
    if ownership.rules:
        words = {True: "the nodes", False: "the cluster"}
        click.echo()
        for line in table(
            [["groups", "coordinated by"], *([rule.name, words[rule.is_adopted]] for rule in ownership.rules)]
        ):
            click.echo(line)
    if ownership.watched:
        by = {True: "watched", False: "not watched"}
        head = ["groups at the cluster", "", "by"]
        click.echo()
        for line in table([head, *([rule.name, by[rule.is_watched], rule.by] for rule in ownership.watched)]):
            click.echo(line)
    if ownership.unchecked:
        click.echo()
        click.echo(
            "Any client that may READ the group of the nodes is taken for a node: cluster.nodes.secret is not set at "
            f"{', '.join(ownership.unchecked)}"
        )
    for problem in ownership.unreachable:
        click.echo(f"coordinator: node without an answer: {printable(problem)}", err=True)
    if ownership.unreachable:
        sys.exit(HELD)
