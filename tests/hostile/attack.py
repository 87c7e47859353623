"""What an attack is, and how it is measured."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from tests.hostile.target import Harm, Target

Steps = Callable[[Target, float], Iterator[None]]
"""(target, scale): prepares, yields once, then attacks. `scale` 1 is the whole attack, less a smaller one."""


@dataclass(frozen=True, slots=True)
class Attack:
    """One way to do harm. `name` says how it is done."""

    name: str
    steps: Steps
    open_files_max: int | None = None
    """The limit on open files of the server; that of the attacker without it."""
    settings: Mapping[str, str] | None = None
    """Settings of the server beside those of all attacks."""

    def play(self, target: Target, scale: float) -> Harm:
        steps = self.steps(target, scale)
        next(steps)
        target.begin()
        for _ in steps:
            raise AssertionError(f"{self.name} prepares twice")
        return target.harm()
