"""An attack in a small form."""

from typing import Final

from tests.hostile.attack import Attack
from tests.hostile.target import MIB, Target

SCALE: Final = 0.02
MEMORY_AT_MOST: Final = 64 * MIB
MEMORY_PER_BYTE_AT_MOST: Final = 20


def check_small_form(attack: Attack, target: Target) -> None:
    """The server keeps its memory, and serves a victim beside it and after it."""
    harm = attack.play(target, SCALE)
    assert harm.memory_bytes < MEMORY_AT_MOST + MEMORY_PER_BYTE_AT_MOST * harm.sent_bytes
    assert "unhandled" not in target.logged
