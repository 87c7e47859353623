"""What is known to be told falsely still: each is a fault to mend, and is taken from here with that.

Tests require that exactly this is false, so nothing new is, and what has been mended is noticed.
"""

from typing import Final

RANDOM: Final[dict[int, frozenset[str]]] = {
    89401105: frozenset({"Caused"}),
    89408305: frozenset({"EventsMissing"}),
    89419855: frozenset({"Muted"}),
    89420200: frozenset({"StandsStill stands_still"}),
    89421233: frozenset({"CoordinatorAway led"}),
    89428609: frozenset({"Moved"}),
    89429581: frozenset({"Moved"}),
}
"""Seed → claims of its history that are false: all of 37,647 histories, 89400000 and the following."""

HISTORIES: Final[dict[str, str]] = {
    "a static member commits, sends no heartbeat, and is restarted in an epoch": (
        "its partitions had an owner until its last commit, which the event of its replacement does not tell"
    ),
    "requests are refused that the network had held back": "one more was refused than is counted",
}
"""History → what is false of it."""
