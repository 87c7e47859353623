"""What a storm is, and what is none."""

import pytest

from coordinator.explain.sentences.storms import cause_counts, headline
from coordinator.explain.storms import (
    CLUSTER_STORM_REBALANCES,
    GROUP_STORM_REBALANCES,
    STORM_WINDOW_MS,
    Rebalances,
    all_storms,
    storms_of_cluster,
    storms_of_group,
)

T0 = 1_700_000_000_000
JUST = GROUP_STORM_REBALANCES


def each_after(step_ms: int, count: int, cause: str = "member_left", first_ms: int = T0) -> list[Rebalances]:
    return [Rebalances(first_ms + step_ms * place, "g", cause) for place in range(count)]


def test_as_many_rebalances_within_the_window_are_a_storm():
    (storm,) = storms_of_group("g", each_after(1_000, JUST))
    assert (storm.rebalances, storm.most, storm.until_ms - storm.from_ms) == (JUST, JUST, (JUST - 1) * 1_000)
    assert headline(storm).startswith(f"a storm: {JUST} rebalances in 5 s from ")


@pytest.mark.parametrize(
    "rebalances",
    [
        each_after(1_000, JUST - 1),
        each_after(STORM_WINDOW_MS // (JUST - 1), JUST),
        each_after(1_000, 100, "new_member"),
        each_after(1_000, 100, "member_rejoined"),
        [],
    ],
    ids=["too few", "too far apart", "only growth", "second rebalances of the cooperative protocol", "none"],
)
def test_no_storm(rebalances: list[Rebalances]):
    assert storms_of_group("g", rebalances) == []


def test_windows_that_overlap_are_one_storm_and_others_are_two():
    long = each_after(STORM_WINDOW_MS // JUST, 5 * JUST)
    (storm,) = storms_of_group("g", long)
    assert (storm.rebalances, storm.most) == (5 * JUST, JUST)
    later = each_after(1_000, JUST, first_ms=T0 + 10 * STORM_WINDOW_MS)
    assert [each.rebalances for each in storms_of_group("g", [*later, *each_after(1_000, JUST)])] == [JUST, JUST]


def test_counts_of_a_minute_count_as_many():
    (storm,) = storms_of_group("g", [Rebalances(T0, "g", "member_left", JUST, 60_000)])
    assert storm.until_ms - storm.from_ms == 60_000
    assert storm.rebalances == JUST


def test_a_storm_of_the_cluster_is_one_of_several_groups():
    half = CLUSTER_STORM_REBALANCES // 2
    alone = [Rebalances(T0, "a", "member_left", 2 * half)]
    assert storms_of_cluster(alone) == []
    both = [Rebalances(T0, "a", "member_left", half), Rebalances(T0 + 1, "b", "session_expired", half)]
    (storm,) = storms_of_cluster(both)
    assert (storm.group_count, storm.groups, cause_counts(storm.causes)) == (
        2,
        (("a", half), ("b", half)),
        (f"member left: {half}", f"session expired: {half}"),
    )
    assert headline(storm).startswith(f"a storm: {2 * half} rebalances of 2 groups in ")
    assert [each.group_id for each in all_storms(both)] == ["b", None, "a"]


def test_the_most_frequent_causes_come_first():
    rates = [Rebalances(T0, "g", "member_left", 2), Rebalances(T0, "g", "unknown", 9)]
    (storm,) = storms_of_group("g", rates)
    assert storm.causes == (("unknown", 9), ("member_left", 2))
