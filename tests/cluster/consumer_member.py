"""A member of a consumer group (KIP-848) by nothing but requests: what it sends, and when, is up to the test."""

import uuid
from typing import Any, Final

from _wire.errors import ErrorCode
from _wire.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    TopicPartitions,
)
from _wire.messages.find_coordinator import FindCoordinatorRequest
from _wire.messages.offset_commit import OffsetCommitRequest, OffsetCommitRequestPartition, OffsetCommitRequestTopic
from _wire.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup, OffsetFetchRequestTopics
from coordinator.client.wire import ClientError
from tests.waiting import wait_for
from tests.wire_client import WireClient

SECONDS: Final = 30
AWAY: Final = frozenset(
    {ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS}
)
"""Errors after which a client looks its coordinator up again."""
LEAVE_EPOCH: Final = -1


class ConsumerMember:
    """It believes a coordinator until that is not the coordinator any more, or does not answer."""

    def __init__(self, bootstrap: str, group_id: str, *topics: str, pattern: str | None = None) -> None:
        """`bootstrap` are HOST:PORT, separated by commas."""
        self._bootstrap = bootstrap
        self.group_id = group_id
        self._subscription = {"subscribed_topic_names": list(topics), "subscribed_topic_regex": pattern}
        self.member_id = str(uuid.uuid4())
        self.epoch = 0
        self.owned: dict[bytes, list[int]] = {}
        self._connection: WireClient | None = None
        self.coordinator = ""

    def close(self) -> None:
        if self._connection is not None:
            self._connection.__exit__()
        self._connection = None

    # ---- the coordinator

    def look_up(self) -> None:
        """Find the coordinator, and connect to it."""
        wait_for(self._has_found, SECONDS, f"a coordinator of {self.group_id}", every_ms=100)

    def _has_found(self) -> bool:
        self.close()
        try:
            with WireClient(self._bootstrap) as client:
                found = client.request(FindCoordinatorRequest(key=self.group_id), 2)
            if found.error_code:
                return False
            self.coordinator = f"{found.host}:{found.port}"
            self._connection = WireClient(self.coordinator, "consumer-member")
        except (ClientError, OSError):
            return False
        return True

    def ask(self, request: Any, version: int) -> Any:
        """The response of the coordinator, also if it is an error."""
        if self._connection is None:
            self.look_up()
        assert self._connection is not None
        return self._connection.request(request, version)

    # ---- what a member does

    def heartbeat(self, **changes: Any) -> ConsumerGroupHeartbeatResponse:
        """Send one as it is, with all that the member has to say if it joins."""
        said: dict[str, Any] = {}
        if self.epoch == 0:
            said = {"rebalance_timeout_ms": 60_000, "topic_partitions": [], **self._subscription}
        request = ConsumerGroupHeartbeatRequest(
            group_id=self.group_id, member_id=self.member_id, member_epoch=self.epoch, **said | changes
        )
        response: ConsumerGroupHeartbeatResponse = self.ask(request, 1)
        if not response.error_code:
            self.epoch = response.member_epoch
            if response.assignment is not None:
                self.owned = {
                    topic_partition.topic_id: list(topic_partition.partitions)
                    for topic_partition in response.assignment.topic_partitions
                }
        return response

    def go_on(self) -> ErrorCode:
        """A heartbeat that shows what the member owns, to whoever is the coordinator now; what it was told at last."""
        told = [ErrorCode.NONE]

        def is_reported() -> bool:
            try:
                owned = [TopicPartitions(topic_id=each, partitions=of) for each, of in self.owned.items()]
                told[0] = ErrorCode(self.heartbeat(topic_partitions=owned if self.epoch else []).error_code)
            except (ClientError, OSError):
                told[0] = ErrorCode.COORDINATOR_NOT_AVAILABLE
            if told[0] in AWAY:
                self.close()
            return told[0] not in AWAY

        wait_for(is_reported, SECONDS, f"an answer to a member of {self.group_id}", every_ms=100)
        return told[0]

    def leave(self) -> None:
        self.epoch = LEAVE_EPOCH
        assert self.go_on() is ErrorCode.NONE
        self.close()

    @property
    def partitions(self) -> list[int]:
        """Of all topics."""
        return sorted(each for of_topic in self.owned.values() for each in of_topic)

    def commit(self, topic: str, partition: int, offset: int, epoch: int | None = None) -> ErrorCode:
        committed = OffsetCommitRequestPartition(partition_index=partition, committed_offset=offset)
        request = OffsetCommitRequest(
            group_id=self.group_id,
            member_id=self.member_id,
            generation_id_or_member_epoch=self.epoch if epoch is None else epoch,
            topics=[OffsetCommitRequestTopic(name=topic, partitions=[committed])],
        )
        return ErrorCode(self.ask(request, 9).topics[0].partitions[0].error_code)

    def fetch(self, topic: str, partition: int, epoch: int | None = None) -> int | ErrorCode:
        """The committed offset, or the error of the group."""
        return fetched(self._connection, self.group_id, topic, partition, self.member_id, epoch or self.epoch)


def fetched(
    client: Any, group_id: str, topic: str, partition: int, member_id: str | None = None, epoch: int = -1
) -> int | ErrorCode:
    """The committed offset of a group, as it is told to a member or to nobody in particular."""
    asked = OffsetFetchRequestGroup(
        group_id=group_id,
        member_id=member_id,
        member_epoch=epoch,
        topics=[OffsetFetchRequestTopics(name=topic, partition_indexes=[partition])],
    )
    (group,) = client.request(OffsetFetchRequest(groups=[asked]), 9).groups
    if group.error_code:
        return ErrorCode(group.error_code)
    offset: int = group.topics[0].partitions[0].committed_offset
    return offset


def settle(*members: ConsumerMember, partitions: int = 4) -> None:
    """Have all of them send heartbeats until they own so many partitions together, in one epoch."""

    def is_settled() -> bool:
        for member in members:
            assert member.go_on() is ErrorCode.NONE
        is_one_epoch = len({member.epoch for member in members}) == 1
        return is_one_epoch and sum(len(member.partitions) for member in members) == partitions

    wait_for(is_settled, SECONDS, "the members to have their partitions", every_ms=100)
