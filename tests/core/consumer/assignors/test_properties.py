"""What holds of every target, whatever the members subscribe to and had before."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coordinator.core.consumer.assignors.model import Subscriber, Target
from coordinator.core.consumer.assignors.registry import ASSIGNORS, RANGE, UNIFORM, Assignor

TOPICS: Final = tuple(bytes((number, *15 * (7,))) for number in (0x01, 0x7F, 0x80, 0xFF))
MEMBERS_MAX: Final = 8
PARTITIONS_MAX: Final = 11

Question = tuple[list[Subscriber], dict[bytes, int], bool]
every_assignor = pytest.mark.parametrize("assignor", ASSIGNORS.values(), ids=ASSIGNORS)


def sizes(target: Target) -> list[int]:
    return [sum(map(len, by_topic.values())) for by_topic in target.values()]


def owners(target: Mapping[str, Mapping[bytes, Sequence[int]]]) -> dict[tuple[bytes, int], str]:
    found: dict[tuple[bytes, int], str] = {}
    for member_id, by_topic in target.items():
        for topic, partitions in by_topic.items():
            for partition in partitions:
                assert (topic, partition) not in found
                found[topic, partition] = member_id
    return found


@st.composite
def questions(draw: st.DrawFn, *, is_homogeneous: bool | None = None, damaged: bool = False) -> Question:
    """A group with targets: of partitions that belong to one member each, or of anything where `damaged`."""
    topics = {topic: draw(st.integers(0, PARTITIONS_MAX)) for topic in draw(st.sets(st.sampled_from(TOPICS)))}
    same = draw(st.booleans()) if is_homogeneous is None else is_homogeneous
    subscriptions = st.frozensets(st.sampled_from(sorted(topics))) if topics else st.just(frozenset[bytes]())
    common = draw(subscriptions)
    count = draw(st.integers(1, MEMBERS_MAX))
    targets: list[dict[bytes, list[int]]] = [{} for _ in range(count)]
    if damaged:
        anything = st.lists(st.integers(-1, PARTITIONS_MAX + 1), max_size=6)
        targets = [draw(st.dictionaries(st.sampled_from(TOPICS), anything)) for _ in range(count)]
    else:
        for topic, partitions in topics.items():
            for partition in range(partitions):
                owner = draw(st.integers(-1, count - 1))
                if owner >= 0:
                    targets[owner].setdefault(topic, []).append(partition)
    members = [
        Subscriber(
            f"member-{number}",
            draw(st.none() | st.just(f"instance-{number}")),
            common if same else draw(subscriptions),
            targets[number],
        )
        for number in range(count)
    ]
    return members, topics, same


@every_assignor
@given(data=st.data())
def test_each_partition_of_a_subscribed_topic_has_one_owner_who_subscribes_to_it(assignor: Assignor, data: Any):
    members, topics, is_homogeneous = data.draw(questions() | questions(damaged=True))
    target = assignor.assign(members, topics, is_homogeneous)
    assert target.keys() == {member.member_id for member in members}
    subscribed = frozenset[bytes]().union(*(member.topics for member in members))
    assert owners(target).keys() == {(topic, number) for topic in subscribed for number in range(topics[topic])}
    for member in members:
        assert target[member.member_id].keys() <= member.topics
        for partitions in target[member.member_id].values():
            assert partitions and list(partitions) == sorted(partitions)


@every_assignor
@given(question=questions())
def test_a_target_is_kept_while_nothing_changes(assignor: Assignor, question: Question):
    members, topics, is_homogeneous = question
    target = assignor.assign(members, topics, is_homogeneous)
    again = [msgspec.structs.replace(member, target=target[member.member_id]) for member in members]
    assert assignor.assign(again, topics, is_homogeneous) == target


@given(question=questions(is_homogeneous=True))
def test_uniform_is_even_and_moves_no_more_than_that_needs(question: Question):
    members, topics, _ = question
    target = UNIFORM.assign(members, topics, True)
    assert max(sizes(target)) - min(sizes(target)) <= 1
    before, after = owners({member.member_id: member.target for member in members}), owners(target)
    moved = sum(1 for partition, owner in before.items() if after.get(partition, owner) != owner)
    assert moved == fewest_moves(members, len(after))


def fewest_moves(members: Sequence[Subscriber], partitions: int) -> int:
    """What the members have above their shares, where the larger shares are those of members that have the most."""
    share, one_more = divmod(partitions, len(members))
    had = [
        sum(len(partitions) for topic, partitions in member.target.items() if topic in member.topics)
        for member in members
    ]
    had.sort(reverse=True)
    return sum(max(0, count - share - (place < one_more)) for place, count in enumerate(had))


@given(question=questions(is_homogeneous=False))
def test_uniform_leaves_no_partition_that_could_move_from_a_full_member_to_one_with_two_less(question: Question):
    members, topics, _ = question
    target = UNIFORM.assign(members, topics, False)
    load = dict(zip(target, sizes(target), strict=True))
    for (topic, _), owner in owners(target).items():
        for member in members:
            assert topic not in member.topics or load[owner] - load[member.member_id] <= 1


@given(question=questions())
def test_range_gives_each_member_a_row_of_each_topic(question: Question):
    members, topics, is_homogeneous = question
    target = RANGE.assign(members, topics, is_homogeneous)
    for topic, count in topics.items():
        subscribers = [member for member in members if topic in member.topics]
        subscribers.sort(key=lambda each: (each.instance_id is None, each.instance_id or each.member_id))
        row = [number for subscriber in subscribers for number in target[subscriber.member_id].get(topic, ())]
        assert row == list(range(count if subscribers else 0))
        shares = [len(target[subscriber.member_id].get(topic, ())) for subscriber in subscribers]
        assert shares == sorted(shares, reverse=True) and (not shares or shares[0] - shares[-1] <= 1)


@every_assignor
def test_a_group_without_members_has_no_target(assignor: Assignor):
    assert assignor.assign([], {TOPICS[0]: 3}, True) == assignor.assign([], {TOPICS[0]: 3}, False) == {}


@every_assignor
@pytest.mark.parametrize("is_homogeneous", [True, False])
def test_a_large_group_is_assigned_in_steps(assignor: Assignor, is_homogeneous: bool):
    """2,000 members of 50 topics: 100,000 subscriptions, several thousand for each step."""
    topics = {number.to_bytes(16, "big"): 60 for number in range(50)}
    members = [
        Subscriber(f"member-{number}", None, frozenset(topics) - {(number % 7).to_bytes(16, "big")} or frozenset(), {})
        for number in range(2_000)
    ]
    if is_homogeneous:
        members = [msgspec.structs.replace(member, topics=frozenset(topics)) for member in members]
    steps = sum(1 for _ in assignor.steps(members, topics, is_homogeneous))
    assert steps >= 3
    assert sum(sizes(assignor.assign(members, topics, is_homogeneous))) == 3_000
