"""Requests about very many transactions are queued in portions, and answered in their order."""

from collections.abc import Iterator

import pytest

from _wire.errors import ErrorCode
from _wire.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)
from _wire.messages.describe_producers import DescribeProducersRequest, TopicRequest
from _wire.messages.describe_transactions import DescribeTransactionsRequest
from _wire.messages.find_coordinator import FindCoordinatorRequest
from _wire.messages.init_producer_id import InitProducerIdRequest
from coordinator.front.handlers.portions import KEYS_AT_MOST
from coordinator.node.handlers.transactions import TRANSACTIONS_AT_ONCE
from tests.hostile.in_process import InProcessServer, Peer

COUNT = 2_000
CALLS_OF_A_TURN_MAX = 200_000


@pytest.fixture
def server() -> Iterator[InProcessServer]:
    with InProcessServer({"transaction.state.log.num.partitions": "1"}) as running:
        peer = Peer(running)
        peer.request(FindCoordinatorRequest(key_type=1, coordinator_keys=["t"]), 4)
        initialize = InitProducerIdRequest(transactional_id="t", transaction_timeout_ms=60_000)
        running.turn_until(lambda: peer.request(initialize, 4).error_code == ErrorCode.NONE)
        yield running


@pytest.fixture
def queued(server) -> list[int]:
    """The sizes of the queue of the shard after each operation was queued."""
    transactions = server.node.data_plane.transactions
    sizes: list[int] = []
    enqueue = transactions._enqueue

    def counted(shard, operation):
        enqueue(shard, operation)
        sizes.append(shard.queue_size)

    transactions._enqueue = counted
    return sizes


def test_describe_transactions(server, queued):
    ids = [f"id-{number}" for number in range(COUNT)]
    ids[5], ids[7], ids[-1] = "t", "", "t"
    described = Peer(server).request(DescribeTransactionsRequest(transactional_ids=ids), 0).transaction_states
    assert [each.transactional_id for each in described] == ids
    assert described[7].error_code == ErrorCode.INVALID_REQUEST
    assert [described[each].transaction_state for each in (5, -1)] == ["Empty", "Empty"]
    assert {each.error_code for each in described[8:-1]} == {ErrorCode.TRANSACTIONAL_ID_NOT_FOUND}
    assert (len(queued), max(queued)) == (COUNT - 1, KEYS_AT_MOST)
    assert server.calls_max < CALLS_OF_A_TURN_MAX
    assert not server.node.groups.pending.unanswered


def test_add_partitions_to_many_transactions(server, queued):
    transactions = [
        AddPartitionsToTxnTransaction(transactional_id=f"id-{number}", producer_id=1, producer_epoch=0)
        for number in range(COUNT)
    ]
    answered = Peer(server).request(AddPartitionsToTxnRequest(transactions=transactions), 5)
    assert [result.transactional_id for result in answered.results_by_transaction] == [
        transaction.transactional_id for transaction in transactions
    ]
    assert (len(queued), max(queued)) == (COUNT, TRANSACTIONS_AT_ONCE)
    assert not server.node.groups.pending.unanswered


def test_what_is_named_twice_in_a_transaction_is_answered_once(server):
    topics = [("none", [0, 0]), ("nope", [1]), ("none", [2, 0]), ("empty", [])]
    transaction = AddPartitionsToTxnTransaction(
        transactional_id="t",
        producer_id=1,
        producer_epoch=0,
        verify_only=True,
        topics=[AddPartitionsToTxnTopic(name=name, partitions=indexes) for name, indexes in topics],
    )
    answered = Peer(server).request(AddPartitionsToTxnRequest(transactions=[transaction]), 4)
    (result,) = answered.results_by_transaction
    unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert [
        (topic.name, [(each.partition_index, each.partition_error_code) for each in topic.results_by_partition])
        for topic in result.topic_results
    ] == [("none", [(0, unknown), (2, unknown)]), ("nope", [(1, unknown)])]


def test_describe_producers_of_partitions_that_do_not_exist_takes_several_turns(server):
    topics = [TopicRequest(name="missing", partition_indexes=list(range(50_000)))]
    server.calls_max = 0
    described = Peer(server).request(DescribeProducersRequest(topics=topics), 0)
    assert len(described.topics[0].partitions) == 50_000
    assert server.calls_max < CALLS_OF_A_TURN_MAX
