"""What is known to be told falsely still: each is a fault to mend, and is taken from here with that.

Tests require that exactly this is false, so nothing new is, and what has been mended is noticed.
"""

from typing import Final

RANDOM: Final[dict[int, frozenset[str]]] = {}
"""Seed → claims of its history that are false."""

HISTORIES: Final[dict[str, str]] = {
    "a static member commits, sends no heartbeat, and is restarted in an epoch": (
        "its partitions had an owner until its last commit, which the event of its replacement does not tell"
    ),
    "requests are refused that the network had held back": "one more was refused than is counted",
}
"""History → what is false of it."""
