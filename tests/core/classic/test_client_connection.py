"""What is told of the connection of a member that is removed: open, closed at a time, or unknown."""

import pytest

from _wire.errors import ErrorCode
from coordinator.audit import schema
from coordinator.core.causes import Cause
from coordinator.core.classic.events import MemberRemoved
from coordinator.core.client_connection import MEMBERS_KEPT, ClientConnection
from coordinator.core.groups.connection_at_removal import DeniedSince
from coordinator.core.groups.states import GroupState
from coordinator.core.stored import Producer
from coordinator.core.throttled_clients import CLIENTS_KEPT, ThrottledClients
from tests.simulation.simulation import GROUP_ID, SESSION_TIMEOUT_MS, Simulation

HEARTBEAT_MS = 3_000


@pytest.fixture
def sim() -> Simulation:
    return Simulation()


def removed(sim: Simulation) -> MemberRemoved:
    """The only removal since the start."""
    (event,) = [each for each in sim.events if isinstance(each, MemberRemoved)]
    return event


def audited_removal(sim: Simulation) -> schema.MemberRemoved:
    """The only removal in the audit."""
    (event,) = [each for each in sim.audited() if isinstance(each, schema.MemberRemoved)]
    return event


def connection(sim: Simulation) -> tuple[bool | None, int | None]:
    return removed(sim).connection.is_open, removed(sim).connection.closed_ms


