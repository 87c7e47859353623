"""What is done while a server is killed, and what has to be there after its next start.

A worker asks for one thing after the other on one connection, so that at most one request is not answered when the
server ends: it may have happened or not, and both are right. What was answered has happened.
"""

import random
import time
from abc import ABC, abstractmethod
from collections import Counter
from typing import Any, Final

from _wire.errors import ErrorCode
from _wire.messages.alter_replica_log_dirs import (
    AlterReplicaLogDir,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirTopic,
)
from _wire.messages.create_topics import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from _wire.messages.delete_topics import DeleteTopicsRequest
from _wire.messages.describe_groups import DescribeGroupsRequest
from _wire.messages.describe_log_dirs import DescribeLogDirsRequest
from _wire.messages.init_producer_id import InitProducerIdRequest
from _wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from _wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from _wire.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestTopic
from _wire.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from _wire.records import build_batch
from tests.crash.reading import read_all
from tests.wire_client import WireClient, join_request

CREATE_VERSION, DELETE_VERSION, METADATA_VERSION = 5, 5, 9
COMMIT_VERSION, OFFSET_FETCH_VERSION = 7, 7
DESCRIBE_DIRS_VERSION, MOVE_VERSION = 4, 2
JOIN_VERSION, SYNC_VERSION, DESCRIBE_VERSION = 7, 5, 5
RETRIABLE: Final = frozenset(
    {
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.REBALANCE_IN_PROGRESS,
    }
)


class Worker(ABC):
    """One client. `problem` says what it found wrong while it worked."""

    def __init__(self, name: str, seed: int) -> None:
        self.name = name
        self.problem: str | None = None
        self.acknowledged: Counter[str] = Counter()
        self.random = random.Random(f"{name} {seed}")

    @abstractmethod
    def work(self, client: WireClient) -> None:
        """Do one thing. Raises ClientError when the server is gone, AssertionError when its answer is wrong."""

    @abstractmethod
    def check(self, client: WireClient) -> None:
        """After a start, while nobody works: all that was acknowledged is there. Raises AssertionError."""


class IdempotentProducer(Worker):
    """Each batch is in its partition once and in order; the one that was not acknowledged is sent again."""

    def __init__(self, name: str, partitions: int, seed: int) -> None:
        super().__init__(name, seed)
        self._partitions = partitions
        self._is_created = False
        self._producer: tuple[int, int] | None = None
        self._sent: list[list[list[bytes]]] = [[] for _ in range(partitions)]
        """By partition, the values of each batch; only the last one of all may be unacknowledged."""
        self._unacknowledged: int | None = None
        """The partition of the batch that was not acknowledged."""
        self._number = 0

    def work(self, client: WireClient) -> None:
        if not self._is_created:
            create(client, self.name, self._partitions)
            self._is_created = True
        if self._producer is None:
            answer = client.request(InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=0), 1)
            assert answer.error_code == ErrorCode.NONE, answer
            self._producer = answer.producer_id, answer.producer_epoch
        if self._unacknowledged is None:
            self._unacknowledged = self.random.randrange(self._partitions)
            values = [f"{self._number + i}".encode() for i in range(self.random.randint(1, 20))]
            self._number += len(values)
            self._sent[self._unacknowledged].append(values)
        self._send(client, self._unacknowledged, self._producer)

    def _send(self, client: WireClient, partition: int, producer: tuple[int, int]) -> None:
        *before, values = self._sent[partition]
        batch = build_batch(
            [(None, value, ()) for value in values],
            producer_id=producer[0],
            producer_epoch=producer[1],
            base_sequence=sum(map(len, before)),
            # Without a time, a start would forget the producer as expired (producer.id.expiration.ms).
            timestamp_ms=int(time.time() * 1000),
            compression=self.random.choice(["none", "lz4", "zstd"]),
        )
        answer = client.produce(self.name, batch, partition=partition)
        assert answer.error_code == ErrorCode.NONE, f"a batch of {self.name}-{partition}: error {answer.error_code}"
        assert answer.base_offset == sum(map(len, before)), (
            f"{answer.base_offset} after {sum(map(len, before))} records"
        )
        self._unacknowledged = None
        self.acknowledged["batches"] += 1

    @property
    def is_created(self) -> bool:
        return self._is_created

    def written(self) -> dict[tuple[str, int], int]:
        """Topic and partition → how many records were acknowledged."""
        counts = {}
        for partition, batches in enumerate(self._sent):
            known = batches[:-1] if partition == self._unacknowledged else batches
            counts[self.name, partition] = sum(map(len, known))
        return counts

    def check(self, client: WireClient) -> None:
        if not self._is_created:
            return
        for partition, batches in enumerate(self._sent):
            sent = [value for batch in batches for value in batch]
            found = [record.value for record in read_all(client, self.name, partition)]
            needed = len(sent)
            if partition == self._unacknowledged and len(found) < len(sent):
                needed -= len(batches[-1])
            where = f"{self.name}-{partition}"
            assert found == sent[:needed], f"{where}: {needed} records acknowledged, {len(found)} found, or others"


