from coordinator.audit.schema import GroupHeldByCluster, MemberRef, RebalanceStarted
from coordinator.dashboard import board as module
from coordinator.dashboard.board import MS_PER_MINUTE
from tests.dashboard.groups import GROUP_ID, board_of, renamed, story
from tests.dashboard.lag_samples import described, sample


def test_a_row_says_what_the_events_say():
    events = story()
    row = board_of(events).row(GROUP_ID)
    rebalances = sum(isinstance(event, RebalanceStarted) for event in events)
    assert (row.state, row.members, row.generation_id) == ("Stable", 1, events[-1].generation_id)
    assert (row.last_cause, row.last_outcome, row.rebalances_last_hour) == ("member_left", "stable", rebalances)
    assert row.last_ms == events[-1].time_ms


def test_a_row_follows_the_events():
    events = story()
    board = board_of(events[:-1])
    assert board.row(GROUP_ID).state == "CompletingRebalance"
    board.apply(events[-1:])
    assert board.row(GROUP_ID).state == "Stable"


def test_listeners_are_told_what_changed_and_doubles_change_nothing():
    told: list[set[str]] = []
    board = board_of()
    stop = board.listen(told.append)
    events = story()
    board.apply([*events, *renamed(events, "other")])
    board.apply(events)
    stop()
    board.apply(renamed(events, "late"))
    assert told == [{GROUP_ID, "other"}, set()]


def test_a_group_that_only_the_cluster_has_is_found_with_its_finding():
    board = board_of()
    event = GroupHeldByCluster(
        time_ms=9, node_id=1, coordinator_epoch=1, group_id="web", members=[MemberRef("a-id", "a")], since_ms=9
    )
    told: list[set[str]] = []
    board.listen(told.append)
    board.apply([event])
    assert told == [{"web"}]
    assert [finding.kind for finding in board.findings_of("web")] == ["held_by_cluster"]
    assert (board.row("web").state, board.row("web").findings) == ("", 1)
    board.apply_lags(sample(9, described("web", 3)))
    assert (board.row("web").state, board.row("web").members, board.row("web").findings) == ("Stable", 1, 1)


def test_rebalances_of_all_groups_are_counted_by_minute():
    events = story()
    started = [event for event in events if isinstance(event, RebalanceStarted)]
    board = board_of(events, renamed(events, "other"), events)
    assert sum(board.rebalances_by_minute.values()) == 2 * len(started)
    assert board.rebalances_by_minute.keys() == {event.time_ms // MS_PER_MINUTE for event in started}


def test_minutes_of_long_ago_are_forgotten(monkeypatch):
    monkeypatch.setattr(module, "MINUTES_KEPT", 3)
    board = board_of()
    for minute in range(10):
        board._count_rebalance(minute * MS_PER_MINUTE)
    assert sorted(board.rebalances_by_minute) == [7, 8, 9]
