"""What holds of every assignment, whatever the members, their subscriptions, and what they had before."""

from collections.abc import Mapping
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from coordinator.core.assignors.model import NO_GENERATION, Assignment, MemberSubscription, Topic
from coordinator.core.assignors.registry import ASSIGNORS, COOPERATIVE_STICKY, RANGE, ROUND_ROBIN, STICKY
from tests.core.assignors.questions import assert_valid, kept, owners_of, partitions_of, rejoined, sizes

NAMES: Final = ("a", "b", "c", "d")
RACKS: Final = ("left", "middle", "right")
MEMBERS_MAX: Final = 7
PARTITIONS_MAX: Final = 9

Question = tuple[list[MemberSubscription], dict[str, Topic]]
every_assignor = pytest.mark.parametrize("assignor", ASSIGNORS.values(), ids=ASSIGNORS)


@st.composite
def topics(draw: st.DrawFn, *, racks: bool = False) -> dict[str, Topic]:
    found = {}
    for name in draw(st.sets(st.sampled_from(NAMES), min_size=1)):
        count = draw(st.integers(0, PARTITIONS_MAX))
        replicas = st.frozensets(st.sampled_from(RACKS), min_size=1, max_size=2)
        found[name] = Topic(count, tuple(draw(replicas) for _ in range(count)) if racks else ())
    return found


@st.composite
def questions(draw: st.DrawFn, *, equal: bool = False, racks: bool = False) -> Question:
    """Members that own nothing yet; some static, some that subscribe to what does not exist."""
    subscription = st.frozensets(st.sampled_from(NAMES))
    common = draw(subscription)
    members = [
        MemberSubscription(
            f"member-{draw(st.integers(0, 999))}-{number}",
            common if equal else draw(subscription),
            draw(st.none() | st.just(f"instance-{number}")),
            rack_id=draw(st.none() | st.sampled_from(RACKS)) if racks else None,
        )
        for number in range(draw(st.integers(1, MEMBERS_MAX)))
    ]
    return members, draw(topics(racks=racks))


@st.composite
def claiming(draw: st.DrawFn, *, racks: bool = False) -> Question:
    """Members that say anything of what they own, also what others say, what they do not want, what is not there."""
    members, found = draw(questions(equal=draw(st.booleans()), racks=racks))
    claims = st.dictionaries(
        st.sampled_from(NAMES), st.lists(st.integers(0, PARTITIONS_MAX), max_size=6, unique=True), max_size=3
    )
    generations = st.integers(NO_GENERATION, 2)
    return [
        replace(member, owned_partitions=draw(claims), generation_id=draw(generations)) for member in members
    ], found


@st.composite
def changed(draw: st.DrawFn, *, equal: bool = False) -> tuple[Question, Question]:
    """(a group that has its sticky assignment, the same after somebody came, left, changed or a topic grew)."""
    members, found = draw(questions(equal=equal))
    settled = rejoined(members, STICKY.assign(members, found), 1)
    after, grown = list(settled), dict(found)
    changes = draw(st.lists(st.sampled_from(["leave", "join", "subscribe", "grow"]), min_size=1, max_size=3))
    for number, change in enumerate(changes):
        if change == "leave" and len(after) > 1:
            after.pop(draw(st.integers(0, len(after) - 1)))
        elif change == "join":
            after.append(MemberSubscription(f"new-{number}", after[0].topics))
        elif change == "subscribe" and not equal:
            place = draw(st.integers(0, len(after) - 1))
            after[place] = replace(after[place], topics=draw(st.frozensets(st.sampled_from(NAMES))))
        elif change == "grow":
            name = draw(st.sampled_from(sorted(grown)))
            grown[name] = Topic(grown[name].partition_count + draw(st.integers(1, 4)))
    return (settled, found), (after, grown)


def assert_no_direct_move_is_left(members: list[MemberSubscription], assignment: Assignment) -> None:
    """Nobody could take a partition from somebody with two more."""
    load = {member_id: len(partitions_of(by_topic)) for member_id, by_topic in assignment.items()}
    for (name, _), owner in owners_of(assignment).items():
        for member in members:
            assert name not in member.topics or load[owner] <= load[member.member_id] + 1


# ---- every assignor


@every_assignor
@given(question=questions())
def test_every_partition_has_one_owner_that_subscribes_to_it(assignor, question: Question):
    members, found = question
    assert_valid(members, found, assignor.assign(members, found))


@every_assignor
@given(question=questions(racks=True))
def test_so_it_is_with_racks(assignor, question: Question):
    members, found = question
    assert_valid(members, found, assignor.assign(members, found))


@every_assignor
@given(question=claiming(racks=True))
def test_so_it_is_whatever_members_say_they_own(assignor, question: Question):
    members, found = question
    assert_valid(members, found, assignor.assign(members, found), whole=assignor is not COOPERATIVE_STICKY)


