"""Which groups are watched, by settings and rules; and how a rule gets to all partitions."""

import asyncio
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from _wire.errors import ErrorCode
from coordinator.cluster.brokers.tasks import completed
from coordinator.cluster.log.notes import Notes, WatchRule, watch_record
from coordinator.cluster.log.store import ClusterStore
from coordinator.cluster.log.topics import TopicError
from coordinator.cluster.watch_changes import RULES_MAX, WatchChanges
from coordinator.cluster.watched_groups import WatchedGroups, merged
from coordinator.runtime.interfaces import StoreError
from coordinator.runtime.slices import Steps

PARTITIONS = 4


def rule(is_watched: bool, at_ms: int = 1) -> WatchRule:
    return WatchRule(is_watched=is_watched, at_ms=at_ms, by="ops")


def groups(*patterns: str, owned: str = "") -> WatchedGroups:
    return WatchedGroups(patterns, "nodes", lambda group_id: group_id == owned)


def test_a_setting_is_a_rule_that_another_one_takes_the_place_of():
    watched = groups("web-*")
    assert "web-1" in watched
    assert "other" not in watched
    watched.use({"web-*": rule(False), "other": rule(True)})
    assert "web-1" not in watched
    assert "other" in watched


@pytest.mark.parametrize("is_watched", [True, False])
def test_the_rule_of_a_name_counts_more_than_those_of_patterns(is_watched):
    watched = groups()
    watched.use({"web-*": rule(not is_watched), "web-1": rule(is_watched)})
    assert ("web-1" in watched) is is_watched
    assert ("web-2" in watched) is not is_watched


def test_groups_of_the_nodes_are_not_watched_nor_their_own_group():
    watched = groups("*", owned="mine")
    assert "mine" not in watched
    assert "nodes" not in watched
    assert "theirs" in watched


def test_only_what_changes_groups_is_a_change():
    watched = groups("web-*")
    assert watched.use({"a": rule(True)})
    assert not watched.use({"a": rule(True)})
    assert watched.fingerprint == [("a", True), ("web-*", True)]


def test_a_name_that_is_not_watched_leaves_nothing_to_watch():
    watched = groups()
    watched.use({"a": rule(False)})
    assert not watched.watches


def test_of_two_partitions_the_newer_rule_counts():
    assert merged([{"a": rule(True, 5)}, {"a": rule(False, 9)}, {"a": rule(True, 7)}]) == {"a": rule(False, 9)}


def test_a_rule_is_a_note_that_the_next_node_reads():
    notes = Notes()
    notes.apply(*watch_record("web-*", rule(True)))
    assert notes.watched == {"web-*": rule(True)}
    assert notes.rules == {}
    key, _ = watch_record("web-*", rule(True))
    notes.apply(key, b"{")
    assert notes.watched == {"web-*": rule(True)}, "a damaged note counts as none"


class Store(ClusterStore):
    def __init__(self) -> None:
        self.notes = Notes()
        self.problem: StoreError | None = None

    def leave_note(self, record: Any, completed: Callable[[StoreError | None], None] | None = None) -> None:
        if self.problem is None:
            self.notes.apply(*record)
        assert completed is not None
        completed(self.problem)


class Node:
    """The changes of a node that leads some partitions; the partition of a group is the number at its end."""

    def __init__(self, *led: int) -> None:
        self.stores = [Store() for _ in range(PARTITIONS)]
        shards = [
            SimpleNamespace(partition=partition, is_active=partition in led, store=store)
            for partition, store in enumerate(self.stores)
        ]
        coordinator: Any = SimpleNamespace(shards=shards, partition_of=lambda group_id: int(group_id[-1]))
        ownership: Any = SimpleNamespace(is_owned=lambda group_id: group_id == "web-1")
        self.unprepared: TopicError | None = None
        self.watched = groups()
        watching: Any = SimpleNamespace(prepare=self._prepare, follow_rules=self._follow, watched=self.watched)

        async def listed() -> list[str]:
            return ["web-0", "web-1", "web-3", "other-0", "nodes"]

        self.changes = WatchChanges(coordinator, ownership, watching, listed, lambda: 7)

    def _prepare(self) -> Steps[None]:
        yield
        if self.unprepared is not None:
            raise self.unprepared

    def _follow(self) -> None:
        self.watched.use(merged(store.notes.watched for store in self.stores))

    def change(self, name: str, is_watched: bool = True) -> Any:
        async def change() -> Any:
            return await completed(self.changes.change("ops", name, is_watched))

        return asyncio.run(change())

    def would(self, name: str) -> Any:
        async def would() -> Any:
            return await completed(self.changes.would(name, True))

        return asyncio.run(would())


def test_each_partition_that_is_led_gets_a_rule_also_one_that_names_a_group():
    node = Node(0, 1)
    result = node.change("web-0")
    assert (result.error_code, result.taken, result.needed) == (0, [0, 1], [0, 1, 2, 3])
    assert [sorted(store.notes.watched) for store in node.stores] == [["web-0"], ["web-0"], [], []]
    assert "web-0" in node.watched


def test_groups_of_the_partitions_that_are_led_are_told_and_which_the_nodes_have():
    result = Node(0, 1).would("web-*")
    assert (result.groups, result.owned, result.taken) == (["web-0", "web-1"], ["web-1"], [])


def test_the_group_of_the_nodes_is_none_of_them():
    assert Node(0, 1, 2, 3).would("*").groups == ["other-0", "web-0", "web-1", "web-3"]


def test_a_dry_run_changes_nothing():
    node = Node(0, 1)
    node.would("web-*")
    assert not any(store.notes.watched for store in node.stores)


def test_where_topics_cannot_be_used_no_rule_is_written():
    node = Node(0, 1)
    node.unprepared = TopicError("__consumer_offsets has 3 partitions")
    result = node.change("web-*")
    assert (result.error_code, result.error_message) == (
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        "__consumer_offsets has 3 partitions",
    )
    assert not any(store.notes.watched for store in node.stores)


def test_a_rule_that_is_not_stored_everywhere_is_a_problem():
    node = Node(0, 1)
    node.stores[1].problem = StoreError("led no more")
    result = node.change("web-*")
    assert (result.taken, result.error_message) == ([0], "led no more")
    assert "web-3" in node.watched, "what is stored holds"


def test_there_is_room_for_so_many_rules_and_one_may_always_be_taken_back():
    node = Node(0)
    node.watched.use({f"group-{number}": rule(True) for number in range(RULES_MAX)})
    assert "200" in node.change("one-more").error_message
    assert node.change("group-1", is_watched=False).error_code == 0
