"""Which clients exceeded a quota lately, so that nothing was read from a connection of theirs (KIP-219).

A member's connection tells that itself. One that has come by another connection since, and was throttled there before
it sent anything to its group, is known by its client id and address alone.
"""

from typing import Final

CLIENTS_KEPT: Final = 1_000
"""The clients that were throttled last. A client may choose any name."""


class ThrottledClients:
    """Client id and host → its last throttle time. Times are those of deadlines, in milliseconds."""

    def __init__(self) -> None:
        self._last: dict[tuple[str, str], tuple[int, int]] = {}

    def note(self, client_id: str, client_host: str, from_ms: int, until_ms: int) -> None:
        """Nothing is read from a connection of a client in this time."""
        self._last.pop((client_id, client_host), None)
        self._last[client_id, client_host] = from_ms, until_ms
        if len(self._last) > CLIENTS_KEPT:
            del self._last[next(iter(self._last))]

    def since(self, client_id: str, client_host: str, from_ms: int, until_ms: int) -> int:
        """For how many milliseconds the last throttle time of a client lasted, if it began in this time; else 0."""
        start_ms, end_ms = self._last.get((client_id, client_host), (0, 0))
        return 0 if start_ms < from_ms else max(0, min(end_ms, until_ms) - start_ms)

    def began(self, client_id: str, client_host: str) -> int | None:
        """When the last throttle time of a client began; None: none is known."""
        last = self._last.get((client_id, client_host))
        return None if last is None else last[0]


NO_THROTTLED_CLIENTS: Final = ThrottledClients()
