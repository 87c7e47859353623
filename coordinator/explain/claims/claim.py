"""What all claims have: their evidence, and how it is known."""

from enum import StrEnum

import msgspec


class Known(StrEnum):
    """How a claim is known."""

    SEEN = "seen"
    """An event says so."""
    DERIVED = "derived"
    """It follows from several events, or from what is between them."""
    UNKNOWN = "unknown"
    """The events do not tell it: the claim says what is not known."""


class Evidence(msgspec.Struct, frozen=True):
    """What a claim rests on: the `seq` of events of the group, as far as they were kept."""

    known: Known
    events: tuple[int, ...] = ()


SEEN = Evidence(Known.SEEN)
DERIVED = Evidence(Known.DERIVED)
UNKNOWN = Evidence(Known.UNKNOWN)


class Claim(msgspec.Struct, frozen=True, kw_only=True, tag=True, tag_field="claim"):
    """Something that is said about a group. Times are wall-clock ms since the epoch.

    The docstring of each claim says when it is true: the checkers of `tests/world` decide it by these words.
    """

    evidence: Evidence = DERIVED

    @property
    def is_known(self) -> bool:
        return self.evidence.known is not Known.UNKNOWN


def seen(*events: int | None) -> Evidence:
    """The evidence of a claim that these events state."""
    return Evidence(Known.SEEN, tuple(event for event in events if event is not None))


def derived(*events: int | None) -> Evidence:
    """The evidence of a claim that follows from these events."""
    return Evidence(Known.DERIVED, tuple(event for event in events if event is not None))


def unknown(*events: int | None) -> Evidence:
    """The evidence that there is of what is not known."""
    return Evidence(Known.UNKNOWN, tuple(event for event in events if event is not None))
