from coordinator.core.assignors.claims import resolve_claims
from tests.core.assignors.questions import counts, member

TOPICS = counts(t=4)


def test_the_latest_generation_is_right():
    claims = resolve_claims([member("late", "t", {"t": [0]}, 5), member("stale", "t", {"t": [0, 1]}, 4)], TOPICS)
    assert claims.owner == {("t", 0): "late", ("t", 1): "stale"}, "what nobody else names is still the stale one's"
    assert claims.former == {("t", 0): "stale"}
    assert claims.contested == set()


def test_two_of_one_generation_are_both_not_believed():
    claims = resolve_claims([member("a", "t", {"t": [0]}, 5), member("b", "t", {"t": [0]}, 5)], TOPICS)
    assert claims.owner == {}
    assert claims.contested == {("t", 0)}


def test_three_of_one_generation_are_no_better():
    claims = resolve_claims([member(name, "t", {"t": [0]}, 5) for name in "abc"], TOPICS)
    assert claims.owner == {}
    assert claims.contested == {("t", 0)}


def test_who_comes_later_settles_what_was_contested():
    earlier = [member("a", "t", {"t": [0]}, 4), member("b", "t", {"t": [0]}, 4)]
    claims = resolve_claims([*earlier, member("c", "t", {"t": [0]}, 5)], TOPICS)
    assert claims.owner == {("t", 0): "c"}
    assert claims.contested == set()


def test_what_does_not_exist_is_nobodys():
    claims = resolve_claims([member("a", "t", {"t": [3, 4, -1], "gone": [0]}, 5)], TOPICS)
    assert claims.owner == {("t", 3): "a"}
