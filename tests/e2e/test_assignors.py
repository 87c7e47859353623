"""Our assignors in groups of kafka-python's consumers: who has which partition, at every moment."""

import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import count
from typing import Any, Final

import pytest
from kafka import ConsumerRebalanceListener

from _wire.messages.describe_groups import DescribeGroupsRequest
from coordinator.client.kafka_python import (
    CooperativeStickyAssignor,
    RangeAssignor,
    StickyAssignor,
)
from tests.e2e.members import Member, steady, stop_all
from tests.servers import RunningServer
from tests.wire_client import WireClient

pytestmark = pytest.mark.realtime

PARTITIONS: Final = 7
_GROUPS = (f"assignors-{number}" for number in count(1))


class Ledger:
    """Who has which partition, as the consumers learn; and each time that two had the same one."""

    def __init__(self) -> None:
        self.owners: dict[int, str] = {}
        self.conflicts: list[tuple[int, str, str]] = []
        self.revoked: dict[str, set[int]] = {}
        self._lock = threading.Lock()

    def take(self, name: str, partitions: Iterable[int]) -> None:
        with self._lock:
            for partition in partitions:
                owner = self.owners.setdefault(partition, name)
                if owner != name:
                    self.conflicts.append((partition, owner, name))

    def give_up(self, name: str, partitions: Iterable[int]) -> None:
        """Of `partitions`, those that `name` has: kafka-python says all again when it closes amid a rebalance."""
        with self._lock:
            for partition in partitions:
                if self.owners.get(partition) == name:
                    del self.owners[partition]
                    self.revoked.setdefault(name, set()).add(partition)

    def of(self, name: str) -> set[int]:
        with self._lock:
            return {partition for partition, owner in self.owners.items() if owner == name}


class Listener(ConsumerRebalanceListener):
    """Enters the assignments of its consumer into the ledger."""

    def __init__(self, name: str, ledger: Ledger) -> None:
        self._name = name
        self._ledger = ledger

    def on_partitions_assigned(self, assigned: Iterable[Any]) -> None:
        self._ledger.take(self._name, {each.partition for each in assigned})

    def on_partitions_revoked(self, revoked: Iterable[Any]) -> None:
        self._ledger.give_up(self._name, {each.partition for each in revoked})


class Consumers:
    """The members of one group, by name, all with the same strategy."""

    def __init__(self, server: RunningServer, strategy: type) -> None:
        self.group_id = next(_GROUPS)
        self.ledger = Ledger()
        self.members: dict[str, Member] = {}
        self._server = server
        self._strategy = strategy
        with WireClient(server.bootstrap) as client:
            client.create_topic(self.group_id, PARTITIONS)

    def join(self, name: str) -> None:
        self.members[name] = Member(
            self._server.bootstrap,
            self.group_id,
            self.group_id,
            listener=Listener(name, self.ledger),
            partition_assignment_strategy=[self._strategy()],
        )

    def leave(self, name: str) -> None:
        self.members.pop(name).stop()

    def settle(self) -> dict[str, set[int]]:
        """Wait until all partitions are shared; who has what."""
        steady(list(self.members.values()), PARTITIONS, f"{len(self.members)} members to share all partitions")
        return {name: self.ledger.of(name) for name in self.members}

    def protocol_name(self) -> str:
        with WireClient(self._server.bootstrap) as client:
            (group,) = client.request(DescribeGroupsRequest(groups=[self.group_id]), 4).groups
        name: str = group.protocol_data
        return name


@contextmanager
def consumers(server: RunningServer, strategy: type) -> Iterator[Consumers]:
    group = Consumers(server, strategy)
    try:
        yield group
    finally:
        stop_all(group.members.values())
    assert group.ledger.conflicts == [], "no partition ever had two owners"
    assert group.ledger.owners == {}, "all were given up in the end"


@pytest.mark.parametrize("strategy", [RangeAssignor, StickyAssignor])
def test_an_eager_group_gives_all_up_and_shares_all_again(server, strategy):
    with consumers(server, strategy) as group:
        group.join("one")
        group.join("two")
        before = group.settle()
        assert group.protocol_name() == strategy.assignor.name
        group.join("three")
        after = group.settle()
        assert sorted(map(len, after.values())) == [2, 2, 3]
        assert before["one"] <= group.ledger.revoked["one"], "also what it has again now"


def test_sticky_members_have_again_what_they_had(server):
    with consumers(server, StickyAssignor) as group:
        for name in ("one", "two", "three"):
            group.join(name)
        before = group.settle()
        group.leave("three")
        after = group.settle()
        assert before["one"] < after["one"]
        assert before["two"] < after["two"]


def test_a_cooperative_group_gives_up_only_what_moves(server):
    with consumers(server, CooperativeStickyAssignor) as group:
        group.join("one")
        group.join("two")
        before = group.settle()
        group.ledger.revoked.clear()
        group.join("three")
        after = group.settle()
        assert sorted(map(len, after.values())) == [2, 2, 3]
        assert group.protocol_name() == "cooperative-sticky"
        for name in ("one", "two"):
            assert group.ledger.revoked.get(name, set()) == before[name] - after[name]
        assert after["three"] == (before["one"] - after["one"]) | (before["two"] - after["two"])

        group.ledger.revoked.clear()
        group.leave("three")
        last = group.settle()
        assert group.ledger.revoked == {"three": after["three"]}, "only who leaves gives something up"
        assert after["one"] <= last["one"]
        assert after["two"] <= last["two"]
