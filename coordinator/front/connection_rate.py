"""The rate at which connections may come (Kafka's `max.connection.creation.rate`), as a token bucket."""


class ConnectionRate:
    """Allows `per_second` connections a second, and as many at once after a second without any. Times are seconds."""

    def __init__(self, per_second: int) -> None:
        self._per_second = per_second
        self._tokens = float(per_second)
        self._filled_at: float | None = None

    def change(self, per_second: int) -> None:
        """Allow so many from now on."""
        self._per_second = per_second
        self._tokens = min(self._tokens, float(per_second))

    def wait(self, now: float) -> float:
        """Return how long to wait for the next connection; 0: it may come now."""
        if self._filled_at is not None:
            passed = now - self._filled_at
            if passed > 0.0:  # a clock that goes back takes nothing away
                self._tokens = min(self._tokens + passed * self._per_second, self._per_second)
        self._filled_at = now
        return 0.0 if self._tokens >= 1.0 else (1.0 - self._tokens) / self._per_second

    def consume(self) -> None:
        """Count a connection."""
        self._tokens -= 1
