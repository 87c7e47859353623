"""Lines that the log package writes while a command works on a data folder."""

import logging
from typing import Any

import click

from coordinator.printable import printable


class ErrorLines:
    """Prints those that are errors to stderr, with their fields (logger.lines_of_this_thread_to)."""

    def is_enabled_for(self, level: int) -> bool:
        return level >= logging.ERROR

    def write(self, level: str, event: str, fields: dict[str, Any]) -> None:
        if level == "error":
            click.echo(": ".join([event, *(printable(str(value)) for value in fields.values())]), err=True)