def beat(sim: Simulation, member_id: str, ms: int) -> None:
    """The member sends heartbeats for a time."""
    for _ in range(ms // HEARTBEAT_MS):
        sim.advance(HEARTBEAT_MS)
        sim.heartbeat(member_id)


def test_the_connection_of_a_member_that_stands_still_stays_open(sim):
    sim.stable_with("a")
    sim.advance(SESSION_TIMEOUT_MS)
    assert connection(sim) == (True, None)


def test_the_connection_of_a_member_that_is_killed_closes_at_once(sim):
    (a,) = sim.stable_with("a")
    beat(sim, a, 6_000)
    sim.advance(1_000)
    killed_ms = sim.now_ms
    sim.disconnect(a)
    sim.advance(SESSION_TIMEOUT_MS)
    assert connection(sim) == (False, killed_ms)
    assert removed(sim).last_heard_ms == killed_ms - 1_000


def test_a_close_before_the_member_was_last_heard_says_nothing(sim):
    """Its connection had so many members that it is not asked again by which one it comes."""
    (a,) = sim.stable_with("a")
    found = sim.group.members[a].client_connection
    assert found is not None
    found.close(sim.now_ms)
    beat(sim, a, 3_000)  # over another connection
    sim.advance(SESSION_TIMEOUT_MS)
    assert connection(sim) == (None, None)


def test_a_heartbeat_over_another_connection_tells_by_which_one_the_member_comes(sim):
    (a,) = sim.stable_with("a")
    sim.disconnect(a)
    beat(sim, a, 6_000)
    sim.disconnect(a)
    beat(sim, a, 3_000)
    killed_ms = sim.now_ms
    sim.disconnect(a)
    sim.advance(SESSION_TIMEOUT_MS)
    assert connection(sim) == (False, killed_ms)


def test_a_heartbeat_of_another_generation_tells_by_which_connection_the_member_comes(sim):
    (a,) = sim.stable_with("a")
    sim.disconnect(a)
    sim.advance(1_000)
    sim.heartbeat(a, generation_id=sim.group.generation_id - 1)
    rejected_ms = sim.now_ms
    sim.advance(SESSION_TIMEOUT_MS)
    assert connection(sim) == (True, None)
    told = audited_removal(sim)
    assert (told.rejected, told.rejected_ms) == ("ILLEGAL_GENERATION", rejected_ms)


def test_a_member_that_was_never_rejected_has_no_time_of_it(sim):
    sim.stable_with("a")
    sim.advance(SESSION_TIMEOUT_MS)
    told = audited_removal(sim)
    assert (told.rejected, told.rejected_ms) == ("", None)


def test_a_connection_remembers_the_newest_of_its_members():
    found = ClientConnection()
    for number in range(MEMBERS_KEPT + 1):
        found.carry("g", f"m{number}")
    assert len(found.members) == MEMBERS_KEPT
    assert ("g", "m0") not in found.members
    assert ("g", f"m{MEMBERS_KEPT}") in found.members


def test_a_member_that_joins_over_another_connection_is_connected_again(sim):
    (a,) = sim.stable_with("a")
    sim.disconnect(a)
    sim.advance(1_000)
    sim.join("a", a)
    sim.sync_all()
    sim.advance(SESSION_TIMEOUT_MS)
    assert connection(sim) == (True, None)


def test_a_member_that_joins_over_another_connection_is_connected_before_it_syncs(sim):
    a, b = sim.stable_with("a", "b")
    sim.disconnect(a)
    sim.advance(1_000)
    sim.join("a", a, metadata=b"other")
    sim.join("b", b)
    for _ in range(SESSION_TIMEOUT_MS // HEARTBEAT_MS + 1):
        sim.advance(HEARTBEAT_MS)
        sim.heartbeat(b)
    assert removed(sim).member_id == a
    assert connection(sim) == (True, None)


def test_a_pause_of_the_coordinator_is_told_with_the_silence(sim):
    sim.stable_with("a")
    sim.advance(1_000)
    sim.stand_still(2_500)
    sim.advance(SESSION_TIMEOUT_MS)
    assert removed(sim).coordinator_paused_ms == 2_500


def test_a_pause_before_the_member_was_heard_does_not_count(sim):
    (a,) = sim.stable_with("a")
    sim.stand_still(2_500)
    sim.heartbeat(a)
    sim.advance(SESSION_TIMEOUT_MS)
    assert removed(sim).coordinator_paused_ms == 0


def test_a_pause_counts_by_the_clock_of_deadlines(sim):
    """Whatever the wall clock is set to."""
    sim.set_wall_clock(3_600_000)
    sim.stable_with("a")
    sim.stand_still(SESSION_TIMEOUT_MS)
    assert removed(sim).coordinator_paused_ms == SESSION_TIMEOUT_MS


def test_what_the_coordinator_itself_closed_is_unknown(sim):
    (a,) = sim.stable_with("a")
    found = sim.group.members[a].client_connection
    assert found is not None
    found.close(None)
    sim.advance(SESSION_TIMEOUT_MS)
    assert connection(sim) == (None, None)


def test_what_was_before_a_restart_is_unknown(sim):
    sim.stable_with("a")
    sim.restart()
    sim.advance(SESSION_TIMEOUT_MS)
    assert connection(sim) == (None, None)


def test_a_member_that_is_killed_while_it_waits_in_a_join_phase(sim):
    """The answer to its JoinGroup renews its session, and is no sign of life."""
    a, b = sim.stable_with("a", "b")
    sim.join("a", a, metadata=b"other")
    assert sim.group.state is GroupState.PREPARING_REBALANCE
    sim.disconnect(a)
    killed_ms = sim.now_ms
    sim.advance(HEARTBEAT_MS)
    sim.join("b", b)
    sim.advance(HEARTBEAT_MS)
    sim.heartbeat(b)
    sim.advance(SESSION_TIMEOUT_MS - HEARTBEAT_MS)
    assert removed(sim).member_id == a
    assert connection(sim) == (False, killed_ms)
    assert removed(sim).last_heard_ms == killed_ms, "it was not heard when its JoinGroup was answered"


def test_a_commit_after_the_close_says_that_the_client_lives(sim):
    """A producer commits for its consumer over another connection, while the consumer waits in a join phase."""
    a, b = sim.stable_with("a", "b")
    sim.join("a", a, metadata=b"other")
    sim.disconnect(a)
    sim.advance(HEARTBEAT_MS)
    sim.commit_in_transaction(Producer(1, 0), generation_id=sim.group.generation_id, member_id=a)
    committed_ms = sim.now_ms
    sim.join("b", b)
    sim.advance(HEARTBEAT_MS)
    sim.heartbeat(b)
    sim.advance(SESSION_TIMEOUT_MS - HEARTBEAT_MS)
    assert removed(sim).member_id == a
    assert connection(sim) == (None, None)
    told = audited_removal(sim)
    assert told.last_committed_ms == committed_ms


def test_a_member_that_is_killed_while_it_waits_for_its_assignment(sim):
    a, b = sim.stable_with("a", "b")
    sim.join("a", a, metadata=b"other")
    sim.join("b", b)
    sim.sync(b)
    sim.disconnect(b)
    killed_ms = sim.now_ms
    sim.advance(HEARTBEAT_MS)
    sim.sync(a, {a: b"x", b: b"y"})
    beat(sim, a, 9_000)
    assert sim.group.members.keys() == {a, b}
    sim.advance(1_000)
    assert removed(sim).member_id == b
    assert connection(sim) == (False, killed_ms)


def test_a_member_that_does_not_rejoin_in_time_tells_it_too(sim):
    options = {"session_timeout_ms": 30_000, "rebalance_timeout_ms": 5_000}
    (a,) = sim.make_stable([sim.join("a", **options)])
    sim.join("b", **options)
    sim.advance(1_000)
    sim.disconnect(a)
    killed_ms = sim.now_ms
    sim.advance(4_000)
    assert (removed(sim).member_id, removed(sim).cause) == (a, Cause.REBALANCE_TIMEOUT)
    assert connection(sim) == (False, killed_ms)


def test_a_member_that_leaves_has_no_need_of_it(sim):
    (a,) = sim.stable_with("a")
    sim.leave(a)
    assert connection(sim) == (None, None)


def test_a_static_member_that_is_restarted_has_the_connection_of_the_new_process(sim):
    sim.make_stable([sim.join("a", instance_id="pod", version=5)])
    sim.disconnect(next(iter(sim.group.members)))
    sim.advance(1_000)
    sim.join("a", instance_id="pod", version=5)
    sim.advance(SESSION_TIMEOUT_MS)
    assert connection(sim) == (True, None)


def test_a_connection_that_was_found_closed_after_a_pause_is_told_with_it(sim):
    (a,) = sim.stable_with("a")
    sim.stand_still(5_000)
    sim.heartbeat(a)  # sent before the client gave up, read after the pause
    sim.disconnect(a)
    sim.advance(SESSION_TIMEOUT_MS)
    assert removed(sim).connection.closed_in_pause_ms == 5_000
    assert removed(sim).coordinator_paused_ms == 0


def test_who_joined_after_a_pause_did_not_close_its_connection_in_it(sim):
    sim.stand_still(5_000)
    sim.advance(1)
    (a,) = sim.stable_with("a")
    sim.advance(100)
    sim.disconnect(a)
    sim.advance(SESSION_TIMEOUT_MS)
    assert connection(sim)[0] is False
    assert removed(sim).connection.closed_in_pause_ms is None


def test_a_connection_that_closed_long_after_a_pause_did_not_close_in_it(sim):
    (a,) = sim.stable_with("a")
    sim.stand_still(5_000)
    sim.heartbeat(a)
    sim.advance(1_001)
    sim.disconnect(a)
    sim.advance(SESSION_TIMEOUT_MS)
    assert connection(sim)[0] is False
    assert removed(sim).connection.closed_in_pause_ms is None


# ---- what the coordinator itself did to it


def deny(sim: Simulation, group_id: str = GROUP_ID) -> None:
    sim.connections["a"].deny("Heartbeat", "READ", "GROUP", group_id, sim.now_ms)


def test_requests_that_were_refused_in_its_silence_are_told(sim):
    (a,) = sim.stable_with("a")
    beat(sim, a, 3_000)
    sim.advance(3_000)
    first_ms = sim.now_ms
    deny(sim)
    sim.advance(3_000)
    deny(sim)
    sim.advance(SESSION_TIMEOUT_MS)
    assert removed(sim).connection.denied == DeniedSince("Heartbeat", "READ", "GROUP", GROUP_ID, first_ms, 2)
    assert audited_removal(sim).denied == schema.DeniedRequests("Heartbeat", "READ", "GROUP", GROUP_ID, first_ms, 2)


def test_refusals_of_an_earlier_time_without_the_right_are_not_counted(sim):
    (a,) = sim.stable_with("a")
    deny(sim)
    deny(sim)
    beat(sim, a, 3_000)
    sim.advance(3_000)
    deny(sim)
    sim.advance(SESSION_TIMEOUT_MS)
    denied = removed(sim).connection.denied
    assert denied is not None
    assert denied.count == 1


def test_refusals_before_it_was_heard_again_or_of_another_group_say_nothing(sim):
    (a,) = sim.stable_with("a")
    deny(sim)
    beat(sim, a, 3_000)
    sim.advance(SESSION_TIMEOUT_MS - 1)
    deny(sim, "another")
    sim.advance(1)
    assert removed(sim).connection.denied is None
    assert audited_removal(sim).denied is None


@pytest.mark.parametrize(
    ("after_ms", "throttle_ms", "muted_ms"), [(1_000, 4_000, 4_000), (1_000, 60_000, 9_000), (-2_000, 3_000, 1_000)]
)
def test_how_long_its_connection_was_muted_in_its_silence_is_told(sim, after_ms, throttle_ms, muted_ms):
    (a,) = sim.stable_with("a")
    sim.advance(3_000)
    muted_from_ms = sim.now_ms + after_ms
    sim.connections["a"].mute(muted_from_ms, muted_from_ms + throttle_ms)
    sim.heartbeat(a)
    sim.advance(SESSION_TIMEOUT_MS)
    assert removed(sim).connection.muted_ms == muted_ms
    assert audited_removal(sim).connection_muted_ms == muted_ms


def test_throttle_times_that_follow_each_other_are_one(sim):
    sim.stable_with("a")
    for from_ms in (1_000, 3_000, 4_000):
        sim.connections["a"].mute(sim.now_ms + from_ms, sim.now_ms + from_ms + 2_000)
    sim.advance(SESSION_TIMEOUT_MS)
    assert removed(sim).connection.muted_ms == 5_000


def test_a_throttle_time_before_it_was_heard_says_nothing(sim):
    (a,) = sim.stable_with("a")
    sim.connections["a"].mute(sim.now_ms, sim.now_ms + 1_000)
    beat(sim, a, 3_000)
    sim.advance(SESSION_TIMEOUT_MS)
    assert removed(sim).connection.muted_ms is None


def test_how_long_its_last_heartbeat_may_have_waited_is_told(sim):
    (a,) = sim.stable_with("a")
    sim.connections["a"].mute(sim.now_ms, sim.now_ms + 3_000)
    sim.advance(3_000)
    sim.heartbeat(a)  # it was sent before
    sim.advance(SESSION_TIMEOUT_MS)
    assert removed(sim).connection.heard_late_ms == audited_removal(sim).heard_late_ms == 3_000
    assert removed(sim).connection.muted_ms is None, "not since then"


def test_its_client_may_be_throttled_on_the_next_connection(sim):
    (a,) = sim.stable_with("a")
    member = sim.group.members[a]
    sim.advance(1_000)
    sim.disconnect(a)
    sim.throttled.note(member.client_id, member.client_host, sim.now_ms + 1_000, sim.now_ms + 5_000)
    sim.advance(SESSION_TIMEOUT_MS)
    assert removed(sim).connection.muted_ms == 4_000


def test_what_a_client_was_throttled_for_on_the_connection_that_closed_ends_with_it(sim):
    (a,) = sim.stable_with("a")
    member = sim.group.members[a]
    sim.throttled.note(member.client_id, member.client_host, sim.now_ms, sim.now_ms + 60_000)
    sim.advance(1_000)
    sim.disconnect(a)
    sim.advance(SESSION_TIMEOUT_MS)
    assert removed(sim).connection.muted_ms is None


def test_a_sync_that_is_refused_is_heard(sim):
    _, b = sim.stable_with("a", "b")
    sim.join("c")  # a rebalance begins
    sim.advance(2_000)
    heard_ms = sim.now_ms
    assert sim.sync(b).error is ErrorCode.REBALANCE_IN_PROGRESS
    sim.advance(SESSION_TIMEOUT_MS)
    (gone,) = [each for each in sim.events if isinstance(each, MemberRemoved) and each.member_id == b]
    assert gone.last_heard_ms == heard_ms
    assert heard_ms + SESSION_TIMEOUT_MS > gone.at_ms, "it renewed no session"


def test_who_was_throttled_longest_ago_is_forgotten():
    throttled = ThrottledClients()
    for number in range(CLIENTS_KEPT + 1):
        throttled.note(f"client-{number}", "/host", 10, 30)
    assert throttled.since("client-0", "/host", 0, 100) == 0
    assert throttled.since("client-1", "/host", 0, 100) == 20
    assert throttled.since("client-1", "/host", 0, 25) == 15
    assert throttled.since("client-1", "/host", 11, 100) == 0, "it began before"


@pytest.mark.parametrize("is_by_another", [False, True])
def test_a_commit_of_an_older_generation_says_that_the_client_lives(sim, is_by_another):
    (a,) = sim.stable_with("a")
    found = sim.group.members[a].client_connection
    assert found is not None
    sim.connections[a] = ClientConnection() if is_by_another else found
    sim.advance(2_000)
    rejected_ms = sim.now_ms
    assert sim.commit(a, generation_id=sim.group.generation_id - 1).error is ErrorCode.ILLEGAL_GENERATION
    sim.advance(SESSION_TIMEOUT_MS)
    assert (removed(sim).connection.rejected, removed(sim).connection.rejected_ms) == (
        "ILLEGAL_GENERATION",
        rejected_ms,
    )
