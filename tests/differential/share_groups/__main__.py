"""Random histories of share groups on a real Kafka and on our server.

`python -m tests.differential.share_groups --histories 300 --seed 1`.
"""

import argparse
import sys
import tempfile
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Final

from tests.differential.kafka import KafkaMissing, RunningKafka
from tests.differential.share.requests import Side
from tests.differential.share_groups.generate import Generator
from tests.differential.share_groups.play import Retelling, SharePlayer, Story
from tests.differential.share_groups.side import ShareSide
from tests.differential.share_groups.steps import ShareHistory, Step, steps_from_text
from tests.differential.transactions.pair import wait_for_coordinators
from tests.servers import QUICK_GROUPS, RunningServer

SETTINGS: Final = QUICK_GROUPS | {
    "offsets.topic.num.partitions": "4",
    "transaction.state.log.num.partitions": "5",
    "share.coordinator.state.topic.num.partitions": "5",
    "share.coordinator.snapshot.update.records.per.snapshot": "5",
    "group.share.assignment.interval.ms": "0",
    "group.share.record.lock.duration.ms": "30000",
    "group.share.max.record.lock.duration.ms": "60000",
    "group.share.min.record.lock.duration.ms": "1000",
}
KAFKA_SETTINGS: Final = {
    "broker.session.timeout.ms": "6000",
    "log.retention.ms": "-1",
    "offsets.topic.replication.factor": "1",
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
    "share.coordinator.append.linger.ms": "0",
}
HISTORIES_PER_SERVER: Final = 60
AT_ONE_TIME: Final = 6
SHRINK_SECONDS: Final = 60
SHRUNK_AT_MOST: Final = 3
NO_KAFKA: Final = 2


