"""What a node in the process of a test logs goes to the logger `coordinator` of the standard library.

structlog has one configuration per process, which is the application's. It is extended only if the application has not
made one, only for the threads of nodes, and only while there are any.
"""

import logging
import threading
from collections.abc import Iterator, MutableMapping
from contextlib import contextmanager
from typing import Any

import structlog

_lock = threading.Lock()
_threads: set[int] = set()
_logger = logging.getLogger("coordinator")


def _divert(logger: Any, method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """A processor of structlog."""
    if threading.get_ident() not in _threads:
        return event
    level = logging.getLevelNamesMapping().get(method.upper(), logging.ERROR)
    if _logger.isEnabledFor(level):
        fields = " ".join(f"{name}={value!r}" for name, value in event.items() if name not in ("event", "exc_info"))
        _logger.log(level, "%s %s", event.get("event", ""), fields, exc_info=bool(event.get("exc_info")))
    raise structlog.DropEvent


@contextmanager
def logs_of_this_thread_diverted() -> Iterator[None]:
    """As the module says."""
    with _lock:
        _threads.add(threading.get_ident())
        if not structlog.is_configured():
            structlog.configure(processors=[_divert, *structlog.get_config()["processors"]])
    try:
        yield
    finally:
        with _lock:
            _threads.discard(threading.get_ident())
            if not _threads and _divert in structlog.get_config()["processors"]:
                structlog.reset_defaults()
