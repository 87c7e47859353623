"""How long a broker's log takes to be read, on one core, and how much memory.

python tests/bench/bench_broker_logs.py            # MEGABYTES=1000 OTHERS=0.7 SEED=1

The log is made of the lines of recorded brokers (3.9 and 4.3, classic groups and KIP-848), in random order with times
that go on: of OTHERS of the lines the coordinators' are none. It is read once for all groups and once for one of them.
"""

import os
import random
import re
import subprocess
import sys
import tempfile
from datetime import datetime, timedelta
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from tests.observe.recordings import recordings, whole_runs  # noqa: E402

VERSIONS = ("3.9.1-classic", "3.9.1-new", "4.3.1-classic", "4.3.1-consumer")
LINE = re.compile(r"\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}\] .*\([\w.$]+\)")
STAMP_CHARS = 25
BATCH_LINES = 10_000
OF_COORDINATORS = re.compile(r"\[Group|Loaded member MemberMetadata")

READ = """
import resource, sys, time
from coordinator.observe.logs.reader import read_broker_logs
groups = frozenset(sys.argv[2:]) or None
started, cpu = time.perf_counter(), time.process_time()
found = read_broker_logs([sys.argv[1]], groups=groups)
elapsed, used = time.perf_counter() - started, time.process_time() - cpu
peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(f"{len(found.statements):,} statements in {elapsed:.1f} s ({used:.1f} s of CPU), {peak_mb:.0f} MB at most")
for note in found.notes:
    print(f"  {note.rpartition('/')[2]}")
"""


def pools() -> tuple[list[str], list[str]]:
    """Lines of coordinators, and others, without their times. Those of the case with forged lines are left out."""
    hostile = {group for recording in recordings() if "names" in recording.case for group in recording.groups}
    lines = [line for version in VERSIONS for line in whole_runs()[version].decode().split("\n")]
    whole = [line for line in lines if LINE.fullmatch(line) and not any(each in line for each in (*hostile, "victim"))]
    own = [line[STAMP_CHARS:] for line in whole if OF_COORDINATORS.search(line)]
    return own, [line[STAMP_CHARS:] for line in whole if not OF_COORDINATORS.search(line)]


def write_log(path: Path, megabytes: int, others: float, seed: int) -> tuple[int, int]:
    """Returns how many lines there are, and how many of them are coordinators'."""
    rng, (own, other) = random.Random(seed), pools()
    at, size, lines, of_coordinators = datetime(2026, 3, 1), 0, 0, 0
    with path.open("w", encoding="utf-8") as file:
        while size < megabytes * 1_000_000:
            batch = []
            for _ in range(BATCH_LINES):
                at += timedelta(milliseconds=rng.randrange(20))
                is_own = rng.random() >= others
                of_coordinators += is_own
                batch.append(
                    f"[{at:%Y-%m-%d %H:%M:%S},{at.microsecond // 1000:03}]{rng.choice(own if is_own else other)}\n"
                )
            lines += BATCH_LINES
            size += file.write("".join(batch))
    return lines, of_coordinators


def main() -> None:
    megabytes, others = int(os.environ.get("MEGABYTES", "1000")), float(os.environ.get("OTHERS", "0.7"))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "server.log"
        lines, own = write_log(path, megabytes, others, int(os.environ.get("SEED", "1")))
        print(f"{path.stat().st_size / 1e6:,.0f} MB, {lines:,} lines, {own:,} of coordinators ({own / lines:.0%})")
        for name, groups in (("all groups", ()), ("one group", ("g-kill9",))):
            print(f"{name}: ", end="", flush=True)
            subprocess.run([sys.executable, "-c", READ, str(path), *groups], check=True, cwd=ROOT)


if __name__ == "__main__":
    main()
