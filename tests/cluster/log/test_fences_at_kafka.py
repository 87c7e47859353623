"""What a real Kafka makes of the batches by which nodes fence each other."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

from _wire.errors import ErrorCode
from _wire.messages.find_coordinator import FindCoordinatorRequest
from _wire.messages.init_producer_id import InitProducerIdRequest
from _wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from coordinator.client.wire import WireConnection
from coordinator.cluster.log.access import ProducerIdentity
from coordinator.cluster.log.notes import EPOCH_MAX
from coordinator.cluster.log.writer import PartitionWriter
from tests.differential.kafka import KafkaMissing, RunningKafka
from tests.waiting import wait_for

pytestmark = pytest.mark.realtime

TOPIC = "fenced"
VERSION = 9
TRANSACTION = 1
"""The type of key that FindCoordinator has for transactional ids."""
SECONDS = 60


class Partition:
    """One partition of a real Kafka, to which batches are appended."""

    def __init__(self, connection: WireConnection) -> None:
        self._connection = connection

    def identity(self, transactional_id: str) -> ProducerIdentity:
        """Of the next epoch."""
        request = InitProducerIdRequest(transactional_id=transactional_id, transaction_timeout_ms=60_000)
        found: list[ProducerIdentity] = []

        def is_given() -> bool:
            # The first lookup creates the log of transactions.
            self._connection.request(FindCoordinatorRequest(key=transactional_id, key_type=TRANSACTION), 3)
            response = self._connection.request(request, 4)
            if response.error_code == ErrorCode.NONE:
                found.append(ProducerIdentity(response.producer_id, response.producer_epoch))
            return bool(found)

        wait_for(is_given, SECONDS, "a producer id", every_ms=100)
        return found[0]

    def append(self, writer: PartitionWriter) -> ErrorCode:
        (built,) = writer.build([(b"key", b"value")], 1_700_000_000_000, 1 << 20)
        partition = PartitionProduceData(index=0, records=built.data)
        topic = TopicProduceData(name=TOPIC, partition_data=[partition])
        request = ProduceRequest(acks=-1, timeout_ms=10_000, topic_data=[topic])
        (answered,) = self._connection.request(request, VERSION).responses[0].partition_responses
        return ErrorCode(answered.error_code)


@pytest.fixture(scope="module")
def partition(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Partition]:
    folder: Path = tmp_path_factory.mktemp("kafka")
    settings = {"transaction.state.log.num.partitions": "1", "transaction.state.log.replication.factor": "1"}
    try:
        kafka = RunningKafka(folder, {**settings, "transaction.state.log.min.isr": "1"}).__enter__()
    except KafkaMissing as missing:
        pytest.skip(str(missing))
    try:
        admin = AdminClient({"bootstrap.servers": kafka.bootstrap})
        admin.create_topics([NewTopic(TOPIC, 1, 1)])[TOPIC].result(SECONDS)
        with WireConnection(kafka.bootstrap, "test") as connection:
            yield Partition(connection)
    finally:
        kafka.__exit__(None, None, None)


def test_an_epoch_is_refused_after_a_batch_of_the_next_one(partition: Partition) -> None:
    first = PartitionWriter(partition.identity("next-epoch"))
    second = PartitionWriter(partition.identity("next-epoch"))
    assert first.identity.producer_id == second.identity.producer_id
    assert partition.append(first) is ErrorCode.NONE
    assert partition.append(first) is ErrorCode.NONE, "an epoch that was given out fences nothing by itself"
    assert partition.append(second) is ErrorCode.NONE
    assert partition.append(first) is ErrorCode.INVALID_PRODUCER_EPOCH
    assert partition.append(second) is ErrorCode.NONE


def test_all_epochs_are_refused_after_a_batch_of_the_last_one(partition: Partition) -> None:
    writer = PartitionWriter(partition.identity("last-epoch"))
    assert partition.append(writer) is ErrorCode.NONE
    fence = PartitionWriter(ProducerIdentity(writer.identity.producer_id, EPOCH_MAX))
    assert partition.append(fence) is ErrorCode.NONE
    later = PartitionWriter(partition.identity("last-epoch"))
    assert later.identity.producer_id == writer.identity.producer_id
    assert {partition.append(writer), partition.append(later)} == {ErrorCode.INVALID_PRODUCER_EPOCH}
