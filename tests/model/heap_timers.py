"""The oracle of the timing wheel: a sorted list, with the same interface and no cleverness."""


class HeapTimers:
    def __init__(self, start_ms: int = 0) -> None:
        self.now_ms = start_ms
        self._started = 0
        self._timers: dict[int, tuple[int, int, object]] = {}

    @property
    def pending(self) -> int:
        return len(self._timers)

    def start(self, key: object, deadline_ms: int) -> int:
        self._started += 1
        self._timers[self._started] = (deadline_ms, self._started, key)
        return self._started

    def restart(self, timer: int, deadline_ms: int) -> bool:
        if timer not in self._timers:
            return False
        self._started += 1
        self._timers[timer] = (deadline_ms, self._started, self._timers[timer][2])
        return True

    def cancel(self, timer: int) -> bool:
        return self._timers.pop(timer, None) is not None

    def advance(self, now_ms: int) -> list[object]:
        self.now_ms = max(self.now_ms, now_ms)
        due = [(order, timer) for timer, order in self._timers.items() if order[0] <= self.now_ms]
        due.sort()
        return [self._timers.pop(timer)[2] for _, timer in due]

    def next_deadline_ms(self) -> int:
        """The exact earliest deadline, even one that has passed."""
        return min((deadline_ms for deadline_ms, _, _ in self._timers.values()), default=-1)
