"""Members of streams groups join, give tasks up, are fenced, come back and leave."""

from typing import Any

import pytest

from _wire.errors import NONE, ErrorCode
from _wire.messages.streams_group_heartbeat import KeyValue, StreamsGroupHeartbeatRequest, TopicInfo
from coordinator.core.causes import Cause
from coordinator.core.decision import NOTHING, OperationContext
from coordinator.core.groups.states import ASSIGNING, EMPTY, NOT_READY, RECONCILING, STABLE
from coordinator.core.streams import target
from coordinator.core.streams.configured import TASKS_MAX, StatusCode
from coordinator.core.streams.events import StreamsMemberRemoved
from coordinator.core.streams.heartbeat import MEMBERS_PER_OPERATION, heartbeat
from coordinator.core.streams.heartbeat_requests import (
    CLIENT_TAGS_MAX,
    OWNED_TASKS_MAX,
    SUBTOPOLOGIES_MAX,
    TOPOLOGY_ENTRIES_MAX,
)
from coordinator.core.streams.large_targets import ComputedStreamsTarget, install
from coordinator.core.streams.tasks import TaskAssignment
from coordinator.core.streams.workers import COMPUTE_STREAMS_TARGET
from tests.core.consumer.delayed_work import DelayedWork
from tests.core.streams.world import NO_TASKS, StreamsWorld, part, statuses, tasks_in, topology

FIRST_HEARTBEAT = [(19, True), (23, True), (17, True), (21, True), (20, True), (22, True)]
REMOVAL = [(22, False), (21, False), (19, False), (17, True)]
ALL = {"0": [0, 1, 2]}


def test_the_first_member_has_all_tasks_in_epoch_2() -> None:
    world = StreamsWorld()
    joined = world.streams_enter("a")
    assert (joined.error_code, joined.member_id, joined.member_epoch) == (NONE, "a", 2)
    assert (joined.heartbeat_interval_ms, joined.status) == (500, [])
    assert (tasks_in(joined.active_tasks), joined.standby_tasks, joined.warmup_tasks) == (ALL, [], [])
    assert world.written() == FIRST_HEARTBEAT
    assert world.streams.state is STABLE


def test_a_steady_heartbeat_writes_nothing() -> None:
    world = StreamsWorld()
    world.streams_enter("a")
    world.streams_beat("a", 2)  # looks at the topics, which the first one does not keep
    world.events.clear()
    written = world.offsets_log.log_end_offset
    answer = world.streams_beat("a", 2)
    assert (answer.error_code, answer.member_epoch, answer.active_tasks) == (NONE, 2, None)
    assert (world.events, world.offsets_log.log_end_offset) == ([], written)


def test_a_task_moves_when_it_was_given_up() -> None:
    world = StreamsWorld()
    world.streams_enter("a")
    joined = world.streams_enter("b")
    assert (joined.member_epoch, tasks_in(joined.active_tasks)) == (3, {})
    asked = world.streams_beat("a", 2)
    assert (asked.member_epoch, tasks_in(asked.active_tasks)) == (2, {"0": [0, 1]})
    assert world.streams.state is RECONCILING
    assert tasks_in(world.streams_beat("b", 3).active_tasks) is None, "a has not given it up"
    given_up = world.streams_beat("a", 2, owned=({"0": [0, 1]}, NO_TASKS))
    assert (given_up.member_epoch, given_up.active_tasks) == (3, None)
    assert tasks_in(world.streams_beat("b", 3).active_tasks) == {"0": [2]}
    assert world.streams.state is STABLE


def test_a_task_given_up_and_due_again_waits_for_the_next_heartbeat() -> None:
    world = StreamsWorld()
    world.streams_enter("a")
    world.streams_enter("b")
    world.streams_beat("a", 2)
    world.streams_beat("b", -1)
    back = world.streams_beat("a", 2, owned=({"0": [0, 1]}, NO_TASKS))
    assert (back.member_epoch, tasks_in(back.active_tasks)) == (4, None)
    assert tasks_in(world.streams_beat("a", 4).active_tasks) == ALL


