"""How long to wait before something is tried again."""

from typing import Final

FIRST_SECONDS: Final = 0.02
MAX_SECONDS: Final = 1.0


class Backoff:
    """Doubles with each try, up to a second (Kafka's clients: retry.backoff.ms and retry.backoff.max.ms)."""

    def __init__(self) -> None:
        self.tries = 0

    def next_seconds(self) -> float:
        """How long to wait before the next try."""
        self.tries += 1
        return min(FIRST_SECONDS * float(1 << min(self.tries - 1, 10)), MAX_SECONDS)
