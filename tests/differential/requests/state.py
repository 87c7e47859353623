"""A server that is asked, and the state that requests need there: topics, groups, producers."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from _wire.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from _wire.messages.add_partitions_to_txn import AddPartitionsToTxnRequest, AddPartitionsToTxnTopic
from _wire.messages.api_versions import ApiVersionsRequest
from _wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from _wire.messages.describe_log_dirs import DescribeLogDirsRequest
from _wire.messages.find_coordinator import FindCoordinatorRequest
from _wire.messages.init_producer_id import InitProducerIdRequest
from _wire.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from _wire.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from _wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from _wire.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from _wire.records import build_batch
from tests.differential.sides import is_coordinator
from tests.waiting import wait_for
from tests.wire_client import WireClient

TOPIC: Final = "orders"
PARTITIONS: Final = 2
RECORD_MS: Final = 1_700_000_000_000
"""The timestamp of all records."""
POOL_SIZE: Final = 40
"""Topics that are created at a time for cases that change one."""
START_SECONDS: Final = 60

Refs = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Ref:
    """Stands in a body for a value that each server has its own of."""

    name: str


@dataclass
class State:
    """One of the two servers, and what was made there."""

    name: str
    bootstrap: str
    client: WireClient
    versions: dict[int, tuple[int, int]] = field(default_factory=dict)
    """API key → first and last version."""
    topic_ids: dict[str, bytes] = field(default_factory=dict)
    pool: list[str] = field(default_factory=list)
    """Topics with one partition that no case has used yet."""
    pooled: int = 0
    """How many topics were ever in the pool."""

    @property
    def port(self) -> int:
        return int(self.bootstrap.rpartition(":")[2])

    def create_topics(self, names: list[str], partitions: int) -> None:
        topics = [CreatableTopic(name=name, num_partitions=partitions, replication_factor=1) for name in names]
        created = self.client.request(CreateTopicsRequest(topics=topics, timeout_ms=30_000), 7).topics
        assert all(each.error_code == 0 for each in created), (self.name, created)
        self.topic_ids |= {each.name: each.topic_id for each in created}
        wait_for(lambda: self._leads(names), START_SECONDS, f"{self.name} to lead new topics")

    def _leads(self, names: list[str]) -> bool:
        """Whether the first partition of each topic is served. A real Kafka needs some ms to become its leader."""
        latest = [ListOffsetsPartition(partition_index=0, timestamp=-1)]
        request = ListOffsetsRequest(replica_id=-1, topics=[ListOffsetsTopic(name=n, partitions=latest) for n in names])
        listed = self.client.request(request, 4).topics
        return not any(partition.error_code for topic in listed for partition in topic.partitions)


def start(name: str, bootstrap: str, client: WireClient | None = None) -> State:
    """Wait until the server coordinates groups and transactions, and make the topic that all cases share."""
    client = client or WireClient(bootstrap, "prepare")
    state = State(name, bootstrap, client)
    served = client.request(ApiVersionsRequest(), 0).api_keys
    state.versions = {each.api_key: (each.min_version, each.max_version) for each in served}
    wait_for(lambda: is_coordinator(client), START_SECONDS, f"{name} to coordinate groups")
    wait_for(lambda: _coordinates_transactions(client), START_SECONDS, f"{name} to coordinate transactions")
    state.create_topics([TOPIC], PARTITIONS)
    wait_for(lambda: client.produce(TOPIC, record_batch()).error_code == 0, START_SECONDS, f"{name} to lead {TOPIC}")
    return state


def _coordinates_transactions(client: WireClient) -> bool:
    ids = [f"warm-{number}" for number in range(200)]
    found = client.request(FindCoordinatorRequest(key_type=1, coordinator_keys=ids), 4).coordinators
    if any(each.error_code for each in found):
        return False
    return not any(
        client.request(InitProducerIdRequest(transactional_id=id_, transaction_timeout_ms=60_000), 4).error_code
        for id_ in ids
    )


def record_batch() -> bytes:
    """Two records with the timestamp RECORD_MS."""
    return bytes(build_batch([(b"k", b"a", ()), (b"k", b"b", ())], timestamp_ms=RECORD_MS))


# ---- what the cases need: each function returns what the Refs of a body stand for


def nothing(state: State, number: int) -> Refs:
    """The request needs no state of its own."""
    return {}


def shared_topic(state: State, number: int) -> Refs:
    """A topic with records that no case changes."""
    return {"topic": TOPIC, "topic_id": state.topic_ids[TOPIC]}


def new_topic(state: State, number: int) -> Refs:
    """A topic that only this case uses."""
    if not state.pool:
        state.pool = [f"t-{state.pooled + index}" for index in range(POOL_SIZE)]
        state.pooled += POOL_SIZE
        state.create_topics(state.pool, 1)
    name = state.pool.pop(0)
    return {"topic": name, "topic_id": state.topic_ids[name]}


def new_topic_and_directory(state: State, number: int) -> Refs:
    """A topic that only this case uses, and the log directory in which it is."""
    (directory,) = state.client.request(DescribeLogDirsRequest(topics=[]), 1).results
    return {**new_topic(state, number), "log_dir": directory.log_dir}


def group_name(state: State, number: int) -> Refs:
    """Names that nothing has yet."""
    return {"group": f"g-{number}", "new_name": f"new-{number}"}


def joining_member(state: State, number: int) -> Refs:
    """A group whose leader has joined and whose assignments are awaited."""
    group_id = f"g-{number}"
    joined = state.client.request(
        JoinGroupRequest(
            group_id=group_id,
            session_timeout_ms=30_000,
            rebalance_timeout_ms=30_000,
            member_id="",
            protocol_type="consumer",
            protocols=[JoinGroupRequestProtocol(name="range", metadata=b"m")],
        ),
        3,
    )
    assert (joined.error_code, joined.generation_id) == (0, 1), (state.name, joined)
    return {**shared_topic(state, number), "group": group_id, "member": joined.member_id}


def joined_member(state: State, number: int) -> Refs:
    """A Stable group with one member."""
    refs = joining_member(state, number)
    synced = state.client.request(
        SyncGroupRequest(
            group_id=refs["group"],
            generation_id=1,
            member_id=refs["member"],
            assignments=[SyncGroupRequestAssignment(member_id=refs["member"], assignment=b"a")],
        ),
        3,
    )
    assert synced.error_code == 0, (state.name, synced)
    return refs


def committed_group(state: State, number: int) -> Refs:
    """An empty group with a committed offset."""
    partition = OffsetCommitRequestPartition(partition_index=0, committed_offset=5, committed_metadata="m")
    topic = OffsetCommitRequestTopic(name=TOPIC, partitions=[partition])
    group_id = f"g-{number}"
    committed = state.client.request(OffsetCommitRequest(group_id=group_id, topics=[topic]), 8)
    assert committed.topics[0].partitions[0].error_code == 0, (state.name, committed)
    return {**shared_topic(state, number), "group": group_id}


def producer(state: State, number: int) -> Refs:
    """A producer with a transactional id and no transaction."""
    transactional_id = f"x-{number}"
    request = InitProducerIdRequest(transactional_id=transactional_id, transaction_timeout_ms=60_000)
    made = state.client.request(request, 4)
    assert made.error_code == 0, (state.name, made)
    return {
        "transactional_id": transactional_id,
        "producer_id": made.producer_id,
        "producer_epoch": made.producer_epoch,
        "group": f"g-{number}",
    }


def open_transaction(state: State, number: int) -> Refs:
    """A producer whose transaction has a partition."""
    refs = producer(state, number)
    added = state.client.request(
        AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=refs["transactional_id"],
            v3_and_below_producer_id=refs["producer_id"],
            v3_and_below_producer_epoch=refs["producer_epoch"],
            v3_and_below_topics=[AddPartitionsToTxnTopic(name=TOPIC, partitions=[0])],
        ),
        3,
    )
    assert added.results_by_topic_v3_and_below[0].results_by_partition[0].partition_error_code == 0, added
    return refs


def transaction_with_offsets(state: State, number: int) -> Refs:
    """A producer whose transaction has the offsets of a group."""
    refs = producer(state, number)
    added = state.client.request(
        AddOffsetsToTxnRequest(
            transactional_id=refs["transactional_id"],
            producer_id=refs["producer_id"],
            producer_epoch=refs["producer_epoch"],
            group_id=refs["group"],
        ),
        3,
    )
    assert added.error_code == 0, (state.name, added)
    return refs
