"""Play random histories, and check each claim about them: `python -m tests.world 60 1` (docs/simulation.md)."""

import argparse
import random
import sys
import time
from collections import Counter

from coordinator.explain.claims.claim import Claim
from tests.world.generator import history_of
from tests.world.history import as_code
from tests.world.shrinking import Kind, kind_of, shrink
from tests.world.telling import FalseClaim, told_in


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.world", description=__doc__)
    parser.add_argument("seconds", type=float, nargs="?", default=60, help="how long new histories are begun")
    parser.add_argument("seed", type=int, nargs="?", help="the first seed; random by default")
    parser.add_argument("--goes-on", action="store_true", help="count false claims, instead of ending at the first one")
    parser.add_argument("--shrink", action="store_true", help="show a small history for each kind of false claim")
    chosen = parser.parse_args()
    first = random.SystemRandom().randrange(1 << 32) if chosen.seed is None else chosen.seed
    print(f"seeds from {first} on")
    told: Counter[type[Claim]] = Counter()
    unknown: Counter[type[Claim]] = Counter()
    missing: Counter[str] = Counter()
    false: dict[Kind, list[tuple[int, FalseClaim]]] = {}
    began, seed = time.monotonic(), first
    while time.monotonic() - began < chosen.seconds or seed == first:
        report = told_in(history_of(seed))
        told += report.told
        unknown += report.unknown
        missing += report.missing
        for kind, found in {kind_of(each): each for each in report.false}.items():
            false.setdefault(kind, []).append((seed, found))
        seed += 1
        if false and not chosen.goes_on:
            break
    took, count = time.monotonic() - began, seed - first
    show(told, unknown, missing, false)
    busy = time.process_time()
    print(
        f"{count} histories in {took:.1f} s: {count / took * 3600:,.0f} an hour,"
        f" {count / busy:.0f} for each second of a core"
    )
    for kind, examples in false.items():
        tell(kind, *examples[0], shrinks=chosen.shrink or not chosen.goes_on)
        if len(examples) > 1:
            print(f"  and in the seeds {', '.join(str(seed) for seed, _ in examples[1:])}")
    return 1 if false else 0


def show(
    told: Counter[type[Claim]],
    unknown: Counter[type[Claim]],
    missing: Counter[str],
    false: dict[Kind, list[tuple[int, FalseClaim]]],
) -> None:
    """How often each claim was told, and how often it says that something is not known."""
    histories = Counter[str]()
    for (name, _), examples in false.items():
        histories[name] += len(examples)
    print(f"{'claim':26} {'told':>9} {'unknown':>9} {'false in histories':>19} {'not told':>9}")
    for claim, times in sorted(told.items(), key=lambda each: each[0].__name__):
        name = claim.__name__
        print(f"{name:26} {times:9,} {unknown[claim]:9,} {histories[name] or '':>19} {missing[name] or '':>9}")


def tell(kind: Kind, seed: int, found: FalseClaim, *, shrinks: bool) -> None:
    """A false claim, and the smallest history that has one of its kind."""
    name, which = kind
    context, contradiction = found
    about = "the group" if context.generation_id < 0 else f"generation {context.generation_id}"
    reported_ms = context.reported_ms - context.begin_ms
    print(f"\n{name} {which} is false in seed {seed}, about {about}, told after {reported_ms} ms: {contradiction.why}")
    print(f"  {contradiction.claim}", file=sys.stderr)
    if shrinks:
        print(as_code(shrink(history_of(seed), kind)), file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
