import pytest

from _wire.errors import ErrorCode
from coordinator.core.classic.joining import NEW_MEMBER_JOIN_TIMEOUT_MS
from coordinator.core.groups.states import GroupState
from tests.simulation.simulation import SESSION_TIMEOUT_MS, Simulation


@pytest.fixture(params=[True, False], ids=["sessions", "core"])
def sim(request):
    """The same with the fast path of heartbeats and without."""
    return Simulation(fast_path=request.param)


def test_the_leaders_sync_answers_all_that_wait(sim):
    a = sim.join("a").response.member_id
    b = sim.join("b")
    sim.join("a", a)
    waiting = sim.sync(b.response.member_id)
    assert not waiting.answered
    leader = sim.sync(a, {a: b"for a"})
    assert (leader.response.assignment, waiting.response.assignment) == (b"for a", b"")


def test_a_sync_in_stable_gets_the_assignment_again(sim):
    a, _ = sim.stable_with("a", "b")
    assert sim.sync(a).response.assignment == f"for-{a}".encode()


def test_sync_is_refused_for_strangers_and_other_generations(sim):
    (a,) = sim.stable_with("a")
    assert sim.sync("nobody").error is ErrorCode.UNKNOWN_MEMBER_ID
    assert sim.sync(a, generation_id=7).error is ErrorCode.ILLEGAL_GENERATION


def test_heartbeats_keep_a_member_alive(sim):
    (a,) = sim.stable_with("a")
    for _ in range(5):
        sim.advance(SESSION_TIMEOUT_MS - 1)
        assert sim.heartbeat(a).error is ErrorCode.NONE
    sim.advance(SESSION_TIMEOUT_MS - 1)
    assert a in sim.group.members
    sim.advance(1)
    assert a not in sim.group.members


def test_a_heartbeat_is_told_of_a_rebalance_and_counts(sim):
    a, b = sim.stable_with("a", "b")
    sim.join("a", a)
    sim.advance(SESSION_TIMEOUT_MS - 1)
    assert sim.heartbeat(b).error is ErrorCode.REBALANCE_IN_PROGRESS
    sim.advance(SESSION_TIMEOUT_MS - 1)
    assert b in sim.group.members


def test_heartbeats_of_others_are_refused(sim):
    (a,) = sim.stable_with("a")
    assert sim.heartbeat("nobody").error is ErrorCode.UNKNOWN_MEMBER_ID
    assert sim.heartbeat(a, generation_id=0).error is ErrorCode.ILLEGAL_GENERATION
    assert sim.heartbeat(a, instance_id="one").error is ErrorCode.UNKNOWN_MEMBER_ID


