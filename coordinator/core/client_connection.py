"""A connection of a client, as far as groups remember it."""


class ClientConnection:
    """A connection by which a client asks about groups. It is part of no group: the server closes it.

    Times are those of deadlines, in milliseconds.
    """

    __slots__ = ("closed_ms", "is_open")

    def __init__(self) -> None:
        self.is_open = True
        self.closed_ms: int | None = None
        """When it was seen that the client's side closed it; None: it is open, or the coordinator gave it up."""

    def close(self, closed_ms: int | None) -> None:
        self.is_open, self.closed_ms = False, closed_ms
