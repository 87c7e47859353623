"""The keys of the timers of every coordinator: what the wheel returns when one is due."""

from typing import NamedTuple


class LoadRetryKey(NamedTuple):
    """Try again to load a partition of a coordinator's topic that could not be read or written."""

    topic: str
    partition: int
