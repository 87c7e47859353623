"""Apply each mutant to a copy of the tree and report which test notices it (`make mutate`)."""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from queue import SimpleQueue
from typing import Final, NamedTuple

import pytest

from tests.covering import Project
from tests.mutations.anchors import AnchorError, Sources
from tests.mutations.mutant import Mutant
from tests.mutations.mutants import MUTANTS

ROOT: Final = Path(__file__).parents[2]
COPIED: Final = ("_wire", "coordinator", "docs", "tests", "pyproject.toml")
LEFT_OUT: Final = shutil.ignore_patterns("__pycache__", "*.c", "*.o")
CONNECTIONS: Final = ("slow_peers", "connection_rate", "descriptors", "rejection_log", "limits", "acceptor", "watchdog")
TESTS: Final = (
    (
        *("tests/core", "tests/runtime", "tests/groups", "tests/audit", "tests/server/handlers"),
        "--ignore=tests/core/assignors",
    ),
    ("tests/simulation/test_histories.py",),
    ("tests/transactions", "tests/test_patterns.py"),
    ("tests/log", "tests/explain"),
    tuple(f"tests/server/test_{each}.py" for each in CONNECTIONS),
    ("tests/faults", "tests/testing", *(f"--ignore=tests/testing/{each}.py" for each in ("test_plugin", "test_http"))),
    (
        "tests/broker/test_append_notifier.py",
        "tests/broker/test_fetch_service.py",
        "tests/broker/test_log_cleaner.py",
        "tests/broker/test_retention.py",
        "tests/runtime/test_slices.py",
        "tests/broker/test_topics_service.py",
        "tests/server/test_bounds.py",
        "tests/broker/test_produce_rules.py",
        "tests/broker/test_produce_service.py",
        "tests/broker/test_recompression.py",
        "tests/broker/test_recompression_threads.py",
        "tests/broker/test_producers.py",
        "tests/wire/test_batch_validator.py",
        "tests/wire/test_compressed_frames.py",
        "tests/wire/test_snappy.py",
    ),
    (
        "tests/broker/test_directory_assignment.py",
        "tests/broker/test_directory_failures.py",
        "tests/broker/test_replica_moves.py",
        "tests/broker/test_replica_moves_crash.py",
        "tests/server/test_failing_log_dir.py",
    ),
    ("tests/quotas", *(f"tests/server/test_{each}.py" for each in ("throttling", "request_chain", "principals"))),
    ("tests/security/acls", "tests/server/test_denial_log.py", "tests/server/handlers/test_acls.py"),
    ("tests/server/test_authorization.py", "tests/differential/acls"),
    ("tests/metadata", "tests/kafka_folder", "tests/server/test_metadata_commits.py"),
    (
        *(
            "tests/config",
            "tests/security/tls",
            "tests/test_http_login.py",
            "tests/server/handlers/test_broker_configs.py",
        ),
        *("tests/server/test_listeners.py", "tests/server/test_tls_listeners.py"),
        *(f"tests/server/test_{each}.py" for each in ("tls_transport", "tls", "tls_handshakes")),
    ),
    (
        *(f"tests/cluster/{each}" for each in ("log", "nodes", "handlers", "rights", "sentinels")),
        *("tests/cluster/test_leads.py", "tests/cluster/test_lease_checks.py"),
    ),
    ("tests/cluster/simulation",),
    ("tests/security/sasl", "tests/server/test_logins.py", "tests/differential/logins"),
)
"""Fast ones first: the next round runs only for a mutant that no test of this one notices."""
TEST_SECONDS: Final = 60
"""For one test: a mutant that never ends is noticed too."""
BASELINE_SECONDS: Final = 900
"""For a round without a mutant."""
SLOWDOWN: Final = 3
"""With a mutant a round has this times what the longest one takes without: a mutant may also make everything slow."""
NEAREST_MAX: Final = 15
"""So many test files that cover the file of a mutant make the first round."""
PROJECT: Final = Project(ROOT)
KILLERS: Final = Path(__file__).parent / "killers.json"
"""Name of a mutant → the test that noticed it in an earlier run, which is tried first."""


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.mutations", description=__doc__)
    parser.add_argument("--only", default="", help="only mutants whose name, definition or file contains this")
    parser.add_argument("--tests", nargs="*", help="paths of the tests to run instead of the usual rounds")
    parser.add_argument("--new", action="store_true", help="only mutants that no test is known to notice")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="mutants that are tested at once")
    chosen = parser.parse_args()
    rounds = (tuple(chosen.tests),) if chosen.tests else TESTS
    try:
        changes = [change for change in all_changes() if any(chosen.only in each for each in change.names)]
    except AnchorError as error:
        print(error, file=sys.stderr)
        return 1
    killers = Killers(KILLERS)
    if chosen.new:
        changes = [change for change in changes if not killers.knows(change)]
    if not changes:
        print(f"no mutant's name, definition or file contains {chosen.only!r}", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder, ThreadPoolExecutor(chosen.jobs) as pool:
        copies: SimpleQueue[Path] = SimpleQueue()
        for number in range(chosen.jobs):
            copy = Path(folder, str(number))
            copy_tree(copy)
            copies.put(copy)
        try:
            round_seconds = SLOWDOWN * longest_round_seconds(copy, rounds)
        except BaselineError as error:
            print(f"the tests fail without a mutant: {error}", file=sys.stderr)
            return 1
        runner = MutantRunner(copies, rounds, round_seconds, killers)
        noticed = list(pool.map(runner.kill, changes))
    survived = [change for change, was_noticed in zip(changes, noticed, strict=True) if not was_noticed]
    print(f"{len(changes) - len(survived)} of {len(changes)} mutants were noticed")
    for change in survived:
        print(f"survived: {change.mutant.name} ({change.file})")
    return 1 if survived else 0


class Change(NamedTuple):
    """A mutant, and the text of `file` with and without it."""

    mutant: Mutant
    file: str
    before: str
    after: str

    @property
    def names(self) -> tuple[str, ...]:
        return self.mutant.name, self.mutant.scope, self.file


def all_changes() -> list[Change]:
    """One for each mutant.

    Raises:
        AnchorError: a mutant cannot be made.
    """
    sources = Sources(ROOT)
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


class BaselineError(Exception):
    """A round of tests fails, or does not end, without a mutant."""


def longest_round_seconds(copy: Path, rounds: tuple[tuple[str, ...], ...]) -> float:
    """
    Raises:
        BaselineError: a round fails, or does not end.
    """
    seconds = []
    for tests in rounds:
        began = time.monotonic()
        if problem := first_failure(copy, (tests,), BASELINE_SECONDS):
            raise BaselineError(problem)
        seconds.append(time.monotonic() - began)
    return max(seconds)


class Killers:
    """Which test noticed which mutant, kept in a file from run to run."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._tests: dict[str, str] = json.loads(path.read_text(encoding="utf-8"))
        self._lock = threading.Lock()

    def knows(self, change: Change) -> bool:
        return change.mutant.name in self._tests

    def test_of(self, change: Change) -> str | None:
        return self._tests.get(change.mutant.name)

    def remember(self, change: Change, test: str) -> None:
        if "::" not in test or self._tests.get(change.mutant.name) == test:
            return
        with self._lock:
            self._tests[change.mutant.name] = test
            text = json.dumps(self._tests, indent=1, sort_keys=True, ensure_ascii=False)
            self._path.write_text(text + "\n", encoding="utf-8")


class MutantRunner:
    """Tests mutants, each in a copy that no other mutant is tested in meanwhile."""

    def __init__(
        self, copies: SimpleQueue[Path], rounds: tuple[tuple[str, ...], ...], round_seconds: float, killers: Killers
    ) -> None:
        self._copies = copies
        self._rounds = rounds
        self._round_seconds = round_seconds
        self._killers = killers

    def kill(self, change: Change) -> bool:
        """Whether a test fails with the mutant."""
        copy = self._copies.get()
        began = time.monotonic()
        try:
            with applied(change, copy):
                killer = self._known_killer(change, copy) or first_failure(
                    copy, nearest_first(self._rounds, change.file), self._round_seconds
                )
        finally:
            self._copies.put(copy)
        print(f"{time.monotonic() - began:5.1f} s  {change.mutant.name}: {killer or 'SURVIVED'}", flush=True)
        self._killers.remember(change, killer or "")
        return killer is not None

    def _known_killer(self, change: Change, copy: Path) -> str | None:
        """The test that noticed it last, if it does so again."""
        test = self._killers.test_of(change)
        if test is None:
            return None
        try:
            # One that was renamed is a usage error to pytest, and notices nothing.
            has_failed = run_tests(copy, (test,), self._round_seconds).returncode == pytest.ExitCode.TESTS_FAILED
        except subprocess.TimeoutExpired:
            has_failed = True
        return test if has_failed else None


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


def nearest_first(rounds: tuple[tuple[str, ...], ...], file: str) -> tuple[tuple[str, ...], ...]:
    """The rounds, after one of the test files in them that are nearest to `file`."""
    folders = [path for tests in rounds for path in tests]
    covering = [each for each in PROJECT.tests_of([file]) if any(each.startswith(path) for path in folders)]
    nearest = tuple(covering[:NEAREST_MAX])
    return (nearest, *rounds) if nearest else rounds


def first_failure(copy: Path, rounds: tuple[tuple[str, ...], ...], round_seconds: float) -> str | None:
    """The name of a test that fails."""
    for tests in rounds:
        try:
            done = run_tests(copy, tests, round_seconds)
        except subprocess.TimeoutExpired:
            return f"no end of {' '.join(tests)}"
        if done.returncode:
            failed = re.search(r"^(?:FAILED|ERROR) (\S+)", done.stdout, re.MULTILINE)
            return failed[1] if failed else done.stdout[-500:] + done.stderr[-500:]
    return None


def run_tests(copy: Path, tests: tuple[str, ...], round_seconds: float) -> subprocess.CompletedProcess[str]:
    """Run tests until the first one that fails.

    Raises:
        TimeoutExpired: they do not end within `round_seconds`.
    """
    options = ("-x", "-q", "-p", "no:cacheprovider", f"--timeout={TEST_SECONDS}")
    command = [sys.executable, "-m", "pytest", *options, *tests]
    # Byte code is looked up by the time and size of its source, which two mutants may share.
    environment = os.environ | {"PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(
        command, cwd=copy, env=environment, capture_output=True, text=True, timeout=round_seconds, check=False
    )


if __name__ == "__main__":
    sys.exit(main())
