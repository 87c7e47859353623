"""Finds the test that notices a mutant."""

import shutil
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from queue import SimpleQueue
from typing import Final

from tests.covering import Project
from tests.mutations.changes import ROOT, Change, applied, copy_tree
from tests.mutations.executed_lines import ExecutedLines, changed_lines, statement_lines
from tests.mutations.killers import Killers
from tests.mutations.pytest_runs import RunError, first_failure
from tests.mutations.uses import module_of

BASELINE_SECONDS: Final = 1_800
"""For a round without a mutant, while it is recorded what the tests execute."""
LEAST_SECONDS: Final = 60.0
"""For a round with a mutant, however short it is without."""
SLOWDOWN: Final = 3
"""With a mutant a round has this times what the longest one takes without: a mutant may also make everything slow."""
FIRST_TESTS: Final = 40
"""So many tests that execute the changed statement are run first, the fastest ones; then the others."""
NEAREST_MAX: Final = 15
"""So many test files that cover the file of a mutant are run before all others that execute what it changes."""
PROJECT: Final = Project(ROOT)


class BaselineError(Exception):
    """A round of tests fails, or does not end, without a mutant."""


class Copies:
    """Copies of the tree. In each one mutant is tested at a time."""

    def __init__(self, folder: Path, count: int) -> None:
        self._free: SimpleQueue[Path] = SimpleQueue()
        for number in range(count):
            copy = folder / str(number)
            copy_tree(copy)
            self._free.put(copy)

    @contextmanager
    def one(self) -> Iterator[Path]:
        copy = self._free.get()
        try:
            yield copy
        finally:
            self._free.put(copy)


def is_recorded(change: Change) -> bool:
    """Whether it is recorded which tests execute what is changed, and not only which ones use it."""
    if not change.file.endswith(".py"):
        return False
    return bool(statement_lines(change.before, *changed_lines(change.before, change.after)))


class MutantRunner:
    """Tests mutants: first the test that noticed it last, then those that execute it, then all in rounds."""

    def __init__(
        self, copies: Copies, rounds: Sequence[Sequence[str]], killers: Killers, executed: ExecutedLines
    ) -> None:
        self._copies = copies
        self._rounds = rounds
        self._killers = killers
        self._executed = executed
        self._seconds = LEAST_SECONDS

    def record(self, pool: Executor, folder: Path) -> None:
        """Run all rounds without a mutant, and record what each test executes.

        Raises:
            BaselineError: a round fails, or does not end.
        """
        recordings = [folder / str(number) for number in range(len(self._rounds))]
        list(pool.map(self._record, self._rounds, recordings))

    def _record(self, tests: Sequence[str], recording: Path) -> None:
        if not recording.exists():
            recording.mkdir(parents=True)
            with self._copies.one() as copy:
                if failure := first_failure(copy, tests, BASELINE_SECONDS, recording):
                    shutil.rmtree(recording)
                    raise BaselineError(failure)
        self._seconds = max(self._seconds, SLOWDOWN * self._executed.add(recording))

    def kill(self, change: Change) -> bool:
        """Whether a test fails with the mutant."""
        began = time.monotonic()
        with self._copies.one() as copy, applied(change, copy):
            killer = self._known_killer(change, copy) or self._first_killer(change, copy)
        print(f"{time.monotonic() - began:5.1f} s  {change.mutant.name}: {killer or 'SURVIVED'}", flush=True)
        self._killers.remember(change.mutant, killer or "")
        return killer is not None

    def _known_killer(self, change: Change, copy: Path) -> str | None:
        """The test that noticed it last, if it does so again."""
        test = self._killers.test_of(change.mutant)
        if test is None:
            return None
        try:
            return first_failure(copy, (test,), self._seconds) and test
        except RunError:
            return None  # it was renamed

    def _first_killer(self, change: Change, copy: Path) -> str | None:
        for tests in filter(None, self._tests_for(change)):
            try:
                killer = first_failure(copy, tests, self._seconds)
            except RunError:
                if tests in self._rounds:
                    raise
                continue  # with the mutant a test has another name; the rounds have it, too
            if killer is not None:
                return killer
        return None

    def _tests_for(self, change: Change) -> Iterator[Sequence[str]]:
        executing = self._executed.tests_of(change.file, change.after)
        nearest = self._nearest(change.file)
        first = FIRST_TESTS if is_recorded(change) else 0
        yield executing[:first]
        yield nearest
        yield executing[first:]
        # What a server executes in a process of its own is not recorded.
        yield from sorted(self._rounds, key=lambda paths: not any(each.startswith(tuple(paths)) for each in nearest))

    def _nearest(self, file: str) -> Sequence[str]:
        """The test files of the rounds that cover `file`: first those that import it, then the nearest."""
        paths = [path for tests in self._rounds for path in tests]
        nearest = [test for test in PROJECT.tests_of([file]) if any(test.startswith(path) for path in paths)]
        nearest.sort(key=lambda each: module_of(file) not in PROJECT.imports_of(PurePosixPath(each)))
        return nearest[:NEAREST_MAX]
