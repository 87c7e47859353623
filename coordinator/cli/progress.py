"""The progress of commands that read or copy much."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

import click

BAR_STEPS: Final = 200
UNITS: Final = ("bytes", "KiB", "MiB", "GiB", "TiB")


@contextmanager
def progress_bar(label: str, size_bytes: int) -> Iterator[Callable[[int], None]]:
    """Show on a terminal how much is done. What is entered is called with the bytes since the last call."""
    with click.progressbar(
        length=size_bytes,
        label=label,
        file=sys.stderr,
        hidden=not sys.stderr.isatty(),
        update_min_steps=max(1, size_bytes // BAR_STEPS),
    ) as bar:
        yield bar.update


def sized(count: int) -> str:
    """Bytes as people read them: 1536 → 1.5 KiB."""
    size, unit = float(count), 0
    while size >= 1024 and unit < len(UNITS) - 1:
        size, unit = size / 1024, unit + 1
    return f"{count} bytes" if unit == 0 else f"{size:.1f} {UNITS[unit]}"
