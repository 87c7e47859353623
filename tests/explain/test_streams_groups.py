"""Streams groups in words: why they rebalanced, who had which partitions, and why a topology cannot run."""

from coordinator.config.settings import Config
from coordinator.explain.history import GroupHistory
from coordinator.explain.story import story_of
from tests.audit.consumer_stories import named
from tests.core.streams.world import NO_TASKS, QUICK, StreamsWorld, named_world, part, topology
from tests.simulation.simulation import GROUP_ID


def told(world: StreamsWorld) -> str:
    history = GroupHistory.of(GROUP_ID, world.audited())
    story = story_of(history, history.generations[-1])
    return " ".join([story.headline, *story.paragraphs])


def test_a_topology_whose_source_is_missing_cannot_run() -> None:
    world = named_world(topics={"u": 2})
    world.streams_enter("a")
    assert "No member has tasks: the topology cannot run" in told(world)
    world.fixed.create("t", 2)
    world.streams_beat("a", 2)
    text = told(world)
    assert "because topic t appeared with 2 partitions" in text
    assert "cannot run" not in text


def test_partitions_of_tasks_move_when_they_were_given_up() -> None:
    world = named_world(topics={"t": 4})
    world.streams_enter("a")
    world.streams_enter("b")
    world.streams_beat("a", 2)
    world.streams_beat("a", 2, owned=({"0": [0, 1]}, NO_TASKS))
    world.streams_beat("b", 3)
    text = told(world)
    assert "joined" in text
    assert "2 of 4 partitions moved" in text


def test_what_a_member_tells_of_itself_is_no_subscription() -> None:
    world = named_world()
    world.streams_enter("a")
    world.streams_beat("a", 2, endpoint=("host", 1))
    text = told(world)
    assert "told another process, user endpoint" in text
    assert "regular expression" not in text
    assert "subscri" not in text


def test_several_members_that_tell_something_else_of_themselves() -> None:
    world = named_world({"group.streams.assignment.interval.ms": "1000"})
    world.streams_enter("a")
    world.streams_beat("b", 0, owned=(NO_TASKS, NO_TASKS), timeout_ms=30_000, runs=topology(), process_id="b")
    world.advance(2_000)
    settle(world, "a", "b")
    world.streams_beat("a", world.streams.members["a"].current.epoch, tags={"zone": "1"})
    world.streams_beat("b", world.streams.members["b"].current.epoch, tags={"zone": "2"})
    world.advance(2_000)
    settle(world, "a", "b")
    text = told(world)
    assert "client tags" in text
    assert "subscri" not in text


def test_another_number_of_standby_replicas_was_asked_for_by_nobody() -> None:
    world = named_world(topics={"t": 2, "log": 2})
    runs = topology(part("0", changelogs=["log"]))
    world.streams_enter("a", runs=runs)
    world.config = Config(QUICK | {"group.streams.num.standby.replicas": "1"})
    world.restart()
    named(world)
    world.streams_beat("a", 2)
    text = told(world)
    assert "the number of standby replicas, streams.num.standby.replicas, changed" in text
    assert "administrator" not in text


def test_internal_topics_that_appear_are_named() -> None:
    world = named_world(topics={"t": 3})
    world.streams_enter("a", runs=topology(part("0", changelogs=["log"])))
    world.streams_beat("a", 2)
    assert "topic log appeared with 3 partitions" in told(world)


def settle(world: StreamsWorld, *member_ids: str) -> None:
    """Each member does what it is told, until nobody has to do anything."""
    for member_id in member_ids * 3:
        world.streams_beat(member_id, world.streams.members[member_id].current.epoch, owned=world.has(member_id))
