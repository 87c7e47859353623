"""Where something about a group was seen."""

from enum import StrEnum

import msgspec


class Source(StrEnum):
    """What told it."""

    RECORD = "record"
    """A record of `__consumer_offsets`, which no client can forge."""
    BROKER_LOG = "broker_log"
    """A line of a broker's log. Client and group ids are written there as they are, so a client can forge lines."""
    CLIENT_LOG = "client_log"
    POLL = "poll"
    """An answer of an admin API: how things were at that time."""


class Place(msgspec.Struct, frozen=True, gc=False):
    """One place. `name` is a file, a partition such as `__consumer_offsets-12`, or the API that was asked.

    `position` is the line, counted from 1, or the offset; None: it has none. `time_ms` is wall-clock time in ms since
    the epoch, as the source tells it: a line without a zone is read in the zone of its file.
    """

    source: Source
    name: str
    time_ms: int
    position: int | None = None
    broker_id: int | None = None

    def __str__(self) -> str:
        return self.name if self.position is None else f"{self.name}:{self.position}"
