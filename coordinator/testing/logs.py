"""What a node in the process of a test logs goes to the logger `coordinator` of the standard library."""

import logging
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from coordinator.logger import lines_of_this_thread_to
from coordinator.printable import printable_traceback

CALLS_BETWEEN: Final = 4
"""From `findCaller` to who logs: `take`, and two functions of coordinator/logger.py."""

_logger = logging.getLogger("coordinator")


class _StandardLogging:
    def is_enabled_for(self, level: int) -> bool:
        return _logger.isEnabledFor(level)

    def write(self, level: str, event: str, fields: dict[str, Any]) -> None:
        number = logging.getLevelNamesMapping()[level.upper()]
        if _logger.isEnabledFor(number):
            text = " ".join(f"{name}={value!r}" for name, value in fields.items() if name != "exc_info")
            raised = sys.exc_info() if fields.get("exc_info") else None
            path, line, function, _ = _logger.findCaller(stacklevel=CALLS_BETWEEN)
            record = _logger.makeRecord(_logger.name, number, path, line, "%s %s", (event, text), raised, func=function)
            if raised is not None:
                # Handlers take this text in place of their own. Clients may have chosen a part of it.
                record.exc_text = printable_traceback("".join(traceback.format_exception(*raised)).rstrip())
            _logger.handle(record)


@contextmanager
def logs_of_this_thread_diverted() -> Iterator[None]:
    """As the module says. What the application itself logs is not touched."""
    with lines_of_this_thread_to(_StandardLogging()):
        yield
