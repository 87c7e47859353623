"""Sessions, held against a dict."""

import random
from typing import Final, NamedTuple

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from coordinator.groups.sessions import SessionTable
from coordinator.groups.timer_keys import SessionKey
from coordinator.timers.wheel import TimerWheel
from tests.examples import examples

GROUPS: Final = st.sampled_from(["g", "gm", "", "grüppe"])
MEMBERS: Final = st.one_of(st.sampled_from(["m", "mm", "", "m" * 9, "mémber"]), st.integers(0, 60).map(str))
INSTANCES: Final = st.sampled_from([None, "", "one", "two"])
GENERATIONS: Final = st.integers(0, 2)
TIMEOUTS_MS: Final = st.sampled_from([1, 10, 100, 5000])


class Session(NamedTuple):
    instance_id: str | None
    timeout_ms: int
    deadline_ms: int
    may_heartbeat: bool = True


class SessionMachine(RuleBasedStateMachine):
    """Whatever is done to the table is done to the dicts. Time goes on in steps, and the wheel is asked at each."""

    @initialize(seed=st.integers(0, 2**64 - 1))
    def begin(self, seed):
        self.now_ms = 1_000_000
        self.wheel = TimerWheel(self.now_ms)
        self.table = SessionTable(self.wheel, seed)
        self.sessions: dict[tuple[str, str], Session] = {}
        self.groups: dict[str, tuple[int, bool]] = {}
        self.reported_over: set[tuple[str, str]] = set()

    @rule(
        group_id=GROUPS,
        member_id=MEMBERS,
        instance_id=INSTANCES,
        first_timeout_ms=TIMEOUTS_MS,
        timeout_ms=TIMEOUTS_MS,
        may_heartbeat=st.booleans(),
    )
    def start(self, group_id, member_id, instance_id, first_timeout_ms, timeout_ms, may_heartbeat):
        self.table.start(group_id, member_id, instance_id, first_timeout_ms, timeout_ms, may_heartbeat, self.now_ms)
        known = self.sessions.get((group_id, member_id))
        kept = instance_id if known is None else known.instance_id
        deadline_ms = self.now_ms + first_timeout_ms
        self.sessions[group_id, member_id] = Session(kept, timeout_ms, deadline_ms, may_heartbeat)
        self.groups.setdefault(group_id, (0, False))
        self.reported_over.discard((group_id, member_id))

    def known_session(self, data):
        """Group and member id: chosen from all, they seldom name one that there is."""
        return data.draw(st.sampled_from(sorted(self.sessions)))

    @precondition(lambda self: self.sessions)
    @rule(data=st.data(), timeout_ms=TIMEOUTS_MS)
    def renew(self, data, timeout_ms):
        group_id, member_id = self.known_session(data)
        self.table.renew(group_id, member_id, timeout_ms, self.now_ms)
        known = self.sessions[group_id, member_id]
        renewed = known._replace(timeout_ms=timeout_ms, deadline_ms=self.now_ms + timeout_ms)
        self.sessions[group_id, member_id] = renewed
        self.reported_over.discard((group_id, member_id))

    @rule(group_id=GROUPS, generation_id=GENERATIONS, open=st.booleans())
    def set_group(self, group_id, generation_id, open):
        self.table.set_group(group_id, generation_id, open)
        self.groups[group_id] = (generation_id, open)

    @rule(group_id=GROUPS, member_id=MEMBERS, instance_id=INSTANCES, generation_id=GENERATIONS)
    def heartbeat(self, group_id, member_id, instance_id, generation_id):
        known = self.sessions.get((group_id, member_id))
        expected = (
            known is not None
            and known.may_heartbeat
            and self.groups[group_id] == (generation_id, True)
            and known.instance_id == instance_id
            and known.deadline_ms > self.now_ms
        )
        assert self.table.answer_heartbeat(group_id, member_id, instance_id, generation_id, self.now_ms) == expected
        if expected and known is not None:
            self.sessions[group_id, member_id] = known._replace(deadline_ms=self.now_ms + known.timeout_ms)

    @precondition(lambda self: self.sessions)
    @rule(data=st.data())
    def heartbeat_as_it_should_be(self, data):
        group_id, member_id = self.known_session(data)
        generation_id, _ = self.groups[group_id]
        self.heartbeat(group_id, member_id, self.sessions[group_id, member_id].instance_id, generation_id)

    @rule(group_id=GROUPS, member_id=MEMBERS)
    def end(self, group_id, member_id):
        assert self.table.end(group_id, member_id) == ((group_id, member_id) in self.sessions)
        self.forget(group_id, member_id)

    @rule(group_id=GROUPS)
    def end_all(self, group_id):
        self.table.end_all(group_id)
        self.groups.pop(group_id, None)
        for group, member_id in list(self.sessions):
            if group == group_id:
                self.forget(group, member_id)

    def forget(self, group_id, member_id):
        self.sessions.pop((group_id, member_id), None)
        self.reported_over.discard((group_id, member_id))

    @rule(ms=st.sampled_from([0, 1, 5, 99, 5000]))
    def pass_time(self, ms):
        self.now_ms += ms
        for key in self.wheel.advance(self.now_ms):
            assert isinstance(key, SessionKey)
            over = self.table.is_due(*key, self.now_ms)
            assert over == (self.sessions[key].deadline_ms <= self.now_ms), "no timer outlives its session"
            if over:
                self.reported_over.add((key.group_id, key.member_id))
        over_now = {key for key, session in self.sessions.items() if session.deadline_ms <= self.now_ms}
        assert self.reported_over == over_now, "each session that is over is reported once, and no other"

    @invariant()
    def the_table_is_the_dict(self):
        assert len(self.table) == len(self.sessions)
        for (group_id, member_id), session in self.sessions.items():
            assert self.table.deadline_ms(group_id, member_id) == session.deadline_ms
            assert self.table.is_over(group_id, member_id, self.now_ms) == (session.deadline_ms <= self.now_ms)
        for group_id in self.groups:
            assert set(self.table.members(group_id)) == {member for group, member in self.sessions if group == group_id}

    @invariant()
    def no_timer_is_left_over(self):
        assert self.wheel.pending == len(self.sessions) - len(self.reported_over)


