"""`coordinator demo`: the scenario of `make demo`."""

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
    help="The parent of the new directory for data, tables and logs.",
)
@click.option("--bootstrap", metavar="HOST:PORT", help="Use this running server instead of starting one.")
@click.option("--dashboard", is_flag=True, help="Leave the page open on a group that keeps rebalancing, until Ctrl-C.")
def command(parent: Path, bootstrap: str | None, dashboard: bool) -> None:
    """Run stock consumers that join, leave, crash and restart, then show what happened to their group.

    It is shown as a table made by Spark, in words, and as a picture of the page.
    """
    try:
        require_java()
    except JavaMissing as missing:
        raise click.ClickException(str(missing)) from missing
    from rich.console import Console
    from rich.markup import escape

    from coordinator.demo.harness import Harness, ScenarioFailed
    from coordinator.demo.scenario import GROUP, TOPIC, run_scenario, start_server
    from coordinator.demo.stories import keep_rebalancing, save_picture, start_page

    # The demo must stop its processes also after SIGTERM, and after SIGINT in the background, where a shell ignores it.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)
    console = Console()
    started = monotonic()
    folder = parent.absolute() / datetime.now().strftime("%Y%m%d-%H%M%S")
    logs = folder / "logs"
    logs.mkdir(parents=True)
    try:
        with Harness(logs) as harness:
            server = bootstrap or start_server(harness, console, folder)
            run_scenario(harness, server, console, folder)
            url = start_page(harness, server, folder)
            picture = save_picture(url, GROUP, folder / "dashboard.png")
            console.print(f"Picture of the page: {picture}", soft_wrap=True, highlight=False)
            if dashboard:
                console.print(f"The page: {url} (Ctrl-C ends it, the consumers and the server)", highlight=False)
                keep_rebalancing(harness, server, TOPIC, GROUP)
    except ScenarioFailed as failed:
        console.print(f"[red]✗[/] {escape(str(failed))}", highlight=False, soft_wrap=True)
        sys.exit(1)
    except KeyboardInterrupt:
        console.print("interrupted; everything is stopped")
        sys.exit(130)
    console.print(f"Delta tables: {folder / 'tables'}", soft_wrap=True, highlight=False)
    console.print(f"Data of the server: {folder / 'data'}", soft_wrap=True, highlight=False)
    console.print(f"Done in {monotonic() - started:.0f} s; nothing is left running.", highlight=False)
