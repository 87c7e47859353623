"""Play random histories of nodes in front of a cluster: `python -m tests.cluster.simulation --seconds 60 --seed 1`."""

import argparse
import random
import sys
import time
import traceback
from collections import Counter

from tests.cluster.simulation.playing import FAULTS, HistoryFailed, play


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.cluster.simulation", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60, help="how long new histories are begun")
    parser.add_argument("--seed", type=int, help="the first seed; random by default")
    parser.add_argument("--faults", type=int, default=FAULTS, help=f"faults of a history, {FAULTS} by default")
    chosen = parser.parse_args()
    first = random.SystemRandom().randrange(1 << 32) if chosen.seed is None else chosen.seed
    print(f"seeds from {first} on, {chosen.faults} faults each")
    seen: Counter[str] = Counter()
    began = time.monotonic()
    seed = first
    while time.monotonic() - began < chosen.seconds or seed == first:
        try:
            seen += play(seed, chosen.faults).seen
        except HistoryFailed as failure:
            traceback.print_exception(failure.__cause__)
            print(failure, file=sys.stderr)
            return 1
        seed += 1
    took = time.monotonic() - began
    for what, times in sorted(seen.items()):
        print(f"{times:10} {what}")
    count = seed - first
    print(f"{count} histories in {took:.1f} s: {took / count * 1000:.0f} ms each")
    return 0


if __name__ == "__main__":
    sys.exit(main())
