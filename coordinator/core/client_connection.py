"""A connection of a client, as far as groups remember it."""

from typing import Final

import msgspec

DENIALS_APART_MS: Final = 60_000
"""Denials that are further apart do not belong together."""


class Denials(msgspec.Struct):
    """Requests of a client that the authorizer refused, one after the other. Times are those of deadlines, in ms."""

    api: str
    operation: str
    resource_type: str
    resource_name: str
    first_ms: int
    last_ms: int
    count: int = 1


class ClientConnection:
    """A connection by which a client asks about groups. It is part of no group: the server closes it.

    Times are those of deadlines, in milliseconds.
    """

    __slots__ = ("closed_ms", "denials", "is_open", "muted_from_ms", "muted_until_ms")

    def __init__(self) -> None:
        self.is_open = True
        self.closed_ms: int | None = None
        """When it was seen that the client's side closed it; None: it is open, or the coordinator gave it up."""
        self.denials: Denials | None = None
        """The last requests of it that were refused because a right on a group is missing."""
        self.muted_from_ms = self.muted_until_ms = 0
        """The last throttle time, in which nothing was read from it; 0: there was none."""

    def close(self, closed_ms: int | None) -> None:
        self.is_open, self.closed_ms = False, closed_ms

    def deny(self, api: str, operation: str, resource_type: str, resource_name: str, now_ms: int) -> None:
        """A request of it was refused."""
        known = self.denials
        same = known is not None and (known.operation, known.resource_name) == (operation, resource_name)
        if known is None or not same or now_ms - known.last_ms > DENIALS_APART_MS:
            self.denials = Denials(api, operation, resource_type, resource_name, now_ms, now_ms)
        else:
            known.last_ms = now_ms
            known.count += 1

    def mute(self, from_ms: int, until_ms: int) -> None:
        """Nothing is read from it in this time (KIP-219). Throttle times that follow each other are one."""
        if from_ms > self.muted_until_ms:
            self.muted_from_ms = from_ms
        self.muted_until_ms = until_ms