@every_assignor
@given(question=claiming(racks=True), data=st.data())
def test_the_order_of_members_and_topics_does_not_matter(assignor, question: Question, data: st.DataObject):
    members, found = question
    other = data.draw(st.permutations(members))
    reversed_topics = dict(reversed(found.items()))
    assert assignor.assign(other, reversed_topics) == assignor.assign(members, found)


# ---- balance


@given(question=questions(racks=True))
def test_range_is_balanced_within_each_topic(question: Question):
    members, found = question
    assignment = RANGE.assign(members, found)
    for name in found:
        shares = [len(assignment[member.member_id].get(name, ())) for member in members if name in member.topics]
        assert max(shares, default=0) - min(shares, default=0) <= 1


@given(question=questions(equal=True))
def test_range_cuts_topics_of_the_same_size_in_the_same_places(question: Question):
    members, found = question
    assignment = RANGE.assign(members, found)
    for by_topic in assignment.values():
        for one in by_topic:
            for other in by_topic:
                if found[one].partition_count == found[other].partition_count:
                    assert by_topic[one] == by_topic[other]


@pytest.mark.parametrize("assignor", [ROUND_ROBIN, STICKY, COOPERATIVE_STICKY], ids=lambda each: each.name)
@given(question=questions(equal=True, racks=True))
def test_equal_subscriptions_are_balanced_over_all_topics(assignor, question: Question):
    members, found = question
    shares = sizes(assignor.assign(members, found))
    assert max(shares) - min(shares) <= 1


@given(question=claiming(racks=True))
def test_sticky_leaves_no_move_that_would_even_out(question: Question):
    members, found = question
    assert_no_direct_move_is_left(members, STICKY.assign(members, found))


# ---- stickiness


@pytest.mark.parametrize("assignor", [STICKY, COOPERATIVE_STICKY], ids=lambda each: each.name)
@given(question=questions())
def test_nothing_changes_when_nothing_changed(assignor, question: Question):
    members, found = question
    assignment = assignor.assign(members, found)
    assert assignor.assign(rejoined(members, assignment, 1), found) == assignment


@given(question=questions(equal=True), data=st.data())
def test_a_lost_member_moves_only_its_own_partitions(question: Question, data: st.DataObject):
    members, found = question
    before = STICKY.assign(members, found)
    left = data.draw(st.sampled_from(members))
    stay = [each for each in rejoined(members, before, 1) if each.member_id != left.member_id]
    if stay:
        after = STICKY.assign(stay, found)
        for each in stay:
            assert partitions_of(before[each.member_id]) <= partitions_of(after[each.member_id])


@given(question=questions(equal=True))
def test_a_new_member_takes_from_others_and_they_take_nothing(question: Question):
    members, found = question
    before = STICKY.assign(members, found)
    new = MemberSubscription("new", members[0].topics)
    after = STICKY.assign([*rejoined(members, before, 1), new], found)
    for member in members:
        assert partitions_of(after[member.member_id]) <= partitions_of(before[member.member_id])


@given(change=changed(equal=True))
def test_equal_subscriptions_keep_as_much_as_balance_allows(change: tuple[Question, Question]):
    _, (members, found) = change
    assignment = STICKY.assign(members, found)
    assert kept(members, assignment) == most_that_can_be_kept(members, found)


def most_that_can_be_kept(members: list[MemberSubscription], found: Mapping[str, Topic]) -> int:
    """Everyone keeps up to the quota, and as many as may have one more keep one more."""
    wanted = {name: found[name].partition_count for name in members[0].topics & found.keys()}
    quota, extras = divmod(sum(wanted.values()), len(members))
    owned = [len(partitions_of({name: list(n) for name, n in member.owned_partitions.items()})) for member in members]
    return sum(min(count, quota) for count in owned) + min(extras, sum(count > quota for count in owned))


# ---- cooperation


@given(question=claiming(racks=True))
def test_cooperative_members_get_nothing_that_another_may_still_have(question: Question):
    members, found = question
    latest: dict[Any, list[MemberSubscription]] = {}
    for each in sorted(members, key=lambda member: -member.generation_id):
        for partition in partitions_of({name: list(n) for name, n in each.owned_partitions.items()}):
            claimants = latest.setdefault(partition, [])
            if not claimants or claimants[0].generation_id == each.generation_id:
                claimants.append(each)
    for partition, member_id in owners_of(COOPERATIVE_STICKY.assign(members, found)).items():
        assert {each.member_id for each in latest.get(partition, ())} <= {member_id}


@given(change=changed())
def test_two_cooperative_rounds_are_enough(change: tuple[Question, Question]):
    _, (members, found) = change
    first = COOPERATIVE_STICKY.assign(members, found)
    again = rejoined(members, first, 2)
    second = COOPERATIVE_STICKY.assign(again, found)
    assert_valid(members, found, second)
    assert_no_direct_move_is_left(members, second)
    for each in again:
        assert partitions_of(first[each.member_id]) <= partitions_of(second[each.member_id]), "nothing is given up"