def test_who_revokes_again_under_a_newer_target_goes_one_epoch_on() -> None:
    world = StreamsWorld(topics={"t": 4})
    world.streams_enter("a")
    world.streams_enter("b")
    world.streams_beat("a", 2)
    for name in ("c", "d"):
        world.streams_enter(name)
    again = world.streams_beat("a", 2, owned=({"0": [0, 1]}, NO_TASKS))
    assert again.member_epoch == 3
    assert world.streams.epoch == 5


def test_a_standby_is_given_up_in_its_own_kind() -> None:
    world = StreamsWorld({"group.streams.num.standby.replicas": "1"}, topics={"t": 2, "log": 2})
    runs = topology(part("0", changelogs=["log"]))
    world.streams_enter("a", runs=runs)
    world.streams_enter("b", runs=runs)
    world.streams_beat("a", 2)
    world.streams_beat(
        "a", 2, owned=({"0": [0]}, {"0": [1]})
    )  # what was active is a standby now: it counts as given up
    for _ in range(3):
        for name in ("a", "b"):
            world.streams_beat(name, world.streams.members[name].current.epoch)
    assert world.has("a") == ({"0": [0]}, {"0": [1]})
    assert world.has("b") == ({"0": [1]}, {"0": [0]})


# ---- epochs


def test_the_epoch_before_is_taken_with_no_more_than_was_assigned() -> None:
    world = StreamsWorld()
    world.streams_enter("a")
    world.streams_enter("b")
    world.streams_beat("b", 3)
    world.streams_beat("a", 2)
    world.streams_beat("a", 2, owned=({"0": [0, 1]}, NO_TASKS))
    assert world.streams.members["a"].current.epoch == 3
    assert world.streams_beat("a", 2, owned=({"0": [0, 1]}, NO_TASKS)).member_epoch == 3
    for owned in (None, (ALL, NO_TASKS), ({"9": [0]}, NO_TASKS)):
        assert world.streams_beat("a", 2, owned=owned).error_code == ErrorCode.FENCED_MEMBER_EPOCH
    assert world.streams_beat("a", 4).error_code == ErrorCode.FENCED_MEMBER_EPOCH


def test_an_unknown_member_has_to_join() -> None:
    world = StreamsWorld()
    world.streams_enter("a")
    assert world.streams_beat("b", 2).error_code == ErrorCode.UNKNOWN_MEMBER_ID
    assert world.streams_beat("b", -1).error_code == ErrorCode.UNKNOWN_MEMBER_ID


def test_a_full_group_refuses_its_own_member_that_joins_again() -> None:
    world = StreamsWorld({"group.streams.max.size": "1"})
    world.streams_enter("a")
    assert world.streams_enter("a").error_code == ErrorCode.GROUP_MAX_SIZE_REACHED
    assert world.streams_enter("b").error_code == ErrorCode.GROUP_MAX_SIZE_REACHED
    assert world.streams_beat("a", 2).error_code == NONE


