"""A shard with consumer groups on a virtual clock, its topics, and what clients send to it."""

from collections.abc import Collection, Container, Iterable, Mapping
from typing import Any, Final

import msgspec

from _wire.embedded import prefix_of
from _wire.errors import ErrorCode
from _wire.messages.consumer_group_describe import ConsumerGroupDescribeRequest, DescribedGroup
from _wire.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    TopicPartitions,
)
from _wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from _wire.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup, OffsetFetchRequestTopics
from _wire.records import parse_records
from coordinator.core.client_connection import ClientConnection
from coordinator.core.consumer.group import ConsumerGroup
from coordinator.core.decision import Environment
from coordinator.core.kinds import operations
from coordinator.core.topic_listing import TopicListing
from coordinator.patterns import Pattern
from tests.simulation.simulation import GROUP_ID, Sent, Simulation

QUICK: Final = {
    "group.consumer.assignment.interval.ms": "0",
    "group.consumer.min.session.timeout.ms": "500",
    "group.consumer.min.heartbeat.interval.ms": "100",
    "group.consumer.heartbeat.interval.ms": "500",
}
REBALANCE_TIMEOUT_MS: Final = 30_000
METADATA_OFFSET: Final = 7
NEWEST: Final = 1
Owned = Mapping[str, Iterable[int]]


class FixedTopics:
    """The topics of a test, by name, with their numbers of partitions. A topic made again has another id."""

    def __init__(self, partitions: Mapping[str, int]) -> None:
        self.topics_version = 0
        self.created_version = 0
        self.missing: set[str] = set()
        self._topics: dict[str, tuple[bytes, int]] = {}
        for name, count in partitions.items():
            self.create(name, count)

    def create(self, name: str, partitions: int) -> None:
        self.topics_version += 1
        self.created_version = self.topics_version
        self._topics[name] = self.topics_version.to_bytes(16, "big"), partitions

    def grow(self, name: str, partitions: int) -> None:
        self.topics_version += 1
        self._topics[name] = self._topics[name][0], partitions

    def delete(self, name: str) -> None:
        self.topics_version += 1
        del self._topics[name]

    def partition_count(self, name: str) -> int:
        return self._topics.get(name, (b"", 0))[1]

    def names(self) -> Container[str]:
        return frozenset(self._topics)

    def existing(self, names: Collection[str]) -> set[str]:
        return self._topics.keys() & names

    @property
    def topics(self) -> Collection[str]:
        return self._topics

    def matching(self, pattern: str) -> tuple[str, ...]:
        return tuple(sorted(filter(Pattern(pattern).matches, self._topics)))

    def topic_id(self, name: str) -> bytes:
        return self._topics.get(name, (bytes(16), 0))[0]

    def topic_name(self, topic_id: bytes) -> str | None:
        return next((name for name, (topic, _) in self._topics.items() if topic == topic_id), None)