SessionMachine.TestCase.settings = settings(max_examples=examples(80), stateful_step_count=60, deadline=None)
TestSessionsUnderRules = SessionMachine.TestCase


@pytest.fixture
def table() -> SessionTable:
    return SessionTable(TimerWheel(0), seed=7)


def start(table: SessionTable, group_id: str, member_id: str, instance_id: str | None, timeout_ms: int) -> None:
    table.start(group_id, member_id, instance_id, timeout_ms, timeout_ms, True, 0)


def alive(table: SessionTable, group_id: str, member_id: str, now_ms: int = 0) -> bool:
    return table.answer_heartbeat(group_id, member_id, None, 1, now_ms)


@pytest.mark.parametrize("seed", range(5))
def test_any_number_of_sessions_is_found_while_others_come_and_go(seed):
    """The hash table grows past several sizes, and every gap that a deletion leaves is closed."""
    rng = random.Random(seed)
    table = SessionTable(TimerWheel(0), rng.getrandbits(64))
    table.set_group("g", 1, True)
    members = [f"member-{number}" for number in range(3000)]
    for member_id in members:
        start(table, "g", member_id, None, 1000)
    rng.shuffle(members)
    while members:
        for member_id in members[:250]:
            assert table.end("g", member_id)
        gone, members = members[:250], members[250:]
        assert all(alive(table, "g", member_id) for member_id in members)
        assert not any(alive(table, "g", member_id) for member_id in gone)
        assert len(table) == len(members)


def test_where_the_group_ends_and_the_member_begins_is_told_apart(table):
    for group_id in ("a", "ab", "abc"):
        table.set_group(group_id, 1, True)
    start(table, "ab", "c", None, 1000)
    assert alive(table, "ab", "c")
    assert not alive(table, "a", "bc")
    assert not alive(table, "abc", "")


def test_a_heartbeat_moves_no_timer(table):
    wheel = TimerWheel(0)
    table = SessionTable(wheel, 7)
    table.set_group("g", 1, True)
    start(table, "g", "m", None, 1000)
    assert alive(table, "g", "m", 900)
    assert (wheel.next_deadline_ms(), table.deadline_ms("g", "m")) == (1000, 1900)
    assert wheel.advance(1000) == [SessionKey("g", "m")]
    assert not table.is_due("g", "m", 1000)
    assert wheel.advance(1900) == [SessionKey("g", "m")]
    assert table.is_due("g", "m", 1900)
    assert wheel.pending == 0


def test_of_sessions_that_end_in_the_same_millisecond_the_one_that_began_first_ends_first():
    wheel = TimerWheel(0)
    table = SessionTable(wheel, 1)
    table.start("g", "first", None, 100, 100, True, 0)
    for member_id in ("first", "second"):
        table.start("g", member_id, None, 100, 100, True, 50)
    over: list[str] = []
    for now_ms in (100, 150):
        for key in wheel.advance(now_ms):
            assert isinstance(key, SessionKey)
            if table.is_due(*key, now_ms):
                over.append(key.member_id)
    assert over == ["first", "second"]


def test_a_shorter_session_is_over_sooner(table):
    wheel = TimerWheel(0)
    table = SessionTable(wheel, 7)
    start(table, "g", "m", None, 5000)
    table.renew("g", "m", 10, 0)
    assert wheel.advance(10) == [SessionKey("g", "m")]
    assert table.is_due("g", "m", 10)


def test_a_session_that_is_over_is_not_renewed_by_a_heartbeat(table):
    table.set_group("g", 1, True)
    start(table, "g", "m", None, 1000)
    assert not alive(table, "g", "m", 1000)
    assert table.is_over("g", "m", 1000)


