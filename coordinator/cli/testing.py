"""`coordinator testing`: a server for the tests of another process; its logs are in memory, its control is HTTP."""

import asyncio
import json
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from coordinator.cli.ready_file import ReadyFile
from coordinator.cli.server_process import CANNOT_START, log_open_files_limit, log_options
from coordinator.config.key import ConfigError
from coordinator.config.metrics_keys import ADMIN_ALLOWED_HOSTS
from coordinator.config.properties import parse_settings
from coordinator.garbage import no_collections

if TYPE_CHECKING:
    from starlette.routing import Route

    from coordinator.testing.node import RestartableNode


@click.command
@click.option(
    "--ready-file",
    type=click.Path(path_type=Path),
    help="Write this JSON file (bootstrap, admin, pid) when ready; without it a line to stdout.",
)
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="The port for clients; a free one without it.")
@click.option(
    "--admin-port", type=click.IntRange(0, 65535), default=0, help="The port of the control; a free one without it."
)
@click.option(
    "--allow-host",
    "allowed_hosts",
    metavar="NAME",
    multiple=True,
    help="A host name, beside those of loopback, under which the control may be asked; repeatable.",
)
@click.option("--set", "settings", metavar="KEY=VALUE", multiple=True, help="A setting by its Kafka name; repeatable.")
@click.option(
    "--until-stdin-closes", is_flag=True, help="Stop when the process that started it ends, or closes its end of stdin."
)
@log_options("warning")
def command(
    ready_file: Path | None,
    port: int,
    admin_port: int,
    allowed_hosts: tuple[str, ...],
    settings: tuple[str, ...],
    until_stdin_closes: bool,
    log_level: str,
    log_style: str,
) -> None:
    """Serve the tests of another process on 127.0.0.1, until SIGTERM or Ctrl-C. Nothing is written to disk.

    The control (docs/testing.md) creates topics, lets the clock jump, tells of groups, and injects faults.
    """
    import uvloop

    from coordinator.cli.log_writer import logging_to_stderr
    from coordinator.testing.errors import TestingError

    try:
        with logging_to_stderr(log_level, log_style), ReadyFile(ready_file) as ready:
            given = parse_settings(settings)
            if allowed_hosts:
                given[ADMIN_ALLOWED_HOSTS.name] = ",".join(allowed_hosts)
            uvloop.run(_serve(ready, port, admin_port, given, until_stdin_closes))
    except (ConfigError, TestingError, OSError) as problem:
        click.echo(f"coordinator: {problem}", err=True)
        sys.exit(CANNOT_START)


async def _serve(
    ready_file: ReadyFile, port: int, admin_port: int, settings: dict[str, str], until_stdin_closes: bool
) -> None:
    with no_collections():
        from coordinator.front.descriptors import raise_limit
        from coordinator.front.metered import find_libraries
        from coordinator.front.watchdog import Watchdog
        from coordinator.testing.node import RestartableNode

    find_libraries()
    stop_requested = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop_requested.set)
    open_files_max = raise_limit()
    node = RestartableNode(settings, port, admin_port, _routes)
    await node.start()
    log_open_files_limit(open_files_max)
    if until_stdin_closes:
        await loop.connect_read_pipe(lambda: StdinWatch(stop_requested.set), sys.stdin)
    ready = {"bootstrap": node.bootstrap, "admin": node.admin}
    if not ready_file.write(ready):
        click.echo(json.dumps({**ready, "pid": os.getpid()}))
    watchdog = Watchdog()
    watchdog.start()
    await stop_requested.wait()
    ready_file.remove()
    watchdog.stop()
    await node.stop(clean=False)


def _routes(node: "RestartableNode") -> "list[Route]":
    """Those of the control, whose library is imported with the first request."""
    from coordinator.testing.http import testing_routes

    return testing_routes(node)


class StdinWatch(asyncio.Protocol):
    """Calls `ended` when the other end of stdin is closed, also by the end of its process."""

    def __init__(self, ended: Callable[[], None]) -> None:
        self._ended = ended

    def eof_received(self) -> None:
        self._ended()

    def connection_lost(self, problem: Exception | None) -> None:
        self._ended()
