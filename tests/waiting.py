"""Waiting for a condition, with a deadline."""

import threading
import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def wait_for(condition: Callable[[], T], seconds: float, what: str, every_ms: int = 20) -> T:
    """The first true value of `condition`; AssertionError naming `what` when none came in time."""
    deadline = time.monotonic() + seconds
    pause = threading.Event()
    while not (value := condition()):
        assert time.monotonic() < deadline, f"waited {seconds:g} s for {what}"
        pause.wait(every_ms / 1000)
    return value
