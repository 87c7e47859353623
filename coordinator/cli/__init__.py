"""The command `coordinator`. One module per verb, imported when the verb is used: the server starts without Spark."""

from importlib import import_module
from typing import Final

import click

from coordinator import __version__

VERBS: Final = {
    "serve": "Serve Kafka clients until stopped.",
    "groups": "Ask a server about its consumer groups.",
    "pipeline": "Turn the audit topic into Delta tables, with Spark.",
    "demo": "Play the whole story: consumers, rebalances, Spark, the table.",
}


class Verbs(click.Group):
    """A group whose commands are the modules of this package."""

    def list_commands(self, context: click.Context) -> list[str]:
        return list(VERBS)

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        if name not in VERBS:
            return None
        command: click.Command = import_module(f"coordinator.cli.{name}").command
        return command

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(VERBS.items()))


@click.command(cls=Verbs)
@click.version_option(__version__)
def main() -> None:
    """A Kafka-wire-compatible group coordinator."""
