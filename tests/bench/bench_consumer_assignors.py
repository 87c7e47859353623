"""5,000 members of a consumer group share out 10,000 partitions: our assignors beside those of Kafka's broker.

    python tests/bench/bench_consumer_assignors.py

Ours: medians of CPU time, and the longest step, after which other work may have its turn. Kafka's own, by the clock,
run where Java and the jars of its broker are (~/.cache/kafka-jars/4.3.1); else that column is left out.
"""

import os
import shutil
import statistics
import subprocess
import sys
import time
from itertools import pairwise
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from coordinator.core.consumer.assignors.model import Subscriber, Target
from coordinator.core.consumer.assignors.orders import members_in_order, topics_in_order
from coordinator.core.consumer.assignors.registry import ASSIGNORS

MEMBERS: Final = 5_000
PARTITIONS: Final = 10_000
REPEATS: Final = 9
JAVA_REPEATS: Final = 30
KAFKA_JARS: Final = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "kafka-jars" / "4.3.1"
PEER: Final = Path(__file__).parent / "assignors" / "ServerPeer.java"


class Row(NamedTuple):
    """A question: `unequal` members subscribe to half of the topics each; `lost` is after the first assignment."""

    assignor: str
    topics: int
    subscriptions: str
    moment: str

    def __str__(self) -> str:
        return f"{self.assignor} {self.topics} topics {self.subscriptions} {self.moment}"


ROWS: Final = [
    Row(assignor, topics, subscriptions, moment)
    for assignor in ASSIGNORS
    for topics, subscriptions in ((1, "equal"), (100, "equal"), (100, "unequal"))
    for moment in ("first", "lost")
]


class Question(NamedTuple):
    members: list[Subscriber]
    topics: dict[bytes, int]
    is_homogeneous: bool


def question(row: Row) -> Question:
    ids = [topic.to_bytes(8, "big") + (topic * 7919).to_bytes(8, "big") for topic in range(row.topics)]
    member_ids = members_in_order(f"consumer-{member:04}" for member in range(MEMBERS))
    everything = frozenset(ids)
    members = [
        Subscriber(member_id, None, everything if row.subscriptions == "equal" else half_of(ids, member_id), {})
        for member_id in member_ids
    ]
    topics = dict.fromkeys(topics_in_order(ids), PARTITIONS // row.topics)
    asked = Question(members, topics, row.subscriptions == "equal")
    if row.moment == "first":
        return asked
    before = ASSIGNORS[row.assignor].assign(*asked)
    left = [
        msgspec.structs.replace(member, target=before[member.member_id])
        for member in members
        if member.member_id != "consumer-0000"
    ]
    return asked._replace(members=left)


def half_of(ids: list[bytes], member_id: str) -> frozenset[bytes]:
    member = int(member_id.removeprefix("consumer-"))
    return frozenset(
        topic_id for topic, topic_id in enumerate(ids) if (member * 31 + topic * 17) % len(ids) < len(ids) // 2
    )


def measured(row: Row, asked: Question) -> tuple[float, float]:
    """Medians in milliseconds: all steps, the longest step."""
    took, longest = [], []
    for _ in range(REPEATS):
        steps = [started := time.thread_time()]
        work = ASSIGNORS[row.assignor].steps(*asked)
        target: Target = {}
        while True:
            try:
                next(work)
            except StopIteration as end:
                target = end.value
                break
            finally:
                steps.append(time.thread_time())
        assert sum(len(each) for by_topic in target.values() for each in by_topic.values()) == PARTITIONS
        took.append(steps[-1] - started)
        longest.append(max(end - begin for begin, end in pairwise(steps)))
    return statistics.median(took) * 1000, statistics.median(longest) * 1000


def kafkas_own() -> dict[str, float]:
    """Row → milliseconds; empty where it cannot run."""
    if shutil.which("java") is None or not list(KAFKA_JARS.glob("kafka-group-coordinator-4*.jar")):
        print(f"Java, or the jars of Kafka's broker in {KAFKA_JARS}, are not there: the column of Kafka is left out")
        return {}
    command = ["java", "-Dorg.slf4j.simpleLogger.defaultLogLevel=off", "-cp", f"{KAFKA_JARS}/*", str(PEER)]
    arguments = [*map(str, (MEMBERS, PARTITIONS, JAVA_REPEATS)), *map(str, ROWS)]
    run = subprocess.run(command + arguments, capture_output=True, text=True, check=True)
    return {row: float(figure) for row, _, figure in (line.partition("\t") for line in run.stdout.splitlines())}


def main() -> None:
    kafka = kafkas_own()
    print(f"{MEMBERS} members, {PARTITIONS} partitions; ms\n")
    print(f"{'':34}{'ours':>9}{'longest step':>14}{'Kafka':>11}{'ours / Kafka':>14}")
    for row in ROWS:
        mine, longest = measured(row, question(row))
        kafkas = kafka.get(str(row))
        line = f"{row!s:34}{mine:9.1f}{longest:14.1f}"
        line += f"{'-':>11}{'-':>14}" if kafkas is None else f"{kafkas:11,.1f}{mine / kafkas:14.2f}"
        print(line)


if __name__ == "__main__":
    main()
