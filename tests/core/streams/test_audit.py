"""What the audit tells of streams groups beside what it tells of all groups."""

from _wire.messages.streams_group_heartbeat import CopartitionGroup
from coordinator.audit.schema import (
    GroupConverted,
    MemberReconciled,
    RebalanceStarted,
    StreamsInternalTopics,
    StreamsShutdown,
    StreamsTasks,
    StreamsTopology,
)
from coordinator.audit.streams_tasks import StreamsAuditState
from coordinator.core.causes import Cause
from coordinator.core.streams.member import CurrentTasks, StreamsMember, StreamsMemberMetadata, TasksState
from coordinator.core.streams.tasks import TaskEpochs
from tests.core.streams.world import NO_TASKS, StreamsWorld, named_world, part, topology


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


def statuses(world: StreamsWorld) -> list[tuple[str, list[str]]]:
    return [(event.status, event.topics) for event in world.audited() if isinstance(event, StreamsTopology)]


def tasks_of(world: StreamsWorld, member_id: str) -> StreamsTasks:
    *_, last = [
        event for event in world.audited() if isinstance(event, StreamsTasks) and event.member.member_id == member_id
    ]
    return last


def test_topics_that_are_missing_are_told_once_by_name_and_that_they_are_there() -> None:
    world = named_world(topics={"t": 1})
    world.streams_enter("a", runs=topology(part("0", "t", "x", "y")))
    for _ in range(3):
        world.streams_beat("a", world.streams.members["a"].current.epoch)
    assert statuses(world) == [("missing_source_topics", ["x", "y"])]
    world.fixed.create("x", 1)
    world.streams_beat("a", world.streams.members["a"].current.epoch)
    world.fixed.create("y", 1)
    world.streams_beat("a", world.streams.members["a"].current.epoch)
    assert statuses(world)[1:] == [("missing_source_topics", ["y"]), ("ready", [])]


def test_a_topology_that_cannot_run_is_told_with_its_first_heartbeat() -> None:
    world = named_world(topics={"t": 1})
    world.streams_enter("a", runs=topology(part("0", "x")))
    assert statuses(world) == [("missing_source_topics", ["x"])]
    world.streams_beat("a", 2)
    assert statuses(world) == [("missing_source_topics", ["x"])]


def test_a_topology_that_can_run_from_the_start_is_not_told() -> None:
    world = named_world()
    world.streams_enter("a")
    world.streams_beat("a", 2)
    assert statuses(world) == []


def test_topics_that_should_have_the_same_number_of_partitions_are_told_by_name() -> None:
    world = named_world(topics={"t": 3, "u": 2})
    copartitioned = part("0", "t", "u", copartition=[CopartitionGroup(source_topics=[0, 1])])
    world.streams_enter("a", runs=topology(copartitioned))
    world.streams_beat("a", 2)
    assert statuses(world) == [("incorrectly_partitioned_topics", ["t", "u"])]


def test_internal_topics_are_told_when_they_were_created_or_why_not() -> None:
    world = named_world(topics={"t": 1})
    world.creation.fails["log-b"] = "no room"
    world.streams_enter("a", runs=topology(part("0", "t", changelogs=["log-a", "log-b"])))
    world.streams_beat("a", 2)
    world.advance(100)
    (answered,) = [event for event in world.audited() if isinstance(event, StreamsInternalTopics)]
    assert (answered.created, answered.failed) == (["log-a"], {"log-b": "no room"})


def test_who_asks_for_a_shutdown_is_told_once() -> None:
    world = named_world()
    world.streams_enter("a")
    world.streams_enter("b")
    for _ in range(2):
        world.streams_beat("a", world.streams.members["a"].current.epoch, shuts_down=True)
    asked = [event.member.member_id for event in world.audited() if isinstance(event, StreamsShutdown)]
    assert asked == ["a"]


