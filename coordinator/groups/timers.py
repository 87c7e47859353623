"""The timers of groups on the wheel, kept at the deadlines that follow from the states of the groups."""

from coordinator.groups.timer_keys import GroupTimerKey
from coordinator.timers.wheel import TimerWheel


class GroupTimers:
    """The timer of each group that waits for a moment: its deadline in ms, and its number on the wheel."""

    def __init__(self, wheel: TimerWheel) -> None:
        self._wheel = wheel
        self._running: dict[str, tuple[int, int]] = {}

    def arm(self, group_id: str, deadline_ms: int | None) -> None:
        """Make the group's timer fire at `deadline_ms` and at no other time; None: not at all."""
        running = self._running.get(group_id)
        if running is not None:
            if running[0] == deadline_ms:
                return
            self._wheel.cancel(running[1])
            del self._running[group_id]
        if deadline_ms is not None:
            self._running[group_id] = deadline_ms, self._wheel.start(GroupTimerKey(group_id), deadline_ms)

    def fired(self, group_id: str) -> None:
        """The group's timer fired."""
        self._running.pop(group_id, None)

    def deadline_ms(self, group_id: str) -> int | None:
        """When the group's timer fires; None when none is running."""
        running = self._running.get(group_id)
        return None if running is None else running[0]
