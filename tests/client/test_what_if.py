"""What would move: counted on paper."""

import pytest

from coordinator.client.groups import DescribedConsumers
from coordinator.client.server_assignors import server_assignors
from coordinator.client.what_if import what_if, with_new_members, without_member
from coordinator.client.wire import ClientError
from coordinator.core.assignors.model import MemberSubscription
from coordinator.core.assignors.registry import COOPERATIVE_STICKY, RANGE, STICKY
from tests.core.assignors.questions import counts, member

TOPICS = counts(t=6)
ONE = member("one", "t", {"t": [0, 1, 2]}, 1, instance_id="static-one")
TWO = member("two", "t", {"t": [3, 4, 5]}, 1)
GROUP = DescribedConsumers("g", "range", (ONE, TWO), {"one": "app", "two": "app"}, TOPICS)


def numbers(partitions: frozenset[tuple[str, int]]) -> set[int]:
    return {number for _, number in partitions}


def test_nothing_moves_where_nothing_changes():
    answer = what_if(RANGE, GROUP.members, GROUP.members, TOPICS)
    assert [(change.member_id, len(change.kept), change.gained, change.lost) for change in answer.changes] == [
        ("one", 3, set(), set()),
        ("two", 3, set(), set()),
    ]
    assert (answer.moved, answer.newly_assigned, answer.rounds) == (set(), set(), 1)


@pytest.mark.parametrize(("assignor", "moved", "rounds"), [(RANGE, 3, 1), (STICKY, 2, 1), (COOPERATIVE_STICKY, 2, 2)])
def test_two_new_members(assignor, moved, rounds):
    answer = what_if(assignor, GROUP.members, with_new_members(GROUP, 2), TOPICS)
    assert all(change.gained and not change.lost for change in answer.changes if change.member_id.startswith("new-"))
    assert (len(answer.moved), answer.rounds) == (moved, rounds)


def test_one_member_less():
    answer = what_if(STICKY, GROUP.members, without_member(GROUP, "two"), TOPICS)
    one, two = answer.changes
    assert (numbers(one.kept), numbers(one.gained), one.lost) == ({0, 1, 2}, {3, 4, 5}, set())
    assert (two.kept, two.gained, numbers(two.lost)) == (set(), set(), {3, 4, 5})
    assert numbers(answer.moved) == {3, 4, 5}


def test_a_partition_without_owner_is_newly_assigned_and_not_moved():
    answer = what_if(STICKY, GROUP.members, GROUP.members, counts(t=8))
    assert (numbers(answer.newly_assigned), answer.moved) == ({6, 7}, set())


def test_new_members_subscribe_to_all_topics_of_the_group():
    group = DescribedConsumers("g", "range", (ONE, member("three", "u")), {"one": "", "three": ""}, counts(t=1, u=1))
    assert with_new_members(group, 2)[2:] == (
        MemberSubscription("new-1", frozenset("tu")),
        MemberSubscription("new-2", frozenset("tu")),
    )


def test_a_member_is_known_by_any_of_its_ids():
    assert without_member(GROUP, "one") == without_member(GROUP, "static-one") == (TWO,)


@pytest.mark.parametrize(
    ("name", "complaint"),
    [("three", "no member three; its members are one, two"), ("app", "several members; use a member id: one, two")],
)
def test_an_unknown_or_ambiguous_member_is_rejected(name, complaint):
    with pytest.raises(ClientError, match=complaint):
        without_member(GROUP, name)


def test_the_assignors_of_the_server_take_what_is_owned_for_the_target():
    uniform = server_assignors({"t": bytes(16)})["uniform"]
    answer = what_if(uniform, GROUP.members, with_new_members(GROUP, 1), TOPICS)
    assert (len(answer.moved), answer.rounds) == (2, 1)
    assert [len(change.kept) + len(change.gained) for change in answer.changes] == [2, 2, 2]
    assert not any(change.gained for change in answer.changes if change.member_id != "new-1")


def test_members_of_different_topics_are_a_heterogeneous_group():
    """As a homogeneous group the first member would get topics that it does not subscribe to."""
    members = (member("one", "t"), member("two", "tu"))
    for assignor in server_assignors({"t": bytes(16), "u": bytes(15) + b"u"}).values():
        answer = what_if(assignor, members, members, counts(t=2, u=4))
        one, two = answer.changes
        assert {name for name, _ in one.gained} <= {"t"} and {name for name, _ in two.gained} >= {"u"}
        assert len(answer.newly_assigned) == 6


def test_the_only_member_cannot_be_left_out():
    alone = DescribedConsumers("g", "range", (ONE,), {"one": "app"}, TOPICS)
    with pytest.raises(ClientError, match="no member would remain"):
        without_member(alone, "app")
