"""Members join, are fenced, come back and leave."""

import pytest

from _wire.errors import NONE, ErrorCode
from coordinator.core.consumer.member import MemberState
from coordinator.core.groups.states import ASSIGNING, EMPTY, RECONCILING, STABLE
from tests.core.consumer.world import World


def test_the_first_member_with_topics_gets_epoch_2_and_all_partitions() -> None:
    world = World()
    joined = world.enter("a")
    assert (joined.member_epoch, joined.heartbeat_interval_ms) == (2, 500)
    assert world.given(joined) == {"t": [0, 1, 2]}
    assert world.consumer.state is STABLE
    assert world.written() == [(5, True), (3, True), (7, True), (6, True), (8, True)]


def test_a_steady_heartbeat_writes_nothing_and_makes_no_event() -> None:
    world = World()
    world.enter("a")
    world.events.clear()
    written = world.offsets_log.log_end_offset
    answer = world.beat("a", 2)
    assert (answer.error_code, answer.member_epoch, answer.assignment) == (NONE, 2, None)
    assert not world.events
    assert world.offsets_log.log_end_offset == written


def test_a_member_without_topics_gets_the_first_epoch() -> None:
    world = World()
    assert world.beat("a", 0, names=[], owned={}, timeout_ms=1000).member_epoch == 1
    assert world.written() == [(5, True), (8, True)]
    world.restart()
    assert world.epoch("a") == 1


def test_a_full_request_is_told_its_assignment() -> None:
    world = World()
    world.enter("a")
    answer = world.beat("a", 2, names=["t"], owned={"t": [0, 1, 2]}, timeout_ms=30_000)
    assert world.given(answer) == {"t": [0, 1, 2]}


def test_a_rejoin_keeps_epoch_and_partitions() -> None:
    world = World()
    world.enter("a")
    again = world.enter("a")
    assert (again.member_epoch, world.given(again)) == (2, {"t": [0, 1, 2]})


def test_the_server_makes_an_id_for_version_0() -> None:
    world = World()
    made = world.enter("", version=0)
    assert made.error_code == NONE
    assert made.member_id is not None
    assert made.member_id in world.consumer.members
    assert "=" not in made.member_id


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"member_id": " "}, ErrorCode.INVALID_REQUEST),
        ({"instance_id": ""}, ErrorCode.INVALID_REQUEST),
        ({"rack_id": "\t"}, ErrorCode.INVALID_REQUEST),
        ({"timeout_ms": -1}, ErrorCode.INVALID_REQUEST),
        ({"owned": None}, ErrorCode.INVALID_REQUEST),
        ({"owned": {"t": [0]}}, ErrorCode.INVALID_REQUEST),
        ({"names": None}, ErrorCode.INVALID_REQUEST),
        ({"epoch": -3}, ErrorCode.INVALID_REQUEST),
        ({"epoch": -(2**31)}, ErrorCode.INVALID_REQUEST),
        ({"epoch": -2}, ErrorCode.INVALID_REQUEST),
        ({"assignor": "Uniform"}, ErrorCode.UNSUPPORTED_ASSIGNOR),
        ({"assignor": ""}, ErrorCode.UNSUPPORTED_ASSIGNOR),
        ({"epoch": -1, "assignor": "x"}, ErrorCode.UNSUPPORTED_ASSIGNOR),
        ({"epoch": 1}, ErrorCode.GROUP_ID_NOT_FOUND),
        ({"epoch": -1}, ErrorCode.GROUP_ID_NOT_FOUND),
        ({"epoch": 2**31 - 1}, ErrorCode.GROUP_ID_NOT_FOUND),
        ({"pattern": "("}, ErrorCode.INVALID_REGULAR_EXPRESSION),
    ],
)
def test_a_first_heartbeat_is_rejected(change: dict, error: ErrorCode) -> None:
    world = World()
    asked = {"member_id": "a", "epoch": 0, "names": ["t"], "owned": {}, "timeout_ms": 1000} | change
    answer = world.beat(asked.pop("member_id"), asked.pop("epoch"), **asked)
    assert answer.error_code == error
    assert (answer.member_id, answer.member_epoch, answer.heartbeat_interval_ms) == (None, 0, 0)
    assert answer.error_message
    assert not world.exists


def test_hostile_values_are_taken_as_kafka_takes_them() -> None:
    world = World()
    names = ["t", "t", "", "x" * 32_000, *map(str, range(1000))]
    joined = world.beat("a", 0, names=names, owned={}, timeout_ms=-5)
    assert (joined.error_code, joined.member_epoch) == (NONE, 2)
    owned = {"t": [0, 0, -1, 2**31 - 1, *range(5000)], "unknown": [0]}
    assert world.beat("a", 2, owned=owned).error_code == NONE
    world.restart()
    assert world.beat("a", 2).error_code == NONE


