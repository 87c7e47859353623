"""Which groups have series: never more than the maximum, and the same ones from scrape to scrape."""

from hypothesis import given
from hypothesis import strategies as st

from coordinator.core.causes import Cause
from coordinator.metrics.group_meter import HALF_LIFE_MS, GroupRecord
from coordinator.metrics.group_series import LABEL_CHARACTERS_MAX, group_label
from coordinator.metrics.top_groups import TENURE_MS, Candidate, TopGroups

NEVER = float("-inf")


def choose(top: TopGroups, ranks: dict[str, float], now_ms: int) -> list[str]:
    """With groups of one member."""
    existing = {each for each in top.listed if each in ranks}
    return top.choose(existing, [Candidate(rank, 1, group_id) for group_id, rank in ranks.items()], now_ms)


def test_allowed_groups_come_first_while_they_exist():
    top = TopGroups(["b", "gone"], 2)
    assert choose(top, {"a": 5.0, "b": NEVER, "c": 7.0}, 0) == ["b", "c"]


def test_of_groups_that_never_rebalanced_those_with_most_members_are_chosen():
    top = TopGroups([], 1)
    assert top.choose(set(), [Candidate(NEVER, 2, "a"), Candidate(NEVER, 3, "b")], 0) == ["b"]


def test_a_group_keeps_its_series_for_its_tenure():
    top = TopGroups([], 1)
    assert choose(top, {"a": 1.0, "b": 0.0}, 0) == ["a"]
    assert choose(top, {"a": 1.0, "b": 9.0}, TENURE_MS - 1) == ["a"]
    assert choose(top, {"a": 1.0, "b": 9.0}, TENURE_MS) == ["b"]


def test_a_group_that_is_removed_gives_its_place_away_at_once():
    top = TopGroups([], 1)
    assert choose(top, {"a": 1.0, "b": 0.0}, 0) == ["a"]
    assert choose(top, {"b": 0.0}, 1) == ["b"]


@given(st.lists(st.tuples(st.dictionaries(st.sampled_from("abcdefgh"), st.floats(0, 100)), st.integers(0, 10**7))))
def test_there_are_never_more_than_the_maximum_and_never_one_that_does_not_exist(scrapes):
    top, now_ms = TopGroups(["h"], 3), 0
    for ranks, after_ms in scrapes:
        now_ms += after_ms
        chosen = choose(top, ranks, now_ms)
        assert len(chosen) == len(set(chosen)) == min(3, len(ranks))
        assert set(chosen) <= ranks.keys()
        assert "h" in chosen or "h" not in ranks


def record(*began_ms: int) -> GroupRecord:
    each = GroupRecord()
    for at_ms in began_ms:
        each.rebalance_began(Cause.NEW_MEMBER, at_ms)
        each.rebalance_ended(at_ms + 10)
    return each


def test_recent_rebalances_rank_higher_and_more_of_them_too():
    now_ms = 1_800_000_000_000
    assert record(now_ms).rank > record(now_ms - 1000).rank
    assert record(now_ms, now_ms).rank > record(now_ms).rank
    assert record(*[now_ms - 10 * HALF_LIFE_MS] * 5).rank < record(now_ms).rank
    assert abs(record(now_ms, now_ms).rank - record(now_ms).rank - 1) < 1e-6


def test_a_clock_that_jumps_breaks_no_rank():
    assert record(0, 2**62, 0, 2**62).rank > 0


def test_a_rebalance_that_starts_again_counts_from_the_first_start():
    each = GroupRecord()
    each.rebalance_began(Cause.NEW_MEMBER, 100)
    each.rebalance_began(Cause.SYNC_TIMEOUT, 300)
    each.rebalance_ended(600)
    each.rebalance_ended(900)
    assert (each.last_rebalance_ms, each.rebalances.total()) == (500, 2)


def test_a_label_of_a_hostile_group_id_is_short_printable_and_its_own():
    long = "x" * 32_000
    labels = [group_label(each) for each in ("", "a", "a\n", "a\r", long, long + "y", "\x1b[2J", "\udc00", "'a\\n'")]
    assert len(set(labels)) == len(labels)
    assert all(len(label) <= LABEL_CHARACTERS_MAX + 13 and label.isprintable() for label in labels)
    assert group_label("billing") == "billing"
