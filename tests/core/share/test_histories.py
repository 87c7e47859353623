"""Random histories of a share group on a virtual clock: what holds after each step, and what comes of it."""

from collections import Counter

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from _wire.errors import NONE, ErrorCode
from coordinator.core.share import target
from coordinator.core.share.checks import derived_fields, durable_part
from coordinator.core.share.group import ShareGroup
from coordinator.core.share.workers import COMPUTE_SHARE_TARGET, INITIALIZE_STATES
from tests.core.consumer.delayed_work import DelayedWork
from tests.core.share.world import ShareWorld
from tests.examples import examples

NAMES = ("a", "b", "c", "d")
TOPICS = {"t": 3, "u": 2, "v": 1}
SUBSCRIPTIONS = st.lists(st.sampled_from([*TOPICS, "missing"]), unique=True)
ALL_AT_ONCE = 500


class ShareHistories(RuleBasedStateMachine):
    """Members come, change and go; so do topics. Work beside the heartbeats comes late, or fails."""

    def __init__(self) -> None:
        super().__init__()
        self.known: dict[str, int] = {}
        """Member → the epoch that it heard last."""
        self.epochs = (0, 0)

    @initialize(interval_ms=st.sampled_from(["0", "1000"]), at_once=st.sampled_from([ALL_AT_ONCE, 4]))
    def start(self, interval_ms: str, at_once: int) -> None:
        self.patch = pytest.MonkeyPatch()
        self.patch.setattr(target, "PLACES_AT_ONCE", at_once)
        self.patch.setenv("COORDINATOR_DEBUG", "1")
        self.world = ShareWorld({"group.share.assignment.interval.ms": interval_ms}, TOPICS)
        self.work = DelayedWork(self.world, (COMPUTE_SHARE_TARGET, INITIALIZE_STATES))

    def teardown(self) -> None:
        if hasattr(self, "patch"):
            self.settle()
            self.patch.undo()

    @property
    def group(self) -> ShareGroup | None:
        group = self.world.shard.machine.groups.get("orders")
        return None if group is None else group.membership

    @rule(name=st.sampled_from(NAMES), topics=SUBSCRIPTIONS)
    def join(self, name: str, topics: list[str]) -> None:
        answer = self.world.share_beat(name, 0, subscribed=topics)
        if not topics:
            assert answer.error_code == ErrorCode.INVALID_REQUEST
            return
        assert answer.error_code == NONE
        assert answer.assignment is not None
        self.known[name] = answer.member_epoch

    @rule(name=st.sampled_from(NAMES), topics=st.none() | SUBSCRIPTIONS, hears=st.booleans())
    def beat(self, name: str, topics: list[str] | None, hears: bool) -> None:
        epoch, written = self.known.get(name, 1), self.world.written()
        by_session_ms = -1 if topics is not None else self.world.share_fast(name, epoch)
        answer = self.world.share_beat(name, epoch, subscribed=topics)
        if by_session_ms >= 0:
            said = answer.error_code, answer.member_epoch, answer.heartbeat_interval_ms, answer.assignment
            assert said == (NONE, epoch, by_session_ms, None), "the session answers as the core does"
            assert self.world.written() == written
        if answer.error_code in (
            ErrorCode.UNKNOWN_MEMBER_ID,
            ErrorCode.FENCED_MEMBER_EPOCH,
            ErrorCode.GROUP_ID_NOT_FOUND,
        ):
            self.known.pop(name, None)
            return
        assert answer.error_code == NONE
        if hears:
            self.known[name] = answer.member_epoch

    @rule(name=st.sampled_from(NAMES))
    def leave(self, name: str) -> None:
        was_there = self.group is not None and name in self.group.members
        assert (self.world.share_beat(name, -1).error_code == NONE) is was_there
        self.known.pop(name, None)

    @rule(ms=st.sampled_from([1, 500, 1000, 31_000, 46_000]))
    def wait(self, ms: int) -> None:
        self.world.advance(ms)

    @rule(topic=st.sampled_from(["t", "u"]))
    def grow(self, topic: str) -> None:
        fixed = self.world.fixed
        count = fixed.partition_count(topic)
        if 0 < count < 5:
            fixed.grow(topic, count + 1)
            self.world.topics_changed()

    @rule()
    def delete_or_create_v(self) -> None:
        fixed = self.world.fixed
        if fixed.partition_count("v"):
            fixed.delete("v")
            self.world.coordinator.topics_deleted(["v"])
            self.world.coordinator.drain(self.world.now_ms)
        else:
            fixed.create("v", 2)
        self.world.topics_changed()

    @rule(fails=st.booleans())
    def finish(self, fails: bool) -> None:
        if self.work.asked:
            self.work.finish(fails=fails)

    @rule()
    def delete(self) -> None:
        has_members = self.group is not None and bool(self.group.members)
        had_group = self.group is not None
        error = self.world.delete_group().error
        if has_members:
            assert error is ErrorCode.NON_EMPTY_GROUP
        else:
            assert error is (NONE if had_group else ErrorCode.GROUP_ID_NOT_FOUND)
            self.epochs = (0, 0)
            self.known.clear()

    @precondition(lambda self: self.group is not None)
    @rule()
    def restart(self) -> None:
        group = self.group
        assert group is not None
        before, initializing = durable_part(group), group.states.initializing
        self.world.restart()
        self.work = DelayedWork(self.world, (COMPUTE_SHARE_TARGET, INITIALIZE_STATES))
        loaded = self.group
        assert loaded is not None
        if not initializing:
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
        for member in group.members.values():
            subscribed = set(map(self.world.fixed.topic_id, member.metadata.topics))
            assert member.current.epoch <= group.target_epoch
            if member.current.epoch == group.epoch and group.checked_version == self.world.fixed.topics_version:
                assert member.current.partitions.keys() <= subscribed

    def settle(self) -> None:
        """In the end each subscribed partition has someone, and the members of one subscription equally many."""
        group = self.group
        if group is None or not group.members:
            return
        for _ in range(12):
            for name in list(group.members):
                answer = self.world.share_beat(name, 0, subscribed=group.members[name].metadata.topics or ["missing"])
                assert answer.error_code == NONE
            while self.work.asked:
                self.work.finish()
            self.world.advance(1000)
        assert group.is_settled
        held = Counter(
            (topic_id, partition)
            for member in group.members.values()
            for topic_id, partitions in member.current.partitions.items()
            for partition in partitions
        )
        fixed = self.world.fixed
        named = {name for member in group.members.values() for name in member.metadata.topics}
        wanted = {(fixed.topic_id(name), index) for name in named for index in range(fixed.partition_count(name))}
        assert held.keys() == wanted
        if len({member.metadata.topics for member in group.members.values()}) == 1:
            counts = [sum(map(len, member.current.partitions.values())) for member in group.members.values()]
            assert max(counts) - min(counts) <= 1


TestShareHistories = ShareHistories.TestCase
TestShareHistories.settings = settings(
    max_examples=examples(10), stateful_step_count=30, deadline=None, suppress_health_check=list(HealthCheck)
)
