"""`coordinator serve`: one node, until SIGTERM or Ctrl-C."""

import asyncio
import gc
import json
import os
import signal
import sys
from pathlib import Path

import click
import uvloop

from coordinator.config import LISTENERS, LOG_DIRS, Config, ConfigError, parse_settings, read_properties
from coordinator.log.errors import LogError, LogFlushError

CANNOT_START = 2
GARBAGE_THRESHOLD = 100_000
GARBAGE_GENERATIONS = 20
DATA_NOT_SAFE = 1
LOG_LEVELS = ("debug", "info", "warning", "error")


@click.command
@click.option("--config", "config_file", type=click.Path(path_type=Path), help="Settings, as in server.properties.")
@click.option("--listen", metavar="HOST:PORT", help="Where clients connect; port 0 picks a free one.")
@click.option("--data-dir", type=click.Path(path_type=Path), help="The folder that holds the logs.")
@click.option("--set", "settings", metavar="KEY=VALUE", multiple=True, help="One setting, by Kafka's name.")
@click.option("--log-level", type=click.Choice(LOG_LEVELS), default="info", help="The least that is logged (info).")
@click.option("--ready-file", type=click.Path(path_type=Path), help="Written when it serves: JSON, bootstrap and pid.")
def command(
    config_file: Path | None,
    listen: str | None,
    data_dir: Path | None,
    settings: tuple[str, ...],
    log_level: str,
    ready_file: Path | None,
) -> None:
    """Serve Kafka clients until SIGTERM or Ctrl-C.

    What is said later wins: the file, then --set, then --listen and --data-dir.
    """
    # structlog takes rich wherever it is installed: 5 MB and 40 ms that a server has no use for.
    sys.modules.setdefault("rich", None)  # type: ignore[arg-type]
    from coordinator.cli.log_writer import logging_to_stderr
    from coordinator.metadata.store import MetadataError
    from coordinator.server.listeners import PLAINTEXT

    try:
        texts = read_properties(config_file) if config_file is not None else {}
        texts |= parse_settings(settings)
        if listen is not None:
            texts[LISTENERS.name] = f"{PLAINTEXT}://{listen}"
        if data_dir is not None:
            texts[LOG_DIRS.name] = str(data_dir)
        config = Config(texts)
        with logging_to_stderr(log_level):
            uvloop.run(_serve(config, ready_file))
    except LogFlushError as problem:
        click.echo(f"coordinator: stopped, as the disk lost what was to be safe: {problem}", err=True)
        sys.exit(DATA_NOT_SAFE)
    except (ConfigError, MetadataError, LogError, OSError) as problem:
        click.echo(f"coordinator: {problem}", err=True)
        sys.exit(CANNOT_START)


async def _serve(config: Config, ready_file: Path | None) -> None:
    from coordinator.server.node import Node

    asked_to_stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, asked_to_stop.set)
    node = Node(config)
    await node.start()
    _spare_the_collector()
    if ready_file is not None:
        _write_whole(ready_file, json.dumps({"bootstrap": node.bootstrap, "pid": os.getpid()}))
    stopping = loop.create_task(asked_to_stop.wait())
    await asyncio.wait((stopping, node.flush_failure), return_when=asyncio.FIRST_COMPLETED)
    if node.flush_failure.done():
        raise node.flush_failure.result()
    await node.stop()


def _spare_the_collector() -> None:
    """What is there now stays. Groups and their members hold no cycles, so looking for some can be rare."""
    gc.freeze()
    gc.set_threshold(GARBAGE_THRESHOLD, GARBAGE_GENERATIONS, GARBAGE_GENERATIONS)


def _write_whole(path: Path, text: str) -> None:
    """Whoever waits for the file never sees half of it."""
    part = path.with_name(f".{path.name}.{os.getpid()}")
    part.write_text(text + "\n", encoding="utf-8")
    part.replace(path)
