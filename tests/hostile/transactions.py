"""Attacks with transactions: very many pending offsets, ids, markers and producers."""

from collections.abc import Iterator
from typing import Any, Final

from _wire.errors import ErrorCode
from _wire.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)
from _wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from _wire.messages.describe_producers import DescribeProducersRequest, TopicRequest
from _wire.messages.describe_transactions import DescribeTransactionsRequest
from _wire.messages.end_txn import EndTxnRequest
from _wire.messages.find_coordinator import FindCoordinatorRequest
from _wire.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from _wire.messages.list_transactions import ListTransactionsRequest
from _wire.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from _wire.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
)
from _wire.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from _wire.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
)
from _wire.records import build_batch
from coordinator.client.wire import ClientError
from coordinator.internal_topics import OFFSETS_TOPIC
from tests.hostile.attack import Attack
from tests.hostile.target import CountingClient, Target
from tests.waiting import wait_for

IDS: Final = 190_000
PENDING: Final = 50_000
"""Of each of two producers: together as many as `group.max.pending.offsets` allows."""
PARTITIONS_OF_TOPIC: Final = 10_000
TIMEOUT_MS: Final = 600_000


def _begin(client: CountingClient, transactional_id: str) -> InitProducerIdResponse:
    client.request(FindCoordinatorRequest(key_type=1, coordinator_keys=[transactional_id]), 4)
    request = InitProducerIdRequest(transactional_id=transactional_id, transaction_timeout_ms=TIMEOUT_MS)
    found: list[InitProducerIdResponse] = []

    def is_answered() -> bool:
        found.append(client.request(request, 4))
        return found[-1].error_code == ErrorCode.NONE

    wait_for(is_answered, 20, "the transaction coordinator")
    return found[-1]


def _wide_topics(client: CountingClient, prefix: str, count: int) -> dict[str, int]:
    """Topics with so many partitions together: name → partitions."""
    topics = {
        f"{prefix}-{start}": min(PARTITIONS_OF_TOPIC, count - start) for start in range(0, count, PARTITIONS_OF_TOPIC)
    }
    for name, partitions in topics.items():
        client.create_topic(name, partitions)
    return topics


def _commit(client: CountingClient, producer: InitProducerIdResponse, name: str, topics: dict[str, int]) -> None:
    for topic, count in topics.items():
        partitions = [
            TxnOffsetCommitRequestPartition(partition_index=index, committed_offset=1) for index in range(count)
        ]
        answered = client.request(
            TxnOffsetCommitRequest(
                transactional_id=name,
                group_id="pending",
                producer_id=producer.producer_id,
                producer_epoch=producer.producer_epoch,
                generation_id=-1,
                topics=[TxnOffsetCommitRequestTopic(name=topic, partitions=partitions)],
            ),
            5,
        )
        assert answered.topics[0].partitions[0].error_code == ErrorCode.NONE


def _end(client: CountingClient, producer: InitProducerIdResponse, name: str, *, committed: bool) -> None:
    request = EndTxnRequest(
        transactional_id=name,
        producer_id=producer.producer_id,
        producer_epoch=producer.producer_epoch,
        committed=committed,
    )
    assert client.request(request, 3).error_code == ErrorCode.NONE


def _wait_for_completion(client: CountingClient, name: str) -> None:
    def is_complete() -> bool:
        (described,) = client.request(DescribeTransactionsRequest(transactional_ids=[name]), 0).transaction_states
        return str(described.transaction_state).startswith("Complete")

    wait_for(is_complete, 120, "the markers", every_ms=50)


def _end_with_pending_offsets(target: Target, scale: float) -> Iterator[None]:
    """Two producers with the same partitions, and all that looks at pending offsets meanwhile."""
    with target.client() as client:
        topics = _wide_topics(client, "pending", int(PENDING * scale))
        producers = {name: _begin(client, name) for name in ("one", "other")}
        yield
        for name, producer in producers.items():
            _commit(client, producer, name, topics)
        stable = [OffsetFetchRequestTopics(name=name, partition_indexes=list(range(topics[name]))) for name in topics]
        client.request(
            OffsetFetchRequest(
                groups=[OffsetFetchRequestGroup(group_id="pending", topics=stable)], require_stable=True
            ),
            8,
        )
        # The one that committed last ends first: its offsets take the place of those of the other one.
        for name, producer in reversed(producers.items()):
            _end(client, producer, name, committed=name == "other")
            _wait_for_completion(client, name)


