"""States of partitions are initialized beside the heartbeats, before members may have the partitions."""

from collections.abc import Callable

import pytest

from _wire.errors import NONE, ErrorCode
from coordinator.core.share.workers import INITIALIZE_STATES
from coordinator.core.share_states import BY_STRATEGY
from coordinator.runtime.slices import Slices, awaited
from tests.core.consumer.delayed_work import DelayedWork
from tests.core.share.world import ShareWorld


def delayed(world: ShareWorld) -> DelayedWork:
    return DelayedWork(world, (INITIALIZE_STATES,))


def test_states_begin_with_the_group_epoch_and_by_strategy() -> None:
    world = ShareWorld()
    world.share_beat("a", 0, "t")
    states = [state for _, state in world.share_states.initialized]
    assert [state.partition for state in states] == [0, 1, 2]
    assert {(state.topic_id, state.state_epoch, state.start_offset) for state in states} == {
        (world.fixed.topic_id("t"), 2, BY_STRATEGY)
    }


def test_a_heartbeat_waits_for_no_initialization() -> None:
    world = ShareWorld()
    work = delayed(world)
    assert world.read_by(world.share_beat("a", 0, "t")) == {}
    assert world.named(world.share.states.initializing) == {"t": [0, 1, 2]}
    assert world.share_beat("a", 2).assignment is None
    assert len(work.asked) == 1
    work.finish()
    assert (world.named(world.share.states.initializing), world.named(world.share.states.initialized)) == (
        {},
        {"t": [0, 1, 2]},
    )
    assert world.read_by(world.share_beat("a", 2)) == {"t": [0, 1, 2]}


def test_an_initialization_without_an_answer_is_tried_again_after_the_interval() -> None:
    world = ShareWorld({"group.share.initialize.retry.interval.ms": "5000"})
    work = delayed(world)
    world.share_beat("a", 0, "t")
    world.advance(4_999)
    world.share_beat("a", 2)
    assert len(work.asked) == 1
    world.advance(1)
    world.share_beat("a", 2)
    assert len(work.asked) == 2


@pytest.mark.parametrize("raises", [False, True])
def test_a_failed_initialization_is_tried_again_with_the_next_heartbeat(raises: bool) -> None:
    world = ShareWorld()
    if raises:
        world.share_states.raises = OSError("told to fail")
    else:
        world.share_states.errors.append(ErrorCode.COORDINATOR_NOT_AVAILABLE)
    world.share_beat("a", 0, "t")
    assert world.share.states.initializing == world.share.states.initialized == {}
    assert world.written()[-2:] == [(15, True), (15, True)]
    assert world.share_beat("a", 2).assignment is None
    assert world.named(world.share.states.initialized) == {"t": [0, 1, 2]}
    assert world.read_by(world.share_beat("a", 2)) == {"t": [0, 1, 2]}


def test_other_topics_are_initialized_beside_one_that_is_under_way() -> None:
    world = ShareWorld()
    work = delayed(world)
    world.share_beat("a", 0, "t")
    world.share_beat("b", 0, "u")
    assert world.named(world.share.states.initializing) == {"t": [0, 1, 2], "u": [0, 1]}
    work.finish()
    assert world.named(world.share.states.initializing) == {"u": [0, 1]}
    work.finish()
    assert world.named(world.share.states.initialized) == {"t": [0, 1, 2], "u": [0, 1]}


def test_a_loaded_group_tries_again_what_was_under_way() -> None:
    world = ShareWorld()
    delayed(world)
    world.share_beat("a", 0, "t")
    assert not world.share_states.initialized
    world.restart()
    assert world.named(world.share.states.initialized) == {"t": [0, 1, 2]}
    assert world.read_by(world.share_beat("a", 2)) == {"t": [0, 1, 2]}


def test_only_initialized_partitions_are_assigned() -> None:
    world = ShareWorld(topics={"t": 1})
    world.share_enter("a")
    work = delayed(world)
    world.fixed.grow("t", 3)
    grown = world.share_beat("a", 3)
    assert (grown.error_code, grown.member_epoch, grown.assignment) == (NONE, 4, None)
    assert world.assigned_to("a") == {"t": [0]}
    work.finish()
    assert world.read_by(world.share_beat("a", 4)) == {"t": [0, 1, 2]}


