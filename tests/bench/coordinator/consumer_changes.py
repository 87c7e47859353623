"""Consumer groups whose members change, as in the loads `consumer-join` and `consumer-replace`, the same in each run.

Those loads go by the clock, so how many heartbeats they send differs from run to run. Here members send theirs in waves
or one after the other, which makes what the server does comparable by counts of instructions or calls.
"""

from collections.abc import Collection, Sequence
from typing import Any, Final

from _wire.errors import ErrorCode
from _wire.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    TopicPartitions,
)
from _wire.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from coordinator.client.requests import Sent
from tests.wire_client import WireClient

GROUP_RESOURCE: Final = 32
JOINING_EPOCH: Final = 0
LEAVING_EPOCH: Final = -1
VERSION: Final = 1
PASSES_MAX: Final = 10
REBALANCE_TIMEOUT_MS: Final = 600_000
LONG_INTERVAL_MS: Final = 100_000_000
"""Members that join wait for their target as long as somebody wants them to."""
SETTINGS: Final = {
    "group.consumer.max.assignment.interval.ms": str(LONG_INTERVAL_MS),
    "group.consumer.max.session.timeout.ms": str(LONG_INTERVAL_MS),
    "group.consumer.session.timeout.ms": str(LONG_INTERVAL_MS),
}
"""What the server needs. Under valgrind a session would end between two heartbeats."""


class ChangingMember:
    """A member as stock clients are: it gives partitions up at once, and reports what it owns after each change."""

    def __init__(self, group_id: str, member_id: str, topic: str, client: WireClient) -> None:
        self.epoch = JOINING_EPOCH
        self.owned: dict[bytes, list[int]] = {}
        self.has_to_report = False
        self._group_id, self._member_id, self._topic = group_id, member_id, topic
        self._client = client

    def send(self) -> Sent:
        request = ConsumerGroupHeartbeatRequest(
            group_id=self._group_id, member_id=self._member_id, member_epoch=self.epoch
        )
        if self.epoch == JOINING_EPOCH:
            request.rebalance_timeout_ms, request.subscribed_topic_names = REBALANCE_TIMEOUT_MS, [self._topic]
        if self.epoch == JOINING_EPOCH or self.has_to_report:
            request.topic_partitions = [
                TopicPartitions(topic_id=topic_id, partitions=partitions) for topic_id, partitions in self.owned.items()
            ]
        return self._client.send(request, VERSION)

    def receive(self, sent: Sent) -> None:
        response: ConsumerGroupHeartbeatResponse = self._client.receive(sent)
        assert response.error_code == ErrorCode.NONE, response
        self.epoch, self.has_to_report = response.member_epoch, False
        if response.assignment is not None:
            owned = {
                topic_partition.topic_id: sorted(topic_partition.partitions)
                for topic_partition in response.assignment.topic_partitions
            }
            self.has_to_report = owned != self.owned
            self.owned = owned

    def beat(self) -> int:
        """Heartbeats until there is nothing to report; returns how many."""
        count = 1
        self.receive(self.send())
        while self.has_to_report:
            self.receive(self.send())
            count += 1
        return count

    def leave(self) -> None:
        self.epoch = LEAVING_EPOCH
        answer = self._client.receive(self.send())
        assert answer.error_code == ErrorCode.NONE, answer


class ChangingGroup:
    """A consumer group of such members, spread over some connections. It counts its `heartbeats`."""

    def __init__(self, group_id: str, topic: str, partition_count: int, clients: Sequence[WireClient]) -> None:
        self.members: list[ChangingMember] = []
        self.heartbeats = 0
        self._group_id, self._topic, self._partition_count = group_id, topic, partition_count
        self._clients = clients
        self._made_count = 0

    def set_assignment_interval(self, interval_ms: int) -> None:
        config = AlterableConfig(name="consumer.assignment.interval.ms", config_operation=0, value=str(interval_ms))
        resource = AlterConfigsResource(resource_type=GROUP_RESOURCE, resource_name=self._group_id, configs=[config])
        (answer,) = self._clients[0].request(IncrementalAlterConfigsRequest(resources=[resource]), VERSION).responses
        assert answer.error_code == ErrorCode.NONE, answer

    def add_members(self, count: int) -> None:
        for _ in range(count):
            client = self._clients[self._made_count % len(self._clients)]
            self._made_count += 1
            member_id = f"member-{self._made_count:015}"
            self.members.append(ChangingMember(self._group_id, member_id, self._topic, client))

    def join_at_once(self) -> None:
        """All members join, wait for a target, then for the partitions that the first one has, and report.

        Five heartbeats each, as with an assignment interval of a second and heartbeats each half second.
        """
        self.set_assignment_interval(LONG_INTERVAL_MS)
        self._wave()
        self._wave()
        self.set_assignment_interval(0)
        self._wave()
        self._wave()
        assert self._is_stable(), "the group is not stable"

    def replace(self) -> None:
        """The oldest member leaves, and when the others are stable another one joins."""
        self.members.pop(0).leave()
        self.heartbeats += 1
        self.become_stable()
        self.add_members(1)
        self.become_stable()

    def become_stable(self) -> None:
        """Heartbeats of one member after the other, each alone with the server."""
        for _ in range(PASSES_MAX):
            self.heartbeats += sum(member.beat() for member in self.members)
            if self._is_stable():
                return
        raise AssertionError(f"the group is not stable after {PASSES_MAX} heartbeats of each member")

    def leave(self) -> None:
        for member in self.members:
            member.leave()
        self.members = []

    def _wave(self) -> None:
        """Heartbeats of all members at once, then the reports of those that have something to report."""
        beating: Collection[ChangingMember] = self.members
        while beating:
            sent = [(member, member.send()) for member in beating]
            for member, each in sent:
                member.receive(each)
            self.heartbeats += len(sent)
            beating = [member for member in beating if member.has_to_report]

    def _is_stable(self) -> bool:
        """Whether all partitions are shared out at one epoch."""
        owned: list[Any] = [index for member in self.members for indexes in member.owned.values() for index in indexes]
        return len({member.epoch for member in self.members}) == 1 and sorted(owned) == list(
            range(self._partition_count)
        )
