"""Random histories of consumer groups on a real Kafka and on our server.

`python -m tests.differential.consumer --histories 200 --seed 1`.
"""

import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Final

from tests.differential.command import arguments_of, tell
from tests.differential.consumer.pair import ConsumerPair, compare, retell, running_pair
from tests.differential.consumer.recording import choose, write
from tests.differential.consumer.steps import ChangeTopic, ConsumerHistory, Wait, history_from_text
from tests.differential.stateful import Restart
from tests.differential.steps import Send
from tests.differential.transactions.recording import errors

HISTORIES_PER_SERVER: Final = 50


def main() -> int:
    arguments = arguments_of("python -m tests.differential.consumer", __doc__, 200).parse_args()

    def play() -> list[ConsumerHistory]:
        if arguments.play:
            told = history_from_text(arguments.play.read_text(encoding="utf-8"))
            return _with_servers(lambda pair: [retell(pair, told)])
        histories: list[ConsumerHistory] = []
        for seeds in batched(range(arguments.seed, arguments.seed + arguments.histories)):
            played = _with_servers(partial(compare, seeds=seeds))
            histories += played
            print(f"{len(histories)} of {arguments.histories} histories played", file=sys.stderr)
            for each in played:
                if each.difference:
                    print(f"seed {each.seed}: {each.difference}", file=sys.stderr)
        return histories

    return tell(play, _report, recorded=arguments.record, choose=choose, write=write)


def batched(seeds: range) -> Iterator[range]:
    """Each batch is played with servers of its own: Kafka becomes slow with the topics of many histories."""
    for first in range(seeds.start, seeds.stop, HISTORIES_PER_SERVER):
        yield range(first, min(first + HISTORIES_PER_SERVER, seeds.stop))


def _with_servers(play: Callable[[ConsumerPair], list[ConsumerHistory]]) -> list[ConsumerHistory]:
    with tempfile.TemporaryDirectory(prefix="differential-") as folder, running_pair(Path(folder)) as pair:
        return play(pair)


def _report(histories: Sequence[ConsumerHistory]) -> Iterator[str]:
    """What was covered, one line each."""
    steps = [step for history in histories for step in history.steps]
    changes, waits, restarts = (sum(isinstance(step, kind) for step in steps) for kind in (ChangeTopic, Wait, Restart))
    differing = sum(bool(history.difference) for history in histories)
    others = f"{changes} changes of topics, {waits} waits, {restarts} restarts"
    yield f"{len(histories)} histories, {len(steps)} steps ({others}), {differing} differ"
    for reason, number in Counter(history.ended for history in histories if history.ended).items():
        yield f"{number:6} ended early: {reason}"
    sent: Counter[tuple[str, int]] = Counter()
    found: Counter[tuple[str, str]] = Counter()
    states: Counter[str] = Counter()
    for history in histories:
        for step, outcome in zip(history.steps, history.outcomes, strict=False):
            states.update(group["group_state"] for group in outcome.state["groups"]["groups"])
            if isinstance(step, Send):
                sent[step.api, step.version] += 1
                found.update((step.api, error) for error in errors(outcome.answer))
    for api in sorted({api for api, _ in sent}):
        versions = (f"v{version}:{number}" for (name, version), number in sorted(sent.items()) if name == api)
        yield f"  {api:22} {' '.join(versions)}"
        said = (f"{error} {number}" for (name, error), number in found.most_common() if name == api)
        yield f"  {'':22} {', '.join(said)}"
    yield f"states seen: {', '.join(f'{state} {number}' for state, number in states.most_common())}"


if __name__ == "__main__":
    sys.exit(main())
