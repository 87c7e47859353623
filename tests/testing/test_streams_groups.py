"""The test kit with streams groups (KIP-1071), by the heartbeats that Kafka Streams sends."""

from collections.abc import Iterator

import pytest

from _wire.messages.streams_group_heartbeat import (
    StreamsGroupHeartbeatRequest,
    StreamsGroupHeartbeatResponse,
    Subtopology,
    TaskIds,
    Topology,
)
from coordinator.testing import Coordinator
from tests.waiting import wait_for
from tests.wire_client import WireClient

SECONDS = 20
SESSION_SECONDS = 45
RUNS = Topology(epoch=0, subtopologies=[Subtopology(subtopology_id="0", source_topics=["orders"])])


class Instance:
    """A member of the streams group `counts`, in a process of its own; `tasks` are the numbers of its active tasks."""

    def __init__(self, server: Coordinator, name: str, runs: Topology = RUNS) -> None:
        self.name, self.epoch, self.tasks = name, 0, list[int]()
        self._runs = runs
        self.client = WireClient(server.bootstrap, name)

    def beat(self, epoch: int | None = None) -> StreamsGroupHeartbeatResponse:
        request = StreamsGroupHeartbeatRequest(
            group_id="counts", member_id=self.name, member_epoch=self.epoch if epoch is None else epoch
        )
        if request.member_epoch == 0:
            request.topology, request.process_id, request.rebalance_timeout_ms = self._runs, self.name, 300_000
        if request.member_epoch >= 0:
            request.active_tasks = [TaskIds(subtopology_id="0", partitions=self.tasks)] if self.tasks else []
            request.standby_tasks, request.warmup_tasks = [], []
        response: StreamsGroupHeartbeatResponse = self.client.request(request, 0)
        if not response.error_code:
            self.epoch = response.member_epoch
            if response.active_tasks is not None:
                self.tasks = [number for tasks in response.active_tasks for number in tasks.partitions]
        return response


@pytest.fixture
def server() -> Iterator[Coordinator]:
    with Coordinator({"group.streams.initial.rebalance.delay.ms": 0}) as found:
        found.create_topic("orders", partitions=2)
        found.group("counts").configure({"streams.assignment.interval.ms": 0})
        yield found


def test_a_group_is_seen_as_any_other(server: Coordinator) -> None:
    one = Instance(server, "one")
    one.beat()
    group = server.group("counts").wait_for(state="Stable", members=1, timeout=SECONDS)
    assert (group.kind, group.generation_id, one.tasks) == ("streams", one.epoch, [0, 1])
    assert server.group("counts").assignment == {"one": {"orders": [0, 1]}}


def test_a_member_whose_connection_is_closed_is_removed_by_a_jump_and_one_that_is_heard_is_not(
    server: Coordinator,
) -> None:
    one, two = Instance(server, "one"), Instance(server, "two")
    for instance in (one, two, one, one, two):
        instance.beat()
    assert sorted(one.tasks + two.tasks) == [0, 1]
    two.client.socket.close()
    server.advance(SESSION_SECONDS)
    one.beat()
    server.group("counts").wait_for(state="Stable", members=1, timeout=SECONDS)
    assert one.tasks == [0, 1]
    assert "two" in server.why("counts")
    server.assert_rebalances("counts", at_most=1, causes=["session_expired"], after_generation=two.epoch)


def test_the_initial_delay_ends_with_a_jump() -> None:
    with Coordinator({"group.streams.initial.rebalance.delay.ms": 60_000}) as server:
        server.create_topic("orders", partitions=2)
        one = Instance(server, "one")
        one.beat()
        one.beat()
        assert one.tasks == []
        server.advance(60)
        one.beat()
        assert one.tasks == [0, 1]


def test_a_heartbeat_is_answered_with_an_error(server: Coordinator) -> None:
    fault = server.faults.answer("StreamsGroupHeartbeat", "COORDINATOR_NOT_AVAILABLE", group="counts", times=1)
    one = Instance(server, "one")
    assert one.beat().error_code == 15
    assert one.beat().error_code == 0
    assert (fault.hits, one.tasks) == (1, [0, 1])


def test_what_is_missing_is_in_the_story(server: Coordinator) -> None:
    other = Topology(epoch=0, subtopologies=[Subtopology(subtopology_id="0", source_topics=["payments"])])
    one = Instance(server, "one", other)
    one.beat()
    one.beat()
    assert server.group("counts").state == "NotReady"
    assert "source topic payments is missing" in server.why("counts")
    server.create_topic("payments", partitions=1)
    one.beat()
    wait_for(lambda: server.group("counts").state == "Stable", SECONDS, "a topology that can run")
    assert one.tasks == [0]
