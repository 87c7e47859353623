"""What all connections of the relay hold together: what is read whole, and answers that wait."""

from typing import Final, Protocol

HELD_BYTES_MAX: Final = 256 << 20
"""Sixteen of the largest collected requests."""


class Holder(Protocol):
    """A connection."""

    def abort(self, reason: str) -> None:
        """Close it at once because of `reason`, which is logged."""


class HeldBytes:
    """A budget. Above it the connection that holds the most is closed, as at the listeners of a server: stopping to
    read would let a few clients that send or read nothing more keep all others waiting."""

    def __init__(self, most: int = HELD_BYTES_MAX) -> None:
        self._most = most
        self._held: dict[Holder, int] = {}
        self.sum_bytes = 0

    def hold(self, holder: Holder, size_bytes: int) -> None:
        """The connection holds so many bytes from now on."""
        self.sum_bytes += size_bytes - self._held.pop(holder, 0)
        if size_bytes:
            self._held[holder] = size_bytes
        while self.sum_bytes > self._most:
            largest = max(self._held, key=self._held.__getitem__)
            self.sum_bytes -= self._held.pop(largest)
            largest.abort("all connections of the relay together hold too many bytes, and this one the most")
