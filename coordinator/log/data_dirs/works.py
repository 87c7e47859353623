"""Work on several log directories, of which one that fails does not keep the others from theirs."""

from collections.abc import Callable, Sequence
from pathlib import Path


def naming(root: Path, work: Callable[[], None]) -> Callable[[], None]:
    """Let an OSError that names no file name the directory: the error of a write to an open file does not."""

    def run() -> None:
        try:
            work()
        except OSError as problem:
            if problem.filename is not None:
                raise
            raise OSError(problem.errno, problem.strerror, str(root)) from problem

    return run


def all_of(works: Sequence[Callable[[], object]]) -> Callable[[], None]:
    """Return a function that calls all, and then raises what the first one that failed has raised."""

    def run() -> None:
        failed: Exception | None = None
        for work in works:
            try:
                work()
            except Exception as problem:
                failed = failed or problem
        if failed is not None:
            raise failed

    return run
