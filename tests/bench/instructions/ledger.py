"""The figures that are kept, so that what a change costs is seen: `instructions.toml`."""

import json
import platform
import subprocess
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import msgspec

FILE: Final = Path(__file__).parent / "instructions.toml"
SPREAD: Final = 0.02
"""A figure that is above what is kept by more than this fraction is one that somebody has to justify."""
LESS: Final = 0.97
"""One that is below by more: what is kept can be lowered."""
HEAD: Final = """\
# Instructions of the event loop for what is named, in user space, with default settings and log level, by
# `make bench-instructions`, the middle of three. CI counts them again, and fails if one is 2 % above, or more than its
# `spread` if counts of the same code lie farther apart. Whoever raises one says why in `why`.
"""


class Kept(msgspec.Struct, forbid_unknown_fields=True):
    instructions: int
    why: str = ""
    """Why it was raised."""
    spread: float = SPREAD
    """How far above counts of the same code may lie, as a fraction."""


class Ledger(msgspec.Struct, forbid_unknown_fields=True):
    built_with: str
    """What they were counted with (`built_with`); others take other numbers."""
    figures: dict[str, Kept]


def built_with() -> str:
    """Python, C library and compiler of this machine."""
    compiler = subprocess.run(["cc", "-dumpfullversion"], stdout=subprocess.PIPE, text=True, check=False).stdout.strip()
    python = sys.version.split()[0]
    return f"Python {python}, {' '.join(platform.libc_ver())}, cc {compiler or 'unknown'}, {platform.machine()}"


def kept() -> Ledger:
    return msgspec.convert(tomllib.loads(FILE.read_text()), Ledger)


def risen(ledger: Ledger, counted: Mapping[str, float]) -> dict[str, str]:
    """A line for each figure that has risen, or that is not kept, by its name."""
    found = {}
    for name, figure in counted.items():
        before = ledger.figures.get(name)
        if before is None:
            found[name] = f"{name}: {figure:,.0f}, and nothing is kept"
        elif figure > before.instructions * (1 + before.spread):
            more = figure / before.instructions - 1
            found[name] = f"{name}: {figure:,.0f} in place of {before.instructions:,} ({more:+.1%})"
    return found


def savings(ledger: Ledger, counted: Mapping[str, float]) -> list[str]:
    """A line for each figure that can be lowered."""
    pairs = [
        (name, figure, ledger.figures[name].instructions) for name, figure in counted.items() if name in ledger.figures
    ]
    return [
        f"{name}: {figure:,.0f} in place of {before:,} ({figure / before - 1:+.1%}); lower what is kept"
        for name, figure, before in pairs
        if figure < before * LESS - before * (ledger.figures[name].spread - SPREAD)
    ]


def text_of(ledger: Ledger) -> str:
    """The file of a ledger."""
    lines = [HEAD, f'built_with = "{ledger.built_with}"', ""]
    for name, figure in ledger.figures.items():
        lines += [f'[figures."{name}"]', f"instructions = {figure.instructions:_}"]
        lines += [f"spread = {figure.spread}"] if figure.spread != SPREAD else []
        lines += [f"why = {json.dumps(figure.why)}"] if figure.why else []
        lines.append("")
    return "\n".join(lines)


def updated(ledger: Ledger, counted: Mapping[str, float]) -> Ledger:
    """With what was counted now; reasons and spreads stay."""
    figures = dict(ledger.figures)
    for name, figure in counted.items():
        before = figures.get(name, Kept(0))
        figures[name] = Kept(round(figure), before.why, before.spread)
    return Ledger(built_with=built_with(), figures=figures)