def _delete_pending_offsets(target: Target, scale: float) -> Iterator[None]:
    with target.client() as client:
        topics = _wide_topics(client, "deleted", int(PENDING / 5 * scale))
        producers = {name: _begin(client, name) for name in ("first", "second")}
        for name, producer in producers.items():
            _commit(client, producer, name, topics)
        yield
        for name, count in topics.items():
            partitions = [OffsetDeleteRequestPartition(partition_index=index) for index in range(count // 2)]
            request = OffsetDeleteRequest(
                group_id="pending", topics=[OffsetDeleteRequestTopic(name=name, partitions=partitions)]
            )
            client.request(request, 0)
        names = [DeleteTopicState(name=name) for name in topics]
        client.request(DeleteTopicsRequest(topics=names, timeout_ms=5_000), 6)


def _ask(target: Target, request: Any, version: int) -> None:
    """Send one request, and wait until it is answered or the connection is closed."""
    with target.client() as client:
        try:
            client.request(request, version)
        except ClientError:
            return


def _describe_transactions(target: Target, scale: float) -> Iterator[None]:
    with target.client() as client:
        _begin(client, "one")
    yield
    ids = [f"id-{number}" for number in range(int(IDS * scale))]
    _ask(target, DescribeTransactionsRequest(transactional_ids=ids), 0)


def _add_partitions(target: Target, scale: float) -> Iterator[None]:
    with target.client() as client:
        _begin(client, "one")
    yield
    transactions = [
        AddPartitionsToTxnTransaction(
            transactional_id=f"id-{number}",
            producer_id=number,
            producer_epoch=0,
            topics=[AddPartitionsToTxnTopic(name="victim", partitions=[0])],
        )
        for number in range(int(IDS / 3 * scale))
    ]
    _ask(target, AddPartitionsToTxnRequest(transactions=transactions), 5)


def _write_markers(target: Target, scale: float) -> Iterator[None]:
    yield
    markers = [
        WritableTxnMarker(
            producer_id=number,
            producer_epoch=32_767,
            transaction_result=True,
            coordinator_epoch=2**31 - 1,
            topics=[WritableTxnMarkerTopic(name=OFFSETS_TOPIC, partition_indexes=[0])],
        )
        for number in range(int(60_000 * scale))
    ]
    _ask(target, WriteTxnMarkersRequest(markers=markers), 1)


def _describe_producers(target: Target, scale: float) -> Iterator[None]:
    yield
    topics = [TopicRequest(name="missing", partition_indexes=list(range(int(IDS * scale))))]
    _ask(target, DescribeProducersRequest(topics=topics), 0)


def _list_transactions(target: Target, scale: float) -> Iterator[None]:
    with target.client() as client:
        _begin(client, "one")
        request = [
            client.send(InitProducerIdRequest(transactional_id=f"id-{number}", transaction_timeout_ms=TIMEOUT_MS), 4)
            for number in range(int(10_000 * scale))
        ]
        for each in request:
            client.receive(each)
    yield
    for _ in range(5):
        _ask(target, ListTransactionsRequest(), 1)


def _invented_producers(target: Target, scale: float) -> Iterator[None]:
    """Each batch makes the partition forget another producer."""
    with target.client() as client:
        client.create_topic("invented")
        yield
        for producer_id in range(10**9, 10**9 + int(20_000 * scale)):
            batch = build_batch(
                [(None, b"x", ())], timestamp_ms=1, producer_id=producer_id, producer_epoch=0, base_sequence=0
            )
            assert client.produce("invented", batch).error_code == ErrorCode.NONE


ATTACKS: Final = (
    Attack("EndTxn with 100,000 pending offsets of two producers", _end_with_pending_offsets),
    Attack("OffsetDelete, DeleteTopics of 10,000 partitions with pending offsets", _delete_pending_offsets),
    Attack("DescribeTransactions of 190,000 ids", _describe_transactions),
    Attack("AddPartitionsToTxn of 63,000 transactions", _add_partitions),
    Attack("WriteTxnMarkers of 60,000 markers", _write_markers),
    Attack("DescribeProducers of 190,000 partitions that do not exist", _describe_producers),
    Attack("ListTransactions of 10,000 ids, 5 times", _list_transactions),
    Attack("Produce of 20,000 invented producers", _invented_producers),
)
