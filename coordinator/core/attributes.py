"""Properties that are no functions in Python, for what each event about a member or a group reads several times."""

from operator import attrgetter
from typing import Any


def attribute(path: str) -> Any:
    """A property with the value that `path` (names joined by dots) leads to from its object."""
    return property(attrgetter(path))
