"""What is known to be told falsely still: each is a fault to mend, and is taken from here with that.

Tests require that exactly this is false, so nothing new is, and what has been mended is noticed.
"""

from typing import Final

RANDOM: Final[dict[int, frozenset[str]]] = {
    39: frozenset({"Advice stickier_assignor"}),
    82: frozenset({"Refused"}),
    100: frozenset({"InProgress"}),
    135: frozenset({"ConnectionClosed"}),
    154: frozenset({"Advice session_for_restarts"}),
    166: frozenset({"Advice session_for_restarts"}),
    230: frozenset({"Unowned"}),
    295: frozenset({"Advice session_for_restarts"}),
    322: frozenset({"Unowned"}),
    384: frozenset({"Unowned"}),
}
"""Seed → claims of its history that are false."""

HISTORIES: Final[dict[str, str]] = {
    "members are restarted while the coordinator stands still": "members that join again, all in one iteration after a"
    " pause of the coordinator, are taken for a rolling restart",
    "the disk is full when a member dies": "a session that begins again with a load is told to begin with the start",
}
"""History → what is false of it."""