def test_a_silent_member_is_found_out_by_its_session_timeout(sim):
    a, b = sim.stable_with("a", "b")
    sim.advance(SESSION_TIMEOUT_MS // 2)
    sim.heartbeat(a)
    sim.advance(SESSION_TIMEOUT_MS // 2)
    assert set(sim.group.members) == {a}
    started = sim.audited()[-1]
    assert (started.cause, started.member.member_id) == ("session_expired", b)


def test_a_sign_of_life_read_in_the_turn_of_the_expiry_counts():
    sim = Simulation(fast_path=False)
    (a,) = sim.stable_with("a")
    sim.clock.advance(SESSION_TIMEOUT_MS)
    with sim.one_turn():
        alive = sim.heartbeat(a)
    assert alive.error is ErrorCode.NONE
    assert a in sim.group.members


def test_a_new_member_that_waits_is_given_up_after_five_minutes(sim):
    """It knows no id to send heartbeats with, so its client may be long gone."""
    a = sim.join("a", rebalance_timeout_ms=3_600_000).response.member_id
    sim.sync_all()
    waiting = sim.join("b")
    for _ in range(50):
        sim.advance(NEW_MEMBER_JOIN_TIMEOUT_MS // 50)
        if not waiting.answered:
            assert sim.heartbeat(a).error is ErrorCode.REBALANCE_IN_PROGRESS
    assert waiting.error is ErrorCode.UNKNOWN_MEMBER_ID
    assert sim.now_ms == sim.events[0].at_ms + NEW_MEMBER_JOIN_TIMEOUT_MS
    assert set(sim.group.members) == {a}


def test_a_new_member_that_has_sent_a_heartbeat_lives_on_its_session_timeout(sim):
    a = sim.join("a").response.member_id
    sim.sync_all()
    waiting = sim.join("b")
    (b,) = sim.group.members.keys() - {a}
    assert sim.heartbeat(b).error is ErrorCode.REBALANCE_IN_PROGRESS
    sim.advance(SESSION_TIMEOUT_MS - 1)
    sim.heartbeat(a)
    assert not waiting.answered
    sim.advance(1)
    assert waiting.error is ErrorCode.UNKNOWN_MEMBER_ID


def test_who_waits_for_a_join_counts_as_alive(sim):
    a, b = sim.stable_with("a", "b")
    waiting = sim.join("a", a)
    for _ in range(3):
        sim.advance(SESSION_TIMEOUT_MS - 1)
        sim.heartbeat(b)
    sim.join("b", b)
    assert waiting.response.generation_id == 3


def test_a_session_begins_anew_with_each_generation(sim):
    a, b = sim.stable_with("a", "b")
    sim.join("a", a)
    sim.advance(SESSION_TIMEOUT_MS - 1)
    sim.join("b", b)
    sim.advance(SESSION_TIMEOUT_MS - 1)
    assert set(sim.group.members) == {a, b}


def test_a_batch_leaves_together_and_each_has_its_own_error(sim):
    a, b, c = sim.stable_with("a", "b", "c")
    left = sim.leave(a, "nobody", b).response
    assert [member.error_code for member in left.members] == [0, ErrorCode.UNKNOWN_MEMBER_ID, 0]
    assert [type(event).__name__ for event in sim.events[-3:]] == ["MemberRemoved", "MemberRemoved", "RebalanceStarted"]
    assert set(sim.group.members) == {c}


def test_an_instance_that_left_is_unknown_to_the_rest_of_the_batch():
    sim = Simulation()
    sim.join("a", instance_id="one", version=5)
    left = sim.leave(sim.group.static_members["one"], "nobody", instance_id="one").response
    assert [member.error_code for member in left.members] == [ErrorCode.NONE, ErrorCode.UNKNOWN_MEMBER_ID]


def test_an_id_that_left_and_names_the_instance_of_another_is_fenced():
    sim = Simulation()
    sim.join("a", instance_id="one", version=5)
    reserved = sim.join("b", version=5).response.member_id
    left = sim.leave(reserved, reserved, instance_id="one").response
    assert [member.error_code for member in left.members] == [ErrorCode.NONE, ErrorCode.FENCED_INSTANCE_ID]


def test_a_member_that_leaves_while_its_join_waits_is_answered(sim):
    a, _ = sim.stable_with("a", "b")
    waiting = sim.join("a", a)
    sim.leave(a)
    assert waiting.error is ErrorCode.UNKNOWN_MEMBER_ID


def test_a_reserved_id_that_leaves_starts_a_rebalance(sim):
    (_a,) = sim.stable_with("a")
    reserved = sim.join("b", version=4).response.member_id
    assert sim.leave(reserved).response.members[0].error_code == ErrorCode.NONE
    assert sim.group.state is GroupState.PREPARING_REBALANCE


def test_a_reserved_id_is_no_member_yet_and_lives_by_no_heartbeat(sim):
    (a,) = sim.stable_with("a")
    reserved = sim.join("b", version=4).response.member_id
    sim.advance(SESSION_TIMEOUT_MS - 1)
    assert sim.heartbeat(a).error is ErrorCode.NONE
    assert sim.heartbeat(reserved).error is ErrorCode.UNKNOWN_MEMBER_ID
    sim.advance(1)
    assert not sim.group.pending_members


def test_a_reserved_id_that_expires_starts_none(sim):
    (a,) = sim.stable_with("a")
    sim.join("b", version=4)
    sim.advance(SESSION_TIMEOUT_MS // 2)
    sim.heartbeat(a)
    sim.advance(SESSION_TIMEOUT_MS // 2)
    assert not sim.group.pending_members
    assert sim.group.state is GroupState.STABLE
