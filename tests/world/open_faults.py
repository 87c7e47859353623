"""What is known to be told falsely still: each is a fault to mend, and is taken from here with that.

Tests require that exactly this is false, so nothing new is, and what has been mended is noticed.
"""

from typing import Final

RANDOM: Final[dict[int, frozenset[str]]] = {}
"""Seed → claims of its history that are false."""

HISTORIES: Final[dict[str, str]] = {}
"""History → what is false of it."""
