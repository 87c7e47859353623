"""Small groups whose shares can be followed on paper."""

import pytest

from coordinator.core.assignors.model import Topic
from coordinator.core.assignors.registry import ASSIGNORS, COOPERATIVE_STICKY, RANGE, ROUND_ROBIN, STICKY
from tests.core.assignors.questions import counts, member, rejoined

BOTH = ("t1", "t2")
TWO_TOPICS = counts(t1=3, t2=3)


def test_range_cuts_each_topic_by_itself():
    members = [member("c1", BOTH), member("c2", BOTH)]
    assert RANGE.assign(members, TWO_TOPICS) == {"c1": {"t1": [0, 1], "t2": [0, 1]}, "c2": {"t1": [2], "t2": [2]}}


def test_round_robin_goes_on_with_the_next_topic():
    members = [member("c1", BOTH), member("c2", BOTH)]
    assert ROUND_ROBIN.assign(members, TWO_TOPICS) == {"c1": {"t1": [0, 2], "t2": [1]}, "c2": {"t1": [1], "t2": [0, 2]}}


def test_round_robin_passes_over_who_does_not_subscribe():
    members = [member("c1", ["t1"]), member("c2", BOTH)]
    assert ROUND_ROBIN.assign(members, counts(t1=2, t2=2)) == {"c1": {"t1": [0]}, "c2": {"t1": [1], "t2": [0, 1]}}


def test_static_members_have_the_same_after_a_restart():
    before = RANGE.assign([member("m1", ["t"], instance_id="a"), member("m2", ["t"], instance_id="b")], counts(t=3))
    after = RANGE.assign([member("m9", ["t"], instance_id="a"), member("m2", ["t"], instance_id="b")], counts(t=3))
    assert (before["m1"], before["m2"]) == (after["m9"], after["m2"])


def test_range_prefers_the_rack_of_a_member_where_balance_allows():
    near = [frozenset({"b"}), frozenset({"b"}), frozenset({"a"}), frozenset({"a"})]
    members = [member("c1", ["t"], rack="a"), member("c2", ["t"], rack="b")]
    assert RANGE.assign(members, {"t": Topic(4, near)}) == {"c1": {"t": [2, 3]}, "c2": {"t": [0, 1]}}
    everywhere_but_one = [near[2]] * 3 + [near[0]]
    assert RANGE.assign(members, {"t": Topic(4, everywhere_but_one)}) == {"c1": {"t": [0, 1]}, "c2": {"t": [2, 3]}}


def test_range_does_not_part_topics_of_one_size_for_a_rack():
    members = [member("c1", BOTH, rack="a"), member("c2", BOTH, rack="b")]
    a, b = frozenset("a"), frozenset("b")
    topics = {"t1": Topic(2, (b, a)), "t2": Topic(2, (a, b))}
    assert RANGE.assign(members, topics) == {"c1": {"t1": [0], "t2": [0]}, "c2": {"t1": [1], "t2": [1]}}


def test_sticky_shares_out_what_a_lost_member_had():
    members = [member("c1", ["t"]), member("c2", ["t"]), member("c3", ["t"])]
    before = STICKY.assign(members, counts(t=6))
    assert before == {"c1": {"t": [0, 3]}, "c2": {"t": [1, 4]}, "c3": {"t": [2, 5]}}
    after = STICKY.assign(rejoined(members[:2], before, 1), counts(t=6))
    assert after == {"c1": {"t": [0, 2, 3]}, "c2": {"t": [1, 4, 5]}}


def test_sticky_with_different_subscriptions_keeps_what_is_even_enough():
    """The example of KIP-54: c2 is gone, and what c1 and c3 had stays where it was."""
    subscriptions = {"c1": ["t1"], "c3": ["t1", "t2", "t3"]}
    owned = {"c1": {"t1": [0]}, "c3": {"t3": [0, 1, 2]}}
    members = [member(name, topics, owned[name], 1) for name, topics in subscriptions.items()]
    assert STICKY.assign(members, counts(t1=1, t2=2, t3=3)) == {
        "c1": {"t1": [0]},
        "c3": {"t2": [0, 1], "t3": [0, 1, 2]},
    }


def test_sticky_moves_what_was_new_before_what_was_at_home():
    members = [
        member("idle", ["new"], {}, 1),
        member("busy", ["new", "old"], {"old": [0, 1]}, 1),
    ]
    assert STICKY.assign(members, counts(new=2, old=2)) == {"idle": {"new": [0, 1]}, "busy": {"old": [0, 1]}}


def test_cooperative_leaves_out_what_moves_and_gives_it_in_the_second_round():
    members = [member("c1", ["t"], {"t": [0, 1, 2]}, 1), member("c2", ["t"])]
    first = COOPERATIVE_STICKY.assign(members, counts(t=3))
    assert first == {"c1": {"t": [0, 1]}, "c2": {}}
    second = COOPERATIVE_STICKY.assign(rejoined(members, first, 2), counts(t=3))
    assert second == {"c1": {"t": [0, 1]}, "c2": {"t": [2]}}


def test_cooperative_gives_nobody_what_two_claim():
    members = [member("c1", ["t"], {"t": [0]}, 1), member("c2", ["t"], {"t": [0]}, 1)]
    assert COOPERATIVE_STICKY.assign(members, counts(t=1)) == {"c1": {}, "c2": {}}


@pytest.mark.parametrize("assignor", ASSIGNORS.values(), ids=ASSIGNORS)
def test_nobody_and_nothing(assignor):
    assert assignor.assign([], counts(t=3)) == {}
    assert assignor.assign([member("c", ["gone"])], counts(t=3)) == {"c": {}}
    assert assignor.assign([member("c", [])], counts(t=3)) == {"c": {}}
    assert assignor.assign([member("c", ["t"])], counts(t=0)) == {"c": {}}