class CompactedTopic(Worker):
    """The last value of each key survives, and no earlier one comes after it."""

    KEYS: Final = 20

    def __init__(self, name: str, seed: int) -> None:
        super().__init__(name, seed)
        self._is_created = False
        self._acknowledged: dict[bytes, int] = {}
        self._sent: dict[bytes, int] = {}
        self._number = 0

    def work(self, client: WireClient) -> None:
        if not self._is_created:
            configs = {"cleanup.policy": "compact", "segment.bytes": "1048576", "min.cleanable.dirty.ratio": "0.01"}
            create(client, self.name, 1, configs | {"file.delete.delay.ms": "100"})
            self._is_created = True
        self._number += 1
        keys = self.random.sample(range(self.KEYS), 5)
        records = [(f"key-{key}".encode(), self._number.to_bytes(8, "big") + bytes(4_000), ()) for key in keys]
        self._sent |= {key: self._number for key, _, _ in records}
        answer = client.produce(self.name, build_batch(records, compression=self.random.choice(["none", "zstd"])))
        assert answer.error_code == ErrorCode.NONE, f"{self.name}: error {answer.error_code}"
        self._acknowledged |= {key: self._number for key, _, _ in records}
        self.acknowledged["keyed batches"] += 1

    def check(self, client: WireClient) -> None:
        if not self._is_created:
            return
        found: dict[bytes, int] = {}
        for record in read_all(client, self.name, 0):
            assert record.key is not None and record.value is not None, record
            number = int.from_bytes(record.value[:8], "big")
            assert found.get(record.key, 0) < number, f"{record.key!r}: {number} comes after {found[record.key]}"
            found[record.key] = number
        for key, number in self._acknowledged.items():
            allowed = {number, self._sent[key]}
            assert found.get(key) in allowed, f"{key!r}: {found.get(key)} found, {sorted(allowed)} sent"
        # From now on they may not change back, though not all were acknowledged.
        self._acknowledged, self._sent = dict(found), dict(found)


class CommittingClient(Worker):
    """The committed offsets of all partitions are those of the last commit, or of the one that was not answered."""

    TOPIC: Final = "committed"
    PARTITIONS: Final = 3

    def __init__(self, name: str, seed: int) -> None:
        super().__init__(name, seed)
        self._is_created = False
        self._acknowledged = -1
        self._sent = -1

    def work(self, client: WireClient) -> None:
        if not self._is_created:
            create(client, self.TOPIC, self.PARTITIONS)
            self._is_created = True
        self._sent = self._acknowledged + 1 + self.random.randrange(3)
        # The metadata fills segments, so that they are cleaned.
        partitions = [
            OffsetCommitRequestPartition(
                partition_index=index,
                committed_offset=self._sent,
                committed_metadata="m" * self.random.choice([0, 2_000]),
            )
            for index in range(self.PARTITIONS)
        ]
        topic = OffsetCommitRequestTopic(name=self.TOPIC, partitions=partitions)
        request = OffsetCommitRequest(group_id=self.name, topics=[topic])
        (answered,) = client.request(request, COMMIT_VERSION).topics
        errors = {partition.error_code for partition in answered.partitions}
        if errors <= RETRIABLE:
            return
        assert errors == {ErrorCode.NONE}, f"OffsetCommit: {errors}"
        self._acknowledged = self._sent
        self.acknowledged["commits"] += 1

    def check(self, client: WireClient) -> None:
        if self._sent < 0:
            return
        topic = OffsetFetchRequestTopic(name=self.TOPIC, partition_indexes=list(range(self.PARTITIONS)))
        request = OffsetFetchRequest(group_id=self.name, topics=[topic])
        answer = client.request(request, OFFSET_FETCH_VERSION)
        while answer.error_code in RETRIABLE:
            answer = client.request(request, OFFSET_FETCH_VERSION)
        assert answer.error_code == ErrorCode.NONE, f"OffsetFetch: error {answer.error_code}"
        found = {partition.committed_offset for topic in answer.topics for partition in topic.partitions}
        allowed = {self._acknowledged, self._sent}
        assert len(found) == 1 and found <= allowed, f"{self.name}: {found} committed, {allowed} sent"
        # From now on it may not change back, though it was not acknowledged.
        (self._acknowledged,) = found
        self._sent = self._acknowledged


