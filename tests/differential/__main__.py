"""Random histories on a real Kafka and on our server: `python -m tests.differential --histories 500 --seed 1`."""

import argparse
import asyncio
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path

from tests.differential.kafka import KafkaMissing
from tests.differential.pair import PROFILES, Comparison, Pair, running_pair
from tests.differential.recording import RECORDED, choose, write
from tests.differential.report import Coverage
from tests.differential.steps import History, history_from_text

PROFILE_OF = ("default", "default", "default", "initial-delay", "max-size")
"""By seed: most histories need no special settings."""


def main() -> int:
    arguments = _arguments()
    began = time.monotonic()
    try:
        if arguments.play:
            histories = _play(history_from_text(arguments.play.read_text(encoding="utf-8")))
        else:
            histories = _compare(range(arguments.seed, arguments.seed + arguments.histories), arguments.profile)
    except KafkaMissing as missing:
        print(missing, file=sys.stderr)
        return 2
    if arguments.record:
        kept = choose(histories, arguments.record)
        write(kept)
        print(f"{len(kept)} histories recorded in {RECORDED}")
    for history in histories:
        if history.difference:
            print(f"\nDIFFERENCE (Kafka ≠ ours): {history.difference}\n{history.text()}")
    print()
    print("\n".join(Coverage(histories).lines()))
    print(f"{time.monotonic() - began:.0f} s")
    return 1 if any(history.difference for history in histories) else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.differential", description=__doc__)
    parser.add_argument("--histories", type=int, default=500, help="how many (500)")
    parser.add_argument("--seed", type=int, default=1, help="the first one's seed (1); the others follow")
    parser.add_argument("--profile", choices=PROFILES, help="all under these settings, not each seed under its own")
    parser.add_argument("--record", type=int, default=0, metavar="N", help="keep N of them for `make test`")
    parser.add_argument("--play", type=Path, metavar="FILE", help="the history in FILE instead, as a run printed it")
    return parser.parse_args()


def _compare(seeds: range, only: str | None) -> list[History]:
    histories: list[History] = []
    for profile in PROFILES:
        own = [seed for seed in seeds if profile == (only or PROFILE_OF[seed % len(PROFILE_OF)])]
        if own:
            histories += _with_pair(profile, partial(Comparison.random_histories, seeds=own))
    return histories


def _play(history: History) -> list[History]:
    async def retell(comparison: Comparison) -> list[History]:
        return [await comparison.retell(history)]

    return _with_pair(history.profile, retell)


def _with_pair(profile: str, work: Callable[[Comparison], Awaitable[list[History]]]) -> list[History]:
    """Start the servers of a profile, and do the work on them."""

    async def compare(pair: Pair) -> list[History]:
        histories = await work(Comparison(pair))
        again = sum(history.attempts - 1 for history in histories)
        print(
            f"{profile}: {len(histories)} histories, {again} were played again because they went too slowly", flush=True
        )
        return histories

    with tempfile.TemporaryDirectory(prefix="differential-") as folder, running_pair(profile, Path(folder)) as pair:
        return asyncio.run(compare(pair))


if __name__ == "__main__":
    sys.exit(main())
