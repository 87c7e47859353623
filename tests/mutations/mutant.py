"""One way to break the coordinator."""

from typing import NamedTuple


class Mutant(NamedTuple):
    """In `file`, `old` (which stands there once) becomes `new`."""

    name: str
    file: str
    old: str
    new: str
