"""Members of share groups join, read the same partitions, are fenced, come back and leave."""

import pytest

from _wire.errors import NONE, ErrorCode
from coordinator.core.causes import Cause
from coordinator.core.decision import NOTHING, OperationContext
from coordinator.core.groups.requests import SessionExpired
from coordinator.core.groups.states import EMPTY, STABLE
from coordinator.core.share.leaving import expire_session
from tests.core.share.world import ShareWorld
from tests.simulation.simulation import GROUP_ID

FIRST_HEARTBEAT = [(10, True), (11, True), (13, True), (12, True), (14, True), (15, True)]
INITIALIZED = [(15, True)]
SECOND_HEARTBEAT = [(11, True), (13, True), (12, True), (14, True)]
REMOVAL = [(14, False), (13, False), (10, False), (11, True)]


def test_the_first_member_has_nothing_in_epoch_2_and_all_partitions_in_epoch_3() -> None:
    world = ShareWorld()
    joined = world.share_beat("a", 0, "t")
    assert (joined.error_code, joined.member_id, joined.member_epoch) == (NONE, "a", 2)
    assert joined.heartbeat_interval_ms == 500
    assert world.read_by(joined) == {}
    second = world.share_beat("a", 2)
    assert (second.member_epoch, world.read_by(second)) == (3, {"t": [0, 1, 2]})
    assert world.written() == [*FIRST_HEARTBEAT, *INITIALIZED, *SECOND_HEARTBEAT]
    assert world.share.state is STABLE


def test_a_steady_heartbeat_writes_nothing_and_makes_no_event() -> None:
    world = ShareWorld()
    world.share_enter("a")
    world.events.clear()
    written = world.offsets_log.log_end_offset
    answer = world.share_beat("a", 3)
    assert (answer.error_code, answer.member_epoch, answer.assignment) == (NONE, 3, None)
    assert not world.events
    assert world.offsets_log.log_end_offset == written


def test_several_members_read_the_same_partition() -> None:
    world = ShareWorld(topics={"t": 1})
    world.share_enter("a")
    joined = world.share_beat("b", 0, "t")
    assert (joined.member_epoch, world.read_by(joined)) == (4, {"t": [0]})
    heard = world.share_beat("a", 3)
    assert (heard.member_epoch, heard.assignment) == (4, None)
    assert world.assigned_to("a") == world.assigned_to("b") == {"t": [0]}


def test_partitions_are_divided_while_there_are_more_of_them_than_members() -> None:
    world = ShareWorld(topics={"t": 4})
    world.share_enter("a")
    world.share_beat("b", 0, "t")
    world.share_beat("a", 3)
    assert sorted(world.assigned_to("a")["t"] + world.assigned_to("b")["t"]) == [0, 1, 2, 3]


def test_a_heartbeat_may_come_with_the_previous_epoch() -> None:
    world = ShareWorld()
    world.share_enter("a")
    again = world.share_beat("a", 2)
    assert (again.error_code, again.member_epoch) == (NONE, 3)
    for epoch in (1, 4, 2**31 - 1):
        fenced = world.share_beat("a", epoch)
        assert fenced.error_code == ErrorCode.FENCED_MEMBER_EPOCH
        assert (fenced.member_id, fenced.member_epoch, fenced.heartbeat_interval_ms) == (None, 0, 0)


def test_a_member_that_comes_back_with_epoch_0_is_the_same() -> None:
    world = ShareWorld()
    world.share_enter("a")
    back = world.share_beat("a", 0, "t")
    assert (back.member_epoch, world.read_by(back)) == (3, {"t": [0, 1, 2]})


@pytest.mark.parametrize(
    ("member_id", "epoch", "changes", "error"),
    [
        ("", 0, {"subscribed": ["t"]}, ErrorCode.INVALID_REQUEST),
        (" ", 0, {"subscribed": ["t"]}, ErrorCode.INVALID_REQUEST),
        ("x" * 37, 0, {"subscribed": ["t"]}, ErrorCode.INVALID_REQUEST),
        ("\U0001f600" * 19, 0, {"subscribed": ["t"]}, ErrorCode.INVALID_REQUEST),
        ("a", 0, {"subscribed": ["t"], "rack_id": "\t"}, ErrorCode.INVALID_REQUEST),
        ("a", 0, {}, ErrorCode.INVALID_REQUEST),
        ("a", 0, {"subscribed": []}, ErrorCode.INVALID_REQUEST),
        ("a", -2, {}, ErrorCode.INVALID_REQUEST),
        ("a", -(2**31), {}, ErrorCode.INVALID_REQUEST),
        ("a", -1, {}, ErrorCode.GROUP_ID_NOT_FOUND),
        ("a", 1, {}, ErrorCode.GROUP_ID_NOT_FOUND),
    ],
)
def test_a_first_heartbeat_is_rejected(member_id: str, epoch: int, changes: dict, error: ErrorCode) -> None:
    world = ShareWorld()
    answer = world.share_beat(member_id, epoch, **changes)
    assert answer.error_code == error
    assert (answer.member_id, answer.member_epoch, answer.heartbeat_interval_ms) == (None, 0, 0)
    is_told = bool(member_id) and len(member_id.encode("utf-16-le")) // 2 <= 36
    assert bool(answer.error_message) is is_told, "of such a member id Kafka says nothing"
    assert not world.exists


