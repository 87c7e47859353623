"""What an attack is, and how it is measured."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from tests.hostile.target import MIB, Harm, Target

Steps = Callable[[Any, float], Iterator[None]]
"""(target, scale): prepares, yields once, then attacks. `scale` 1 is the whole attack, less a smaller one."""
MEMORY_MAX: Final = 256 * MIB
"""Of attacks that come to no budget for all connections together."""
UNSENT_MEMORY_MAX: Final = (512 + 64 + 256) * MIB
"""`connections.max.unsent.bytes`, what is encoded meanwhile, and the response of an address that goes on whatever there
is: one of 64 MiB, with the buffer that it grows in."""
REQUESTS_MEMORY_MAX: Final = (512 + 64) * MIB
"""`queued.max.request.bytes`, and what is read of a request before it is counted."""


@dataclass(frozen=True, slots=True)
class Attack:
    """One way to do harm. `name` says how it is done."""

    name: str
    steps: Steps
    open_files_max: int | None = None
    """The limit on open files of the server; that of the attacker without it."""
    settings: Mapping[str, str] | None = None
    """Settings of the server beside those of all attacks."""
    target: type[Target] = Target
    memory_max: int = MEMORY_MAX
    """Bytes that the server may take during the whole attack (docs/security.md)."""

    def target_in(self, folder: Path) -> Target:
        """What is attacked, not started yet."""
        return self.target(folder, self.settings, self.open_files_max)

    def play(self, target: Target, scale: float) -> Harm:
        steps = self.steps(target, scale)
        next(steps)
        target.begin()
        for _ in steps:
            raise AssertionError(f"{self.name} prepares twice")
        return target.harm()