class StaticMember(Worker):
    """The generation that was synced last is there with its static member, or a later one."""

    def __init__(self, group_id: str, seed: int) -> None:
        super().__init__(group_id, seed)
        self._instance_id = f"{group_id}-instance"
        self._member_id = ""
        self._generation_id = 0

    def work(self, client: WireClient) -> None:
        # Sometimes as a member that has lost its id, sometimes with another subscription.
        member_id = self._member_id if self.random.random() < 0.7 else ""
        metadata = self.random.choice([b"one", b"two"])
        request = join_request(self.name, member_id, instance_id=self._instance_id, metadata=metadata)
        joined = client.request(request, JOIN_VERSION)
        if joined.error_code in RETRIABLE:
            return
        if joined.error_code in (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_INSTANCE_ID):
            # The answer to a join that replaced this member was lost with the server.
            self._member_id = ""
            return
        assert joined.error_code == ErrorCode.NONE, f"JoinGroup: error {joined.error_code}"
        assert joined.generation_id >= self._generation_id, (
            f"generation {joined.generation_id} after {self._generation_id}"
        )
        self._member_id = joined.member_id
        sync = SyncGroupRequest(
            group_id=self.name,
            generation_id=joined.generation_id,
            member_id=joined.member_id,
            group_instance_id=self._instance_id,
            protocol_type="consumer",
            protocol_name="range",
            assignments=[SyncGroupRequestAssignment(member_id=joined.member_id, assignment=metadata)],
        )
        synced = client.request(sync, SYNC_VERSION)
        if synced.error_code in RETRIABLE:
            return
        assert synced.error_code == ErrorCode.NONE, f"SyncGroup: error {synced.error_code}"
        self._generation_id = joined.generation_id
        self.acknowledged["generations"] += 1

    def check(self, client: WireClient) -> None:
        if not self._generation_id:
            return
        group = described_group(client, DescribeGroupsRequest(groups=[self.name]), DESCRIBE_VERSION)
        assert group.group_state == "Stable", f"{self.name} is {group.group_state}"
        (member,) = group.members
        assert member.group_instance_id == self._instance_id, member


