"""Which lines are worth reading if only some groups are of interest: decided before anything is decoded."""

import json
import re
from collections.abc import Callable
from typing import Final

GROUPS_MAX: Final = 16
"""With more, each line is read."""
PLAIN: Final = re.compile(r"[\w .:@/-]+", re.ASCII)
"""Ids that look the same in each format of a log."""
NAMELESS: Final = (
    b"is fenced by",
    b"known static member",
    b"Static member which joins",
    b"Group leader [member",
    b"coordinator for partition",
    b"loading",
)
"""In lines that name no group."""


def line_filter(groups: frozenset[str] | None) -> Callable[[bytes], bool] | None:
    """A function that tells whether a line may concern one of the groups. None: each may."""
    if groups is None or len(groups) > GROUPS_MAX or not all(map(PLAIN.fullmatch, groups)):
        return None
    needles = tuple(sorted({json.dumps(group)[1:-1].encode() for group in groups}))

    def may_be_about(line: bytes) -> bool:
        return any(needle in line for needle in needles) or any(literal in line for literal in NAMELESS)

    return may_be_about
