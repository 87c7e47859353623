"""Random histories with transactions on a real Kafka and on our server.

`python -m tests.differential.transactions --histories 200 --seed 1`. Every fourth one restarts both servers once.
"""

import argparse
import asyncio
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from tests.differential.kafka import KafkaMissing
from tests.differential.steps import Rest, Send
from tests.differential.transactions.pair import TransactionComparison, TransactionPair, running_pair
from tests.differential.transactions.recording import RECORDED, choose, errors, write
from tests.differential.transactions.steps import Restart, TransactionHistory, history_from_text

RESTARTS_OF: Final = 4


def main() -> int:
    arguments = _arguments()
    began = time.monotonic()
    try:
        with tempfile.TemporaryDirectory(prefix="differential-") as folder, running_pair(Path(folder)) as pair:
            if arguments.play:
                again = history_from_text(arguments.play.read_text(encoding="utf-8"))
                histories = [asyncio.run(TransactionComparison(pair).retell(again))]
            else:
                histories = _compare(pair, range(arguments.seed, arguments.seed + arguments.histories))
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
    print("\n".join(_report(histories)))
    print(f"{time.monotonic() - began:.0f} s")
    return 1 if any(history.difference for history in histories) else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.differential.transactions", description=__doc__)
    parser.add_argument("--histories", type=int, default=200, help="how many (200)")
    parser.add_argument("--seed", type=int, default=1, help="the first one's seed (1); the others follow")
    parser.add_argument("--record", type=int, default=0, metavar="N", help="keep N of them for `make test`")
    parser.add_argument("--play", type=Path, metavar="FILE", help="the history in FILE instead, as a run printed it")
    return parser.parse_args()


def _compare(pair: TransactionPair, seeds: Sequence[int]) -> list[TransactionHistory]:
    async def compare() -> list[TransactionHistory]:
        histories = []
        for restarts in (False, True):
            comparison = TransactionComparison(pair)
            own = [seed for seed in seeds if (seed % RESTARTS_OF == 0) == restarts]
            histories += await comparison.random_histories(own, restarts=restarts)
        return histories

    return asyncio.run(compare())


def _report(histories: Sequence[TransactionHistory]) -> Iterator[str]:
    """What was covered, one line each."""
    steps = [step for history in histories for step in history.steps]
    rests, restarts = (sum(isinstance(step, kind) for step in steps) for kind in (Rest, Restart))
    differing = sum(bool(history.difference) for history in histories)
    again = sum(history.attempts - 1 for history in histories)
    yield f"{len(histories)} histories, {len(steps)} steps ({rests} rests, {restarts} restarts), {differing} differ"
    yield f"{again} were played again because they went too slowly"
    for reason, number in Counter(history.ended for history in histories if history.ended).items():
        yield f"{number:6} ended early: {reason}"
    sent: Counter[tuple[str, int]] = Counter()
    found: Counter[tuple[str, str]] = Counter()
    for history in histories:
        for step, outcome in zip(history.steps, history.outcomes, strict=False):
            if isinstance(step, Send):
                sent[step.api, step.version] += 1
                found.update((step.api, error) for error in errors(outcome.answer))
    for api in sorted({api for api, _ in sent}):
        versions = (f"v{version}:{number}" for (name, version), number in sorted(sent.items()) if name == api)
        yield f"  {api:20} {' '.join(versions)}"
        said = (f"{error} {number}" for (name, error), number in found.most_common() if name == api)
        yield f"  {'':20} {', '.join(said)}"


if __name__ == "__main__":
    sys.exit(main())
