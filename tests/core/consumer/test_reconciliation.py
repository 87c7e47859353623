"""Partitions move: first they are given up, then they are given."""

from _wire.errors import NONE, ErrorCode
from coordinator.core.causes import Cause
from coordinator.core.consumer.events import ConsumerMemberRemoved
from coordinator.core.consumer.member import MemberState
from coordinator.core.groups.states import RECONCILING, STABLE
from tests.core.consumer.world import World


def revoking() -> World:
    """A group in which `a` has to give up one partition, which `b` waits for."""
    world = World()
    world.enter("a")
    world.enter("b")
    world.beat("a", 2, owned={"t": [0, 1, 2]})
    return world


def test_a_newcomer_waits_until_partitions_are_given_up() -> None:
    world = revoking()
    assert world.epoch("a") == 2
    assert world.consumer.members["a"].current.state is MemberState.UNREVOKED_PARTITIONS
    assert world.consumer.members["b"].current.state is MemberState.UNRELEASED_PARTITIONS
    assert world.given(world.beat("b", 3)) is None
    kept = world.assigned("a")
    assert world.beat("a", 2, owned=kept).member_epoch == 3
    given = world.given(world.beat("b", 3))
    assert given is not None
    assert sorted([*kept["t"], *given["t"]]) == [0, 1, 2]
    assert world.consumer.state is STABLE


def test_null_confirms_no_revocation_and_an_empty_list_does() -> None:
    world = revoking()
    assert world.beat("a", 2).member_epoch == 2
    assert world.consumer.members["a"].current.state is MemberState.UNREVOKED_PARTITIONS
    assert world.beat("a", 2, owned={}).member_epoch == 3


def test_a_part_of_what_is_to_be_revoked_is_not_enough() -> None:
    world = World()
    world.enter("a")
    world.enter("b")
    world.enter("c")
    world.beat("a", 2, owned={"t": [0, 1, 2]})
    pending = world.pending_of("a")["t"]
    kept = world.assigned("a")["t"]
    assert len(pending) == 2
    assert world.beat("a", 2, owned={"t": [*kept, pending[0]]}).member_epoch == 2
    assert world.beat("a", 2, owned={"t": kept}).member_epoch == 4


def test_partitions_that_the_request_leaves_out_are_revoked_at_once() -> None:
    world = World()
    world.enter("a")
    world.enter("b")
    target = world.consumer.target("a")
    kept: dict[str, list[int]] = {"t": list(*target.values())}
    assert world.beat("a", 2, owned=kept).member_epoch == 3
    assert world.consumer.members["a"].current.state is MemberState.STABLE


def test_a_rejoin_gives_up_what_is_pending() -> None:
    world = revoking()
    assert world.enter("a").member_epoch == 3


def test_the_epoch_before_is_fenced_while_a_member_revokes() -> None:
    world = World()
    world.enter("a")
    world.enter("b")
    world.beat("a", 2, owned={"t": [0, 1, 2]})
    world.beat("a", 2, owned=world.assigned("a"))
    world.enter("c")
    world.beat("a", 3, owned=world.assigned("a"))
    if world.consumer.members["a"].current.state is MemberState.STABLE:
        world.beat("b", 3, owned=world.assigned("b"))
    assert world.beat("a", 2, owned={}).error_code == ErrorCode.FENCED_MEMBER_EPOCH


def test_a_member_that_revokes_looks_at_no_newer_target() -> None:
    world = revoking()
    world.enter("c")
    assert world.consumer.target_epoch == 4
    assert world.beat("a", 2).member_epoch == 2
    assert world.beat("a", 2, owned=world.assigned("a")).member_epoch in (2, 4)


def test_a_member_that_unsubscribes_has_to_revoke_at_once() -> None:
    world = World({"group.consumer.assignment.interval.ms": "1000"})
    world.enter("a", "t", "u")
    answer = world.beat("a", 2, names=["u"])
    assert world.given(answer) == {"u": [0, 1]}
    assert world.pending_of("a") == {"t": [0, 1, 2]}
    assert answer.member_epoch == 2


