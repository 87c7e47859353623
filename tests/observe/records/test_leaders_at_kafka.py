"""A broker of a real Kafka is killed while its records are followed and read."""

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import pytest

from coordinator.observe.places import Place
from coordinator.observe.records.following import OffsetsFollower
from coordinator.observe.records.reader import read_offsets_partition
from coordinator.observe.records.stored import GroupRecord
from tests.cluster.rounds.brokers import ThreeBrokers
from tests.differential.kafka import KafkaMissing
from tests.e2e.members import Member, steady
from tests.waiting import wait_for

pytestmark = [pytest.mark.realtime, pytest.mark.nightly, pytest.mark.timeout(300)]

TOPIC: Final = "orders"
PARTITIONS: Final = 2
SECONDS: Final = 60

Told = list[tuple[Place, GroupRecord]]


@pytest.fixture
def kafka(tmp_path: Path) -> Iterator[ThreeBrokers]:
    try:
        brokers = ThreeBrokers(tmp_path)
    except KafkaMissing as missing:
        pytest.skip(str(missing))
    with brokers:
        brokers.create_topic(TOPIC, PARTITIONS)
        yield brokers


def come_and_go(kafka: ThreeBrokers, group_id: str) -> None:
    member = Member(kafka.bootstrap.split(","), TOPIC, group_id)  # type: ignore[arg-type]
    try:
        steady([member], PARTITIONS, f"one member of {group_id}")
    finally:
        member.stop()


def read(kafka: ThreeBrokers, group_id: str) -> Told:
    with read_offsets_partition(kafka.bootstrap, group_id) as reading:
        found = list(reading)
        assert reading.notes == []
    return found


class Following(threading.Thread):
    """Follows from the beginning until it is stopped."""

    def __init__(self, kafka: ThreeBrokers) -> None:
        super().__init__(daemon=True)
        self.told: Told = []
        self.notes: list[str] = []
        self.problem: BaseException | None = None
        self._is_over = threading.Event()
        self._follower = OffsetsFollower(kafka.bootstrap, wait_ms=100)
        self._positions = self._follower.starts()
        self.start()

    def run(self) -> None:
        try:
            with self._follower as following:
                for part in following.follow(self._positions):
                    self.told += part.records
                    self.notes += part.notes
                    if self._is_over.is_set():
                        return
        except BaseException as problem:
            self.problem = problem

    def of(self, group_id: str) -> Told:
        assert self.problem is None, self.problem
        return [each for each in self.told if each[1].group_id == group_id]

    def stop(self) -> None:
        self._is_over.set()
        self.join(SECONDS)
        assert not self.is_alive()


def has_all(following: Following, expected: Callable[[], Told], group_id: str) -> Callable[[], bool]:
    return lambda: following.of(group_id) == expected()


def test_a_leader_is_killed(kafka: ThreeBrokers):
    """What was followed is what is read afterwards: nothing twice, nothing left out."""
    groups = [f"group-{number}" for number in range(8)]
    come_and_go(kafka, groups[0])
    wait_for(kafka.are_in_sync, SECONDS, "all replicas to be in sync", every_ms=200)
    following = Following(kafka)
    try:
        for group_id in groups[1:4]:
            come_and_go(kafka, group_id)
        kafka.brokers[0].kill()
        # All of these have partitions whose leader was, or was not, the one that is gone.
        for group_id in groups[4:]:
            come_and_go(kafka, group_id)
        for group_id in groups:
            wait_for(
                has_all(following, lambda each=group_id: read(kafka, each), group_id),  # type: ignore[misc]
                SECONDS,
                f"all records of {group_id}",
                every_ms=200,
            )
    finally:
        following.stop()
    assert following.notes == []
    assert len({place.name for place, _ in following.told}) > 1
