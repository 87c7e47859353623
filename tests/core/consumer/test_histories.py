"""Random histories of a consumer group on a virtual clock: what holds after each step, and what comes of it."""

from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from _wire.errors import NONE, ErrorCode
from coordinator.core.consumer import large_targets
from coordinator.core.consumer.checks import derived_fields, durable_part
from coordinator.core.consumer.group import ConsumerGroup
from coordinator.core.groups.states import EMPTY, STABLE
from tests.core.consumer.delayed_work import DelayedTargets
from tests.core.consumer.world import World
from tests.examples import examples

NAMES = ("a", "b", "c", "d")
TOPICS = {"t": 4, "u": 3, "v": 1}
INSTANCES = {"a": None, "b": None, "c": "i", "d": "i"}
SUBSCRIPTIONS = st.lists(st.sampled_from([*TOPICS, "missing"]), unique=True)


class Client:
    """What a client knows of itself, if it behaves."""

    def __init__(self) -> None:
        self.epoch = 0
        self.owned: dict[str, list[int]] = {}


class Histories(RuleBasedStateMachine):
    """Clients that join, beat, lose answers, change their subscriptions, go silent and leave."""

    def __init__(self) -> None:
        super().__init__()
        self.clients: dict[str, Client] = {}
        self.epochs = (0, 0)

    @initialize(interval_ms=st.sampled_from(["0", "1000"]), assignor=st.sampled_from(["uniform", "range"]))
    def start(self, interval_ms: str, assignor: str) -> None:
        settings = {"group.consumer.assignment.interval.ms": interval_ms, "group.consumer.assignors": assignor}
        self.world = World(settings, TOPICS)
        self._started()

    def _started(self) -> None:
        """The world was made, or restarted."""

    @property
    def group(self) -> ConsumerGroup | None:
        group = self.world.shard.machine.groups.get("orders")
        return None if group is None else group.membership

    @rule(name=st.sampled_from(NAMES), topics=SUBSCRIPTIONS, pattern=st.sampled_from([None, "", "t|u", ".*"]))
    def join(self, name: str, topics: list[str], pattern: str | None) -> None:
        client = self.clients.setdefault(name, Client())
        answer = self.world.beat(
            name, 0, names=topics, pattern=pattern, owned={}, timeout_ms=5000, instance_id=INSTANCES[name]
        )
        if answer.error_code in (ErrorCode.UNRELEASED_INSTANCE_ID, ErrorCode.UNKNOWN_SERVER_ERROR):
            del self.clients[name]
            return
        assert answer.error_code == NONE
        client.owned = {}
        self._hear(client, answer)

    @rule(name=st.sampled_from(NAMES), says_owned=st.booleans(), hears=st.booleans())
    def beat(self, name: str, says_owned: bool, hears: bool) -> None:
        self._beat(name, {}, says_owned, hears)

    @rule(name=st.sampled_from(NAMES), topics=SUBSCRIPTIONS, hears=st.booleans())
    def subscribe(self, name: str, topics: list[str], hears: bool) -> None:
        self._beat(name, {"names": topics}, True, hears)

    @rule(name=st.sampled_from(NAMES), assignor=st.sampled_from(["uniform", "range"]))
    def vote(self, name: str, assignor: str) -> None:
        self._beat(name, {"assignor": assignor}, False, True)

    def _beat(self, name: str, changes: dict[str, Any], says_owned: bool, hears: bool) -> None:
        client = self.clients.get(name)
        if client is None:
            return
        owned = client.owned if says_owned else None
        answer = self.world.beat(name, client.epoch, owned=owned, instance_id=INSTANCES[name], **changes)
        if answer.error_code != NONE:
            del self.clients[name]
        elif hears:
            self._hear(client, answer)

    def _hear(self, client: Client, answer: Any) -> None:
        client.epoch = answer.member_epoch
        given = self.world.given(answer)
        if given is not None:
            client.owned = given

    @rule(name=st.sampled_from(NAMES), for_a_moment=st.booleans())
    def leave(self, name: str, for_a_moment: bool) -> None:
        if self.clients.pop(name, None) is not None:
            instance_id = INSTANCES[name]
            self.world.depart(name, -2 if for_a_moment and instance_id else -1, instance_id)

    @rule(ms=st.sampled_from([1, 999, 5000, 10_001, 44_999]))
    def wait(self, ms: int) -> None:
        self.world.advance(ms)

    @rule(topic=st.sampled_from(list(TOPICS)), grows=st.booleans())
    def change_topic(self, topic: str, grows: bool) -> None:
        fixed = self.world.fixed
        if not fixed.partition_count(topic):
            fixed.create(topic, TOPICS[topic])
        elif grows:
            fixed.grow(topic, fixed.partition_count(topic) + 1)
        else:
            fixed.delete(topic)

    @rule()
    def restart(self) -> None:
        before = None if self.group is None else durable_part(self.group)
        self.world.restart()
        self._started()
        after = None if self.group is None else durable_part(self.group)
        assert before == after

    @invariant()
    def derived_fields_follow(self) -> None:
        """Above all: no partition has two owners."""
        group = getattr(self, "world", None) and self.group
        if group:
            for what, found, expected in derived_fields(group):
                assert found == expected, what

    @invariant()
    def epochs_rise(self) -> None:
        group = getattr(self, "world", None) and self.group
        if group:
            epochs = group.epoch, group.target_epoch
            assert epochs >= self.epochs
            assert group.target_epoch <= group.epoch
            self.epochs = epochs

    def teardown(self) -> None:
        """Clients that behave reach their targets: each does what it is told, again and again."""
        if getattr(self, "world", None) is None or self.group is None:
            return
        self.world.advance(1_000)
        for _ in range(20):
            for name in list(self.clients):
                self._beat(name, {}, True, True)
            self.world.advance(1_000)
        group = self.group
        # Who went silent or left for a moment keeps the group from it until its session is over.
        if group is None or group.members.keys() - self.clients.keys():
            return
        assert group.state is (STABLE if group.members else EMPTY)
        for member_id in group.members:
            assigned = {topic: tuple(sorted(each)) for topic, each in group.members[member_id].current.assigned.items()}
            assert assigned == group.target(member_id)


class HistoriesOfLargeGroups(Histories):
    """The same with targets that are computed beside the requests."""

    def __init__(self) -> None:
        super().__init__()
        self._patch = pytest.MonkeyPatch()
        self._patch.setattr(large_targets, "WORK_AT_ONCE", 0)

    def _started(self) -> None:
        self.targets = DelayedTargets(self.world)

    @precondition(lambda self: getattr(self, "world", None) is not None and self.targets.asked)
    @rule(fails=st.sampled_from([False, False, True]))
    def finish(self, fails: bool) -> None:
        self.targets.finish(fails=fails)

    def teardown(self) -> None:
        try:
            if getattr(self, "world", None) is not None:
                while self.targets.asked:
                    self.targets.finish()
                self.targets.end()
            super().teardown()
        finally:
            self._patch.undo()


TestHistories = Histories.TestCase
TestHistories.settings = settings(
    max_examples=examples(25), stateful_step_count=30, deadline=None, suppress_health_check=list(HealthCheck)
)
TestHistoriesOfLargeGroups = HistoriesOfLargeGroups.TestCase
TestHistoriesOfLargeGroups.settings = TestHistories.settings
