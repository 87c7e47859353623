"""Random histories with transactions on a real Kafka and on our server.

`python -m tests.differential.transactions --histories 200 --seed 1`. Every fourth one restarts both servers once.
"""

import asyncio
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from tests.differential.command import arguments_of, tell
from tests.differential.stateful import Restart
from tests.differential.steps import Rest, Send
from tests.differential.transactions.pair import TransactionComparison, TransactionPair, running_pair
from tests.differential.transactions.recording import choose, errors, write
from tests.differential.transactions.steps import TransactionHistory, history_from_text

RESTARTS_OF: Final = 4


def main() -> int:
    arguments = arguments_of("python -m tests.differential.transactions", __doc__, 200).parse_args()

    def play() -> list[TransactionHistory]:
        with tempfile.TemporaryDirectory(prefix="differential-") as folder, running_pair(Path(folder)) as pair:
            if arguments.play:
                again = history_from_text(arguments.play.read_text(encoding="utf-8"))
                return [asyncio.run(TransactionComparison(pair).retell(again))]
            return _compare(pair, range(arguments.seed, arguments.seed + arguments.histories))

    return tell(play, _report, recorded=arguments.record, choose=choose, write=write)


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
