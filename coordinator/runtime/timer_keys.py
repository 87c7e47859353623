"""The keys of the timers of every coordinator: what the wheel returns when one is due."""

from typing import NamedTuple


class KeyTimerKey(NamedTuple):
    """The state behind a key of the coordinator of this topic has to advance, or to be rebuilt (`KeyTimers`)."""

    topic: str
    key: str


class LoadRetryKey(NamedTuple):
    """Try again to load a partition of a coordinator's topic that could not be read or written."""

    topic: str
    partition: int
