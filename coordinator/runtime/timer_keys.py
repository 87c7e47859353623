"""The keys of the timers of every coordinator: what the wheel returns when one is due."""

import msgspec


class KeyTimerKey(msgspec.Struct, frozen=True):
    """The state behind a key of the coordinator of this topic has to advance, or to be rebuilt (`KeyTimers`)."""

    topic: str
    key: str


class LoadRetryKey(msgspec.Struct, frozen=True):
    """Try again to load a partition of a coordinator's topic that could not be read or written."""

    topic: str
    partition: int
