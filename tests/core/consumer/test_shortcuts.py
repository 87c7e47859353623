"""Requests that skip steps that would find nothing are decided as if they went through all of them."""

import random
from typing import Any

import pytest

from _wire.errors import NONE
from _wire.records import parse_records
from coordinator.core.consumer import member_update
from coordinator.core.consumer.member_update import MemberUpdate
from coordinator.core.consumer.target import TargetInput, compute_target
from coordinator.core.consumer.topic_partitions import TopicPartitions
from coordinator.core.decision import Topics
from coordinator.log.partition.partition_log import PartitionLog
from tests.core.consumer.world import World
from tests.examples import examples

NAMES = ("a", "b", "c", "d")
SUBSCRIPTIONS: tuple[dict[str, Any], ...] = (
    {"names": ["t"]},
    {"names": ["t", "u"]},
    {"names": []},
    {"names": ["missing"]},
    {"pattern": "t.*", "names": []},
    {"pattern": "", "names": ["t"]},
)
WEIGHTS = (8, 3, 1, 1, 2, 2)
STEPS = 60
HISTORIES = examples(60)


def play(seed: int) -> list[Any]:
    """A random history; all that members hear, and all that was written."""
    draw = random.Random(seed)
    world = World({"group.consumer.assignment.interval.ms": draw.choice(("0", "1000"))}, {"t": 4, "u": 3})
    epochs: dict[str, int] = {}
    heard: list[Any] = []
    for _ in range(STEPS):
        name = draw.choice(NAMES)
        epoch = epochs.get(name, 0)
        said: dict[str, Any] = {}
        match draw.choices(range(7), weights=[20, 10, 2, 8, 3, 3, 2])[0]:
            case 0 if epoch > 0:
                pass
            case 1 if epoch > 0 and world.whole_group is not None and name in world.consumer.members:
                said = {"owned": world.assigned(name)}
            case 2 if epoch > 0:
                said = draw.choices(SUBSCRIPTIONS, WEIGHTS)[0]
            case 3:
                subscription = draw.choices(SUBSCRIPTIONS, WEIGHTS)[0]
                epoch, said = 0, {**subscription, "owned": {}, "timeout_ms": 5_000}
            case 4 if epoch > 0:
                epoch = -1
            case 5:
                world.advance(draw.choice((1, 400, 1_000, 6_000)))
                continue
            case 6:
                world.fixed.grow("t", world.fixed.partition_count("t") + 1)
                continue
            case _:
                continue
        answer = world.beat(name, epoch, **said)
        heard.append((name, answer.error_code, answer.member_epoch, world.given(answer)))
        epochs[name] = max(answer.member_epoch, 0) if answer.error_code == NONE else 0
    return [*heard, *map(stored, (world.offsets_log, world.audit_log)), world.described()]


def stored(log: PartitionLog) -> list[tuple[bytes | None, bytes | None]]:
    """The records of a log."""
    return [(record.key, record.value) for _, batch in log.batches(0) for record in parse_records(batch)]


@pytest.mark.parametrize("shortcut", ["_says_nothing_new", "_joins_as_others"])
def test_a_shortcut_changes_nothing(monkeypatch: pytest.MonkeyPatch, shortcut: str) -> None:
    taken = 0
    is_taken = getattr(MemberUpdate, shortcut).fget

    def counted(step: MemberUpdate) -> bool:
        nonlocal taken
        found: bool = is_taken(step)
        taken += found
        return found

    for seed in range(HISTORIES):
        with monkeypatch.context() as patch:
            patch.setattr(MemberUpdate, shortcut, property(counted))
            heard = play(seed)
        with monkeypatch.context() as patch:
            patch.setattr(MemberUpdate, shortcut, False)
            assert heard == play(seed), f"seed {seed}"
    assert taken > HISTORIES


def test_who_joins_as_others_do_counts_with_what_the_members_subscribe_to_then(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was kept from when a regular expression was forgotten holds until the record of the new member."""
    asked: list[TargetInput] = []

    def compute(target_input: TargetInput, topics: Topics) -> dict[str, TopicPartitions]:
        asked.append(target_input)
        return compute_target(target_input, topics)

    monkeypatch.setattr(member_update, "compute_target", compute)
    world = World()
    world.enter("a", "t")
    world.enter("b", pattern="u")
    world.depart("b")
    assert world.consumer.kept_homogeneity is False
    world.enter("c", "t")
    assert asked[-1].members.keys() == {"a", "c"} and asked[-1].is_homogeneous


def test_what_was_found_of_a_subscription_is_not_used_for_another_one() -> None:
    world = World(topics={"t": 1, "u": 1})
    world.enter("a", "t")
    world.enter("b", "u")
    for _ in range(2):
        for name in ("a", "b"):
            world.beat(name, world.epoch(name), owned=world.assigned(name))
    assert (world.assigned("a"), world.assigned("b")) == ({"t": [0]}, {"u": [0]})


def test_what_was_found_of_a_subscription_holds_until_topics_change() -> None:
    world = World(topics={"t": 2})
    for name in ("a", "b"):
        world.enter(name, "later", "t")
    for name in ("a", "b", "a", "b"):
        world.beat(name, world.epoch(name), owned=world.assigned(name))
    assert (world.assigned("a"), world.assigned("b")) == ({"t": [0]}, {"t": [1]})
    world.fixed.create("later", 2)
    for name in ("a", "b"):
        world.beat(name, world.epoch(name))
    assert world.assigned("a") == {"t": [0], "later": [0]} and world.assigned("b") == {"t": [1], "later": [1]}
