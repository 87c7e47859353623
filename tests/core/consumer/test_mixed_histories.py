"""Random histories of groups that members of both protocols join, leave and are silent in.

Groups change their kind on the way. Every step runs in checked mode: records describe the states, no partition has two
owners, each member has a session. A restart has to give the state back that the log describes.
"""

from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from _wire.errors import NONE, ErrorCode
from coordinator.core.assignment import decode_assignment
from coordinator.core.consumer import large_targets
from coordinator.core.consumer.checks import durable_part
from coordinator.core.consumer.group import ConsumerGroup
from coordinator.core.groups.states import STABLE
from tests.core.consumer.classic_bytes import assignment, subscription
from tests.core.consumer.delayed_work import DelayedTargets
from tests.core.consumer.world import World
from tests.examples import examples
from tests.simulation.simulation import GROUP_ID

RESTING_ROUNDS = 25
"""Seconds without a change of the members after which a group is at rest."""
ROUNDS_MAX = 200
CONSUMERS = ("a", "b")
CLASSICS = ("x", "y")
INSTANCES = {"a": None, "b": "i", "x": None, "y": "i"}
TOPICS = {"t": 4, "u": 3}
SUBSCRIPTIONS = st.lists(st.sampled_from([*TOPICS, "missing"]), unique=True)
POLICIES = st.sampled_from(["bidirectional", "upgrade", "downgrade", "disabled"])


class Classic:
    """What a client of the classic protocol knows of itself."""

    def __init__(self, topics: list[str]) -> None:
        self.member_id = ""
        self.generation_id = -1
        self.topics = topics
        self.owned: dict[str, list[int]] = {}


