import pytest

from coordinator.audit.schema import AuditEvent, GenerationStable, RebalanceStarted
from coordinator.core.causes import Cause
from coordinator.dashboard import views
from coordinator.dashboard.board import HOUR_MS, STORM_HOURS
from coordinator.dashboard.names import MemberNames
from coordinator.dashboard.views import Choice
from coordinator.explain.storms import CLUSTER_STORM_REBALANCES, GROUP_STORM_REBALANCES
from tests.dashboard.groups import GROUP_ID, board_of, emptied, renamed, story
from tests.pipeline.history import History, member


def times(events, kind):
    return [event.time_ms for event in events if isinstance(event, kind)]


def test_partitions_have_owners_between_rebalances_and_nobody_during_them():
    events = story()
    history = board_of(events).groups[GROUP_ID]
    lanes = {each["partition"]: each["spans"] for each in views.ownership(history)["partitions"]}
    started, stable = times(events, RebalanceStarted), times(events, GenerationStable)
    assert lanes[0] == [[stable[-2], started[-1], "a"], [stable[-1], None, "a"]]
    assert lanes[3] == [[stable[-2], started[-1], "b"], [stable[-1], None, "a"]]
    assert views.ownership(history)["empty"] == []


def test_an_empty_group_is_told_from_a_rebalance():
    events = emptied()
    history = board_of(events).groups[GROUP_ID]
    ((begin, end),) = views.ownership(history)["empty"]
    assert end - begin == 1_000
    assert end in times(events, RebalanceStarted)


def test_members_work_in_spans_and_the_last_one_is_open():
    history = board_of(story()).groups[GROUP_ID]
    names = MemberNames.of_history(history)
    lanes = {lane["member"]["name"]: lane["spans"] for lane in views.member_lanes(history.generations, names)["lanes"]}
    assert [span[3] for span in lanes["a"]][-2:] == [2, 4]
    assert lanes["a"][-1][1] is None
    assert lanes["b"][-1][1] is not None


def test_a_generation_tells_what_moved():
    history = board_of(story()).groups[GROUP_ID]
    told = views.generation(history, history.generations[-1])
    assert told["moves"] == {"total": 2, "moves": [["t", 2, "b", "a"], ["t", 3, "b", "a"]]}
    assert [part["partitions"] for part in told["member_parts"]] == [4]
    assert [gone["cause"] for gone in told["removed"]] == ["member_left"]
    assert "left" in told["story"]["headline"]


def test_a_rebalance_in_progress_moves_nothing_yet():
    events = story()
    history = board_of(events[:-1]).groups[GROUP_ID]
    assert views.generation(history, history.generations[-1])["moves"] == {"total": 0, "moves": []}


def test_two_generations_beside_each_other():
    history = board_of(story()).groups[GROUP_ID]
    one, other = list(history.generations)[-2:]
    told = views.difference(history, one, other)
    assert (told["members_gone"], told["members_new"]) == (["b"], [])
    assert told["moves"]["total"] == 2


def test_groups_are_found_sorted_and_paged():
    events = story()
    board = board_of(*(renamed(events, name) for name in ("billing", "Billing-2", "search")), emptied())
    found = views.groups(board, Choice("BILL"), "group", 0, 10)
    assert [each["group_id"] for each in found["groups"]] == ["Billing-2", "billing"]
    assert views.groups(board, Choice("", "Empty"), "group", 0, 10)["total"] == 0
    page = views.groups(board, Choice(), "group", 1, 2)
    assert (page["total"], len(page["groups"])) == (4, 2)


def test_dead_groups_are_left_out_unless_asked_for():
    board = board_of(story(), History("gone").created().removed().events)

    def ids(choice: Choice) -> list[str]:
        return [each["group_id"] for each in views.groups(board, choice, "group", 0, 10)["groups"]]

    assert ids(Choice()) == ["gone", GROUP_ID]
    assert ids(Choice(hides_dead=True)) == [GROUP_ID]
    assert ids(Choice(state="Dead", hides_dead=True)) == ["gone"]


@pytest.mark.parametrize("sort", views.SORTS)
def test_every_sort_sorts_every_group(sort):
    board = board_of(story(), renamed(emptied(), "other"))
    assert views.groups(board, Choice(), sort, 0, 10)["total"] == 2


def test_the_overview_adds_up():
    board = board_of(story(), renamed(emptied(), "other"))
    told = views.overview(board)
    assert (told["groups"], told["members"], told["states"]) == (2, 2, {"Stable": 2})
    hours = told["rebalances_per_hour"]
    assert len(hours) == views.OVERVIEW_HOURS
    assert sum(count for _, count in hours) == sum(board.rebalances_by_minute.values())


def stormy(group_id: str, rebalances: int = GROUP_STORM_REBALANCES) -> list[AuditEvent]:
    history = History(group_id).created()
    for _ in range(rebalances):
        history.stable_with(Cause.LEADER_REJOINED, member("a"))
    return history.events


def test_the_overview_tells_of_storms_of_groups_and_of_the_cluster():
    board = board_of(*(stormy(f"group-{number}", CLUSTER_STORM_REBALANCES // 4) for number in range(4)), story())
    told = views.overview(board)
    assert told["storms_total"] == 5
    assert [storm["group_id"] for storm in told["storms"]] == [None, *(f"group-{number}" for number in range(4))]
    assert told["storms"][1]["causes"] == (("leader_rejoined", 7),)
    assert told["storms"][1]["headline"].startswith("a storm: 7 rebalances in ")


def test_groups_that_grow_are_no_storm_and_old_storms_are_not_told():
    grown = History("grown").created()
    for _ in range(2 * GROUP_STORM_REBALANCES):
        grown.stable_with(Cause.NEW_MEMBER, member("a"))
    assert views.overview(board_of(grown.events))["storms"] == []
    later = History("later", now_ms=grown.now_ms + (STORM_HOURS + 1) * HOUR_MS).created()
    board = board_of(stormy("old"), later.stable_with(Cause.NEW_MEMBER, member("a")).events)
    assert views.overview(board)["storms"] == []


def test_a_member_is_found_by_its_id_even_when_it_is_gone():
    history = board_of(story()).groups[GROUP_ID]
    gone = next(
        generation.changes.removed[0].member for generation in history.generations if generation.changes.removed
    )
    told = views.member(history, gone.member_id)
    assert told is not None
    assert told["now"] is None
    assert [each["cause"] for each in told["removed"]] == ["member_left"]
    assert views.member(history, "nobody") is None
