"""When members of watched groups were heard, by which connection, and which of them are silent."""

import threading
from typing import Any

import pytest

from _wire.headers import encode_request
from _wire.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from _wire.messages.join_group import JoinGroupRequest, JoinGroupResponse
from coordinator.audit.schema.sighted import (
    Asked,
    Closed,
    Heard,
    Joined,
    Silent,
)
from coordinator.cluster.relay import seen_members
from coordinator.cluster.relay.tap import Tap
from tests.cluster.relay.tapping import GROUP, MEMBER, NODE, Side, SimpleConnection, beat, beat_answered


def test_a_connection_that_closes_tells_of_its_members_and_by_whom() -> None:
    for by_client in (True, False):
        side = Side()
        side.ask(HeartbeatRequest(group_id=GROUP, member_id=MEMBER), 4)
        side.tap.closed(side.connection, by_client=by_client)
        side.tap.closed(side.connection, by_client=by_client)
        _, closed = side.seen
        assert isinstance(closed, Closed)
        assert (closed.member_id, closed.by_client) == (MEMBER, by_client)


def test_a_member_that_is_silent_is_told_once_and_when_it_is_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(seen_members, "SILENT_AFTER_MS", -1)
    side = Side()
    beat_answered(side)
    side.tap.find_silent()
    side.tap.find_silent()
    heard, silent = side.seen
    assert isinstance(silent, Silent)
    assert heard.at_ms <= silent.last_heard_ms <= silent.at_ms
    beat_answered(side)
    assert [type(sighting) for sighting in side.seen] == [Heard]


def test_a_member_that_waits_for_an_answer_is_not_silent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(seen_members, "SILENT_AFTER_MS", -1)
    side = Side()
    passing = side.ask(HeartbeatRequest(group_id=GROUP, member_id=MEMBER), 4)
    side.tap.find_silent()
    assert [type(sighting) for sighting in side.seen] == [Heard]
    side.answer(passing, HeartbeatResponse(), 4)
    side.tap.find_silent()
    assert [type(sighting) for sighting in side.seen] == [Silent]


@pytest.mark.parametrize("late_ms", [-1, 60_000])
def test_a_client_whose_answer_came_late_may_have_given_up(monkeypatch: pytest.MonkeyPatch, late_ms: int) -> None:
    monkeypatch.setattr(seen_members, "LATE_ANSWER_MS", late_ms)
    monkeypatch.setattr(seen_members, "SILENT_AFTER_MS", -1)
    side = Side()
    beat_answered(side)
    side.tap.find_silent()
    assert [type(sighting) for sighting in side.seen] == [Heard, *([] if late_ms < 0 else [Silent])]


@pytest.mark.parametrize("by_client", [True, False])
def test_who_cannot_reach_the_coordinator_is_not_silent(monkeypatch: pytest.MonkeyPatch, by_client: bool) -> None:
    """The broker's side closed its connection; of one that its client closed nothing more is to be expected."""
    monkeypatch.setattr(seen_members, "SILENT_AFTER_MS", -1)
    side = Side()
    beat_answered(side)
    side.tap.closed(side.connection, by_client=by_client)
    side.tap.find_silent()
    assert [type(sighting) for sighting in side.seen] == [Heard, Closed, *([Silent] if by_client else [])]


@pytest.mark.parametrize("late_ms", [-1, 60_000])
def test_a_client_that_closes_while_it_waits_long_may_have_given_up(
    monkeypatch: pytest.MonkeyPatch, late_ms: int
) -> None:
    monkeypatch.setattr(seen_members, "LATE_ANSWER_MS", late_ms)
    monkeypatch.setattr(seen_members, "SILENT_AFTER_MS", -1)
    side = Side()
    side.ask(HeartbeatRequest(group_id=GROUP, member_id=MEMBER), 4)
    side.tap.closed(side.connection, by_client=True)
    side.tap.find_silent()
    _, closed, *silent = side.seen
    assert closed.is_unanswered is (late_ms < 0)
    assert bool(silent) is not closed.is_unanswered