def test_tasks_are_told_with_who_ran_them_before_and_who_has_not_given_them_up() -> None:
    world = named_world(topics={"t": 4})
    world.streams_enter("a")
    assert tasks_of(world, "a").active == {"0": [0, 1, 2, 3]}
    assert all(task.before is None for task in tasks_of(world, "a").gained)
    world.streams_enter("b")
    world.streams_beat("a", 2)
    world.streams_beat("b", 3)
    awaited = tasks_of(world, "b").awaited
    assert [(task.subtopology_id, task.task, task.holder.member_id) for task in awaited] == [
        ("0", 2, "a"),
        ("0", 3, "a"),
    ]
    world.streams_beat("a", 2, owned=({"0": [0, 1]}, NO_TASKS))
    assert tasks_of(world, "a").active == {"0": [0, 1]}
    world.streams_beat("b", 3)
    last = tasks_of(world, "b")
    assert [(task.task, task.before and task.before.member_id, task.was_standby) for task in last.gained] == [
        (2, "a", False),
        (3, "a", False),
    ]
    assert last.awaited == []


def test_a_standby_that_takes_over_is_told_as_that_also_after_a_load() -> None:
    world = named_world({"group.streams.num.standby.replicas": "1"}, topics={"t": 2})
    world.streams_enter("a", runs=topology(part("0", "t", changelogs=["log"])))
    world.advance(100)
    world.streams_enter("b", runs=topology(part("0", "t", changelogs=["log"])))
    for _ in range(3):
        for member_id in ("a", "b"):
            current = world.streams.members[member_id].current
            world.streams_beat(member_id, current.epoch, owned=(current.assigned.active, current.assigned.standby))
    ((task,),) = tasks_of(world, "b").standby.values()
    world.restart()
    world.streams_beat("a", -1)
    world.streams_beat("b", world.streams.members["b"].current.epoch, owned=({"0": [1 - task]}, NO_TASKS))
    world.streams_beat("b", world.streams.members["b"].current.epoch, owned=({"0": [1 - task]}, NO_TASKS))
    (gained,) = tasks_of(world, "b").gained
    assert (gained.task, gained.was_standby, gained.before and gained.before.member_id) == (task, True, "a")


def test_a_heartbeat_that_changes_only_the_epoch_tells_no_tasks() -> None:
    world = named_world(topics={"t": 1})
    world.streams_enter("a")
    world.streams_enter("b")
    before = len([event for event in world.audited() if isinstance(event, StreamsTasks)])
    world.streams_beat("a", 2)
    assert world.streams.members["a"].current.epoch == 3
    assert len([event for event in world.audited() if isinstance(event, StreamsTasks)]) == before


def test_an_empty_group_changes_its_kind_to_and_fro() -> None:
    world = named_world()
    for _ in range(2):
        world.streams_enter("a")
        world.streams_beat("a", 2)
        world.streams_beat("a", -1)
        (member_id,) = world.stable_with("classic")
        world.leave(member_id)
        world.enter("consumer", "t")
        world.depart("consumer")
        (member_id,) = world.stable_with("classic")
        world.leave(member_id)
    kinds = [event.group_type for event in world.audited() if isinstance(event, GroupConverted)]
    assert kinds == ["classic", "consumer", "classic", "streams", "classic", "consumer", "classic"]


def test_who_joins_with_a_request_to_shut_down_is_told_by_its_client() -> None:
    world = named_world()
    world.streams_enter("a")
    world.streams_enter("b", shuts_down=True)
    (asked,) = [event for event in world.audited() if isinstance(event, StreamsShutdown)]
    assert (asked.member.member_id, asked.member.client_id) == ("b", "client-b")


def test_two_members_of_a_process_may_have_a_standby_task_one_after_the_other() -> None:
    kept = StreamsAuditState()
    giving_up = CurrentTasks(
        epoch=3, state=TasksState.UNREVOKED_TASKS, pending=TaskEpochs(standby={"0": (1,)}), assigned=TaskEpochs()
    )
    metadata = StreamsMemberMetadata("client", "/host", process_id="process")
    one = StreamsMember("one", metadata, current=giving_up)
    two = StreamsMember("two", metadata, current=CurrentTasks(epoch=3, assigned=TaskEpochs(standby={"0": (1,)})))
    kept.note_tasks(one, one)
    kept.note_tasks(two, two)
    kept.forget_member("one")
    assert kept.has_standby("process", ("0", 1))
    kept.forget_member("two")
    assert not kept.has_standby("process", ("0", 1))
