"""The command `coordinator`. The module of a verb is imported only when it is used, so that the server starts fast."""

from importlib import import_module
from typing import Any, Final

import click

from coordinator import __version__
from coordinator.extras import needs
from coordinator.garbage import no_collections

VERBS: Final = {
    "serve": "Serve Kafka clients until stopped.",
    "testing": "Serve the tests of another process, with logs in memory, a clock that jumps, and faults.",
    "acls": "List, add and remove ACLs: who may do what.",
    "config": "Check the settings of a server, show them, compare them with a running one.",
    "cluster": "Adopt groups of a Kafka cluster and give them back, with nodes in front of it.",
    "groups": "Query the consumer groups of a server: why they rebalanced, who owns what; reset offsets.",
    "offsets": "Export and import committed offsets.",
    "topics": "List, describe, create and delete topics.",
    "users": "Add, list and delete the users that log in by SCRAM.",
    "backup": "Copy the data folder of a server that may run.",
    "restore": "Put a backup into empty log directories.",
    "log": "Check, print and repair the files of a data folder.",
    "audit": "Read the audit topic.",
    "dashboard": "Show the groups of a server in a browser, live.",
    "watch": "Stay at a Kafka that others run, and append what happens to its groups to a log.",
    "pipeline": "Write the audit topic to Delta tables, with Spark.",
    "completion": "Print what makes a shell complete this command.",
    "demo": "Run a demo: a server, consumers, rebalances, Spark, and the table of generations.",
}

OF_COMMANDS: Final = {("dashboard",): "dashboard", ("demo",): "demo", ("pipeline", "run"): "spark"}
"""Command → the extra for all that it needs, where that is more than the module that is missing."""
ARGUMENTS: Final = "coordinator.arguments"


class Verbs(click.Group):
    """A click group whose commands are modules of this package. A package that is missing is one line."""

    def resolve_command(
        self, context: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        context.meta[ARGUMENTS] = args
        return super().resolve_command(context, args)

    def invoke(self, context: click.Context) -> Any:
        try:
            return super().invoke(context)
        except ModuleNotFoundError as missing:
            verb, *rest = context.meta[ARGUMENTS]
            extra = OF_COMMANDS.get((verb,)) or OF_COMMANDS.get((verb, *rest[:1])) or ""
            raise click.ClickException(needs(f"`coordinator {verb}`", missing, extra)) from None

    def list_commands(self, context: click.Context) -> list[str]:
        return list(VERBS)

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        if name not in VERBS:
            return None
        with no_collections():
            command: click.Command = import_module(f"coordinator.cli.{name}").command
        return command

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(VERBS.items()))


@click.command(cls=Verbs)
@click.version_option(__version__)
def main() -> None:
    """A Kafka-wire-compatible group coordinator."""