@pytest.mark.parametrize(
    ("epoch", "changes", "error"),
    [
        (0, {"rack_id": "\t"}, ErrorCode.INVALID_REQUEST),
        (0, {"instance_id": "i"}, ErrorCode.INVALID_REQUEST),
        (0, {"task_offsets": []}, ErrorCode.INVALID_REQUEST),
        (0, {"task_end_offsets": []}, ErrorCode.INVALID_REQUEST),
        (0, {"rebalance_timeout_ms": -1}, ErrorCode.INVALID_REQUEST),
        (0, {"active_tasks": None}, ErrorCode.INVALID_REQUEST),
        (0, {"topology": None}, ErrorCode.INVALID_REQUEST),
        (-2, {}, ErrorCode.INVALID_REQUEST),
        (-(2**31), {}, ErrorCode.INVALID_REQUEST),
        (2, {}, ErrorCode.INVALID_REQUEST),  # with a topology
        (2, {"topology": None}, ErrorCode.GROUP_ID_NOT_FOUND),
        (-1, {"topology": None}, ErrorCode.GROUP_ID_NOT_FOUND),
        (0, {"topology": topology(part("0", "__consumer_offsets"))}, ErrorCode.STREAMS_INVALID_TOPOLOGY),
        (0, {"topology": topology(part("0", "no such/name"))}, ErrorCode.STREAMS_INVALID_TOPOLOGY),
        (0, {"topology": topology(part(), epoch=-1)}, ErrorCode.UNKNOWN_SERVER_ERROR),
        (0, {"topology": topology(part(), part())}, ErrorCode.UNKNOWN_SERVER_ERROR),
        (0, {"topology": topology(part(repartition=["r"]))}, ErrorCode.STREAMS_INVALID_TOPOLOGY),
    ],
)
def test_a_first_heartbeat_is_rejected(epoch: int, changes: dict[str, Any], error: ErrorCode) -> None:
    world = StreamsWorld()
    fields: dict[str, Any] = {"owned": (NO_TASKS, NO_TASKS), "runs": topology(), "timeout_ms": 1} | changes
    answer = world.streams_beat("a", epoch, **fields)
    assert answer.error_code == error
    assert (answer.member_id, answer.member_epoch, answer.heartbeat_interval_ms, answer.status) == ("", 0, 0, [])
    assert not world.exists


@pytest.mark.parametrize("owned", [{"1": [0]}, {"0": [-1]}, {"0": [3]}, {"0": [2**31 - 1]}])
def test_a_task_that_the_topology_does_not_have_cannot_be_owned(owned: dict[str, list[int]]) -> None:
    world = StreamsWorld()
    world.streams_enter("a")
    assert world.streams_beat("a", 2, owned=(owned, NO_TASKS)).error_code == ErrorCode.INVALID_REQUEST


# ---- what raises the epoch


def test_what_a_member_says_anew_raises_the_epoch_and_the_same_again_does_not() -> None:
    world = StreamsWorld()
    world.streams_enter("a")
    epoch = 2
    for changes in ({"endpoint": ("h", 1)}, {"tags": {"z": "1"}}, {"process_id": "p"}, {"timeout_ms": 5}):
        assert world.streams_beat("a", epoch, **changes).member_epoch == epoch + 1
        assert world.streams_beat("a", epoch + 1, **changes).member_epoch == epoch + 1
        epoch += 1


def test_a_member_that_leaves_gives_its_tasks_to_the_next_that_asks() -> None:
    world = StreamsWorld()
    world.streams_enter("a")
    world.streams_enter("b")
    left = world.streams_beat("a", -1)
    assert (left.error_code, left.member_epoch, left.heartbeat_interval_ms) == (NONE, -1, 0)
    assert world.written()[-4:] == REMOVAL
    assert tasks_in(world.streams_beat("b", 3).active_tasks) == ALL


def test_a_silent_member_is_removed_and_so_is_one_that_does_not_give_up() -> None:
    world = StreamsWorld({"group.streams.session.timeout.ms": "45000"})
    world.streams_enter("a", timeout_ms=1000)
    world.streams_enter("b")
    world.streams_beat("a", 2)
    world.advance(1001)
    assert [event.cause for event in world.events if isinstance(event, StreamsMemberRemoved)] == [
        Cause.REBALANCE_TIMEOUT
    ]
    world.advance(45_001)
    assert world.streams.state is EMPTY
    assert world.streams.members == {}


# ---- topologies


