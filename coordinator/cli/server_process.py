"""What commands that are servers share."""

from collections.abc import Callable
from typing import Any, Final

import click

from coordinator.logger import LEVELS, logger

CANNOT_START: Final = 2
"""The exit code of a server that cannot start."""

LOG_STYLES: Final = ("text", "json", "kafka")
"""The names of `coordinator.cli.log_styles.STYLES`, which is imported by what writes lines."""


def log_options(least: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """The options `log_level`, by default `least`, and `log_style` of a command that writes log lines to stderr."""

    def add(command: Callable[..., Any]) -> Callable[..., Any]:
        level = click.option(
            "--log-level", type=click.Choice(list(LEVELS)), default=least, help=f"The least that is logged ({least})."
        )
        style = click.option(
            "--log-style",
            type=click.Choice(LOG_STYLES),
            default="text",
            help="How lines look (text): json is an object a line, kafka the pattern of Kafka's brokers.",
        )
        return level(style(command))

    return add


def log_open_files_limit(limit: int) -> None:
    """Log how many open files the process may have, and how they are shared out."""
    from coordinator.front.descriptors import files_of_the_logs, reserve_of

    if limit < 0:
        logger.info("file descriptors", limit="none")
    else:
        logger.info(
            "file descriptors", limit=limit, connections=limit - reserve_of(limit), files_of_logs=files_of_the_logs()
        )
