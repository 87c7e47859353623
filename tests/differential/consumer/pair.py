"""Kafka and our server under the same settings, and what is done with the two: play, confirm, shrink."""

import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from tests.differential.consumer.generate import LONG_MS, Generator
from tests.differential.consumer.play import ConsumerPlayer, Retelling, Story
from tests.differential.consumer.side import LiveConsumerSide
from tests.differential.consumer.steps import ChangeTopic, ConsumerHistory, ConsumerStep
from tests.differential.kafka import RunningKafka
from tests.differential.pair import Pair
from tests.differential.sides import new_prefix, prepare
from tests.differential.transactions.pair import KAFKA_SETTINGS, restart, wait_for_coordinators
from tests.servers import QUICK_GROUPS, RunningServer

SETTINGS: Final = QUICK_GROUPS | {
    "offsets.topic.num.partitions": "1",
    "transaction.state.log.num.partitions": "5",
    "group.consumer.assignment.interval.ms": "0",
    "group.consumer.min.heartbeat.interval.ms": "500",
    "group.consumer.heartbeat.interval.ms": "1000",
    "group.consumer.min.session.timeout.ms": "1500",
    "group.consumer.max.session.timeout.ms": str(LONG_MS),
    "group.consumer.session.timeout.ms": str(LONG_MS),
    "group.consumer.regex.refresh.interval.ms": "10000",
}
"""One partition, so that what one group has noticed of the topics, all have."""
CONFIRMATIONS: Final = 2
SHRINK_SECONDS: Final = 60
SHRUNK_AT_MOST: Final = 4


@dataclass(frozen=True)
class ConsumerPair(Pair):
    """Two servers that can be restarted."""

    kafka_process: RunningKafka
    our_process: RunningServer

    def restart(self, how: str) -> None:
        with ThreadPoolExecutor() as pool:
            list(pool.map(lambda process: restart(process, how), (self.kafka_process, self.our_process)))


@contextmanager
def running_pair(folder: Path) -> Iterator[ConsumerPair]:
    """Start both and stop both. Raises KafkaMissing."""
    for each in ("kafka", "ours"):
        (folder / each).mkdir(parents=True)
    with (
        RunningKafka(folder / "kafka", KAFKA_SETTINGS | {"broker.session.timeout.ms": "6000"} | SETTINGS) as kafka,
        RunningServer(folder / "ours", SETTINGS) as ours,
    ):
        sides = prepare("Kafka", kafka.bootstrap), prepare("our server", ours.bootstrap)
        for side in sides:
            wait_for_coordinators(side.bootstrap)
        yield ConsumerPair("consumer", *sides, kafka, ours)


def compare(pair: ConsumerPair, seeds: Sequence[int]) -> list[ConsumerHistory]:
    """A history for each seed; one with a difference is the shortest that still shows it."""
    histories = []
    shrunk = 0
    for seed in seeds:
        history = _play(pair, Generator(seed, pair.versions), seed)
        if history.difference:
            history = _confirmed(pair, history)
            shrunk += 1
            if shrunk <= SHRUNK_AT_MOST:
                history = _shrunk(pair, history)
        histories.append(history)
    return histories


def retell(pair: ConsumerPair, history: ConsumerHistory) -> ConsumerHistory:
    """The same steps once more, in groups and topics of their own."""
    return _play(pair, Retelling(history), history.seed)


def _play(pair: ConsumerPair, story: Story, seed: int) -> ConsumerHistory:
    prefix = new_prefix()
    sides = LiveConsumerSide(pair.kafka, prefix), LiveConsumerSide(pair.ours, prefix)
    return ConsumerPlayer(sides, pair.restart).play(story, seed)


def _confirmed(pair: ConsumerPair, history: ConsumerHistory) -> ConsumerHistory:
    for _ in range(CONFIRMATIONS):
        again = retell(pair, history)
        if again.difference:
            return again
    return replace(history, difference=f"in one of {1 + CONFIRMATIONS} playings: {history.difference}")


def _shrunk(pair: ConsumerPair, history: ConsumerHistory) -> ConsumerHistory:
    """Leave out steps, first many and then one at a time, for as long as the sides still differ."""
    size = max(len(history.steps) // 2, 1)
    deadline = time.monotonic() + SHRINK_SECONDS
    while size and time.monotonic() < deadline:
        shorter = next((each for each in _shorter(pair, history, size) if each.difference), None)
        if shorter is None:
            size //= 2
        else:
            history, size = shorter, min(size, max(len(shorter.steps) // 2, 1))
    return history


def _shorter(pair: ConsumerPair, history: ConsumerHistory, size: int) -> Iterator[ConsumerHistory]:
    for start in range(0, len(history.steps), size):
        steps = [*history.steps[:start], *history.steps[start + size :]]
        if _is_possible(steps):
            yield retell(pair, replace(history, steps=steps, difference=""))


def _is_possible(steps: Sequence[ConsumerStep]) -> bool:
    """Whether each topic exists when it grows or is deleted."""
    partitions: dict[str, int] = {}
    for step in steps:
        if isinstance(step, ChangeTopic):
            before = partitions.get(step.topic, 0)
            if step.partitions == before or 0 < step.partitions < before:
                return False
            partitions[step.topic] = step.partitions
    return True