def test_heartbeats_that_do_not_wait_for_each_other_wait_since_the_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """Java sends one each interval, also while a broker stands still: the last one has not waited for long."""
    monkeypatch.setattr(seen_members, "LATE_ANSWER_MS", 40)
    side = Side()
    beat(side, GROUP, MEMBER)
    threading.Event().wait(0.05)
    beat(side, GROUP, MEMBER)
    side.tap.closed(side.connection, by_client=True)
    _, closed = side.seen
    assert closed.is_unanswered


@pytest.mark.parametrize("answered", [2, 3])
def test_a_member_waits_until_all_that_it_asked_is_answered(monkeypatch: pytest.MonkeyPatch, answered: int) -> None:
    side = Side()
    passing = [beat(side, GROUP, MEMBER) for _ in range(3)]
    for asked in passing[:answered]:
        assert side.answer(asked, HeartbeatResponse(), 4)
    monkeypatch.setattr(seen_members, "LATE_ANSWER_MS", -1)
    side.tap.closed(side.connection, by_client=True)
    _, closed = side.seen
    assert closed.is_unanswered is (answered < 3)


def test_what_nobody_takes_is_counted() -> None:
    tap = Tap(NODE, lambda group_id: True)
    connection: Any = SimpleConnection(address="a", client_id="c", software="")
    for number in range(20_001):
        frame = encode_request(7, "c", HeartbeatRequest(group_id=GROUP, member_id=f"m-{number}"), 4)[4:]
        tap.request(connection, frame, 0, len(frame), len(frame))
    sightings, lost = tap.drain()
    assert (len(sightings), lost) == (20_000, 1)
    assert tap.drain() == ([], 0)


def test_a_group_that_is_given_back_is_watched_when_it_is_asked_again() -> None:
    side, watched = Side(), set[str]()
    side.tap.watch(watched.__contains__)
    assert beat(side, GROUP, MEMBER) is None
    watched.add(GROUP)
    assert beat(side, GROUP, MEMBER) is None
    side.tap.ask_again()
    assert beat(side, GROUP, MEMBER) is not None
    watched.clear()
    side.tap.ask_again()
    assert beat(side, GROUP, MEMBER) is not None, "a group that is watched stays so: adopted, its requests do not pass"


def test_ids_that_are_very_long_pass_unread() -> None:
    side, long = Side(), "x" * 1_025
    side.tap.watch(lambda group_id: True)
    assert beat(side, long, MEMBER) is None
    assert beat(side, GROUP, long) is None
    passing = side.ask(JoinGroupRequest(group_id=GROUP, member_id=long, protocol_type="p"), 7)
    assert side.answer(passing, JoinGroupResponse(member_id=long), 7)
    assert side.tap.unread == 2
    assert [type(sighting) for sighting in side.seen] == [Asked, Joined]


def test_members_beyond_the_bound_are_forgotten_and_seen_anew() -> None:
    side = Side()
    for number in range(100_001):
        beat(side, GROUP, f"m-{number}")
        if number % 10_000 == 0:
            side.tap.drain()
    side.tap.drain()
    beat(side, GROUP, "m-100000")
    assert side.seen == []
    beat(side, GROUP, "m-1")
    (heard,) = side.seen
    assert heard.member_id == "m-1"


def test_groups_beyond_the_bound_are_forgotten_unless_they_have_members() -> None:
    asked, side = list[str](), Side()

    def is_watched(group_id: str) -> bool:
        asked.append(group_id)
        return group_id in (GROUP, "no members")

    side.tap.watch(is_watched)
    beat(side, GROUP, MEMBER)
    beat(side, "no members", "x" * 1_025)
    for number in range(99_999):
        beat(side, f"other-{number}", MEMBER)
    asked.clear()
    for group_id in (GROUP, "no members", "other-1"):
        beat(side, group_id, MEMBER)
    assert asked == ["no members", "other-1"]
