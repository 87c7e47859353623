"""Heartbeats with very many names: they are put in order in steps, and no decision can tell the difference."""

from collections.abc import Generator
from random import Random
from typing import Any

import pytest

from _wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from coordinator.core.consumer import long_heartbeats
from coordinator.core.consumer.heartbeat_requests import prepare
from coordinator.core.consumer.long_heartbeats import NAMES_SORTED_AT_ONCE, LongHeartbeat, sorted_names
from coordinator.core.consumer.named_topics import NAMES_COUNTED_AT_ONCE
from coordinator.core.kinds import operations
from coordinator.core.operation import Answer
from coordinator.groups.state_machine import GroupStateMachine
from tests.core.consumer.world import World
from tests.core.deciding import context
from tests.simulation.simulation import GROUP_ID, Sent


def request(names: list[str] | None, **changes: Any) -> ConsumerGroupHeartbeatRequest:
    asked: dict[str, Any] = {"group_id": "g", "member_id": "m", "rebalance_timeout_ms": 1, "topic_partitions": []}
    return ConsumerGroupHeartbeatRequest(subscribed_topic_names=names, **asked | changes)


def shuffled(count: int) -> list[str]:
    names = [f"n{number % (count // 2)}" for number in range(count)]
    Random(0).shuffle(names)
    return names


@pytest.mark.parametrize("names", [None, [], ["b", "a", "b"], shuffled(NAMES_SORTED_AT_ONCE)])
def test_a_heartbeat_with_few_names_is_handed_on(names: list[str] | None) -> None:
    asked = request(names, member_epoch=1)
    assert prepare(asked, context()) is asked


def test_very_many_names_are_put_in_order_in_steps() -> None:
    names = shuffled(10 * NAMES_SORTED_AT_ONCE)
    asked = request(names, member_epoch=3, instance_id="i", server_assignor="range")
    steps = prepare(asked, context())
    assert isinstance(steps, Generator)
    taken = 0
    while True:
        try:
            next(steps)
        except StopIteration as end:
            prepared = end.value
            break
        taken += 1
    assert taken >= 2 * 10
    assert prepared.subscribed_topic_names == sorted_names(prepared.subscribed_topic_names) == sorted_names(names)
    for name in set(LongHeartbeat._fields) - {"subscribed_topic_names"}:
        assert getattr(prepared, name) == getattr(asked, name)
    assert asked.subscribed_topic_names == names


def test_it_has_the_fields_of_the_request() -> None:
    assert LongHeartbeat._fields == ConsumerGroupHeartbeatRequest.FIELDS


def test_a_wrong_heartbeat_is_rejected_before_its_names_are_looked_at() -> None:
    assert isinstance(prepare(request(shuffled(10 * NAMES_SORTED_AT_ONCE), group_id=""), context()), Answer)


def test_a_group_decides_about_it_as_about_any_other(monkeypatch: pytest.MonkeyPatch) -> None:
    names = ["t", "u", "t", "none"]
    usual, long = World(), World()
    first = usual.enter("a", *names), usual.beat("a", 2, names=names[1:]), usual.beat("a", 2)
    monkeypatch.setattr("coordinator.core.consumer.heartbeat_requests.NAMES_SORTED_AT_ONCE", 0)
    monkeypatch.setattr(long_heartbeats, "NAMES_SORTED_AT_ONCE", 1)
    assert (long.enter("a", *names), long.beat("a", 2, names=names[1:]), long.beat("a", 2)) == first
    assert long.written() == usual.written()
    assert long.consumer == usual.consumer


def test_names_are_counted_in_steps_before_the_next_event(monkeypatch: pytest.MonkeyPatch) -> None:
    """A report of the group would count them at once. (In checked mode an operation has one step.)"""
    monkeypatch.setattr("coordinator.groups.machines.checks_are_armed", lambda: False)
    world, uncounted = World({"message.max.bytes": "10000000"}), list[int]()
    apply = GroupStateMachine.apply

    def watching(machine: GroupStateMachine, key: str, *arguments: Any) -> None:
        apply(machine, key, *arguments)
        uncounted.append(len(machine.groups[key].membership.named_topics.uncounted))

    monkeypatch.setattr(GroupStateMachine, "apply", watching)
    joining, sent = request([*shuffled(4 * NAMES_COUNTED_AT_ONCE), "t"], group_id=GROUP_ID, member_id="a"), Sent()
    world.submit(operations.CONSUMER_GROUP_HEARTBEAT, GROUP_ID, joining, sent, "client", 1)
    while not sent.answered:
        world.end_iteration()
    assert uncounted[1] > 1  # the member has joined
    assert not any(uncounted[2:])
    assert len(world.consumer.named_topics.counted) == 2 * NAMES_COUNTED_AT_ONCE + 1
    assert world.assigned("a") == {"t": [0, 1, 2]}
    world.restart()
    assert not world.consumer.named_topics.uncounted
