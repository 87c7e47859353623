"""Since when offsets stand still, by the samples of the live page."""

import pytest

from coordinator.audit.schema import AuthorizationDenied
from coordinator.dashboard import standing as module
from coordinator.dashboard.board import Board
from tests.dashboard.lag_samples import described, sample

START = 1_000_000
STEP = 5_000


def headlines(board: Board) -> list[str]:
    return [finding.headline for finding in board.findings_of("g")]


def until(board: Board, start_ms: int, end_ms: int, *offsets: int) -> list[str]:
    """The findings after samples of the same, one every 20 s, the last one at the end."""
    for time_ms in range(start_ms, end_ms, 4 * STEP):
        looked_at(board, time_ms, *offsets)
    return looked_at(board, end_ms, *offsets)


def looked_at(board: Board, time_ms: int, *offsets: int, state: str = "Stable", owner: str = "m-1") -> list[str]:
    """The findings after one more sample, with the log end at 20 and the oldest record from before the start."""
    group = described("g", *(20 - offset for offset in offsets), oldest_ms=START - 600_000)
    group = type(group)("g", state, "consumer", "range", group.members, group.partitions)
    for at, offset in zip(group.partitions, offsets, strict=True):
        at.committed_offset, at.log_end_offset = offset, 20
        at.member_id = owner if at.member_id else None
    board.apply_lags(sample(time_ms, group))
    return headlines(board)


def test_an_offset_that_stands_for_two_minutes_is_told():
    board = Board()
    assert until(board, START, START + 119_999, 10) == []
    (told,) = looked_at(board, START + 120_000, 10)
    assert told == "t-0: the committed offset has not moved since 00:16:40 UTC or before, while records wait"


def test_an_offset_that_was_seen_to_move_has_stood_since_then_exactly():
    board = Board()
    looked_at(board, START, 9)
    (told,) = until(board, START + STEP, START + STEP + 120_000, 10)
    assert "has not moved since 00:16:45 UTC, while" in told


def test_a_consumer_that_catches_up_does_not_stand_still():
    board = Board()
    for number in range(12):
        assert looked_at(board, START + number * 30_000, 5 + number) == []


@pytest.mark.parametrize("between", [{"state": "PreparingRebalance"}, {"owner": "m-2"}])
def test_after_a_rebalance_or_with_another_owner_the_time_begins_anew(between):
    board = Board()
    until(board, START, START + 110_000, 10)
    assert looked_at(board, START + 115_000, 10, **between) == []
    assert until(board, START + 120_000, START + 239_999, 10) == []
    (told,) = looked_at(board, START + 240_000, 10)
    assert "has not moved since 00:18:40 UTC, while" in told


def test_records_with_old_timestamps_that_come_to_an_idle_consumer_wait_from_then_on():
    board = Board()
    until(board, START, START + 600_000, 20)
    assert looked_at(board, START + 605_000, 10) == []


def test_while_the_server_is_away_nobody_can_commit():
    board = Board()
    until(board, START, START + 100_000, 10)
    back_ms = START + 400_000
    assert until(board, back_ms, back_ms + 119_999, 10) == []
    (told,) = looked_at(board, back_ms + 120_000, 10)
    assert "has not moved since 00:23:20 UTC or before" in told


def test_an_owner_that_goes_on_with_another_partition_is_told():
    board = Board()
    for number in range(13):
        told = looked_at(board, START + number * 2 * STEP, 10, 5 + number)
    assert told == [
        "t-0: the committed offset has not moved since 00:16:40 UTC or before, while records wait, and its owner goes"
        " on with other partitions"
    ]


def test_the_partitions_that_are_remembered_are_bounded(monkeypatch):
    monkeypatch.setattr(module, "PARTITIONS_MAX", 1)
    board = Board()
    (told,) = until(board, START, START + 120_000, 10, 10)
    assert told.startswith("t-0: ")


def test_denials_of_a_topic_reach_the_findings_of_its_members():
    board = Board()
    event = AuthorizationDenied(
        time_ms=START,
        node_id=1,
        coordinator_epoch=1,
        number=1,
        principal="User:app",
        client_id="app",
        client_host="/127.0.0.1",
        api="Fetch",
        operation="READ",
        resource_type="TOPIC",
        resource_name="t",
        rule="DefaultDeny",
    )
    group = described("g", 5)
    member = group.members[0]
    subscribed = type(member)(*(member.member_id, "app", "/127.0.0.1", None, {"t": [0]}), topics=("t",))
    group.members[:] = [subscribed]
    board.apply_lags(sample(START + 1_000, group))
    assert headlines(board) == []
    board.apply([event])
    assert headlines(board) == ["User:app may not READ topic t since 00:16:40 UTC: app gets none of its records"]
    board.apply_lags(sample(START + 90_001, group))
    assert not [headline for headline in headlines(board) if "may not" in headline]
