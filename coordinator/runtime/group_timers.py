"""Timers of groups on the wheel. Which should run follows from a group's state; here the difference is made."""

from collections.abc import Mapping
from typing import Final

from coordinator.runtime.timer_keys import GroupTimerKey
from coordinator.timers.wheel import TimerWheel

NONE: Final[dict[str, int]] = {}


class GroupTimers:
    """The timers that run: their deadlines by group id and name, and their numbers on the wheel by key."""

    def __init__(self, wheel: TimerWheel) -> None:
        self._wheel = wheel
        self._deadlines: dict[str, dict[str, int]] = {}
        self._numbers: dict[GroupTimerKey, int] = {}

    def arm(self, group_id: str, wanted: Mapping[str, int]) -> None:
        """Make exactly the `wanted` timers (name → deadline in ms) run for the group."""
        running = self._deadlines.get(group_id, NONE)
        if running == wanted:
            return
        for name, deadline_ms in running.items():
            if wanted.get(name) != deadline_ms:
                self._wheel.cancel(self._numbers.pop(GroupTimerKey(group_id, name)))
        for name, deadline_ms in wanted.items():
            if running.get(name) != deadline_ms:
                key = GroupTimerKey(group_id, name)
                self._numbers[key] = self._wheel.start(key, deadline_ms)
        self._note(group_id, dict(wanted))

    def fired(self, key: GroupTimerKey) -> None:
        """The wheel handed the key back."""
        self._numbers.pop(key, None)
        running = self.running(key.group_id)
        running.pop(key.name, None)
        self._note(key.group_id, running)

    def running(self, group_id: str) -> dict[str, int]:
        """Name → deadline in ms of the group's timers."""
        return dict(self._deadlines.get(group_id, NONE))

    def _note(self, group_id: str, running: dict[str, int]) -> None:
        if running:
            self._deadlines[group_id] = running
        else:
            self._deadlines.pop(group_id, None)
