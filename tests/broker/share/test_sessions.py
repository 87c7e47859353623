"""Share sessions: their epochs, their partitions, and when they end."""

import pytest

from _wire.errors import ErrorCode
from coordinator.broker.share.sessions import CLOSING_EPOCH, EPOCH_MAX, UNKNOWN_KEPT_MAX, ShareSession, ShareSessions

TOPIC = b"t" * 16


class Listener:
    def __init__(self, sessions_max: int = 10) -> None:
        self.released: list[tuple[str, str]] = []
        self.is_busy = False
        """Then what is to be released has to wait for `go_on`."""
        self._to_release: list[ShareSession] = []
        self.left: list[str] = []
        self.sessions = ShareSessions(sessions_max, self.release, self.left.append)

    def release(self, session: ShareSession) -> None:
        self.released.append((session.group_id, session.member_id))
        self._to_release.append(session)
        if not self.is_busy:
            self.go_on()

    def go_on(self) -> None:
        to_release, self._to_release = self._to_release, []
        for session in to_release:
            self.sessions.released(session)

    def open(self, group_id: str = "g", member_id: str = "a", connection: str = "c") -> ShareSession:
        session = self.sessions.open(group_id, member_id, connection)
        assert isinstance(session, ShareSession)
        return session


@pytest.fixture
def listener() -> Listener:
    return Listener()


def test_epochs_count_up_and_wrap_to_1(listener):
    session = listener.open()
    assert listener.sessions.check("g", "a", 1) is session
    assert listener.sessions.check("g", "a", 2) == ErrorCode.INVALID_SHARE_SESSION_EPOCH
    session.count_up()
    assert listener.sessions.check("g", "a", 2) is session
    assert listener.sessions.check("g", "a", CLOSING_EPOCH) is session
    session.epoch = EPOCH_MAX
    session.count_up()
    assert session.epoch == 1


def test_there_is_one_per_member(listener):
    assert listener.sessions.check("g", "a", 1) == ErrorCode.SHARE_SESSION_NOT_FOUND
    first = listener.open()
    first.count_up()
    assert listener.open() is not first
    assert len(listener.sessions) == 1
    assert listener.sessions.check("g", "a", 2) == ErrorCode.INVALID_SHARE_SESSION_EPOCH


def test_a_full_cache_refuses_a_new_one_but_not_one_in_place_of_another():
    listener = Listener(sessions_max=2)
    listener.open(member_id="a", connection="1")
    listener.open(member_id="b", connection="2")
    assert listener.sessions.open("g", "c", "3") == ErrorCode.SHARE_SESSION_LIMIT_REACHED
    listener.open(member_id="b", connection="2")
    assert len(listener.sessions) == 2


def test_a_connection_that_closes_takes_its_session_along(listener):
    listener.open(member_id="a", connection="1")
    listener.open(member_id="b", connection="2")
    listener.sessions.connection_closed("1")
    assert (listener.released, listener.left) == ([("g", "a")], [])
    listener.sessions.connection_closed("2")
    assert (listener.released, listener.left) == ([("g", "a"), ("g", "b")], ["g"])
    listener.sessions.connection_closed("2")
    assert listener.left == ["g"]


def test_a_connection_that_closes_takes_all_its_sessions_along(listener):
    for member_id in "abc":
        listener.open(member_id=member_id, connection="1")
    listener.open(group_id="other", member_id="a", connection="1")
    listener.sessions.connection_closed("1")
    assert len(listener.sessions) == 0
    assert listener.released == [("g", "a"), ("g", "b"), ("g", "c"), ("other", "a")]
    assert listener.left == ["g", "other"]


def test_a_session_that_was_opened_anew_does_not_end_with_the_old_connection(listener):
    listener.open(connection="1")
    session = listener.open(connection="2")
    listener.sessions.connection_closed("1")
    assert listener.sessions.get("g", "a") is session
    assert (listener.released, listener.left) == ([], [])


def test_the_group_leaves_with_the_connection_not_with_the_session(listener):
    session = listener.open()
    assert listener.sessions.remove(session)
    assert not listener.sessions.remove(session)
    listener.release(session)
    assert listener.left == []
    listener.sessions.connection_closed("c")
    assert (listener.released, listener.left) == ([("g", "a")], ["g"])


def test_the_group_leaves_when_all_is_released(listener):
    listener.is_busy = True
    closed = listener.open(member_id="closed")
    listener.open(member_id="a")
    listener.open(member_id="b", connection="other")
    assert listener.sessions.remove(closed)
    listener.release(closed)
    listener.sessions.connection_closed("c")
    listener.sessions.connection_closed("other")
    assert len(listener.sessions) == 0
    assert listener.left == [], "what they hold is not released yet"
    listener.go_on()
    assert listener.left == ["g"]


def test_a_group_that_has_come_back_meanwhile_does_not_leave(listener):
    listener.is_busy = True
    listener.open(connection="1")
    listener.sessions.connection_closed("1")
    listener.open(connection="2")
    listener.go_on()
    assert listener.left == []
    listener.sessions.connection_closed("2")
    listener.go_on()
    assert listener.left == ["g"]


def test_what_is_released_after_share_groups_were_switched_off_is_forgotten(listener):
    listener.is_busy = True
    listener.open(connection="1")
    listener.sessions.connection_closed("1")
    listener.sessions.drop_all()
    listener.open(connection="2")
    listener.go_on()
    assert listener.left == []


def test_a_response_mentions_what_is_new_has_records_or_an_error():
    session = ShareSession("g", "a", "c")
    session.add((TOPIC, 0), True, is_opening=True)
    assert not session.must_respond((TOPIC, 0), False, 0)
    session.add((TOPIC, 1), True, is_opening=False)
    assert session.must_respond((TOPIC, 1), False, 0)
    assert not session.must_respond((TOPIC, 1), False, 0)
    assert session.must_respond((TOPIC, 1), True, 0)
    assert session.must_respond((TOPIC, 0), False, 7)
    assert session.must_respond((TOPIC, 0), False, 0), "that the error is over is said once"
    assert not session.must_respond((TOPIC, 0), False, 0)


def test_partitions_with_records_come_last_next_time():
    session = ShareSession("g", "a", "c")
    for index in range(3):
        session.add((TOPIC, index), True, is_opening=True)
    session.must_respond((TOPIC, 0), True, 0)
    assert list(session.partitions) == [(TOPIC, 1), (TOPIC, 2), (TOPIC, 0)]


def test_partitions_that_do_not_exist_are_kept_up_to_a_limit():
    session = ShareSession("g", "a", "c")
    kept = [session.add((TOPIC, index), False, is_opening=False) for index in range(UNKNOWN_KEPT_MAX + 5)]
    assert kept.count(True) == len(session.partitions) == UNKNOWN_KEPT_MAX
    assert session.add((TOPIC, UNKNOWN_KEPT_MAX + 1), True, is_opening=False)
    session.forget((TOPIC, 0))
    session.forget((TOPIC, 0))
    assert (TOPIC, 0) not in session.partitions
