"""The changes that mutants make to a tree, and copies of it to make them in."""

import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NamedTuple

from tests.mutations.anchors import Sources
from tests.mutations.mutant import Mutant
from tests.mutations.mutants import MUTANTS

ROOT: Final = Path(__file__).parents[2]
COPIED: Final = ("_wire", "coordinator", "docs", "tests", "pyproject.toml")
LEFT_OUT: Final = shutil.ignore_patterns("__pycache__", "*.c", "*.o")


class Change(NamedTuple):
    """A mutant, and the text of `file` with and without it."""

    mutant: Mutant
    file: str
    before: str
    after: str

    @property
    def names(self) -> tuple[str, ...]:
        return self.mutant.name, self.mutant.scope, self.file


def all_changes(sources: Sources) -> list[Change]:
    """One for each mutant.

    Raises:
        AnchorError: a mutant cannot be made.
    """
    mutated = [(mutant, *sources.mutate(mutant)) for mutant in MUTANTS]
    return [Change(mutant, file, sources.texts[file], text) for mutant, file, text in mutated]


def copy_tree(copy: Path) -> None:
    """Copy only what is imported, with the compiled extensions."""
    for name in COPIED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, copy / name, ignore=LEFT_OUT)
        else:
            shutil.copy(source, copy / name)


@contextmanager
def applied(change: Change, copy: Path) -> Iterator[None]:
    """With the mutant in the copy, compiled if it has to be."""
    path = copy / change.file
    extensions = {each: each.read_bytes() for each in path.parent.glob(f"{path.stem}.*.so") if path.suffix == ".pyx"}
    path.write_text(change.after, encoding="utf-8")
    try:
        if extensions:
            compile_again = [sys.executable, "-m", "tests.mutations.compile", change.file]
            subprocess.run(compile_again, cwd=copy, check=True, capture_output=True)
        yield
    finally:
        path.write_text(change.before, encoding="utf-8")
        for extension, compiled in extensions.items():
            extension.write_bytes(compiled)
