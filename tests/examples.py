"""How many examples property tests try: one factor for all of them."""

import os
from typing import Final

FACTOR: Final = float(os.environ.get("EXAMPLES") or 1)
"""EXAMPLES in the environment: 0.5 where every minute counts, 10 at night."""


def examples(count: int) -> int:
    """What to try of `count` examples, at least one."""
    return max(1, round(count * FACTOR))