def test_the_result_counts_although_the_member_has_left() -> None:
    world = ShareWorld()
    work = delayed(world)
    world.share_beat("a", 0, "t")
    world.share_beat("a", -1)
    work.finish()
    assert world.named(world.share.states.initialized) == {"t": [0, 1, 2]}


def test_the_result_of_a_group_that_is_gone_comes_to_nothing() -> None:
    world = ShareWorld()
    work = delayed(world)
    world.share_beat("a", 0, "t")
    world.share_beat("a", -1)
    assert world.delete_group().error is NONE
    world.share_beat("b", 0, "u")
    work.finish()
    assert world.named(world.share.states.initialized) == {}
    work.finish()
    assert world.named(world.share.states.initialized) == {"u": [0, 1]}


def test_deleted_topics_are_forgotten_and_one_of_the_same_name_is_initialized_anew() -> None:
    world = ShareWorld()
    world.share_beat("a", 0, "t", "u")
    world.share_beat("a", 2)
    before = world.fixed.topic_id("t")
    world.fixed.delete("t")
    world.coordinator.topics_deleted(["t"])
    world.coordinator.drain(world.now_ms)
    assert world.written()[-1] == (15, True)
    assert world.named(world.share.states.initialized) == {"u": [0, 1]}
    world.fixed.create("t", 1)
    assert world.fixed.topic_id("t") != before
    epoch = world.share_beat("a", 3).member_epoch
    assert world.read_by(world.share_beat("a", epoch)) == {"t": [0], "u": [0, 1]}


def test_a_topic_that_was_created_again_before_its_deletion_is_heard_of_stays() -> None:
    world = ShareWorld()
    world.share_enter("a")
    world.fixed.delete("t")
    world.fixed.create("t", 2)
    epoch = world.share_beat("a", 3).member_epoch
    world.coordinator.topics_deleted(["t"])
    world.coordinator.drain(world.now_ms)
    assert list(world.share.states.initialized) == [world.fixed.topic_id("t")]
    assert world.read_by(world.share_beat("a", epoch)) == {"t": [0, 1]}


def test_a_loaded_group_forgets_topics_that_were_deleted_meanwhile() -> None:
    world = ShareWorld()
    world.share_enter("a")
    world.fixed.delete("t")
    world.fixed.create("t", 1)
    world.restart()
    assert world.named(world.share.states.initialized) == {}


def test_a_topic_that_is_deleted_while_it_is_initialized_does_not_come_back() -> None:
    world = ShareWorld()
    work = delayed(world)
    world.share_beat("a", 0, "t", "u")
    world.fixed.delete("t")
    world.coordinator.topics_deleted(["t"])
    world.coordinator.drain(world.now_ms)
    work.finish()
    assert world.named(world.share.states.initialized) == {"u": [0, 1]}


def test_a_deleted_topic_that_is_not_forgotten_yet_raises_no_epoch_again_and_again() -> None:
    world = ShareWorld()
    world.share_enter("a", "t", "u")
    world.fixed.delete("t")
    epoch = world.share_beat("a", 3).member_epoch
    assert "t" in world.named(world.share.states.initialized)
    assert [world.share_beat("a", epoch).member_epoch for _ in range(3)] == [epoch] * 3


def test_what_is_tried_again_is_not_stored_again() -> None:
    world = ShareWorld({"group.share.initialize.retry.interval.ms": "1000"})
    work = delayed(world)
    world.share_beat("a", 0, "t")
    before = world.written()
    world.advance(1_000)
    world.share_beat("a", 2)
    assert (len(work.asked), world.written()) == (2, before)
    work.finish()
    work.finish()
    assert world.written() == [*before, (15, True)]


def test_an_answer_may_come_later(monkeypatch: pytest.MonkeyPatch) -> None:
    world = ShareWorld()
    answers: list[Callable[[list[ErrorCode]], None]] = []
    later: list[Callable[[], None]] = []
    monkeypatch.setattr(world.coordinator.work, "_start_steps", Slices(later.append).start)
    monkeypatch.setattr(world.share_states, "initialize", lambda group_id, partitions: awaited(answers.append))
    world.share_beat("a", 0, "t")
    while later:
        later.pop(0)()
    assert world.named(world.share.states.initializing) == {"t": [0, 1, 2]}
    answers[0]([NONE] * 3)
    while later:
        later.pop(0)()
    world.coordinator.drain(world.now_ms)
    assert world.named(world.share.states.initialized) == {"t": [0, 1, 2]}