class MixedHistories(RuleBasedStateMachine):
    """Clients of both protocols. Those of the classic one do as they are told, when they have their turn."""

    def __init__(self) -> None:
        super().__init__()
        self.epochs: dict[str, int] = {}
        self.classics: dict[str, Classic] = {}

    @initialize(policy=POLICIES, interval_ms=st.sampled_from(["0", "1000"]))
    def start(self, policy: str, interval_ms: str) -> None:
        changes = {"group.consumer.migration.policy": policy, "group.consumer.assignment.interval.ms": interval_ms}
        self.world = World(changes, TOPICS)
        self._started()

    def _started(self) -> None:
        """The world was made, or restarted."""

    @rule(name=st.sampled_from(CONSUMERS), topics=SUBSCRIPTIONS)
    def enter(self, name: str, topics: list[str]) -> None:
        self._hear(name, self.world.beat(name, 0, names=topics, owned={}, timeout_ms=5000, instance_id=INSTANCES[name]))

    @rule(name=st.sampled_from(CONSUMERS), shows=st.booleans())
    def beat(self, name: str, shows: bool) -> None:
        if name in self.epochs:
            owned = self._assigned(name) if shows else None
            self._hear(name, self.world.beat(name, self.epochs[name], owned=owned, instance_id=INSTANCES[name]))

    def _assigned(self, name: str) -> dict[str, list[int]] | None:
        group = self.group
        if not isinstance(group, ConsumerGroup) or name not in group.members:
            return None
        return self.world.assigned(name)

    def _hear(self, name: str, answer: Any) -> None:
        if answer.error_code == NONE:
            self.epochs[name] = answer.member_epoch
        else:
            self.epochs.pop(name, None)

    @rule(name=st.sampled_from(CONSUMERS), for_a_moment=st.booleans())
    def depart(self, name: str, for_a_moment: bool) -> None:
        if self.epochs.pop(name, None) is not None:
            self.world.depart(name, -2 if for_a_moment and INSTANCES[name] else -1, INSTANCES[name])

    @rule(name=st.sampled_from(CLASSICS), topics=SUBSCRIPTIONS, version=st.sampled_from([0, 1]))
    def join(self, name: str, topics: list[str], version: int) -> None:
        """Join, and sync as soon as the join is answered; a leader assigns all to itself."""
        client = self.classics.setdefault(name, Classic(topics))
        client.topics = topics
        joined = self.world.join(
            name,
            client.member_id,
            instance_id=INSTANCES[name],
            metadata=subscription(*topics, owned=client.owned, version=version),
            rebalance_timeout_ms=5000,
        )
        if not joined.answered:
            return
        if joined.error is not NONE:
            del self.classics[name]
            return
        client.member_id, client.generation_id = joined.response.member_id, joined.response.generation_id
        given = {}
        if joined.response.leader == client.member_id:
            given = {client.member_id: assignment({topic: list(range(TOPICS.get(topic, 1))) for topic in topics})}
        synced = self.world.sync(client.member_id, given, generation_id=client.generation_id)
        if synced.answered and synced.error is NONE:
            client.owned = decode_assignment(synced.response.assignment)

    @rule(name=st.sampled_from(CLASSICS))
    def classic_heartbeat(self, name: str) -> None:
        client = self.classics.get(name)
        if client is None or not client.member_id:
            return
        error = self.world.heartbeat(
            client.member_id, generation_id=client.generation_id, instance_id=INSTANCES[name]
        ).error
        if error is ErrorCode.REBALANCE_IN_PROGRESS:
            self.join(name, client.topics, 1)
        elif error is not NONE:
            del self.classics[name]

    @rule(name=st.sampled_from(CLASSICS))
    def classic_leave(self, name: str) -> None:
        client = self.classics.pop(name, None)
        if client is not None and client.member_id:
            self.world.leave(client.member_id, client_id=name)

    @rule(name=st.sampled_from(CLASSICS), partition=st.integers(0, 3))
    def commit(self, name: str, partition: int) -> None:
        client = self.classics.get(name)
        if client is not None and client.member_id:
            self.world.commit_offsets(client.member_id, client.generation_id, {partition: 1}, version=8)

    @rule(ms=st.sampled_from([1, 999, 5000, 9999]))
    def wait(self, ms: int) -> None:
        self.world.advance(ms)

    @rule()
    def restart(self) -> None:
        before = durable_part(self.group) if isinstance(self.group, ConsumerGroup) else None
        self.world.restart()
        self._started()
        if before is not None:
            assert isinstance(self.group, ConsumerGroup)
            assert durable_part(self.group) == before

    def _member_ids(self) -> set[str]:
        return set() if self.group is None else set(self.group.members)

    @property
    def group(self) -> Any:
        group = self.world.shard.machine.groups.get(GROUP_ID)
        return None if group is None else group.membership

    @invariant()
    def no_group_failed(self) -> None:
        """A check that fails makes the group fail, and its clients would only be told to try again."""
        world = getattr(self, "world", None)
        assert world is None or not world.shard.failed_keys.by_key

    def teardown(self) -> None:
        """With all members alive and well, a consumer group comes to rest."""
        if getattr(self, "world", None) is None or not isinstance(self.group, ConsumerGroup):
            return
        rounds, unchanged_rounds = 0, 0
        while unchanged_rounds < RESTING_ROUNDS and rounds < ROUNDS_MAX:
            before = self._member_ids()
            self.world.advance(1_000)
            for name in list(self.epochs):
                self.beat(name, True)
            for name in list(self.classics):
                self.classic_heartbeat(name)
            # The session of a member that its client has given up may end at any time: then it begins again.
            rounds, unchanged_rounds = rounds + 1, unchanged_rounds + 1 if before == self._member_ids() else 0
        group = self.group
        alive = {*self.epochs, *(client.member_id for client in self.classics.values())}
        if isinstance(group, ConsumerGroup) and self.epochs and group.members.keys() == alive:
            assert group.state is STABLE


class MixedHistoriesOfLargeGroups(MixedHistories):
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


def test_a_group_comes_to_rest_also_after_a_session_that_ends_at_last() -> None:
    """The client of b was refused and has given up, its session goes on for the 45 s."""
    histories = MixedHistoriesOfLargeGroups()
    histories.start(policy="bidirectional", interval_ms="0")
    histories.enter(name="b", topics=[])
    for ms in (999, 9999, 9999):
        histories.wait(ms=ms)
    histories.enter(name="a", topics=[])
    histories.enter(name="b", topics=[])
    assert histories._member_ids() > set(histories.epochs)
    histories.teardown()
    assert histories._member_ids() == set(histories.epochs)


TestMixedHistories = MixedHistories.TestCase
TestMixedHistories.settings = settings(
    max_examples=examples(25), stateful_step_count=30, deadline=None, suppress_health_check=list(HealthCheck)
)
TestMixedHistoriesOfLargeGroups = MixedHistoriesOfLargeGroups.TestCase
TestMixedHistoriesOfLargeGroups.settings = TestMixedHistories.settings
