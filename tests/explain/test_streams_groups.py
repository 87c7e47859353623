"""Streams groups in words: why they rebalanced, who had which partitions, and why a topology cannot run."""

import re

from _wire.messages.streams_group_heartbeat import CopartitionGroup
from coordinator.config.settings import Config
from coordinator.explain.claims.findings import Kind
from coordinator.explain.findings import Finding, findings
from coordinator.explain.history import GroupHistory
from coordinator.explain.memory import packed, unpacked
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
    assert "Members get no tasks: the topology cannot run" in told(world)
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


def history_of(world: StreamsWorld) -> GroupHistory:
    return GroupHistory.of(GROUP_ID, world.audited())


def found(world: StreamsWorld, kind: Kind) -> list[Finding]:
    history = history_of(world)
    return [finding for finding in findings(history, history.last_ms or 0) if finding.kind is kind]


def test_topics_without_which_a_topology_cannot_run_are_named() -> None:
    world = named_world(topics={"t": 1})
    world.streams_enter("a", runs=topology(part("0", "t", "x", "y")))
    world.streams_beat("a", 2)
    assert "because source topics x and y are missing." in told(world)
    (finding,) = found(world, Kind.TOPOLOGY_NOT_READY)
    assert finding.headline.endswith("UTC: source topics x and y are missing")
    assert "create these topics" in finding.advice
    world.fixed.create("x", 1)
    world.fixed.create("y", 1)
    world.streams_beat("a", world.streams.members["a"].current.epoch)
    assert found(world, Kind.TOPOLOGY_NOT_READY) == []


def test_topics_that_were_mended_while_the_coordinator_was_away_are_not_told_as_missing() -> None:
    world = named_world(topics={"t": 1})
    world.streams_enter("a", runs=topology(part("0", "t", "x")))
    world.streams_beat("a", 2)
    world.restart()
    world.fixed.create("x", 1)
    world.streams_beat("a", world.streams.members["a"].current.epoch)
    assert found(world, Kind.TOPOLOGY_NOT_READY) == []
    world.advance(5_000)
    world.fixed.delete("x")
    world.streams_beat("a", world.streams.members["a"].current.epoch)
    (finding,) = found(world, Kind.TOPOLOGY_NOT_READY)
    assert finding.from_ms == history_of(world).last_ms


def test_a_topology_that_lacks_less_than_before_cannot_run_since_the_first_time() -> None:
    world = named_world(topics={"t": 1})
    world.streams_enter("a", runs=topology(part("0", "t", "x", "y")))
    world.streams_beat("a", 2)
    (before,) = found(world, Kind.TOPOLOGY_NOT_READY)
    world.advance(5_000)
    world.fixed.create("x", 1)
    world.streams_beat("a", world.streams.members["a"].current.epoch)
    (finding,) = found(world, Kind.TOPOLOGY_NOT_READY)
    assert finding.from_ms == before.from_ms
    assert "source topic y is missing" in finding.headline


def test_why_internal_topics_could_not_be_created_is_told() -> None:
    world = named_world(topics={"t": 1})
    world.creation.fails["log"] = "replication factor 3 is larger than 1"
    world.streams_enter("a", runs=topology(part("0", "t", changelogs=["log"])))
    world.streams_beat("a", 2)
    world.advance(100)
    (finding,) = found(world, Kind.TOPOLOGY_NOT_READY)
    assert "internal topic log is missing" in finding.headline
    assert 'log could not be created: "replication factor 3 is larger than 1"' in finding.evidence


def test_numbers_of_partitions_that_differ_are_told_with_both() -> None:
    world = named_world(topics={"t": 3, "u": 2})
    copartitioned = part("0", "t", "u", copartition=[CopartitionGroup(source_topics=[0, 1])])
    world.streams_enter("a", runs=topology(copartitioned))
    world.streams_beat("a", 2)
    (finding,) = found(world, Kind.TOPOLOGY_NOT_READY)
    assert "t and u have other numbers of partitions than it needs" in finding.headline
    assert "t=3, u=2" in finding.evidence[0]


def test_which_tasks_moved_from_whom_is_told_and_which_had_a_standby() -> None:
    world = named_world(topics={"t": 4})
    world.streams_enter("a")
    world.streams_enter("b")
    world.streams_beat("a", 2)
    world.streams_beat("a", 2, owned=({"0": [0, 1]}, NO_TASKS))
    world.streams_beat("b", 3)
    assert "client-b got tasks 0_2 and 0_3 of client-a." in told(world)


def test_who_waits_for_whose_tasks_is_told_while_it_waits_and_after() -> None:
    world = named_world(topics={"t": 4})
    world.streams_enter("a")
    world.streams_enter("b")
    world.advance(100)
    world.streams_beat("b", 3)
    assert "client-b waits for tasks 0_2 and 0_3, which client-a still has." in told(world)
    world.streams_beat("a", 2)
    world.advance(900)
    asked = "client-a was asked to give up tasks 0_2 and 0_3 and has not done so. client-b waits for it."
    assert asked in told(world)
    world.streams_beat("a", 2, owned=({"0": [0, 1]}, NO_TASKS))
    world.streams_beat("b", 3)
    assert "client-a was asked to give up tasks 0_2 and 0_3, and took 900 ms to do so. client-b" in told(world)


