"""Timers of groups on the wheel. Which should run follows from a group's state; here the difference is made."""

from collections.abc import Mapping

from coordinator.runtime.timer_keys import GroupTimerKey
from coordinator.timers.wheel import TimerWheel


class GroupTimers:
    """Group id → name → number on the wheel and deadline, for the timers that run."""

    def __init__(self, wheel: TimerWheel) -> None:
        self._wheel = wheel
        self._running: dict[str, dict[str, tuple[int, int]]] = {}

    def arm(self, group_id: str, wanted: Mapping[str, int]) -> None:
        """Make exactly the `wanted` timers (name → deadline in ms) run for the group."""
        running = self._running.get(group_id)
        if running is None:
            if not wanted:
                return
            running = self._running[group_id] = {}
        for name, (number, deadline_ms) in list(running.items()):
            if wanted.get(name) != deadline_ms:
                self._wheel.cancel(number)
                del running[name]
        for name, deadline_ms in wanted.items():
            if name not in running:
                running[name] = (self._wheel.start(GroupTimerKey(group_id, name), deadline_ms), deadline_ms)
        if not running:
            del self._running[group_id]

    def fired(self, key: GroupTimerKey) -> None:
        """The wheel handed the key back."""
        running = self._running.get(key.group_id, {})
        running.pop(key.name, None)
        if not running:
            self._running.pop(key.group_id, None)

    def running(self, group_id: str) -> dict[str, int]:
        """Name → deadline in ms of the group's timers."""
        return {name: deadline_ms for name, (_, deadline_ms) in self._running.get(group_id, {}).items()}