def test_a_missing_source_is_told_until_it_is_there() -> None:
    world = StreamsWorld(topics={"u": 2})
    joined = world.streams_enter("a")
    assert statuses(joined) == [(StatusCode.MISSING_SOURCE_TOPICS, "Source topics t are missing.")]
    assert (joined.member_epoch, tasks_in(joined.active_tasks)) == (2, {})
    assert world.streams.state is NOT_READY
    world.fixed.create("t", 2)
    ready = world.streams_beat("a", 2)
    assert (ready.member_epoch, tasks_in(ready.active_tasks), ready.status) == (3, {"0": [0, 1]}, [])


def test_internal_topics_are_created_after_the_answer() -> None:
    world = StreamsWorld(topics={"t": 3})
    joined = world.streams_enter("a", runs=topology(part("0", changelogs=["log"])))
    assert statuses(joined) == [(StatusCode.MISSING_INTERNAL_TOPICS, "Internal topics are missing: log")]
    assert world.creation.created == ["log"]
    assert world.fixed.partition_count("log") == 3
    assert tasks_in(world.streams_beat("a", 2).active_tasks) == ALL


def test_why_an_internal_topic_cannot_be_created_comes_with_the_next_answer_and_is_not_tried_for_a_while() -> None:
    world = StreamsWorld(topics={"t": 3})
    world.creation.fails["log"] = "no room"
    world.streams_enter("a", runs=topology(part("0", changelogs=["log"])))
    told = (StatusCode.MISSING_INTERNAL_TOPICS, "Internal topics are missing: log; Creation failed: log (no room).")
    assert statuses(world.streams_beat("a", 2)) == [told]
    world.creation.fails.clear()
    assert statuses(world.streams_beat("a", 2)) == [told], "it is not tried again"
    assert world.creation.created == []
    world.advance(1000)
    world.streams_beat("a", 2)
    assert world.creation.created == ["log"]


def test_one_topic_that_may_not_be_created_stops_the_others() -> None:
    world = StreamsWorld(topics={"t": 3})
    world.creation.forbidden = {"log"}
    joined = world.streams_enter("a", runs=topology(part("0", changelogs=["log", "other"])))
    (status,) = statuses(joined)
    assert status[1].endswith("; Unauthorized to CREATE on topics log.")
    assert world.creation.created == []


def test_a_heartbeat_that_fails_begins_no_creation() -> None:
    world = StreamsWorld(topics={"t": 2})
    runs = topology(part("0", "t", sinks=["r"]), part("1", repartition=["r"]))
    world.streams_enter("a", runs=runs, endpoint=("host", 1))
    world.streams_beat("a", 2)
    world.streams_enter("b", runs=runs)
    world.creation.created.clear()
    world.fixed.delete("r")
    failed = world.streams_beat("b", 4, endpoint_epoch=-1)
    assert failed.error_code == ErrorCode.UNKNOWN_SERVER_ERROR
    assert world.creation.created == []
    assert world.streams.creating == frozenset()


def test_another_topology_is_refused_and_an_older_one_is_let_in() -> None:
    world = StreamsWorld()
    world.streams_enter("a", runs=topology(part(), epoch=1))
    refused = ErrorCode.INVALID_REQUEST
    assert world.streams_enter("b", runs=topology(part(), epoch=2)).error_code == refused
    assert world.streams_enter("b", runs=topology(part("0", "u"), epoch=1)).error_code == refused
    older = world.streams_enter("b", runs=topology(part("0", "u"), epoch=0))
    text = "The member's topology epoch 0 is behind the group's topology epoch 1."
    assert statuses(older) == [(StatusCode.STALE_TOPOLOGY, text)]
    world.streams_beat("a", -1)
    world.streams_beat("b", -1)
    assert world.streams_enter("c", runs=topology(part(), epoch=2)).error_code == refused, "also of an empty group"


# ---- the initial delay, shutdown, endpoints


