"""Play random histories of a share group for a while: `python -m tests.simulation.shares --seconds 60 --seed 1`."""

import argparse
import random
import sys
import time
import traceback
from collections import Counter

from tests.simulation.shares.playing import history_of, play, shrunk


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.simulation.shares", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60, help="how long new histories are begun (60)")
    parser.add_argument("--seed", type=int, help="the first seed; random by default")
    chosen = parser.parse_args()
    first = random.SystemRandom().randrange(1 << 32) if chosen.seed is None else chosen.seed
    print(f"seeds from {first} on")
    seen: Counter[str] = Counter()
    began = time.monotonic()
    seed = first
    while time.monotonic() - began < chosen.seconds or seed == first:
        history = history_of(seed)
        try:
            seen += play(history).seen
        except Exception as problem:
            traceback.print_exception(problem)
            print(f"\nseed {seed} broke a rule; these steps are enough:\n{shrunk(history)}", file=sys.stderr)
            return 1
        seed += 1
    for what, times in sorted(seen.items()):
        print(f"{times:10} {what}")
    took = time.monotonic() - began
    print(f"{seed - first} histories in {took:.1f} s: {took / (seed - first) * 1000:.1f} ms each")
    return 0


if __name__ == "__main__":
    sys.exit(main())
