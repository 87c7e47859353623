"""States of a share group that are deleted and altered: what the group says before and after."""

from typing import Any

from _wire.errors import NONE, ErrorCode
from coordinator.core.kinds import operations
from coordinator.core.share.offset_alteration import Alteration
from coordinator.core.share.state_deletion import BeginDeletion, BegunDeletion, EndDeletion
from coordinator.core.share.state_topics import StateTopic
from tests.core.share.world import ShareWorld
from tests.simulation.simulation import GROUP_ID, Sent


def left_group() -> ShareWorld:
    """A share group that has the states of the topics `t` and `u`, and no member any more."""
    world = ShareWorld()
    world.share_enter("a", "t", "u")
    world.share_beat("a", -1)
    return world


def ask(world: ShareWorld, operation: Any, request: Any) -> Any:
    sent = Sent()
    world.submit(operation, GROUP_ID, request, sent, "admin", 0)
    return sent.response


def begin(world: ShareWorld, *names: str) -> BegunDeletion:
    topics = {world.fixed.topic_id(name): name for name in names} if names else None
    begun = ask(world, operations.BEGIN_DELETING_STATES, BeginDeletion(topics))
    assert isinstance(begun, BegunDeletion)
    return begun


def test_states_are_being_deleted_before_they_are_gone() -> None:
    world = left_group()
    t = world.fixed.topic_id("t")
    assert begin(world, "t") == BegunDeletion(NONE, {t: StateTopic("t", (0, 1, 2))})
    assert dict(world.share.states.deleting) == {t: "t"}
    assert world.named(world.share.states.initialized) == {"u": [0, 1]}
    assert ask(world, operations.END_DELETING_STATES, EndDeletion((t,))) is NONE
    assert not world.share.states.deleting


def test_a_deletion_that_was_interrupted_is_taken_up_again() -> None:
    world = left_group()
    t = world.fixed.topic_id("t")
    first = begin(world, "t")
    assert begin(world, "t") == first
    assert world.named(begin(world).topics) == {"t": [0, 1, 2], "u": [0, 1]}
    assert set(world.share.states.deleting) == {t, world.fixed.topic_id("u")}


def test_a_topic_without_states_has_nothing_to_be_deleted() -> None:
    world = ShareWorld()
    world.share_enter("a", "t")
    world.share_beat("a", -1)
    assert begin(world, "u") == BegunDeletion()
    assert begin(world, "t").error is NONE


def test_a_group_with_members_keeps_its_states() -> None:
    world = ShareWorld()
    world.share_enter("a", "t")
    assert begin(world).error is ErrorCode.NON_EMPTY_GROUP
    assert world.named(world.share.states.initialized) == {"t": [0, 1, 2]}


def test_no_group_has_no_states() -> None:
    assert begin(ShareWorld()).error is ErrorCode.GROUP_ID_NOT_FOUND


def test_partitions_whose_offsets_are_altered_are_being_initialized() -> None:
    world = ShareWorld()
    topics = {world.fixed.topic_id("t"): StateTopic("t", (1,))}
    begun = ask(world, operations.ALTER_SHARE_OFFSETS, Alteration(GROUP_ID, topics))
    assert begun == (NONE, 1)
    assert world.named(world.share.states.initializing) == {"t": [1]}


def test_to_alter_nothing_makes_no_group() -> None:
    world = ShareWorld()
    assert ask(world, operations.ALTER_SHARE_OFFSETS, Alteration(GROUP_ID, {})) == (NONE, 1)
    assert not world.exists
