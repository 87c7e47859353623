"""Play random histories for a while: `python -m tests.simulation --seconds 60 --seed 1` (docs/simulation.md)."""

import argparse
import random
import sys
import time
import traceback
from collections import Counter

from tests.simulation.generator import STEPS, history_of
from tests.simulation.history import History, as_code
from tests.simulation.playing import play
from tests.simulation.shrinking import shrink


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.simulation", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60, help="how long new histories are begun")
    parser.add_argument("--seed", type=int, help="the first seed; random by default")
    parser.add_argument("--steps", type=int, default=STEPS, help=f"steps of a history, {STEPS} by default")
    chosen = parser.parse_args()
    first = random.SystemRandom().randrange(1 << 32) if chosen.seed is None else chosen.seed
    print(f"seeds from {first} on, {chosen.steps} steps each")
    seen: Counter[str] = Counter()
    began = time.monotonic()
    seed = first
    while time.monotonic() - began < chosen.seconds or seed == first:
        history = history_of(seed, chosen.steps)
        try:
            seen += play(history).seen
        except Exception as problem:
            report(seed, history, problem)
            return 1
        seed += 1
    took = time.monotonic() - began
    for what, times in sorted(seen.items()):
        print(f"{times:10} {what}")
    count = seed - first
    print(f"{count} histories in {took:.1f} s: {took / count * 1000:.1f} ms each, {count / took * 3600:,.0f} an hour")
    return 0


def report(seed: int, history: History, problem: Exception) -> None:
    """The seed, what is wrong, and the shortest history that shows it."""
    traceback.print_exception(problem)
    print(f"\nseed {seed} broke a rule", file=sys.stderr)
    shrunk = shrink(history)
    print(f"\n{len(shrunk.steps)} of its steps are enough, and then the end. As a test:\n", file=sys.stderr)
    print(f"play({as_code(shrunk)})", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