def test_the_session_of_a_pending_member_id_is_renewed_by_no_heartbeat(table):
    table.set_group("g", 1, True)
    table.start("g", "m", None, 1000, 1000, False, 0)
    assert not alive(table, "g", "m")
    assert table.deadline_ms("g", "m") == 1000
    start(table, "g", "m", None, 1000)
    assert alive(table, "g", "m")


def test_a_session_with_a_longer_first_timeout_ends_in_time_once_it_is_renewed():
    wheel = TimerWheel(0)
    table = SessionTable(wheel, 7)
    table.set_group("g", 1, True)
    table.start("g", "m", None, 5000, 1000, True, 0)
    assert wheel.advance(1000) == [SessionKey("g", "m")]
    assert not table.is_due("g", "m", 1000)
    assert alive(table, "g", "m", 1500)
    assert wheel.advance(2500) == [SessionKey("g", "m")]
    assert table.is_due("g", "m", 2500)


def steady(table: SessionTable, now_ms: int) -> bool:
    return table.answer_consumer_heartbeat("g", "m", None, 3, "client", "/host", now_ms) == 500


def test_consumer_heartbeats_are_answered_until_a_time(table):
    start(table, "g", "m", None, 1000)
    table.open_heartbeats("g", "m", 3, 500, "client", "/host", 200)
    assert steady(table, 199) and not steady(table, 200)


def test_the_core_that_renews_a_session_opens_its_heartbeats_again_or_they_are_closed(table):
    start(table, "g", "m", None, 1000)
    table.open_heartbeats("g", "m", 3, 500, "client", "/host", 900)
    assert steady(table, 0)
    table.renew("g", "m", 1000, 0)
    assert not steady(table, 0)


def test_a_session_that_begins_again_was_renewed_when_it_was(table):
    """As that of a member whose group changes its type."""
    start(table, "g", "m", None, 1000)
    assert table.last_renewed_ms("g", "m") is None
    table.renew("g", "m", 1000, 300)
    for now_ms in (700, 800):
        table.start("g", "m", None, 500, 500, True, now_ms)
        assert table.last_renewed_ms("g", "m") == 300
    table.renew("g", "m", 500, 900)
    assert table.last_renewed_ms("g", "m") == 900
    table.end("g", "m")
    start(table, "g", "m", None, 1000)
    assert table.last_renewed_ms("g", "m") is None


def test_a_session_that_begins_again_and_is_renewed_in_the_same_ms_was_renewed_then(table):
    start(table, "g", "m", None, 1000)
    table.set_group("g", 1, True)
    table.renew("g", "m", 1000, 300)
    for renewed in (lambda: table.renew("g", "m", 1000, 700), lambda: alive(table, "g", "m", 700)):
        table.start("g", "m", None, 1000, 1000, True, 700)
        renewed()
        assert table.last_renewed_ms("g", "m") == 700


def test_a_request_that_renews_no_session_is_a_sign_of_life(table):
    start(table, "g", "m", None, 1000)
    for heard_ms in (200, 400, 300):
        table.hear("g", "m", heard_ms)
        assert table.deadline_ms("g", "m") == 1000
    assert table.last_renewed_ms("g", "m") == 400, "the newest counts"
    table.renew("g", "m", 1000, 500)
    assert table.last_renewed_ms("g", "m") == 500
    table.hear("g", "m", 700)
    table.start("g", "m", None, 1000, 1000, True, 800)
    assert table.last_renewed_ms("g", "m") == 700
    table.hear("g", "nobody", 900)


def test_a_session_that_does_not_exist_cannot_be_renewed(table):
    with pytest.raises(KeyError):
        table.renew("g", "m", 1000, 0)


def test_a_static_member_is_who_says_its_instance_id(table):
    table.set_group("g", 1, True)
    start(table, "g", "static", "one", 1000)
    start(table, "g", "dynamic", None, 1000)
    said = [
        table.answer_heartbeat("g", member_id, instance_id, 1, 0)
        for member_id in ("static", "dynamic")
        for instance_id in (None, "", "one", "two")
    ]
    assert said == [False, False, True, False, True, False, False, False]


def test_what_is_not_known_is_left_to_the_core(table):
    assert not alive(table, "g", "m")
    assert table.deadline_ms("g", "m") is None
    assert table.is_over("g", "m", 0)
    assert not table.is_due("g", "m", 0)
    assert not table.end("g", "m")
    assert table.members("g") == []
    table.end_all("g")


def test_the_next_heartbeat_after_a_connection_closed_is_for_the_core(table):
    table.start("g", "m", None, 10_000, 10_000, True, 0)
    table.set_group("g", 3, True)
    table.await_clients({("g", "m"): None, ("g", "unknown"): None})
    assert not table.answer_heartbeat("g", "m", None, 3, 1_000)
    table.renew("g", "m", 10_000, 1_000, shows_client=False)
    assert not table.answer_heartbeat("g", "m", None, 3, 2_000), "a commit does not tell by which connection it comes"
    table.renew("g", "m", 10_000, 2_000)
    assert table.answer_heartbeat("g", "m", None, 3, 3_000)
