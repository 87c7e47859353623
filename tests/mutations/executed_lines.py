"""Which tests execute the statement that a mutant changes, as recorded while they ran without one."""

import ast
import json
from pathlib import Path
from typing import Final

import coverage

LINES: Final = "lines"
"""The data file of coverage.py in the folder of a recording."""
SECONDS: Final = "seconds.json"
"""How long each test took, in the same folder."""


class ExecutedLines:
    """What tests of copies of the tree recorded (recording.py)."""

    def __init__(self) -> None:
        self._recordings: list[tuple[coverage.CoverageData, Path]] = []
        self._seconds: dict[str, float] = {}

    def add(self, folder: Path, root: Path) -> None:
        """Add the recording in a folder, of tests of the tree `root`."""
        self._seconds |= json.loads((folder / SECONDS).read_text(encoding="utf-8"))
        data = coverage.CoverageData(str(folder / LINES))
        data.read()
        self._recordings.append((data, root))

    def tests_of(self, file: str, before: str, after: str) -> list[str]:
        """The tests that execute what differs between two texts of `file`, the fastest first.

        None for an extension, which is not recorded, and for what is executed when its module is imported.
        """
        if not file.endswith(".py"):
            return []
        lines = statement_lines(before, *changed_lines(before, after))
        tests: set[str] = set()
        for data, root in self._recordings:
            by_line = data.contexts_by_lineno(str(root / file))
            tests.update(*(by_line.get(line, ()) for line in lines))
        return sorted(tests - {""}, key=lambda test: self._seconds[test])


def changed_lines(before: str, after: str) -> tuple[int, int]:
    """The first and the last line of `before`, from 1 on, that are others in `after`."""
    old, new = before.splitlines(), after.splitlines()
    first = 0
    while first < min(len(old), len(new)) and old[first] == new[first]:
        first += 1
    same_at_end = 0
    while same_at_end < min(len(old), len(new)) - first and old[-1 - same_at_end] == new[-1 - same_at_end]:
        same_at_end += 1
    return first + 1, max(first + 1, len(old) - same_at_end)


def statement_lines(text: str, first: int, last: int) -> range:
    """The lines of the innermost statement of a function that has all of these lines; none outside of functions."""
    found = range(0)

    def look_in(node: ast.AST, in_function: bool) -> None:
        nonlocal found
        for child in ast.iter_child_nodes(node):
            start, end = getattr(child, "lineno", 0), getattr(child, "end_lineno", 0)
            if not start:
                look_in(child, in_function)
            elif start <= first and last <= end:
                if in_function and isinstance(child, ast.stmt):
                    found = range(start, end + 1)
                look_in(child, in_function or isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef))

    look_in(ast.parse(text), in_function=False)
    return found
