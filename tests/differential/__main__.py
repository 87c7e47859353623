"""Random histories on a real Kafka and on our server: `python -m tests.differential --histories 500 --seed 1`."""

import asyncio
import sys
import tempfile
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path

from tests.differential.command import arguments_of, tell
from tests.differential.pair import PROFILES, Comparison, Pair, running_pair
from tests.differential.recording import choose, write
from tests.differential.report import Coverage
from tests.differential.steps import History, history_from_text

PROFILE_OF = ("default", "default", "default", "initial-delay", "max-size")
"""By seed: most histories need no special settings."""


def main() -> int:
    parser = arguments_of("python -m tests.differential", __doc__, 500)
    parser.add_argument("--profile", choices=PROFILES, help="all under these settings, not each seed under its own")
    arguments = parser.parse_args()

    def play() -> list[History]:
        if arguments.play:
            return _play(history_from_text(arguments.play.read_text(encoding="utf-8")))
        return _compare(range(arguments.seed, arguments.seed + arguments.histories), arguments.profile)

    return tell(
        play, lambda histories: Coverage(histories).lines(), recorded=arguments.record, choose=choose, write=write
    )


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
