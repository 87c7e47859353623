"""Consumers of the simulation that have the protocol of KIP-848: one heartbeat joins, goes on, gives up, and leaves."""

from typing import Any, Final

from _wire.errors import ErrorCode
from _wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest, TopicPartitions
from tests.cluster.simulation.clients import AWAY, REQUEST_SECONDS, Refused, SimulatedClient
from tests.cluster.simulation.cluster import TOPIC
from tests.cluster.simulation.reports import RuleBroken

HEARTBEAT_VERSION: Final = 1
COMMIT_VERSION: Final = 9
NO_EPOCH: Final = 0
LEAVE_EPOCH: Final = -1
GIVES_UP_WITHIN_MS: Final = 60_000
"""Longer than a client is busy, so that nobody is removed for what it has not given up."""
PATTERN: Final = f"{TOPIC}.*"


class SimulatedConsumer(SimulatedClient):
    """Its generation is its epoch; -1: it has none, and joins."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._member_id = f"{self.name}-id"
        self._topic_id = b""
        self.subscribes_by_pattern = self._random.random() < 0.3
        self._has_changed = self._has_missed_answer = self.has_got_partitions = False

    def _refused(self, error: ErrorCode) -> None:
        self._log(f"{self.name}: {error.name}")
        if error in AWAY:
            self._disconnect()
        elif error in (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_MEMBER_EPOCH):
            if error is ErrorCode.UNKNOWN_MEMBER_ID:
                self._reports.removed(self.group_id, self.name, self._now_ms)
            self.generation = -1
            self._own(frozenset())
        elif error is not ErrorCode.STALE_MEMBER_EPOCH:  # the next heartbeat brings the new one
            raise RuleBroken(f"{self.name} was told {error.name}, which is no error that a consumer goes on after")

    async def _join(self) -> None:
        """Anew, or for the first time: it owns nothing."""
        await self._beat(NO_EPOCH, **self._everything)
        self._reports.joined(self.group_id, self.name)

    @property
    def _everything(self) -> dict[str, Any]:
        """All that a member says of itself."""
        return {
            "topic_partitions": self._topic_partitions,
            "rebalance_timeout_ms": GIVES_UP_WITHIN_MS,
            "subscribed_topic_names": [] if self.subscribes_by_pattern else [TOPIC],
            "subscribed_topic_regex": PATTERN if self.subscribes_by_pattern else None,
        }

    @property
    def _topic_partitions(self) -> list[TopicPartitions]:
        return [TopicPartitions(topic_id=self._topic_id, partitions=sorted(self.owned))] if self.owned else []

    async def _heartbeat(self) -> None:
        """What it owns is mostly not said, as it has not changed. Everything is after an answer that has not come: it
        may have brought another assignment, which is told once, or to who says everything."""
        if self._has_missed_answer:
            await self._beat(self.generation, **self._everything)
        elif self._has_changed or self._random.random() < 0.2:
            await self._beat(self.generation, topic_partitions=self._topic_partitions)
        else:
            await self._beat(self.generation)

    async def _beat(self, epoch: int, **said: Any) -> None:
        request = ConsumerGroupHeartbeatRequest(
            group_id=self.group_id, member_id=self._member_id, member_epoch=epoch, **said
        )
        seconds = self._patience_seconds if epoch else REQUEST_SECONDS
        self._has_missed_answer = True
        response, sent_ms, leadership = await self._ask(request, HEARTBEAT_VERSION, seconds)
        self._has_missed_answer = False
        self._succeeded(sent_ms, leadership, "ConsumerGroupHeartbeat")
        self._reports.is_member(self.group_id, self.name, sent_ms)
        self._reports.in_epoch(self.group_id, self.name, response.member_epoch, sent_ms, self._now_ms)
        self.generation, self._has_changed = response.member_epoch, False
        if response.assignment is not None:
            told = response.assignment.topic_partitions
            self._topic_id = told[0].topic_id if told else self._topic_id
            self._own(frozenset(index for line in told for index in line.partitions))

    def _own(self, partitions: frozenset[int]) -> None:
        """It stops with what it gives up before it says so."""
        self._has_changed = partitions != self.owned
        self.owned = partitions
        self.has_got_partitions |= bool(partitions)
        self._reports.owns(self.group_id, self.name, partitions, self._now_ms)
        self._log(f"{self.name} owns {sorted(partitions)} in epoch {self.generation}")

    async def _commit(self) -> None:
        await self._commit_in(COMMIT_VERSION)

    async def _leave(self) -> None:
        self._own(frozenset())
        if self._connection is None:
            return
        request = ConsumerGroupHeartbeatRequest(
            group_id=self.group_id, member_id=self._member_id, member_epoch=LEAVE_EPOCH
        )
        try:
            _, sent_ms, leadership = await self._ask(request, HEARTBEAT_VERSION)
        except Refused as refused:
            if refused.error is not ErrorCode.GROUP_ID_NOT_FOUND:  # it has never joined
                raise
            return
        self._succeeded(sent_ms, leadership, "a heartbeat that leaves")