def test_an_epoch_that_is_not_the_members_is_fenced() -> None:
    world = World()
    world.enter("a")
    assert world.beat("a", 3).error_code == ErrorCode.FENCED_MEMBER_EPOCH
    assert world.beat("a", 1, owned={}).error_code == ErrorCode.FENCED_MEMBER_EPOCH
    assert world.beat("b", 2).error_code == ErrorCode.UNKNOWN_MEMBER_ID


def test_the_previous_epoch_is_taken_if_the_member_owns_nothing_else() -> None:
    world = World()
    world.enter("a")
    world.enter("b")
    world.beat("a", 2, owned={"t": [0, 1, 2]})
    kept = world.assigned("a")
    world.beat("a", 2, owned=kept)
    assert world.epoch("a") == 3
    assert world.beat("a", 2).error_code == ErrorCode.FENCED_MEMBER_EPOCH
    assert world.beat("a", 2, owned={"t": [0, 1, 2]}).error_code == ErrorCode.FENCED_MEMBER_EPOCH
    repeated = world.beat("a", 2, owned=kept)
    assert (repeated.error_code, repeated.member_epoch, repeated.assignment) == (NONE, 3, None)


def test_a_full_group_hides_an_unknown_member() -> None:
    world = World({"group.consumer.max.size": "1"})
    world.enter("a")
    assert world.enter("b").error_code == ErrorCode.GROUP_MAX_SIZE_REACHED
    assert world.beat("b", 7).error_code == ErrorCode.GROUP_MAX_SIZE_REACHED
    assert world.beat("a", 2).error_code == NONE


def test_leaving_raises_the_epoch_and_computes_nothing() -> None:
    world = World()
    world.enter("a")
    world.enter("b")
    assert world.depart("b") == NONE
    assert (world.consumer.epoch, world.consumer.target_epoch) == (4, 3)
    assert world.consumer.state is ASSIGNING
    assert world.beat("a", 2, owned={"t": [0, 1, 2]}).member_epoch == 4


def test_an_emptied_group_counts_on() -> None:
    world = World()
    world.enter("a")
    assert world.depart("a") == NONE
    assert world.consumer.state is EMPTY
    assert world.enter("a").member_epoch == 4
    assert world.depart("b") == ErrorCode.UNKNOWN_MEMBER_ID


def test_no_second_target_within_the_assignment_interval() -> None:
    world = World({"group.consumer.assignment.interval.ms": "1000"})
    world.enter("a")
    joined = world.enter("b")
    assert (joined.member_epoch, world.given(joined)) == (2, {})
    assert world.consumer.state is ASSIGNING
    world.advance(1000)
    world.beat("b", 2)
    assert world.consumer.target_epoch == 3
    assert world.consumer.state is RECONCILING


def test_a_clock_that_was_set_back_delays_no_target() -> None:
    world = World({"group.consumer.assignment.interval.ms": "1000"})
    world.enter("a")
    world.set_wall_clock(-1_000_000)
    world.enter("b")
    assert world.consumer.target_epoch == 3


def test_a_new_client_address_or_rack_raises_no_epoch() -> None:
    world = World()
    world.enter("a")
    assert world.beat("a", 2, rack_id="r", assignor="range", timeout_ms=7).member_epoch == 2
    assert world.written()[-1] == (5, True)
    assert world.consumer.epoch == 2


def test_the_assignor_with_most_votes_shows_at_once_and_moves_nothing() -> None:
    world = World()
    world.enter("a")
    world.beat("a", 2, assignor="range")
    assert world.described().assignor_name == "range"
    assert world.consumer.target_epoch == 2


def test_topics_that_change_raise_the_epoch_at_the_next_heartbeat() -> None:
    world = World()
    world.enter("a")
    world.fixed.create("other", 9)
    assert world.beat("a", 2).member_epoch == 2
    world.fixed.grow("t", 4)
    grown = world.beat("a", 2)
    assert (grown.member_epoch, world.given(grown)) == (3, {"t": [0, 1, 2, 3]})
    world.fixed.delete("t")
    gone = world.beat("a", 3)
    assert world.consumer.epoch == 4
    assert world.consumer.metadata_hash == 0
    assert world.given(gone) == {}
    assert world.consumer.members["a"].current.state is MemberState.UNREVOKED_PARTITIONS
    world.fixed.create("t", 1)
    assert world.consumer.members["a"].current.pending


def test_a_topic_of_the_same_name_is_another_topic() -> None:
    world = World()
    world.enter("a")
    before = world.consumer.metadata_hash
    world.fixed.delete("t")
    world.fixed.create("t", 3)
    world.beat("a", 2, owned={})
    assert world.consumer.metadata_hash != before
    assert world.assigned("a") == {"t": [0, 1, 2]}
