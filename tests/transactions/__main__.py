"""Play random histories of transactions for a while: python -m tests.transactions [--seconds N] [--seed N]."""

import argparse
import logging
import random
import sys
import time
import traceback
from collections import Counter

import structlog

from tests.transactions.histories import STEPS, play


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.transactions", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, help="the first seed; random by default")
    parser.add_argument("--steps", type=int, default=STEPS)
    chosen = parser.parse_args()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    first = seed = random.SystemRandom().randrange(1 << 32) if chosen.seed is None else chosen.seed
    print(f"histories of transactions: seeds from {first} on, {chosen.steps} steps each", flush=True)
    seen: Counter[str] = Counter()
    began = time.monotonic()
    while time.monotonic() - began < chosen.seconds or seed == first:
        try:
            seen += play(seed, chosen.steps)
        except Exception as problem:
            traceback.print_exception(problem)
            print(f"seed {seed} broke a rule", file=sys.stderr)
            return 1
        seed += 1
    took = time.monotonic() - began
    for what, times in sorted(seen.items()):
        print(f"{times:10} {what}")
    print(f"{seed - first} histories of transactions in {took:.1f} s: {took / (seed - first) * 1000:.1f} ms each")
    return 0


if __name__ == "__main__":
    sys.exit(main())
