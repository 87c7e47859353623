"""The APIs of transactions, as a client sees them."""

from collections.abc import Iterator
from typing import Final

import pytest

from _wire.errors import ErrorCode
from _wire.messages.end_txn import EndTxnRequest
from _wire.messages.find_coordinator import FindCoordinatorRequest
from _wire.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from _wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from _wire.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from _wire.records import build_batch
from coordinator.audit import schema
from coordinator.client.audit_topic import AuditTopic
from tests.servers import RunningServer
from tests.waiting import wait_for
from tests.wire_client import WireClient

ADDS_PARTITIONS: Final = 12
RAISES_EPOCH: Final = 5
TRANSACTIONS: Final = 30


@pytest.fixture
def client(tmp_path) -> Iterator[WireClient]:
    """Of a server whose markers are durable before a transaction is complete, so that this takes some time."""
    settings = {"log.flush.policy": "always", "add.partitions.to.txn.retry.backoff.max.ms": "10000"}
    with RunningServer(tmp_path, settings) as server, WireClient(server.bootstrap) as connected:
        yield connected


def initialize(client: WireClient) -> InitProducerIdResponse:
    client.request(FindCoordinatorRequest(key_type=1, coordinator_keys=["t"]), 4)
    request = InitProducerIdRequest(transactional_id="t", transaction_timeout_ms=60_000)
    wait_for(lambda: client.request(request, 4).error_code == 0, 10, "the transaction coordinator")
    response: InitProducerIdResponse = client.request(request, 4)
    return response


def test_a_produce_waits_until_the_transaction_before_it_has_ended(client):
    client.create_topic("orders")
    producer = initialize(client)
    errors = []
    for _ in range(TRANSACTIONS):
        records = build_batch(
            [(None, b"v", ())],
            timestamp_ms=1,
            producer_id=producer.producer_id,
            producer_epoch=producer.producer_epoch,
            base_sequence=0,
            is_transactional=True,
        )
        data = TopicProduceData(name="orders", partition_data=[PartitionProduceData(index=0, records=records)])
        produce = ProduceRequest(transactional_id="t", acks=-1, topic_data=[data])
        produced = client.request(produce, ADDS_PARTITIONS)
        errors.append(ErrorCode(produced.responses[0].partition_responses[0].error_code))
        end = EndTxnRequest(
            transactional_id="t",
            producer_id=producer.producer_id,
            producer_epoch=producer.producer_epoch,
            committed=True,
        )
        producer = client.request(end, RAISES_EPOCH)
    assert errors == [ErrorCode.NONE] * TRANSACTIONS


def commit_offsets(client: WireClient, producer: InitProducerIdResponse) -> ErrorCode:
    partition = TxnOffsetCommitRequestPartition(partition_index=0, committed_offset=1)
    request = TxnOffsetCommitRequest(
        transactional_id="t",
        group_id="g",
        producer_id=producer.producer_id,
        producer_epoch=producer.producer_epoch,
        topics=[TxnOffsetCommitRequestTopic(name="orders", partitions=[partition])],
    )
    return ErrorCode(client.request(request, RAISES_EPOCH).topics[0].partitions[0].error_code)


def test_a_commit_of_a_fenced_producer_is_in_the_audit_of_its_group(client):
    client.create_topic("orders")
    old = initialize(client)
    wait_for(lambda: commit_offsets(client, old) is ErrorCode.NONE, 10, "the group's coordinator")
    initialize(client)  # a newer producer with this transactional id
    assert commit_offsets(client, old) is ErrorCode.INVALID_PRODUCER_EPOCH

    def rejections() -> list[schema.RequestRejected]:
        with AuditTopic(client.bootstrap) as topic:
            events = [record.event for record in topic.group_events("g")]
        return [event for event in events if isinstance(event, schema.RequestRejected)]

    (event,) = wait_for(rejections, 10, "the rejection in the audit", every_ms=50)
    assert (event.api, event.error, event.transactional_id) == ("TxnOffsetCommit", "INVALID_PRODUCER_EPOCH", "t")
    assert event.member.client_host == "/127.0.0.1"