def test_members_that_run_an_older_topology_are_found_until_they_run_that_of_the_group_or_go() -> None:
    world = named_world(topics={"t": 4})
    world.streams_enter("a", runs=topology(epoch=3))
    assert found(world, Kind.STALE_TOPOLOGY) == []
    world.streams_enter("b", runs=topology(epoch=1))
    world.streams_enter("c", runs=topology(epoch=2))
    (finding,) = found(world, Kind.STALE_TOPOLOGY)
    assert "client-b and client-c run an older topology (epochs 1 and 2) than the group has (epoch 3)" in (
        plain_names(finding.headline)
    )
    world.streams_beat("b", 0, owned=(NO_TASKS, NO_TASKS), timeout_ms=30_000, runs=topology(epoch=3), process_id="b")
    (finding,) = found(world, Kind.STALE_TOPOLOGY)
    assert "client-c runs an older topology (epoch 2)" in plain_names(finding.headline)
    assert found_after_memory(world, Kind.STALE_TOPOLOGY) == [finding.headline]
    world.restart()
    named(world)
    assert found(world, Kind.STALE_TOPOLOGY) == [finding]
    world.streams_beat("c", -1)
    assert found(world, Kind.STALE_TOPOLOGY) == []


def plain_names(text: str) -> str:
    """Without the hosts of clients."""
    return re.sub(r" \([0-9./][^)]*\)", "", text)


def found_after_memory(world: StreamsWorld, kind: Kind) -> list[str]:
    """What is found when the history was put away and brought back, as the pipeline does."""
    history = unpacked(packed(history_of(world)))
    return [finding.headline for finding in findings(history, history.last_ms or 0) if finding.kind is kind]


def test_a_standby_that_takes_over_is_told() -> None:
    world = named_world({"group.streams.num.standby.replicas": "1"}, topics={"t": 2})
    runs = topology(part("0", "t", changelogs=["log"]))
    world.streams_enter("a", runs=runs)
    world.advance(100)
    world.streams_enter("b", runs=runs)
    for _ in range(3):
        for member_id in ("a", "b"):
            current = world.streams.members[member_id].current
            world.streams_beat(member_id, current.epoch, owned=(current.assigned.active, current.assigned.standby))
    own, standby = world.has("b")
    world.streams_beat("a", -1)
    for _ in range(3):
        world.streams_beat("b", world.streams.members["b"].current.epoch, owned=(own, NO_TASKS))
    (number,) = standby["0"]
    assert f"client-b got task 0_{number} of client-a, for which its process had a standby task." in told(world)


def test_who_asked_for_a_shutdown_is_told_to_those_who_ask_why_members_left() -> None:
    world = named_world(topics={"t": 2})
    world.streams_enter("a")
    world.streams_enter("b")
    world.advance(100)
    world.streams_beat("a", 2, shuts_down=True)
    world.advance(100)
    world.streams_beat("b", -1)
    assert "client-a had asked that all members of the application end (SHUTDOWN_APPLICATION)" in told(world)
    (finding,) = found(world, Kind.SHUTDOWN_REQUESTED)
    assert "client-a" in finding.headline


def test_members_that_left_before_a_shutdown_was_asked_for_did_not_leave_for_it() -> None:
    world = named_world(topics={"t": 2})
    world.streams_enter("a")
    world.streams_enter("b")
    world.streams_beat("b", -1)
    world.streams_beat("a", 2, shuts_down=True)
    assert "SHUTDOWN" not in told(world)


def test_what_is_told_of_tasks_and_topologies_survives_a_long_history_in_parts() -> None:
    world = named_world(topics={"t": 1})
    world.streams_enter("a", runs=topology(part("0", "t", "x")))
    world.streams_beat("a", 2, shuts_down=True)
    history = unpacked(packed(history_of(world)))
    kinds = {finding.kind for finding in findings(history, history.last_ms or 0)}
    assert kinds >= {Kind.TOPOLOGY_NOT_READY, Kind.SHUTDOWN_REQUESTED}


def test_a_topic_that_was_created_for_the_group_and_grew_was_not_created_again() -> None:
    world = named_world(topics={"t": 1})
    world.streams_enter("a", runs=topology(part("0", "t", changelogs=["log"])))
    world.advance(100)
    world.streams_beat("a", 2)
    world.fixed.grow("log", 3)
    world.streams_beat("a", world.streams.members["a"].current.epoch)
    assert "because topic log grew from 1 to 3 partitions" in told(world)


def test_that_a_topology_could_not_run_is_told_also_when_its_members_have_gone() -> None:
    world = named_world(topics={"t": 3, "u": 2})
    copartitioned = part("0", "t", "u", copartition=[CopartitionGroup(source_topics=[0, 1])])
    world.streams_enter("a", runs=topology(copartitioned))
    world.streams_beat("a", -1)
    history = history_of(world)
    (first, *_) = history.generations
    assert "t and u had other numbers of partitions than it needs" in " ".join(story_of(history, first).paragraphs)


def test_a_shutdown_is_over_when_the_group_was_empty() -> None:
    world = named_world(topics={"t": 2})
    world.streams_enter("a", shuts_down=True)
    world.streams_beat("a", 2, shuts_down=True)
    world.streams_beat("a", -1)
    assert "SHUTDOWN_APPLICATION" in told(world)
    world.advance(60_000)
    world.streams_enter("b")
    world.streams_enter("c")
    world.streams_beat("c", -1)
    assert "left" in told(world)
    assert "SHUTDOWN_APPLICATION" not in told(world)