def test_a_member_that_unsubscribes_while_it_revokes_has_more_to_revoke() -> None:
    world = World({"group.consumer.assignment.interval.ms": "1000"}, {"t": 4, "u": 4})
    world.enter("a", "t", "u")
    world.enter("b", "t", "u")
    world.advance(1000)
    world.beat("a", 2, owned={"t": range(4), "u": range(4)})
    assert world.consumer.members["a"].current.state is MemberState.UNREVOKED_PARTITIONS
    answer = world.beat("a", 2, names=["u"])
    assert world.pending_of("a")["t"] == [0, 1, 2, 3]
    assert "t" not in (world.given(answer) or {})


def test_who_does_not_revoke_in_time_is_removed() -> None:
    world = World()
    world.enter("a", timeout_ms=2000)
    world.enter("b")
    world.beat("a", 2, owned={"t": [0, 1, 2]})
    world.advance(1999)
    assert "a" in world.consumer.members
    world.advance(1)
    assert "a" not in world.consumer.members
    (removed,) = [event for event in world.events if isinstance(event, ConsumerMemberRemoved)]
    assert removed.cause is Cause.REBALANCE_TIMEOUT
    assert world.given(world.beat("b", 3)) == {"t": [0, 1, 2]}


def test_a_changed_rebalance_timeout_does_not_touch_the_timer() -> None:
    world = World()
    world.enter("a", timeout_ms=2000)
    world.enter("b")
    world.beat("a", 2, owned={"t": [0, 1, 2]})
    world.beat("a", 2, timeout_ms=60_000)
    world.advance(2000)
    assert "a" not in world.consumer.members


def test_the_timer_ends_with_the_revocation() -> None:
    world = World()
    world.enter("a", timeout_ms=2000)
    world.enter("b")
    world.beat("a", 2, owned={"t": [0, 1, 2]})
    world.beat("a", 2, owned=world.assigned("a"))
    world.advance(3000)
    assert "a" in world.consumer.members


def test_a_negative_rebalance_timeout_is_over_at_once() -> None:
    world = World()
    world.enter("a", timeout_ms=-7)
    world.enter("b")
    world.beat("a", 2, owned={"t": [0, 1, 2]})
    world.advance(0)
    assert "a" not in world.consumer.members


def test_a_silent_member_is_removed_after_the_session_timeout() -> None:
    world = World()
    world.enter("a")
    world.advance(44_999)
    assert world.beat("a", 2).error_code == NONE
    world.advance(45_000)
    assert not world.consumer.members
    (removed,) = [event for event in world.events if isinstance(event, ConsumerMemberRemoved)]
    assert (removed.cause, removed.last_heard_ms) == (Cause.SESSION_EXPIRED, world.now_ms - 45_000)


def test_a_rejected_heartbeat_and_a_commit_extend_no_session() -> None:
    world = World()
    world.enter("a")
    world.advance(40_000)
    assert world.beat("a", 9).error_code == ErrorCode.FENCED_MEMBER_EPOCH
    assert world.commit_offsets("a", 2, {0: 1}) == {NONE}
    world.advance(5_000)
    assert not world.consumer.members


def test_what_survives_a_restart() -> None:
    world = revoking()
    before = {each: world.consumer.members[each].current for each in ("a", "b")}
    world.restart()
    assert {each: world.consumer.members[each].current for each in ("a", "b")} == before
    assert world.consumer.state is RECONCILING
    world.advance(30_000)
    assert "a" not in world.consumer.members, "its time to revoke began again with the load"
    assert "b" in world.consumer.members


def test_several_members_whose_time_is_over_together() -> None:
    world = World(topics={"t": 40, "u": 40})
    names = [f"m{number}" for number in range(20)]
    for name in names:
        world.enter(name, "t", "u", timeout_ms=1000)
    for _ in range(2):
        for name in names:
            world.beat(name, world.epoch(name), owned=world.assigned(name))
            world.beat(name, world.epoch(name), owned=world.assigned(name))
    assert world.consumer.state is STABLE
    for name in names:
        world.beat(name, world.epoch(name), names=["u"])
    assert all(world.pending_of(name) for name in names)
    world.restart()
    world.advance(1000)
    assert not world.consumer.members, "although they are more than the steps of a group without time passing"