def test_the_first_assignment_waits_for_more_members() -> None:
    world = StreamsWorld({"group.streams.initial.rebalance.delay.ms": "1000"})
    joined = world.streams_enter("a")
    assert (joined.member_epoch, tasks_in(joined.active_tasks)) == (1, {})
    assert [code for code, _ in statuses(joined)] == [StatusCode.ASSIGNMENT_DELAYED]
    assert world.streams_enter("b").member_epoch == 1
    assert world.streams.state is ASSIGNING
    written = len(world.written())
    world.advance(1000)
    assert world.written()[written:] == [(21, True), (21, True), (20, True)]
    given = [world.streams_beat(name, 1) for name in ("a", "b")]
    assert [answer.member_epoch for answer in given] == [3, 3]
    assert sorted(task for answer in given for task in (tasks_in(answer.active_tasks) or {})["0"]) == [0, 1, 2]


def test_a_shutdown_is_told_to_all_until_the_group_is_empty() -> None:
    world = StreamsWorld()
    world.streams_enter("a")
    world.streams_enter("b")
    world.streams_beat("a", -1, shuts_down=True)
    assert [code for code, _ in statuses(world.streams_beat("b", 3))] == [StatusCode.SHUTDOWN_APPLICATION]
    world.streams_beat("b", -1)
    assert world.streams_enter("c").status == []


def test_user_endpoints_are_told_when_they_may_have_changed() -> None:
    world = StreamsWorld()
    first = world.streams_enter("a", endpoint=("host", 1))
    (told,) = list(first.partitions_by_user_endpoint or ())
    assert (told.user_endpoint.host, told.user_endpoint.port) == ("host", 1)
    assert [(topic.topic, topic.partitions) for topic in told.active_partitions] == [("t", [0, 1, 2])]
    assert world.streams_beat("a", 2, endpoint_epoch=0).partitions_by_user_endpoint is None
    joined = world.streams_enter("b", endpoint=("host", 2))
    assert joined.endpoint_information_epoch == 1
    assert len(joined.partitions_by_user_endpoint or ()) == 2


def test_a_member_with_an_endpoint_cannot_join_while_sources_are_missing() -> None:
    world = StreamsWorld(topics={"u": 2})
    assert world.streams_enter("a", endpoint=("host", 1)).error_code == ErrorCode.UNKNOWN_SERVER_ERROR
    world.streams_enter("b")
    assert world.streams_enter("a", endpoint=("host", 1)).error_code == ErrorCode.UNKNOWN_SERVER_ERROR
    assert world.streams_beat("b", 2, endpoint_epoch=0).endpoint_information_epoch == 1


# ---- large targets


def test_a_large_target_is_computed_beside_the_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(target, "PLACES_AT_ONCE", 2)
    world = StreamsWorld()
    work = DelayedWork(world, (COMPUTE_STREAMS_TARGET,))
    joined = world.streams_enter("a")
    assert (joined.member_epoch, tasks_in(joined.active_tasks)) == (1, {})
    work.finish(fails=True)
    assert world.streams_beat("a", 1).member_epoch == 1, "it is asked for again"
    work.finish()
    assert tasks_in(world.streams_beat("a", 1).active_tasks) == ALL


