"""What a node in the process of a test logs goes to the logger `coordinator` of the standard library."""

from collections.abc import Iterator
from contextlib import contextmanager

from coordinator.logger import StandardLogging, lines_of_this_thread_to


@contextmanager
def logs_of_this_thread_diverted() -> Iterator[None]:
    """As the module says, wherever other threads of the process log to."""
    with lines_of_this_thread_to(StandardLogging()):
        yield
