"""Random histories of a streams group on a virtual clock: what holds after each step, and what comes of it."""

from collections import Counter

import pytest
from hypothesis import HealthCheck, event, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from _wire.errors import NONE, ErrorCode
from coordinator.core.streams import target
from coordinator.core.streams.checks import derived_fields, durable_part
from coordinator.core.streams.group import StreamsGroup
from coordinator.core.streams.tasks import flat_tasks
from coordinator.core.streams.workers import COMPUTE_STREAMS_TARGET, CREATE_INTERNAL_TOPICS
from tests.core.consumer.delayed_work import DelayedWork
from tests.core.streams.world import StreamsWorld, part, tasks_in, topology
from tests.examples import examples

NAMES = ("a", "b", "c", "d", "e")
RUNS = topology(part("0", "t", sinks=["r"]), part("1", repartition=["r"], changelogs=["log"]))
LOST = (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_MEMBER_EPOCH, ErrorCode.GROUP_ID_NOT_FOUND)


class Client:
    """What a member knows: its epoch and its tasks, which it tells when they change."""

    def __init__(self, process_id: str) -> None:
        self.process_id = process_id
        self.epoch = 0
        self.active: dict[str, list[int]] = {}
        self.standby: dict[str, list[int]] = {}
        self.tells = True


class StreamsHistories(RuleBasedStateMachine):
    """Members come, give up tasks, and go; so do topics. Work beside the heartbeats comes late, or fails."""

    def __init__(self) -> None:
        super().__init__()
        self.clients: dict[str, Client] = {}
        self.epochs = (0, 0)

    @initialize(standbys=st.integers(0, 2), delay_ms=st.sampled_from(["0", "1000"]), at_once=st.sampled_from([500, 3]))
    def start(self, standbys: int, delay_ms: str, at_once: int) -> None:
        self.patch = pytest.MonkeyPatch()
        self.patch.setattr(target, "PLACES_AT_ONCE", at_once)
        self.patch.setenv("COORDINATOR_DEBUG", "1")
        self.settings = {
            "group.streams.num.standby.replicas": str(standbys),
            "group.streams.initial.rebalance.delay.ms": delay_ms,
        }
        self.world = StreamsWorld(self.settings, {"t": 3})
        self.work = DelayedWork(self.world, (COMPUTE_STREAMS_TARGET, CREATE_INTERNAL_TOPICS))

    def teardown(self) -> None:
        if hasattr(self, "patch"):
            self.settle()
            self.patch.undo()

    @property
    def group(self) -> StreamsGroup | None:
        group = self.world.shard.machine.groups.get("orders")
        return None if group is None else group.membership

    @rule(name=st.sampled_from(NAMES), process=st.integers(0, 2))
    def join(self, name: str, process: int) -> None:
        client = self.clients[name] = Client(f"process-{process}")
        answer = self.world.streams_enter(name, runs=RUNS, process_id=client.process_id)
        self.hear(name, answer)

    @rule(name=st.sampled_from(NAMES), hears=st.booleans())
    def beat(self, name: str, hears: bool) -> None:
        client = self.clients.get(name) or Client("process-0")
        owned = (client.active, client.standby) if client.tells else None
        epoch, written = client.epoch or 1, self.world.written()
        by_session_ms = -1 if owned is not None else self.world.streams_fast(name, epoch)
        answer = self.world.streams_beat(name, epoch, owned=owned)
        if by_session_ms >= 0:
            said = answer.error_code, answer.member_epoch, answer.heartbeat_interval_ms, answer.active_tasks
            assert said == (NONE, epoch, by_session_ms, None), "the session answers as the core does"
            assert (answer.status, answer.endpoint_information_epoch) == ([], 0)
            assert answer.partitions_by_user_endpoint is None
            assert self.world.written() == written
            event("a session could have answered")
        if hears or answer.error_code != NONE:
            self.hear(name, answer)

    def hear(self, name: str, answer) -> None:
        if answer.error_code in LOST:
            self.clients.pop(name, None)
            return
        assert answer.error_code == NONE, answer.error_message
        client = self.clients[name]
        client.epoch, client.tells = answer.member_epoch, answer.active_tasks is not None
        if answer.active_tasks is not None:
            client.active = tasks_in(answer.active_tasks) or {}
            client.standby = tasks_in(answer.standby_tasks) or {}

    @rule(name=st.sampled_from(NAMES))
    def leave(self, name: str) -> None:
        was_there = self.group is not None and name in self.group.members
        assert (self.world.streams_beat(name, -1).error_code == NONE) is was_there
        self.clients.pop(name, None)

    @rule(ms=st.sampled_from([1, 500, 1000, 31_000, 46_000]))
    def wait(self, ms: int) -> None:
        self.world.advance(ms)

    @rule()
    def delete_or_create_source(self) -> None:
        if self.world.fixed.partition_count("t"):
            self.world.fixed.delete("t")
        else:
            self.world.fixed.create("t", 3)
        self.world.topics_changed()

    @rule(topic=st.sampled_from(["r", "log"]))
    def delete_internal(self, topic: str) -> None:
        if self.world.fixed.partition_count(topic):
            self.world.fixed.delete(topic)
            self.world.topics_changed()

    @rule(fails=st.booleans())
    def finish(self, fails: bool) -> None:
        if self.work.asked:
            self.work.finish(fails=fails)
            self.world.topics_changed()  # it may have created some

    @rule()
    def delete(self) -> None:
        group = self.group
        error = self.world.delete_group().error
        if group is None:
            assert error is ErrorCode.GROUP_ID_NOT_FOUND
        elif group.members:
            assert error is ErrorCode.NON_EMPTY_GROUP
        else:
            assert error is NONE
            self.epochs = (0, 0)
            self.clients.clear()

    @precondition(lambda self: self.group is not None)
    @rule()
    def restart(self) -> None:
        group = self.group
        assert group is not None
        before = durable_part(group)
        self.world.restart()
        self.work = DelayedWork(self.world, (COMPUTE_STREAMS_TARGET, CREATE_INTERNAL_TOPICS))
        loaded = self.group
        assert loaded is not None
        assert durable_part(loaded) == before

    @invariant()
    def holds(self) -> None:
        group = self.group if hasattr(self, "world") else None
        if group is None:
            return
        for field in derived_fields(group):
            assert field.found == field.expected, field
        assert group.epoch >= group.target_epoch
        assert (group.epoch, group.target_epoch) >= self.epochs
        self.epochs = group.epoch, group.target_epoch
        held = Counter(
            task
            for member in group.members.values()
            for tasks in (member.current.assigned, member.current.pending)
            for task in flat_tasks(tasks.active)
        )
        assert not held or max(held.values()) == 1, "no task runs twice"

    def settle(self) -> None:
        """In the end each task runs once, and no process has one in two kinds."""
        group = self.group
        if group is None or not group.members:
            return
        if not self.world.fixed.partition_count("t"):
            self.world.fixed.create("t", 3)
            self.world.topics_changed()
        for _ in range(12):
            for name in list(group.members):
                if name not in self.clients:
                    self.clients[name] = Client("process-0")
                    answer = self.world.streams_enter(name, runs=RUNS, process_id="process-0")
                else:
                    client = self.clients[name]
                    owned = (client.active, client.standby)
                    answer = self.world.streams_beat(name, client.epoch, owned=owned)
                if answer.error_code in LOST:
                    self.clients.pop(name, None)
                    continue
                self.hear(name, answer)
            while self.work.asked:
                self.work.finish()
            self.world.advance(1000)
            group = self.group
            assert group is not None
        assert group.state == "Stable", (group.state, group.epoch, group.target_epoch)
        held = Counter(task for member in group.members.values() for task in flat_tasks(member.current.assigned.active))
        assert held == Counter({(part_id, task): 1 for part_id in "01" for task in range(3)})
        by_process: dict[str, list[tuple[str, int]]] = {}
        for member in group.members.values():
            has = by_process.setdefault(member.metadata.process_id, [])
            has += flat_tasks(member.current.assigned.active)
            has += flat_tasks(member.current.assigned.standby)
        assert all(len(has) == len(set(has)) for has in by_process.values())


TestStreamsHistories = StreamsHistories.TestCase
TestStreamsHistories.settings = settings(
    max_examples=examples(30), stateful_step_count=40, deadline=None, suppress_health_check=list(HealthCheck)
)
