"""What the page tells of the records of a share group."""

import pytest

from coordinator.audit.schema import EndedRecords, FirstRecord
from coordinator.dashboard.board import Board
from coordinator.dashboard.names import MemberNames
from coordinator.dashboard.record_views import ENDED_SHOWN, records_of
from coordinator.dashboard.views import group as group_view
from tests.explain.test_share_findings import INTERVAL_MS, Intervals, partition
from tests.simulation.simulation import GROUP_ID


def told(group: Intervals):
    return records_of(group.history, MemberNames.of_history(group.history))


@pytest.fixture
def group() -> Intervals:
    return Intervals()


def test_nothing_is_told_of_a_group_without_intervals(group):
    assert told(group) is None


def test_the_counts_of_the_intervals_are_summed(group):
    began_ms = group.now_ms
    group.tell(partition(delivered_again=2, lock_ended=1), a={"acquired": 10, "accepted": 8})
    group.tell(partition(delivered_again=1), b={"acquired": 20}, a={"acquired": 1, "late": 3})
    found = told(group)
    assert (found["from_ms"], found["until_ms"]) == (began_ms, group.now_ms)
    (one,) = found["partitions"]
    assert (one["topic"], one["partition"], one["start_offset"], one["in_flight"], one["lag"]) == ("t", 0, 7, 5, 3)
    assert (one["counts"]["delivered_again"], one["counts"]["lock_ended"]) == (3, 1)
    acquired = [
        (each["member"]["name"], each["counts"]["acquired"], each["counts"]["late"]) for each in found["members"]
    ]
    assert acquired == [("client-b", 20, 0), ("client-a", 11, 3)]


def test_a_start_offset_stands_only_if_the_last_interval_says_so(group):
    first = FirstRecord(group.now_ms, 2, group.ref("a"))
    group.tell(partition(first))
    assert told(group)["partitions"][0]["standing_since_ms"] == first.since_ms
    assert told(group)["partitions"][0]["held_by"]["name"] == "client-a"
    group.tell(a={"acquired": 1})
    one = told(group)["partitions"][0]
    assert (one["standing_since_ms"], one["held_by"], one["at_ms"]) == (None, None, group.now_ms - INTERVAL_MS)


def test_records_that_nobody_gets_any_more_are_listed_the_newest_last(group):
    for number in range(ENDED_SHOWN + 1):
        group.tell(partition(None, EndedRecords(number, number, 5, "lock_ended", group.ref("a")), archived=1))
    found = told(group)["ended"]
    assert [each["first_offset"] for each in found] == list(range(1, ENDED_SHOWN + 1))
    assert found[0]["member"]["name"] == "client-a"


def test_a_member_that_is_not_in_the_group_is_named_by_its_id(group):
    group.tell(stranger={"acquired": 1})
    assert [each["member"] for each in told(group)["members"]] == [{"name": "stranger", "member_id": "stranger"}]


def test_a_group_that_was_made_again_has_records_of_its_own(group):
    group.tell(a={"acquired": 1})
    group.history.created_seq += 1
    assert told(group) is None


def test_the_records_are_in_the_answer_about_the_group(group):
    group.tell(partition(archived=1), a={"acquired": 4})
    board = Board()
    board.groups[GROUP_ID] = group.history
    answer = group_view(board, group.history)
    assert answer["records"]["counts"]["archived"] == 1
    assert answer["records"]["members"][0]["counts"]["acquired"] == 4
