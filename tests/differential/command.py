"""What the commands that play histories have in common: their arguments, what they print, and how they exit."""

import argparse
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Protocol, TypeVar

from tests.differential.kafka import KafkaMissing


class Played(Protocol):
    """A history that was played on both sides."""

    difference: str

    def text(self) -> str:
        """As the command can play it again."""


P = TypeVar("P", bound=Played)


def arguments_of(prog: str, description: str | None, histories: int) -> argparse.ArgumentParser:
    """The arguments of all of them; `histories` is how many are played by default."""
    parser = argparse.ArgumentParser(prog=prog, description=description)
    parser.add_argument("--histories", type=int, default=histories, help=f"how many ({histories})")
    parser.add_argument("--seed", type=int, default=1, help="the first one's seed (1); the others follow")
    parser.add_argument("--record", type=int, default=0, metavar="N", help="keep N of them for `make test`")
    parser.add_argument("--play", type=Path, metavar="FILE", help="the history in FILE instead, as a run printed it")
    return parser


def tell(
    play: Callable[[], Sequence[P]],
    report: Callable[[Sequence[P]], Iterable[str]],
    *,
    recorded: int,
    choose: Callable[[Sequence[P], int], Sequence[P]],
    write: Callable[[Sequence[P]], None],
) -> int:
    """Play, and print the differences and the `report`; return the exit code.

    If some are to be `recorded`, they are chosen and written.
    """
    began = time.monotonic()
    try:
        histories = play()
    except KafkaMissing as missing:
        print(missing, file=sys.stderr)
        return 2
    if recorded:
        kept = choose(histories, recorded)
        write(kept)
        print(f"{len(kept)} histories recorded")
    for history in histories:
        if history.difference:
            print(f"\nDIFFERENCE (Kafka ≠ ours): {history.difference}\n{history.text()}")
    print()
    print("\n".join(report(histories)))
    print(f"{time.monotonic() - began:.0f} s")
    return 1 if any(history.difference for history in histories) else 0