def test_a_target_that_was_overtaken_is_not_applied(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(target, "PLACES_AT_ONCE", 2)
    world = StreamsWorld()
    work = DelayedWork(world, (COMPUTE_STREAMS_TARGET,))
    world.streams_enter("a")
    world.restart()
    again = DelayedWork(world, (COMPUTE_STREAMS_TARGET,))
    world.streams_beat("a", 1)
    (first,), (second,) = work.asked, again.asked
    decided = install(
        world.whole_group,
        ComputedStreamsTarget(first.work.request, {"a": TaskAssignment({"0": (0,)})}),
        OperationContext(None, 0, "", "", world.environment, world.now_ms, world.now_ms),
    )
    assert decided is NOTHING
    again.finish()
    assert world.streams.target_epoch == 2
    assert second.work.request.epoch == 2


# ---- a load


def test_after_a_load_members_get_new_time_to_give_up_tasks() -> None:
    world = StreamsWorld()
    world.streams_enter("a", timeout_ms=1000)
    world.streams_enter("b")
    world.streams_beat("a", 2)
    world.restart()
    world.advance(999)
    assert "a" in world.streams.members
    world.advance(2)
    assert "a" not in world.streams.members


# ---- what a client can make large


def test_a_topology_has_a_bound_and_one_at_the_bound_is_taken() -> None:
    configs = [KeyValue(key=f"key-{number}", value="v") for number in range(TOPOLOGY_ENTRIES_MAX - 3)]
    world = StreamsWorld(topics={"t": 3, "log": 3})
    runs = topology(part("0", changelogs=[TopicInfo(name="log", topic_configs=configs)]))
    assert world.streams_enter("a", runs=runs).error_code == NONE
    configs.append(KeyValue(key="key", value="v"))
    refused = world.streams_enter("b", runs=runs)
    assert refused.error_code == ErrorCode.STREAMS_INVALID_TOPOLOGY
    assert refused.error_message == "The topology has 10,001 subtopologies, topics and configs; 10,000 is the maximum."


def test_subtopologies_have_a_bound_of_their_own() -> None:
    world = StreamsWorld(topics={"t": 1})
    parts = [part(f"{number:05}", "t") for number in range(SUBTOPOLOGIES_MAX + 1)]
    assert world.streams_enter("a", runs=topology(*parts[1:])).error_code == NONE
    refused = world.streams_enter("b", runs=topology(*parts))
    assert refused.error_code == ErrorCode.STREAMS_INVALID_TOPOLOGY
    assert refused.error_message == "The topology has 1,501 subtopologies; 1,500 is the maximum."


@pytest.mark.parametrize(
    "changes",
    [
        {"tags": {f"key-{number}": "v" for number in range(CLIENT_TAGS_MAX + 1)}},
        {"owned": ({"0": range(OWNED_TASKS_MAX)}, NO_TASKS)},
        {"owned": ({}, {str(number): [] for number in range(OWNED_TASKS_MAX + 1)})},
    ],
)
def test_tags_and_named_tasks_have_a_bound(changes: dict[str, Any]) -> None:
    world = StreamsWorld()
    world.streams_enter("a")
    assert world.streams_beat("a", 2, **changes).error_code == ErrorCode.INVALID_REQUEST
    assert world.streams.epoch == 2


def test_a_group_has_no_more_tasks_than_can_be_assigned() -> None:
    world = StreamsWorld(topics={"t": TASKS_MAX // 2, "u": TASKS_MAX // 2})
    assert world.streams_enter("a", runs=topology(part("0", "t"), part("1", "u"))).error_code == NONE
    world.fixed.grow("u", TASKS_MAX // 2 + 1)
    refused = world.streams_beat("a", world.streams.members["a"].current.epoch)
    assert refused.error_code == ErrorCode.STREAMS_INVALID_TOPOLOGY
    assert refused.error_message == "The topology has 20,001 tasks; 20,000 is the maximum of a group."


def test_the_endpoints_of_many_members_count_as_more_than_one_operation() -> None:
    world = StreamsWorld({"group.streams.max.size": "1000"})
    for number in range(MEMBERS_PER_OPERATION):
        world.streams_enter(f"member-{number}", endpoint=("host", number))
    heartbeats = [
        heartbeat(
            world.whole_group,
            StreamsGroupHeartbeatRequest(
                group_id=world.streams.group_id,
                member_id="member-99",
                member_epoch=101,
                endpoint_information_epoch=epoch,
            ),
            OperationContext(1, 0, "client-member-99", "/127.0.0.1", world.environment, world.now_ms, world.now_ms),
        )
        for epoch in (world.streams.endpoint_epoch, -1)
    ]
    assert [decision.weight for decision in heartbeats] == [0, 1]
