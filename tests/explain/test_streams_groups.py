"""Streams groups in words: why they rebalanced, who had which partitions, and why a topology cannot run."""

from coordinator.explain.history import GroupHistory
from coordinator.explain.story import story_of
from tests.core.streams.world import NO_TASKS, StreamsWorld
from tests.simulation.simulation import GROUP_ID


def told(world: StreamsWorld) -> str:
    history = GroupHistory.of(GROUP_ID, world.audited())
    story = story_of(history, history.generations[-1])
    return " ".join([story.headline, *story.paragraphs])


def test_a_topology_whose_source_is_missing_cannot_run() -> None:
    world = StreamsWorld(topics={"u": 2})
    world.streams_enter("a")
    assert "No member has tasks: the topology cannot run" in told(world)
    world.fixed.create("t", 2)
    world.streams_beat("a", 2)
    text = told(world)
    assert "topics that it subscribes to changed" in text
    assert "cannot run" not in text


def test_partitions_of_tasks_move_when_they_were_given_up() -> None:
    world = StreamsWorld(topics={"t": 4})
    world.streams_enter("a")
    world.streams_enter("b")
    world.streams_beat("a", 2)
    world.streams_beat("a", 2, owned=({"0": [0, 1]}, NO_TASKS))
    world.streams_beat("b", 3)
    text = told(world)
    assert "joined" in text
    assert "2 of 4 partitions moved" in text