class ShortLivedTopics(Worker):
    """A topic is there exactly when it was created last, and never has records of an earlier topic of its name."""

    NAMES: Final = tuple(f"short-lived-{number}" for number in range(3))

    def __init__(self, seed: int) -> None:
        super().__init__("short-lived topics", seed)
        self._exists: dict[str, set[bool]] = {name: {False} for name in self.NAMES}
        """Whether it exists; both while the answer to a request about it is missing."""
        self._number = 0
        self._written: dict[str, int] = {}
        """Name → the smallest number that a record of the topic of this name may have."""

    def work(self, client: WireClient) -> None:
        name = self.random.choice(self.NAMES)
        if self._exists[name] == {True}:
            if self.random.random() < 0.5:
                self._produce(client, name)
            else:
                self._delete(client, name)
        else:
            self._create(client, name)

    def _create(self, client: WireClient, name: str) -> None:
        self._number += 1
        if self._exists[name] == {False}:
            self._written[name] = self._number
        self._exists[name] = {False, True}
        create(client, name, 2)
        self._exists[name] = {True}
        self.acknowledged["topics created"] += 1

    def _delete(self, client: WireClient, name: str) -> None:
        self._exists[name] = {False, True}
        request = DeleteTopicsRequest(topic_names=[name], timeout_ms=5000)
        (answer,) = client.request(request, DELETE_VERSION).responses
        assert answer.error_code in (ErrorCode.NONE, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION), answer
        self._exists[name] = {False}
        self.acknowledged["topics deleted"] += 1

    def _produce(self, client: WireClient, name: str) -> None:
        self._number += 1
        answer = client.produce(name, build_batch([(None, str(self._number).encode(), ())]))
        assert answer.error_code == ErrorCode.NONE, f"{name}: error {answer.error_code}"

    def check(self, client: WireClient) -> None:
        for name, exists in self._exists.items():
            asked = [MetadataRequestTopic(name=name)]
            request = MetadataRequest(topics=asked, allow_auto_topic_creation=False)
            (topic,) = client.request(request, METADATA_VERSION).topics
            found = topic.error_code == ErrorCode.NONE
            assert found in exists, (
                f"{name} {'exists' if found else 'does not exist'}, contrary to what was acknowledged"
            )
            if found:
                numbers = [int(record.value or b"0") for record in read_all(client, name, 0)]
                old = [number for number in numbers if number < self._written[name]]
                assert not old, f"{name} has the records {old} of an earlier topic of this name"
            self._exists[name] = {found}


class PartitionMover(Worker):
    """Each partition is in one log directory, and in no second one but as a copy on its way."""

    def work(self, client: WireClient) -> None:
        described = self._described(client)
        partitions = [(name, index) for name, index, _, is_future in described if not is_future]
        name, index = self.random.choice(partitions)
        path = self.random.choice(self._paths)
        topics = [AlterReplicaLogDirTopic(name=name, partitions=[index])]
        request = AlterReplicaLogDirsRequest(dirs=[AlterReplicaLogDir(path=path, topics=topics)])
        ((answer,),) = (result.partitions for result in client.request(request, MOVE_VERSION).results)
        # Its topic may have been deleted since.
        expected = (ErrorCode.NONE, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        assert answer.error_code in expected, f"{name}-{index} to {path}: error {answer.error_code}"
        self.acknowledged["moves"] += answer.error_code == ErrorCode.NONE and len(self._paths) > 1

    def check(self, client: WireClient) -> None:
        described = self._described(client)
        logs = Counter((name, index) for name, index, _, is_future in described if not is_future)
        double = [key for key, count in logs.items() if count > 1]
        assert not double, f"{double} are in several log directories"
        lost = [(name, index) for name, index, _, _ in described if (name, index) not in logs]
        assert not lost, f"of {lost} there are only copies"

    def _described(self, client: WireClient) -> list[tuple[str, int, str, bool]]:
        """Topic, partition, log directory, and whether it is a copy."""
        results = client.request(DescribeLogDirsRequest(topics=None), DESCRIBE_DIRS_VERSION).results
        self._paths = [result.log_dir for result in results]
        return [
            (topic.name, partition.partition_index, result.log_dir, partition.is_future_key)
            for result in results
            for topic in result.topics
            for partition in topic.partitions
        ]


def described_group(client: WireClient, request: Any, version: int) -> Any:
    """The one group that a request asks to describe, once it is loaded. Raises AssertionError: it has an error."""
    (group,) = client.request(request, version).groups
    while group.error_code in RETRIABLE:
        (group,) = client.request(request, version).groups
    assert group.error_code == ErrorCode.NONE, f"{type(request).__name__}: error {group.error_code}"
    return group


def create(client: WireClient, name: str, partitions: int, configs: dict[str, str] | None = None) -> None:
    """Create a topic that may be there already: the answer to the request before may have been lost."""
    entries = [CreatableTopicConfig(name=key, value=value) for key, value in (configs or {}).items()]
    topic = CreatableTopic(name=name, num_partitions=partitions, replication_factor=1, configs=entries)
    (answer,) = client.request(CreateTopicsRequest(topics=[topic], timeout_ms=5000), CREATE_VERSION).topics
    assert answer.error_code in (ErrorCode.NONE, ErrorCode.TOPIC_ALREADY_EXISTS), answer
