"""What the audit tells of streams groups beside what it tells of all groups."""

from coordinator.audit.schema import MemberReconciled, RebalanceStarted
from coordinator.core.causes import Cause
from tests.core.streams.world import NO_TASKS, named_world


def test_who_waits_is_told_whom_for_also_of_a_subtopology_of_which_that_one_keeps_tasks() -> None:
    world = named_world(topics={"t": 4})
    world.streams_enter("a")
    world.streams_enter("b")
    world.streams_beat("a", 2)  # is told to give up two of its four tasks
    world.streams_beat("b", 3)
    *_, last = [event for event in world.audited() if isinstance(event, MemberReconciled) and event.waits_for]
    (waited_for,) = last.waits_for
    assert (last.member.member_id, waited_for.member.member_id) == ("b", "a")
    assert waited_for.partitions == {"t": [2, 3]}


def test_nobody_waits_for_who_has_given_up() -> None:
    world = named_world(topics={"t": 4})
    world.streams_enter("a")
    world.streams_enter("b")
    world.streams_beat("a", 2)
    world.streams_beat("a", 2, owned=({"0": [0, 1]}, NO_TASKS))
    world.streams_beat("b", 3)
    *_, last = [event for event in world.audited() if isinstance(event, MemberReconciled)]
    assert (last.member.member_id, last.partition_count, last.waits_for) == ("b", 2, [])


def test_why_the_epoch_rose() -> None:
    world = named_world()
    world.streams_enter("a")
    world.streams_beat("a", 2, tags={"zone": "1"})
    world.fixed.grow("t", 4)
    world.streams_beat("a", 3)
    started = [event for event in world.audited() if isinstance(event, RebalanceStarted)]
    assert [event.cause for event in started] == [Cause.NEW_MEMBER, Cause.METADATA_CHANGED, Cause.TOPICS_CHANGED]
    assert started[-1].topic_changes == {"t": [3, 4]}
