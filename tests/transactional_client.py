"""A transactional producer as bytes on a connection, step by step."""

from typing import Final

from _wire.messages.end_txn import EndTxnRequest
from _wire.messages.find_coordinator import FindCoordinatorRequest
from _wire.messages.init_producer_id import InitProducerIdRequest
from _wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from _wire.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from _wire.records import build_batch
from tests.waiting import wait_for
from tests.wire_client import WireClient

ADDS_PARTITIONS: Final = 12
RAISES_EPOCH: Final = 5
"""The versions of Produce and of the others with which the server adds partitions and raises epochs (KIP-890)."""


class TransactionalProducer:
    """One transaction after the other, each of which begins with its first records or offsets."""

    def __init__(self, client: WireClient, transactional_id: str, timeout_ms: int = 60_000) -> None:
        self._client = client
        self._id = transactional_id
        client.request(FindCoordinatorRequest(key_type=1, coordinator_keys=[transactional_id]), 4)
        request = InitProducerIdRequest(transactional_id=transactional_id, transaction_timeout_ms=timeout_ms)

        def initialized() -> bool:
            self._producer = client.request(request, 4)
            return bool(self._producer.error_code == 0)

        wait_for(initialized, 10, "the transaction coordinator")

    def send(self, topic: str, count: int, timestamp_ms: int = 1) -> None:
        """The first records of a transaction in partition 0 of a topic."""
        records = build_batch(
            [(None, b"v", ())] * count,
            timestamp_ms=timestamp_ms,
            producer_id=self._producer.producer_id,
            producer_epoch=self._producer.producer_epoch,
            base_sequence=0,
            is_transactional=True,
        )
        data = TopicProduceData(name=topic, partition_data=[PartitionProduceData(index=0, records=records)])
        request = ProduceRequest(transactional_id=self._id, acks=-1, topic_data=[data])
        answer = self._client.request(request, ADDS_PARTITIONS)
        assert answer.responses[0].partition_responses[0].error_code == 0

    def send_offset(self, group_id: str, topic: str, offset: int) -> None:
        """An offset of partition 0, as part of the transaction."""
        partition = TxnOffsetCommitRequestPartition(partition_index=0, committed_offset=offset)
        request = TxnOffsetCommitRequest(
            transactional_id=self._id,
            group_id=group_id,
            producer_id=self._producer.producer_id,
            producer_epoch=self._producer.producer_epoch,
            topics=[TxnOffsetCommitRequestTopic(name=topic, partitions=[partition])],
        )
        assert self._client.request(request, RAISES_EPOCH).topics[0].partitions[0].error_code == 0

    def end(self, *, committed: bool = True) -> None:
        request = EndTxnRequest(
            transactional_id=self._id,
            producer_id=self._producer.producer_id,
            producer_epoch=self._producer.producer_epoch,
            committed=committed,
        )
        self._producer = self._client.request(request, RAISES_EPOCH)
        assert self._producer.error_code == 0
