"""Timers of groups on the wheel. Which should run follows from a group's state; here the difference is made."""

from collections.abc import Mapping

from coordinator.core.decision import TimerName
from coordinator.runtime.timer_keys import GroupTimerKey
from coordinator.timers.wheel import TimerWheel

ALL_NAMES = (TimerName.JOIN, TimerName.SYNC)


class GroupTimers:
    """Key → number on the wheel and deadline, for the timers that run."""

    def __init__(self, wheel: TimerWheel) -> None:
        self._wheel = wheel
        self._running: dict[GroupTimerKey, tuple[int, int]] = {}

    def arm(self, group_id: str, wanted: Mapping[str, int]) -> None:
        """Make exactly the `wanted` timers (name → deadline in ms) run for the group."""
        for name in ALL_NAMES:
            key = GroupTimerKey(group_id, name)
            number, deadline_ms = self._running.get(key, (0, None))
            wanted_ms = wanted.get(name)
            if wanted_ms == deadline_ms:
                continue
            if number:
                self._wheel.cancel(number)
                del self._running[key]
            if wanted_ms is not None:
                self._running[key] = (self._wheel.start(key, wanted_ms), wanted_ms)

    def fired(self, key: GroupTimerKey) -> None:
        """The wheel handed the key back."""
        self._running.pop(key, None)

    def running(self, group_id: str) -> dict[str, int]:
        """Name → deadline in ms of the group's timers."""
        keys = ((name, GroupTimerKey(group_id, name)) for name in ALL_NAMES)
        return {name: self._running[key][1] for name, key in keys if key in self._running}
