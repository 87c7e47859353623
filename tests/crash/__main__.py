"""Kill a server at random moments under load, start it again, and look for all that it acknowledged (`make crash`).

    python -m tests.crash [--runs 300] [--seed N] [--folder DIR]

Each run starts the server on the data of the run before, checks, works for a moment, and ends it: mostly with `kill -9`
under load, sometimes while it starts, or by a clean stop. What every worker checks is said in tests/crash/workers.py.
"""

import argparse
import random
import sys
import tempfile
import time
from pathlib import Path

from tests.crash.runs import CrashRuns


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.crash", description=__doc__)
    parser.add_argument("--runs", type=int, default=300, help="starts of the server (default 300)")
    parser.add_argument("--seed", type=int, default=None, help="of the moments of the kills; a random one by default")
    parser.add_argument(
        "--folder", type=Path, default=None, help="an existing directory that is kept; by default one that is removed"
    )
    chosen = parser.parse_args()
    seed = random.randrange(1_000_000) if chosen.seed is None else chosen.seed
    print(f"{chosen.runs} runs, seed {seed}", flush=True)
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="crash-") as scratch:
        runs = CrashRuns(chosen.folder or Path(scratch), seed)
        for number in range(1, chosen.runs + 1):
            try:
                runs.run()
            except AssertionError as problem:
                print(f"run {number}, seed {seed}: {problem}", file=sys.stderr)
                return 1
            if number % 10 == 0:
                print(f"  {number:4} runs, {time.monotonic() - began:5.0f} s: {runs.described()}", flush=True)
        runs.check_the_end()
    print(f"{chosen.runs} runs in {time.monotonic() - began:.0f} s, nothing acknowledged was lost: {runs.described()}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
