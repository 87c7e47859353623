"""What a node in the process of a test logs goes to the logger `coordinator` of the standard library."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from coordinator.logger import lines_of_this_thread_to

_logger = logging.getLogger("coordinator")


class _StandardLogging:
    def is_enabled_for(self, level: int) -> bool:
        return _logger.isEnabledFor(level)

    def take(self, level: str, event: str, fields: dict[str, Any]) -> None:
        number = logging.getLevelNamesMapping()[level.upper()]
        if _logger.isEnabledFor(number):
            text = " ".join(f"{name}={value!r}" for name, value in fields.items() if name != "exc_info")
            _logger.log(number, "%s %s", event, text, exc_info=bool(fields.get("exc_info")))


@contextmanager
def logs_of_this_thread_diverted() -> Iterator[None]:
    """As the module says. What the application itself logs is not touched."""
    with lines_of_this_thread_to(_StandardLogging()):
        yield