class World(Simulation):
    """One shard with the topics `t` and `u` unless said otherwise."""

    def __init__(self, settings: Mapping[str, str] | None = None, topics: Mapping[str, int] | None = None) -> None:
        self._fixed = FixedTopics(topics or {"t": 3, "u": 2})
        super().__init__(QUICK | dict(settings or {}))

    def start(self, *, clean: bool = False) -> None:
        self.topics = self._fixed  # type: ignore[assignment]
        super().start(clean=clean)

    restart = start

    @property
    def environment(self) -> Environment:
        return msgspec.structs.replace(super().environment, listing=TopicListing(self._fixed, lambda: METADATA_OFFSET))

    @property
    def fixed(self) -> FixedTopics:
        return self._fixed

    @property
    def consumer(self) -> ConsumerGroup:
        membership = self.whole_group.membership
        assert isinstance(membership, ConsumerGroup)
        return membership

    # ---- requests

    def _connection_of(self, name: str, member_id: str) -> ClientConnection:
        """That of a client of the classic protocol."""
        if self.exists and isinstance(self.whole_group.membership, ConsumerGroup):
            return self._open_connection(name)
        return super()._connection_of(name, member_id)

    def _open_connection(self, name: str) -> ClientConnection:
        found = self.connections.get(name)
        if found is None or not found.is_open:
            found = self.connections[name] = ClientConnection()
        return found

    def disconnect(self, member_id: str) -> None:
        """The process of a member ends, or something else closes its connection."""
        self.connections[f"client-{member_id}"].close(self.now_ms)

    def beat(
        self,
        member_id: str,
        epoch: int,
        *,
        names: Iterable[str] | None = None,
        pattern: str | None = None,
        owned: Owned | None = None,
        instance_id: str | None = None,
        timeout_ms: int = -1,
        assignor: str | None = None,
        rack_id: str | None = None,
        version: int = NEWEST,
    ) -> ConsumerGroupHeartbeatResponse:
        request = ConsumerGroupHeartbeatRequest(
            group_id=GROUP_ID,
            member_id=member_id,
            member_epoch=epoch,
            instance_id=instance_id,
            rack_id=rack_id,
            rebalance_timeout_ms=timeout_ms,
            subscribed_topic_names=names,
            subscribed_topic_regex=pattern,
            server_assignor=assignor,
            topic_partitions=None if owned is None else self._claimed(owned),
        )
        sent = Sent()
        name = f"client-{member_id}"
        connection = self._open_connection(name)
        self.submit(operations.CONSUMER_GROUP_HEARTBEAT, GROUP_ID, request, sent, name, version, connection)
        response = sent.response
        assert isinstance(response, ConsumerGroupHeartbeatResponse)
        return response

    def _claimed(self, owned: Owned) -> list[TopicPartitions]:
        return [
            TopicPartitions(topic_id=self._fixed.topic_id(name), partitions=list(indexes))
            for name, indexes in owned.items()
        ]

    def enter(
        self, member_id: str, *names: str, timeout_ms: int = REBALANCE_TIMEOUT_MS, **changes: Any
    ) -> ConsumerGroupHeartbeatResponse:
        """The first heartbeat of a member; it subscribes to `t` unless said otherwise."""
        subscribed = None if "pattern" in changes and not names else names or ("t",)
        return self.beat(member_id, 0, names=subscribed, owned={}, timeout_ms=timeout_ms, **changes)

    def depart(self, member_id: str, epoch: int = -1, instance_id: str | None = None) -> ErrorCode:
        return ErrorCode(self.beat(member_id, epoch, instance_id=instance_id).error_code)

    def described(self) -> DescribedGroup:
        sent = Sent()
        request = ConsumerGroupDescribeRequest(group_ids=[GROUP_ID])
        self.submit(operations.CONSUMER_GROUP_DESCRIBE, GROUP_ID, request, sent, "admin", NEWEST)
        (described,) = sent.response.groups
        return described  # type: ignore[no-any-return]

    def commit_offsets(
        self, member_id: str, epoch: int, offsets: Mapping[int, int], *, topic: str = "t", version: int = 9
    ) -> set[ErrorCode]:
        """Commit offsets by partition; returns the errors of the partitions."""
        partitions = [
            OffsetCommitRequestPartition(partition_index=index, committed_offset=offset)
            for index, offset in offsets.items()
        ]
        request = OffsetCommitRequest(
            group_id=GROUP_ID,
            generation_id_or_member_epoch=epoch,
            member_id=member_id,
            topics=[OffsetCommitRequestTopic(name=topic, partitions=partitions)],
        )
        sent = Sent()
        self.submit(operations.OFFSET_COMMIT, GROUP_ID, request, sent, "client", version)
        return {ErrorCode(partition.error_code) for topic in sent.response.topics for partition in topic.partitions}

    def fetch_error(self, member_id: str | None, epoch: int) -> ErrorCode:
        asked = OffsetFetchRequestGroup(
            group_id=GROUP_ID,
            member_id=member_id,
            member_epoch=epoch,
            topics=[OffsetFetchRequestTopics(name="t", partition_indexes=[0])],
        )
        sent = Sent()
        request = OffsetFetchRequest(groups=[asked])
        self.submit(operations.OFFSET_FETCH, GROUP_ID, request, sent, "client", 9)
        (group,) = sent.response.groups
        return ErrorCode(group.error_code)

    # ---- answers and state

    def given(self, response: ConsumerGroupHeartbeatResponse) -> dict[str, list[int]] | None:
        """The assignment of an answer, by name of topic; None: unchanged."""
        if response.assignment is None:
            return None
        return {
            self._fixed.topic_name(topic_partition.topic_id) or "?": list(topic_partition.partitions)
            for topic_partition in response.assignment.topic_partitions
        }

    def assigned(self, member_id: str) -> dict[str, list[int]]:
        return self._by_name(self.consumer.members[member_id].current.assigned)

    def pending_of(self, member_id: str) -> dict[str, list[int]]:
        return self._by_name(self.consumer.members[member_id].current.pending)

    def _by_name(self, partitions: Mapping[bytes, Iterable[int]]) -> dict[str, list[int]]:
        return {self._fixed.topic_name(topic_id) or "?": sorted(indexes) for topic_id, indexes in partitions.items()}

    def epoch(self, member_id: str) -> int:
        return self.consumer.members[member_id].current.epoch

    def written(self) -> list[tuple[int, bool]]:
        """(type of key, whether it has a value) of the records in the log, in order."""
        return [
            (prefix_of(record.key), record.value is not None)
            for _, batch in self.offsets_log.batches(0)
            for record in parse_records(batch)
            if record.key is not None
        ]
