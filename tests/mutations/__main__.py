"""Apply each mutant to a copy of the tree and report which test notices it (`make mutate`).

It is recorded first which lines each test executes. A mutant is tested with the tests that execute what it changes.
"""

import argparse
import os
import signal
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

from tests.mutations.anchors import AnchorError, Sources
from tests.mutations.changes import ROOT, all_changes
from tests.mutations.executed_lines import ExecutedLines
from tests.mutations.killers import Killers
from tests.mutations.rounds import TESTS
from tests.mutations.runner import BaselineError, Copies, MutantRunner

KILLERS: Final = Path(__file__).parent / "killers.json"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.mutations", description=__doc__)
    parser.add_argument("--only", default="", help="only mutants whose name, definition or file contains this")
    parser.add_argument("--tests", nargs="*", help="paths of the tests to run instead of the usual rounds")
    parser.add_argument("--new", action="store_true", help="only mutants that no test is known to notice")
    parser.add_argument(
        "--recording", type=Path, help="folder with what tests executed, of an earlier run with the same sources"
    )
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="mutants that are tested at once")
    chosen = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    rounds = (tuple(chosen.tests),) if chosen.tests else TESTS
    sources = Sources(ROOT)
    try:
        changes = [change for change in all_changes(sources) if any(chosen.only in name for name in change.names)]
    except AnchorError as error:
        print(error, file=sys.stderr)
        return 1
    killers = Killers(KILLERS)
    if chosen.new:
        changes = [change for change in changes if killers.test_of(change.mutant) is None]
    if not changes:
        print(f"no mutant's name, definition or file contains {chosen.only!r}", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder, ThreadPoolExecutor(chosen.jobs) as pool:
        runner = MutantRunner(Copies(Path(folder), chosen.jobs), rounds, killers, ExecutedLines(sources.texts))
        try:
            runner.record(pool, chosen.recording or Path(folder, "recording"))
        except BaselineError as error:
            print(f"the tests fail without a mutant: {error}", file=sys.stderr)
            return 1
        try:
            noticed = list(pool.map(runner.kill, changes))
        except BaseException:
            pool.shutdown(cancel_futures=True)  # only those that are being tested come to their end
            raise
    survived = [change for change, was_noticed in zip(changes, noticed, strict=True) if not was_noticed]
    print(f"{len(changes) - len(survived)} of {len(changes)} mutants were noticed")
    for change in survived:
        print(f"survived: {change.mutant.name} ({change.file})")
    return 1 if survived else 0


if __name__ == "__main__":
    sys.exit(main())
