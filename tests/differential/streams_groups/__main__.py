"""Random histories of streams groups on a real Kafka and on our server.

`python -m tests.differential.streams_groups --histories 300 --seed 1`.
"""

import argparse
import sys
import tempfile
import time
import uuid
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final, NamedTuple

from tests.differential.kafka import KafkaMissing, RunningKafka
from tests.differential.streams_groups.generate import Generator, Step
from tests.differential.streams_groups.side import StreamsSide
from tests.differential.transactions.pair import wait_for_coordinators
from tests.servers import QUICK_GROUPS, RunningServer

SETTINGS: Final = QUICK_GROUPS | {
    "offsets.topic.num.partitions": "1",
    "group.streams.assignment.interval.ms": "0",
    "group.streams.initial.rebalance.delay.ms": "0",
    "group.consumer.assignment.interval.ms": "0",
}
AT_ONE_TIME: Final = 4
HISTORIES_PER_SERVER: Final = 60
NO_KAFKA: Final = 2


class Played(NamedTuple):
    """A history, and where the sides differ; empty: nowhere."""

    seed: int
    steps: list[tuple[Step, Any]]
    difference: str


def play(bootstraps: tuple[str, str], seed: int) -> Played:
    prefix = f"{uuid.uuid4().hex[:8]}-"
    kafka, ours = (StreamsSide(bootstrap, prefix) for bootstrap in bootstraps)
    generator, steps = Generator(seed), list[tuple[Step, Any]]()
    try:
        while generator.left:
            step = generator.next()
            expected, found = (side.take(*step) for side in (kafka, ours))
            steps.append((step, expected))
            if step[0] == "heartbeat" and 0 in expected["created"].values():
                return Played(seed, steps, "")  # Kafka tries a topic again that was deleted, but not always
            if expected != found:
                return Played(seed, steps, f"{step}: {_differing(expected, found)}")
            expected, found = (side.state() for side in (kafka, ours))
            if expected != found:
                return Played(seed, steps, f"state after {step}: {_differing(expected, found)}")
            generator.learn(*steps[-1])
            if generator.has_rejected_news:
                break  # Kafka forgets that topics have changed when the heartbeat that looks at them is refused
    finally:
        kafka.close()
        ours.close()
    return Played(seed, steps, "")


def _differing(expected: Any, found: Any) -> str:
    if isinstance(expected, dict) and isinstance(found, dict):
        keys = [key for key in expected if expected[key] != found.get(key)]
        return ", ".join(f"{key}: {expected[key]!r} ≠ {found.get(key)!r}" for key in keys)
    return f"{expected!r} ≠ {found!r}"


def compare(seeds: Sequence[int]) -> list[Played]:
    """Start both servers, and play a history for each seed."""
    with tempfile.TemporaryDirectory(prefix="streams-groups-") as scratch:
        folder = Path(scratch)
        for name in ("kafka", "ours"):
            (folder / name).mkdir()
        with (
            RunningKafka(folder / "kafka", SETTINGS | {"offsets.topic.replication.factor": "1"}) as kafka,
            RunningServer(folder / "ours", SETTINGS) as ours,
            ThreadPoolExecutor(AT_ONE_TIME) as pool,
        ):
            for server in (kafka, ours):
                wait_for_coordinators(server.bootstrap)
            bootstraps = kafka.bootstrap, ours.bootstrap
            print("kafka", kafka.bootstrap, "ours", ours.bootstrap, flush=True)
            return list(pool.map(lambda seed: play(bootstraps, seed), seeds))


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.differential.streams_groups", description=__doc__)
    parser.add_argument("--histories", type=int, default=300, help="how many (300)")
    parser.add_argument("--seed", type=int, default=1, help="the first one's seed (1); the others follow")
    chosen = parser.parse_args()
    began, played = time.monotonic(), list[Played]()
    last = chosen.seed + chosen.histories
    try:
        for first in range(chosen.seed, last, HISTORIES_PER_SERVER):
            played += compare(range(first, min(first + HISTORIES_PER_SERVER, last)))
    except KafkaMissing as missing:
        print(missing, file=sys.stderr)
        return NO_KAFKA
    different = [history for history in played if history.difference]
    for history in different:
        print(f"\nDIFFERENCE (Kafka ≠ ours) with seed {history.seed}: {history.difference}")
        for step, answer in history.steps[:-1]:
            print(f"  {step} → {answer}")
    steps = Counter(step[0] for history in played for step, _ in history.steps)
    print(f"{len(played)} histories, {steps.total()} steps, {len(different)} differ")
    print(", ".join(f"{kind} {number}" for kind, number in steps.most_common()))
    errors = Counter(
        answer["error"] for history in played for (kind, _), answer in history.steps if kind == "heartbeat"
    )
    print("errors of heartbeats: " + ", ".join(f"{error}: {number}" for error, number in sorted(errors.items())))
    print(f"{time.monotonic() - began:.0f} s")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