def test_a_member_id_of_36_characters_is_taken() -> None:
    assert ShareWorld().share_beat("\U0001f600" * 18, 0, "t").error_code == NONE


def test_a_full_group_takes_nobody_and_hides_who_is_unknown_unless_it_leaves() -> None:
    world = ShareWorld({"group.share.max.size": "1"})
    world.share_enter("a")
    assert world.share_beat("b", 0, "t").error_code == ErrorCode.GROUP_MAX_SIZE_REACHED
    assert world.share_beat("b", 3).error_code == ErrorCode.GROUP_MAX_SIZE_REACHED
    assert world.share_beat("b", -1).error_code == ErrorCode.UNKNOWN_MEMBER_ID
    assert world.share_beat("a", 3).error_code == NONE


def test_an_unknown_member_has_to_join() -> None:
    world = ShareWorld()
    world.share_enter("a")
    assert world.share_beat("b", 3).error_code == ErrorCode.UNKNOWN_MEMBER_ID


def test_who_subscribes_to_something_else_loses_and_gets_partitions() -> None:
    world = ShareWorld()
    world.share_enter("a")
    changed = world.share_beat("a", 3, "u")
    assert (changed.member_epoch, world.read_by(changed)) == (4, {})
    second = world.share_beat("a", 4)
    assert (second.member_epoch, world.read_by(second)) == (5, {"u": [0, 1]})


def test_an_empty_subscription_gives_all_up() -> None:
    world = ShareWorld()
    world.share_enter("a")
    given_up = world.share_beat("a", 3, subscribed=[])
    assert (given_up.error_code, given_up.member_epoch, world.read_by(given_up)) == (NONE, 4, {})


def test_a_rack_or_a_client_id_raises_no_epoch() -> None:
    world = ShareWorld()
    world.share_enter("a")
    answer = world.share_beat("a", 3, rack_id="r")
    assert (answer.member_epoch, answer.assignment) == (3, None)
    assert world.written()[-1] == (10, True)


def test_leaving_writes_tombstones_and_the_next_epoch() -> None:
    world = ShareWorld()
    world.share_enter("a")
    before = len(world.written())
    left = world.share_beat("a", -1)
    assert (left.error_code, left.member_id, left.member_epoch, left.heartbeat_interval_ms) == (NONE, "a", -1, 0)
    assert world.written()[before:] == REMOVAL
    assert (world.share.state, world.share.epoch, world.share.metadata_hash) == (EMPTY, 4, 0)
    assert world.share_beat("a", 3).error_code == ErrorCode.UNKNOWN_MEMBER_ID


def test_a_group_that_was_emptied_counts_on_and_its_partitions_stay_initialized() -> None:
    world = ShareWorld()
    world.share_enter("a")
    world.share_beat("a", -1)
    joined = world.share_beat("b", 0, "t")
    assert (joined.member_epoch, world.read_by(joined)) == (5, {"t": [0, 1, 2]})


def test_a_silent_member_is_removed() -> None:
    world = ShareWorld({"group.share.session.timeout.ms": "2000", "group.share.heartbeat.interval.ms": "500"})
    world.share_enter("a")
    before = len(world.written())
    world.advance(2_001)
    assert world.share.members == {}
    assert world.written()[before:] == REMOVAL


def test_the_target_waits_for_the_assignment_interval() -> None:
    world = ShareWorld({"group.share.assignment.interval.ms": "1000"})
    assert world.share_beat("a", 0, "t").member_epoch == 2
    assert world.share_beat("a", 2).member_epoch == 2
    assert world.share.epoch == 3
    world.advance(1_000)
    later = world.share_beat("a", 2)
    assert (later.member_epoch, world.read_by(later)) == (3, {"t": [0, 1, 2]})


def test_topics_that_come_and_grow_raise_the_epoch() -> None:
    world = ShareWorld(topics={"t": 1})
    assert world.share_beat("a", 0, "later").member_epoch == 2
    assert world.share_beat("a", 2).assignment is None
    world.fixed.create("later", 1)
    appeared = world.share_beat("a", 2)
    assert (appeared.member_epoch, appeared.assignment) == (3, None)
    assert world.read_by(world.share_beat("a", 3)) == {"later": [0]}
    world.fixed.grow("later", 2)
    assert world.share_beat("a", 4).member_epoch == 5
    assert world.read_by(world.share_beat("a", 5)) == {"later": [0, 1]}


def test_a_loaded_group_is_as_before() -> None:
    world = ShareWorld()
    world.share_enter("a")
    world.share_beat("b", 0, "t", "u")
    before = world.share_described()
    world.restart()
    assert world.share_described() == before
    assert set(world.sessions.members(GROUP_ID)) == {"a", "b"}
    assert world.share_beat("a", 3).error_code == NONE


def test_a_session_that_was_renewed_meanwhile_removes_nobody() -> None:
    world = ShareWorld()
    world.share_enter("a")
    context = OperationContext(None, 0, "", "", world.environment, world.now_ms, world.now_ms)
    timed_out, removed = SessionExpired("a"), SessionExpired("a", Cause.ADMIN, "told to")
    assert expire_session(world.whole_group, timed_out, context) is NOTHING
    assert expire_session(world.whole_group, removed, context).events
