"""Which tests execute the statement that a mutant changes, as recorded while they ran without one."""

import ast
import json
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

import coverage

from tests.mutations.uses import Uses

LINES: Final = "lines"
"""The data file of coverage.py in the folder of a recording."""
RUN: Final = "run.json"
"""In the same folder: `root`, the tree that the tests ran in, and `seconds`, which each of them took."""


class ExecutedLines:
    """What tests of copies of the tree recorded (recording.py)."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        """`texts` has the sources that may be changed: file, a path from the root of the tree → text."""
        self._texts = texts
        self._recordings: list[tuple[coverage.CoverageData, Path]] = []
        self._seconds: dict[str, float] = {}

    def add(self, folder: Path) -> float:
        """Add the recording in a folder; how long its tests took, in seconds."""
        run = json.loads((folder / RUN).read_text(encoding="utf-8"))
        self._seconds |= run["seconds"]
        data = coverage.CoverageData(str(folder / LINES))
        data.read()
        self._recordings.append((data, Path(run["root"])))
        return float(sum(run["seconds"].values()))

    def tests_of(self, file: str, after: str) -> list[str]:
        """The tests that execute what is changed when `file` gets the text `after`, the fastest first.

        What is in an extension, or executed when its module is imported, is not recorded: those that execute a line
        that uses it.
        """
        lines: dict[str, set[int]] = defaultdict(set)
        for user, line in self._lines(file, after):
            lines[user].add(line)
        tests = {test for each, numbers in lines.items() for test in self._executing(each, numbers)}
        return sorted(tests - {""}, key=lambda test: self._seconds[test])

    def _lines(self, file: str, after: str) -> Iterator[tuple[str, int]]:
        if not file.endswith(".py"):
            yield from Uses(file, self._texts).lines()
            return
        before = self._texts[file]
        changed = changed_lines(before, after)
        if executed := statement_lines(before, *changed):
            yield from ((file, line) for line in executed)
        else:
            yield from Uses(file, self._texts, names_at(before, changed[0])).lines()

    def _executing(self, file: str, lines: set[int]) -> Iterator[str]:
        for data, root in self._recordings:
            by_line = data.contexts_by_lineno(str(root / file))
            for line in lines:
                yield from by_line.get(line, ())


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


def names_at(text: str, line: int) -> list[str]:
    """The names of the module that the statement at `line` defines: of a class, of functions, of variables."""
    names: list[str] = []
    for statement in ast.parse(text).body:
        if statement.lineno <= line <= (statement.end_lineno or 0):
            if isinstance(statement, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                names.append(statement.name)
            elif isinstance(statement, ast.Assign | ast.AnnAssign):
                targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
                names += [each.id for target in targets for each in ast.walk(target) if isinstance(each, ast.Name)]
    return names


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
