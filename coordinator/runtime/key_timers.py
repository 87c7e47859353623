"""One timer for each key of a coordinator, kept at the deadline that the state of the key requires."""

from collections.abc import Iterable

from coordinator.runtime.timer_keys import KeyTimerKey
from coordinator.timers.wheel import TimerWheel


class KeyTimers:
    """The timer of each key that waits for a moment: its deadline in ms, and its number on the wheel."""

    def __init__(self, wheel: TimerWheel, topic: str) -> None:
        """`topic` is that of the coordinator, which tells its keys from those of others."""
        self._wheel = wheel
        self._topic = topic
        self._running: dict[str, tuple[int, int]] = {}

    def __len__(self) -> int:
        return len(self._running)

    def arm(self, key: str, deadline_ms: int | None) -> None:
        """Make the timer of a key fire at `deadline_ms` and at no other time; None: not at all."""
        running = self._running.get(key)
        if running is not None:
            if running[0] == deadline_ms:
                return
            self._wheel.cancel(running[1])
            del self._running[key]
        if deadline_ms is not None:
            self._running[key] = deadline_ms, self._wheel.start(KeyTimerKey(self._topic, key), deadline_ms)

    def disarm_all(self, keys: Iterable[str]) -> None:
        for key in keys:
            self.arm(key, None)

    def fired(self, timer: KeyTimerKey) -> bool:
        """Note that a timer fired; False if it is none of this coordinator."""
        if timer.topic != self._topic:
            return False
        self._running.pop(timer.key, None)
        return True

    def deadline_ms(self, key: str) -> int | None:
        """When the timer of a key fires; None when none is running."""
        running = self._running.get(key)
        return None if running is None else running[0]
