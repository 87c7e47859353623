"""1,000 members share out 100 topics of 100 partitions: ours, kafka-python's assignors, and Kafka's own.

    python tests/bench/bench_assignors.py [--all]

Ours: medians of CPU time. kafka-python is asked once, and only with --all what takes it minutes. Kafka's own, by the
clock, run where Java and the jars of its client are (~/.cache/kafka-jars/4.3.1); else that column is left out.
"""

import os
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import NamedTuple

from msgspec.structs import replace

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from kafka.coordinator.assignors.cooperative_sticky import CooperativeStickyAssignor
from kafka.coordinator.assignors.range import RangePartitionAssignor
from kafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
from kafka.coordinator.assignors.sticky.sticky_assignor import StickyPartitionAssignor
from kafka.protocol.consumer.metadata import ConsumerProtocolSubscription

from coordinator.core.assignors.consumer_protocol import encode_subscription
from coordinator.core.assignors.model import MemberSubscription, Topic
from coordinator.core.assignors.registry import ASSIGNORS

MEMBERS = 1000
TOPICS = 100
PARTITIONS = 100
GENERATION = 1
REPEATS = 9
JAVA_REPEATS = 200
JAVA_REPEATS_UNEQUAL = 1
KAFKA_JARS = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "kafka-jars" / "4.3.1"
PEER = Path(__file__).parent / "assignors" / "Peer.java"
KAFKA_PYTHON = {
    "range": RangePartitionAssignor,
    "roundrobin": RoundRobinPartitionAssignor,
    "sticky": StickyPartitionAssignor,
    "cooperative-sticky": CooperativeStickyAssignor,
}


class Row(NamedTuple):
    """A question: `unequal` members subscribe to half of the topics each; `lost` is after the first assignment."""

    assignor: str
    subscriptions: str
    moment: str

    def __str__(self) -> str:
        return " ".join(self)


ROWS = [
    Row("range", "equal", "first"),
    Row("roundrobin", "equal", "first"),
    Row("sticky", "equal", "first"),
    Row("sticky", "equal", "lost"),
    Row("cooperative-sticky", "equal", "lost"),
    Row("sticky", "unequal", "first"),
    Row("sticky", "unequal", "lost"),
]
NAMES = [f"topic-{number:03}" for number in range(TOPICS)]


class Cluster:
    """What kafka-python's assignors ask of its cluster metadata."""

    def topics(self) -> set[str]:
        return set(NAMES)

    def partitions_for_topic(self, topic: str) -> set[int]:
        return set(range(PARTITIONS))


def milliseconds(run: Callable[[], object], repeats: int) -> float:
    """Median CPU time."""
    took = []
    for _ in range(repeats):
        started = time.thread_time()
        run()
        took.append(time.thread_time() - started)
    return statistics.median(took) * 1000


def subscribes(row: Row, member: int, topic: int) -> bool:
    return row.subscriptions == "equal" or (member * 31 + topic * 17) % TOPICS < TOPICS // 2


def question(row: Row) -> list[MemberSubscription]:
    members = [
        MemberSubscription(
            f"consumer-{member:04}",
            frozenset(name for topic, name in enumerate(NAMES) if subscribes(row, member, topic)),
        )
        for member in range(MEMBERS)
    ]
    if row.moment == "first":
        return members
    before = ours(row, members)()
    return [
        replace(member, owned_partitions=before[member.member_id], generation_id=GENERATION) for member in members[1:]
    ]


def ours(row: Row, members: Sequence[MemberSubscription]) -> Callable[[], dict[str, dict[str, list[int]]]]:
    topics = {name: Topic(PARTITIONS) for name in NAMES}
    return lambda: ASSIGNORS[row.assignor].assign(members, topics)


def kafka_python(row: Row, members: Iterable[MemberSubscription]) -> Callable[[], object]:
    assignor = KAFKA_PYTHON[row.assignor]()
    joined = [
        SimpleNamespace(
            member_id=member.member_id,
            group_instance_id=None,
            metadata=ConsumerProtocolSubscription.decode(encode_subscription(ASSIGNORS[row.assignor], member)),
        )
        for member in members
    ]
    return lambda: assignor.assign(Cluster(), joined)


def java(rows: Iterable[Row], repeats: int) -> dict[str, float]:
    """Row → milliseconds; empty where it cannot run."""
    command = ["java", "-Dorg.slf4j.simpleLogger.defaultLogLevel=off", "-cp", f"{KAFKA_JARS}/*", str(PEER)]
    arguments = [*map(str, (MEMBERS, TOPICS, PARTITIONS, repeats)), *map(str, rows)]
    run = subprocess.run(command + arguments, capture_output=True, text=True, check=True)
    return {row: float(figure) for row, _, figure in (line.partition("\t") for line in run.stdout.splitlines())}


def kafkas_own() -> dict[str, float]:
    if shutil.which("java") is None or not list(KAFKA_JARS.glob("kafka-clients-*.jar")):
        print(f"Java, or the jars of Kafka's client in {KAFKA_JARS}, are not there: the column of Kafka is left out")
        return {}
    equal = [row for row in ROWS if row.subscriptions == "equal"]
    unequal = [row for row in ROWS if row.subscriptions != "equal"]
    return java(equal, JAVA_REPEATS) | java(unequal, JAVA_REPEATS_UNEQUAL)


def main() -> None:
    kafka = kafkas_own()
    print(f"{MEMBERS} members, {TOPICS} topics, {PARTITIONS} partitions each; ms\n")
    print(f"{'':34}{'ours':>9}{'kafka-python':>14}{'Kafka':>11}{'kafka-python / ours':>21}{'ours / Kafka':>14}")
    for row in ROWS:
        members = question(row)
        mine = milliseconds(ours(row, members), REPEATS)
        asks_kafka_python = row.subscriptions == "equal" or "--all" in sys.argv
        theirs = milliseconds(kafka_python(row, members), 1) if asks_kafka_python else None
        kafkas = kafka.get(str(row))
        line = f"{row!s:34}{mine:9.1f}"
        line += f"{'-':>14}" if theirs is None else f"{theirs:14,.1f}"
        line += f"{'-':>11}" if kafkas is None else f"{kafkas:11,.1f}"
        line += f"{'-':>21}" if theirs is None else f"{theirs / mine:21,.0f}"
        line += f"{'-':>14}" if kafkas is None else f"{mine / kafkas:14.3g}"
        print(line)


if __name__ == "__main__":
    main()