class Servers:
    """Both servers, and histories on them."""

    def __init__(self, kafka: str, ours: str) -> None:
        self._bootstraps = kafka, ours
        for bootstrap in self._bootstraps:
            Side(bootstrap).prepare()
            wait_for_coordinators(bootstrap)

    def play(self, story: Story, seed: int) -> ShareHistory:
        prefix = f"{uuid.uuid4().hex[:8]}-"
        sides = ShareSide(self._bootstraps[0], prefix), ShareSide(self._bootstraps[1], prefix)
        return SharePlayer(sides).play(story, seed)

    def compare(self, seeds: Sequence[int]) -> list[ShareHistory]:
        """A history for each seed; the first ones with a difference become short."""
        with ThreadPoolExecutor(AT_ONE_TIME) as pool:
            played = list(pool.map(lambda seed: self.play(Generator(seed), seed), seeds))
        different = [number for number, history in enumerate(played) if history.difference]
        for number in different[:SHRUNK_AT_MOST]:
            played[number] = self._shrunk(played[number])
        return played

    def _shrunk(self, history: ShareHistory) -> ShareHistory:
        """Leave out steps, first many and then one at a time, for as long as the sides still differ."""
        deadline = time.monotonic() + SHRINK_SECONDS
        size = max(len(history.steps) // 2, 1)
        again = self.play(Retelling(history.steps), history.seed)
        if not again.difference:
            history.difference = f"once: {history.difference}"
            return history
        while size and time.monotonic() < deadline:
            shorter = next((each for each in self._shorter(again, size) if each.difference), None)
            if shorter is None:
                size //= 2
            else:
                again, size = shorter, min(size, max(len(shorter.steps) // 2, 1))
        return again

    def _shorter(self, history: ShareHistory, size: int) -> Iterator[ShareHistory]:
        for start in range(0, len(history.steps) - 1, size):
            steps = [*history.steps[:start], *history.steps[start + size :]]
            if steps and steps[-1] == history.steps[-1] and is_possible(steps):
                yield self.play(Retelling(steps), history.seed)


def is_possible(steps: Sequence[Step]) -> bool:
    """Whether topics exist when they change, and a transaction when it ends."""
    partitions: dict[str, int] = {}
    is_open = False
    for step in steps:
        match step.kind:
            case "change_topic":
                before, after = partitions.get(step.arguments["topic"], 0), step.arguments["partitions"]
                if after == before or 0 < after < before:
                    return False
                partitions[step.arguments["topic"]] = after
            case "produce" if step.arguments.get("transactional"):
                is_open = True
            case "end_transaction" if not is_open:
                return False
            case "end_transaction":
                is_open = False
    return True


@contextmanager
def running_servers() -> Iterator[Servers]:
    """Start both and stop both. Raises KafkaMissing."""
    with tempfile.TemporaryDirectory(prefix="share-groups-") as scratch:
        folder = Path(scratch)
        for name in ("kafka", "ours"):
            (folder / name).mkdir()
        with (
            RunningKafka(folder / "kafka", SETTINGS | KAFKA_SETTINGS) as kafka,
            RunningServer(folder / "ours", SETTINGS) as ours,
        ):
            yield Servers(kafka.bootstrap, ours.bootstrap)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.differential.share_groups", description=__doc__)
    parser.add_argument("--histories", type=int, default=300, help="how many (300)")
    parser.add_argument("--seed", type=int, default=1, help="the first one's seed (1); the others follow")
    parser.add_argument("--play", type=Path, metavar="FILE", help="the history in FILE instead, as a run printed it")
    chosen = parser.parse_args()
    began = time.monotonic()
    try:
        histories = list(_played(chosen))
    except KafkaMissing as missing:
        print(missing, file=sys.stderr)
        return NO_KAFKA
    for history in histories:
        if history.difference:
            print(f"\nDIFFERENCE (Kafka ≠ ours): {history.difference}\n{history.text()}")
    print("\n".join(report(histories)))
    print(f"{time.monotonic() - began:.0f} s")
    return 1 if any(history.difference for history in histories) else 0


def _played(chosen: argparse.Namespace) -> Iterator[ShareHistory]:
    if chosen.play:
        steps = steps_from_text(chosen.play.read_text(encoding="utf-8").splitlines())
        yield from _with_servers(lambda servers: [servers.play(Retelling(steps), 0)])
        return
    for first in range(chosen.seed, chosen.seed + chosen.histories, HISTORIES_PER_SERVER):
        seeds = range(first, min(first + HISTORIES_PER_SERVER, chosen.seed + chosen.histories))
        played = _with_servers(partial(Servers.compare, seeds=seeds))
        yield from played
        print(f"up to seed {seeds[-1]}", file=sys.stderr, flush=True)
        for each in played:
            if each.difference:
                print(f"seed {each.seed}: {each.difference}", file=sys.stderr, flush=True)


def _with_servers(play: Callable[[Servers], list[ShareHistory]]) -> list[ShareHistory]:
    with running_servers() as servers:
        return play(servers)


def report(histories: Sequence[ShareHistory]) -> Iterator[str]:
    """What was covered, one line each."""
    steps = [step for history in histories for step in history.steps]
    different = sum(bool(history.difference) for history in histories)
    yield f"{len(histories)} histories, {len(steps)} steps, {different} differ"
    for reason, number in Counter(history.ended for history in histories if history.ended).items():
        yield f"{number:6} ended early: {reason}"
    yield ", ".join(f"{kind} {number}" for kind, number in Counter(step.kind for step in steps).most_common())
    errors: Counter[tuple[str, int]] = Counter()
    counts: Counter[int] = Counter()
    for history in histories:
        for step, answer in zip(history.steps, history.answers, strict=False):
            if step.kind not in ("fetch", "acknowledge"):
                continue
            errors[step.kind, answer["error"]] += 1
            for place in answer["places"].values():
                errors[f"{step.kind} of a partition", place["error"]] += 1
                counts.update(count for _, _, count in place.get("acquired", ()))
    yield ", ".join(f"{what} {error}: {number}" for (what, error), number in sorted(errors.items()))
    yield f"ranges acquired by delivery count: {dict(sorted(counts.items()))}"


if __name__ == "__main__":
    sys.exit(main())
