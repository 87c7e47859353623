"""`coordinator demo`: the story of `make demo`."""

import signal
import sys
from datetime import datetime
from pathlib import Path
from time import monotonic

import click

from coordinator.pipeline.java import JavaMissing, require_java


@click.command
@click.option(
    "--dir",
    "parent",
    type=click.Path(file_okay=False, path_type=Path),
    default=".demo",
    show_default=True,
    help="Where a fresh folder for data, tables and logs is made.",
)
@click.option("--bootstrap", metavar="HOST:PORT", help="Play on a server that runs, instead of starting one.")
def command(parent: Path, bootstrap: str | None) -> None:
    """Stock consumers join, leave, die and restart; Spark makes the table of what happened to their group."""
    try:
        require_java()
    except JavaMissing as missing:
        raise click.ClickException(str(missing)) from missing
    from rich.console import Console
    from rich.markup import escape

    from coordinator.demo.stage import Stage, StoryFailed
    from coordinator.demo.story import start_server, tell

    # Whoever ends the demo from outside leaves nothing running either. A shell starts what it runs in the background
    # with SIGINT ignored, so that is said for both.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)
    console = Console()
    started = monotonic()
    folder = parent.absolute() / datetime.now().strftime("%Y%m%d-%H%M%S")
    logs = folder / "logs"
    logs.mkdir(parents=True)
    try:
        with Stage(logs) as stage:
            tell(stage, bootstrap or start_server(stage, console, folder), console, folder)
    except StoryFailed as failed:
        console.print(f"[red]✗[/] {escape(str(failed))}", highlight=False, soft_wrap=True)
        sys.exit(1)
    except KeyboardInterrupt:
        console.print("interrupted; everything is stopped")
        sys.exit(130)
    console.print(f"Delta tables: {folder / 'tables'}", soft_wrap=True, highlight=False)
    console.print(f"Data of the server: {folder / 'data'}", soft_wrap=True, highlight=False)
    console.print(f"Done in {monotonic() - started:.0f} s; nothing is left running.", highlight=False)
