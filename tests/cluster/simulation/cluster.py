"""The cluster that the nodes stand in front of, as the brokers share it: logs, producer epochs, and groups.

Partitions are those of `model_log.py`. The groups of the cluster, that of the nodes and those of the sentinels, are run
by the project's own group coordinator on one partition, which is compared with Kafka's request by request
(`tests/differential`): sessions, rebalances, static members and fencing are Kafka's.
"""

import random
from collections.abc import Callable
from typing import Any, Final, NamedTuple

from _wire.batches import batch_headers
from coordinator.cluster.log.access import Appended, ProducerIdentity, Refused
from coordinator.cluster.log.notes import EPOCH_MAX
from coordinator.config.settings import Config
from coordinator.internal_topics import AUDIT_TOPIC, MEMBERSHIP_TOPIC
from coordinator.timers.clock import VirtualClock
from tests.cluster.model_log import ModelCluster
from tests.simulation.consumers import PARTITIONS as CONSUMED
from tests.simulation.server import SimulatedServer

BROKERS: Final = 2
PARTITIONS: Final = 3
"""Of the log of the nodes."""
TOPIC: Final = "t"
TOPIC_PARTITIONS: Final = CONSUMED["t"]
LAGGING_MS: Final = 200
"""For how long a new leader knows an earlier high watermark."""


class Took(NamedTuple):
    """A producer epoch that has written its first batch to a partition of the groups' log."""

    partition: int
    identity: ProducerIdentity


class Cluster:
    """What the brokers know together."""

    def __init__(self, chance: random.Random, observe: Callable[[str, int, bytes], None]) -> None:
        """`observe` is called with each batch that was appended: topic, partition, batch."""
        config = {
            "group.initial.rebalance.delay.ms": str(chance.choice((0, 0, 500))),
            "group.max.session.timeout.ms": "1800000",
        }
        self.groups = SimulatedServer(Config(config))
        self.clock: VirtualClock = self.groups.clock
        self.log = ModelCluster()
        self.random = chance
        self._observe = observe
        self.leaders: dict[tuple[str, int], int] = {
            (topic, partition): chance.randrange(BROKERS)
            for topic in (MEMBERSHIP_TOPIC, AUDIT_TOPIC)
            for partition in range(PARTITIONS)
        }
        self.coordinator_id = chance.randrange(BROKERS)
        """The broker that coordinates all groups and transactional ids."""
        self._lagging: dict[tuple[str, int], tuple[int, int]] = {}
        """Partition → the high watermark that its leader knows, and until when."""
        self.takeovers: list[Took] = []
        """In the order in which they were made: who is later leads the partition."""
        self.refusals: dict[str, float] = {}
        """What brokers refuse now ("log", "groups", "commits", "transactions"), and how much of it."""

    # ---- logs

    def append(self, topic: str, partition: int, batch: bytes) -> Appended | Refused:
        log = self.log.partition(topic, partition)
        before = log.end_offset
        result = log.append(batch)
        if isinstance(result, Appended) and log.end_offset > before:
            (header,) = batch_headers(batch)
            identity = ProducerIdentity(header.producer_id, header.producer_epoch)
            took = Took(partition, identity)
            if topic == MEMBERSHIP_TOPIC and identity.producer_epoch < EPOCH_MAX and took not in self.takeovers:
                self.takeovers.append(took)
            self._observe(topic, partition, batch)
        return result

    def leadership(self, partition: int, identity: ProducerIdentity) -> int | None:
        """The place of a takeover in the order of all; None: it is none."""
        took = Took(partition, identity)
        return self.takeovers.index(took) if took in self.takeovers else None

    def high_watermark(self, topic: str, partition: int) -> int:
        lagging, until_ms = self._lagging.get((topic, partition), (0, 0))
        end = self.log.partition(topic, partition).end_offset
        return lagging if self.clock.now_ms() < until_ms else end

    def move_leaders(self) -> None:
        """Each partition may get another leader, which learns the high watermark a moment later."""
        for topic, partition in self.leaders:
            if self.random.random() < 0.5:
                self.leaders[topic, partition] = self.random.randrange(BROKERS)
                end = self.log.partition(topic, partition).end_offset
                behind = max(end - self.random.randrange(3), 0)
                self._lagging[topic, partition] = behind, self.clock.now_ms() + LAGGING_MS
        if self.random.random() < 0.3:
            self.coordinator_id = self.random.randrange(BROKERS)

    def expire_transactional_ids(self, known: list[str]) -> None:
        """As after seven days without use."""
        for transactional_id in known:
            if self.log.knows(transactional_id):
                self.log.forget_transactional_id(transactional_id)

    # ---- refusals

    def refuses(self, what: str) -> bool:
        share = self.refusals.get(what, 0.0)
        return share > 0 and self.random.random() < share

    # ---- groups

    def states(self) -> dict[str, str]:
        """Group → its state."""
        groups = [group for shard in self.groups.coordinator.shards for group in shard.machine.groups.values()]
        return {group.group_id: group.membership.state.value for group in groups}

    def has_members(self, group_id: str) -> bool:
        group = self.groups.coordinator.shard_of(group_id).machine.groups.get(group_id)
        return group is not None and bool(group.membership.members)

    def next_ms(self) -> int | None:
        """When a session or a rebalance is over."""
        due_ms: int = self.groups.wheel.next_deadline_ms()
        return due_ms if due_ms >= 0 else None

    def run_due(self) -> None:
        due_ms = self.next_ms()
        if due_ms is not None and due_ms <= self.clock.now_ms():
            self.groups.end_iteration()


class Waiting:
    """A request that the group coordinator of the cluster answers, at once or later."""

    def __init__(self, answered: Callable[[Any], None], refused: Callable[[Any], Any]) -> None:
        """`refused` makes the response that reports an error."""
        self._answered = answered
        self._refused = refused

    def send_response(self, response: Any) -> None:
        self._answered(response)

    def send_error_response(self, error: Any) -> None:
        self._answered(self._refused(error))
