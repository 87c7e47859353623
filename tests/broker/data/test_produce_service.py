"""What ProduceService appends and rejects; the sequence rules of idempotent producers (KIP-98)."""

from typing import Any, Final

import pytest

from _wire.errors import ErrorCode
from _wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from coordinator.runtime.slices import at_once
from tests.broker.virtual_broker import BY_NAME, START_MS, VirtualBroker, batch
from tests.wire_client import fetch_request

NONE: Final = ErrorCode.NONE
GAP: Final = ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
FENCED: Final = ErrorCode.INVALID_PRODUCER_EPOCH
LAST_SEQUENCE: Final = 2**31 - 1
PRODUCER: Final = 7


@pytest.fixture
def broker() -> VirtualBroker:
    broker = VirtualBroker()
    broker.create_topic("orders", 2)
    return broker


class Producer:
    """Sends batches of `records` records and returns error and base offset."""

    def __init__(self, broker: VirtualBroker, producer_id: int = PRODUCER) -> None:
        self._broker = broker
        self._producer_id = producer_id

    def send(self, sequence: int, records: int = 1, epoch: int = 0, partition: int = 0) -> tuple[ErrorCode, int]:
        fields = {"producer_id": self._producer_id, "producer_epoch": epoch, "base_sequence": sequence}
        answer = self._broker.produce("orders", batch(*[b"a"] * records, **fields), partition)
        return ErrorCode(answer.error_code), answer.base_offset


@pytest.fixture
def producer(broker: VirtualBroker) -> Producer:
    return Producer(broker)


def records_in(broker: VirtualBroker, partition: int = 0) -> int:
    return len(broker.fetch(fetch_request("orders", partition=partition)).values)


# ---- in order


def test_batches_in_order_are_appended(broker, producer):
    assert [producer.send(0, 3), producer.send(3), producer.send(4, 2)] == [(NONE, 0), (NONE, 3), (NONE, 4)]
    assert records_in(broker) == 6


def test_a_producer_that_is_not_known_may_start_anywhere(producer):
    """Its state may have been removed with the records that held it, as on Kafka."""
    assert producer.send(41) == (NONE, 0)
    assert producer.send(42) == (NONE, 1)


@pytest.mark.parametrize("sequence", [0, 1, 3, 4, LAST_SEQUENCE])
def test_a_batch_that_does_not_follow_the_last_one_is_rejected(broker, producer, sequence):
    producer.send(0, 2)
    assert producer.send(sequence) == (GAP, -1)
    assert records_in(broker) == 2


def test_after_a_rejected_batch_the_one_in_order_is_appended(producer):
    producer.send(0)
    assert producer.send(2) == (GAP, -1)
    assert producer.send(1) == (NONE, 1)


def test_sequences_wrap_around_after_the_largest(producer):
    assert producer.send(LAST_SEQUENCE) == (NONE, 0)
    assert producer.send(1) == (GAP, -1)
    assert producer.send(0) == (NONE, 1)


def test_a_batch_whose_own_sequences_wrap_around_is_followed_and_recognized(producer):
    assert producer.send(LAST_SEQUENCE - 1, 4) == (NONE, 0)
    assert producer.send(LAST_SEQUENCE - 1, 4) == (NONE, 0)
    assert producer.send(2) == (NONE, 4)


# ---- duplicates


def test_each_of_the_last_five_batches_is_answered_with_its_offset_and_not_appended(broker, producer):
    sent = [producer.send(2 * number, 2) for number in range(6)]
    assert [producer.send(2 * number, 2) for number in range(1, 6)] == sent[1:]
    assert producer.send(0, 2) == (GAP, -1), "older than five batches"
    assert records_in(broker) == 12


@pytest.mark.parametrize(("sequence", "records"), [(0, 2), (0, 4), (1, 2), (2, 1)])
def test_a_batch_that_only_overlaps_is_no_duplicate(broker, producer, sequence, records):
    producer.send(0, 3)
    assert producer.send(sequence, records) == (GAP, -1)
    assert records_in(broker) == 3


# ---- epochs


def test_an_older_epoch_is_fenced_also_with_the_next_sequence(producer):
    assert producer.send(0, epoch=2) == (NONE, 0)
    for sequence in (0, 1):
        assert producer.send(sequence, epoch=1) == (FENCED, -1)
    assert producer.send(1, epoch=2) == (NONE, 1)


def test_a_newer_epoch_starts_at_zero(producer):
    producer.send(0, 5)
    assert producer.send(5, epoch=1) == (GAP, -1)
    assert producer.send(0, epoch=1) == (NONE, 5)
    assert producer.send(1, epoch=1) == (NONE, 6)


def test_a_batch_of_an_older_epoch_is_no_duplicate_in_a_newer_one(producer):
    producer.send(0)
    assert producer.send(0, epoch=1) == (NONE, 1)
    assert producer.send(0, epoch=1) == (NONE, 1)
    assert producer.send(0, epoch=0) == (FENCED, -1)


# ---- who counts together


def test_sequences_are_per_producer_and_partition(broker, producer):
    other = Producer(broker, PRODUCER + 1)
    assert producer.send(0, 2) == (NONE, 0)
    assert other.send(0) == (NONE, 2)
    assert producer.send(0, partition=1) == (NONE, 0)
    assert producer.send(2) == (NONE, 3)


def test_batches_without_a_producer_id_are_never_duplicates(broker):
    for offset in range(3):
        answer = broker.produce("orders", batch(b"a"))
        assert (answer.error_code, answer.base_offset) == (NONE, offset)


@pytest.mark.parametrize("clean", [True, False])
def test_a_restart_reads_the_producers_from_the_log(broker, producer, clean):
    producer.send(0, 2)
    producer.send(2)
    producer.send(0, epoch=1)
    broker.close(clean=clean)
    again = Producer(VirtualBroker(fs=broker.fs))
    assert again.send(0, epoch=1) == (NONE, 3), "the duplicate"
    assert again.send(2, epoch=1) == (GAP, -1)
    assert again.send(3, epoch=0) == (FENCED, -1)
    assert again.send(1, epoch=1) == (NONE, 4)


def test_producers_of_a_deleted_topic_are_forgotten(broker, producer):
    producer.send(0, 5)
    broker.topics.delete(["orders"], broker.clock.now_ms())
    broker.create_topic("orders")
    assert producer.send(0) == (NONE, 0)


def test_a_failed_append_leaves_the_sequence_as_it_was(broker, producer):
    producer.send(0)
    broker.fs.is_full = True
    assert producer.send(1) == (ErrorCode.KAFKA_STORAGE_ERROR, -1)
    broker.fs.is_full = False
    assert producer.send(2) == (GAP, -1)
    assert producer.send(1) == (NONE, 1)


# ---- requests


@pytest.mark.parametrize("acks", [-2, 2, 127])
def test_acks_that_do_not_exist_are_rejected(broker, acks):
    answer = broker.produce("orders", batch(b"a"), acks=acks)
    assert (answer.error_code, answer.base_offset) == (ErrorCode.INVALID_REQUIRED_ACKS, -1)
    assert records_in(broker) == 0


@pytest.mark.parametrize(
    ("records", "error"),
    [
        (None, ErrorCode.INVALID_RECORD),
        (b"", ErrorCode.INVALID_RECORD),
        (batch(b"a") + batch(b"b"), ErrorCode.INVALID_RECORD),
        (batch(b"a", is_control=True), ErrorCode.INVALID_RECORD),
        (batch(b"a")[:-1], ErrorCode.INVALID_RECORD),
        (batch(b"a")[:-1] + b"?", ErrorCode.CORRUPT_MESSAGE),
    ],
    ids=["null", "nothing", "two batches", "a control batch", "cut short", "a wrong checksum"],
)
def test_anything_but_one_complete_batch_is_rejected(broker, records, error):
    answer = broker.produce("orders", records)
    assert (answer.error_code, answer.base_offset) == (error, -1)
    assert records_in(broker) == 0


def test_a_batch_larger_than_message_max_bytes_is_rejected():
    broker = VirtualBroker({"message.max.bytes": "100"})
    broker.create_topic("orders")
    assert broker.produce("orders", batch(bytes(200))).error_code == ErrorCode.MESSAGE_TOO_LARGE
    assert broker.produce("orders", batch(b"a")).base_offset == 0


def test_of_a_partition_that_is_named_twice_the_last_batch_is_appended(broker):
    def data(*values: bytes) -> Any:
        return PartitionProduceData(index=0, records=batch(*values))

    topics = [TopicProduceData(name="orders", partition_data=[data(b"a"), data(b"b", b"c")])]
    request = ProduceRequest(acks=-1, topic_data=topics)
    response = at_once(broker.produce_service.produce(request, BY_NAME, START_MS))
    assert [len(topic.partition_responses) for topic in response.responses] == [1]
    assert records_in(broker) == 2


def test_an_append_without_listeners_requests_no_iteration(broker):
    broker.produce("orders", batch(b"a"))
    assert broker.iterations_requested == 0


def test_what_the_log_rejects_names_its_first_offset(broker, producer):
    producer.send(0)
    producer.send(1)
    gap = batch(b"a", producer_id=PRODUCER, producer_epoch=0, base_sequence=7)
    without_sequence = batch(b"a", producer_id=PRODUCER, producer_epoch=0, base_sequence=-1)
    assert [broker.produce("orders", each).log_start_offset for each in (gap, without_sequence)] == [0, 0]
    assert broker.produce("orders", b"").log_start_offset == -1
    assert broker.produce("orders", gap, partition=9).log_start_offset == -1


def test_without_transactional_id_a_transactional_batch_costs_the_whole_request(broker):
    transactional = batch(b"a", producer_id=PRODUCER, producer_epoch=0, base_sequence=0, is_transactional=True)
    data = [
        PartitionProduceData(index=0, records=batch(b"a")),
        PartitionProduceData(index=1, records=transactional),
        PartitionProduceData(index=9, records=batch(b"a")),
    ]
    request = ProduceRequest(acks=2, topic_data=[TopicProduceData(name="orders", partition_data=data)])
    response = at_once(broker.produce_service.produce(request, BY_NAME, START_MS))
    errors = [partition_response.error_code for partition_response in response.responses[0].partition_responses]
    assert errors == [ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED] * 3
    assert records_in(broker) == 0


def test_a_message_of_an_older_format_is_no_transactional_batch(broker):
    older = bytearray(batch(b"a", is_transactional=True, producer_id=PRODUCER, producer_epoch=0, base_sequence=0))
    older[16] = 1
    assert broker.produce("orders", bytes(older)).error_code == ErrorCode.INVALID_RECORD


def test_acks_are_looked_at_after_the_partition(broker):
    assert broker.produce("orders", batch(b"a"), partition=9, acks=2).error_code == (
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    )


# ---- at once


def request_of(*batches: bytes, partition: int = 0, **fields: Any) -> ProduceRequest:
    data = [PartitionProduceData(index=partition + number, records=batch) for number, batch in enumerate(batches)]
    return ProduceRequest(topic_data=[TopicProduceData(name="orders", partition_data=data)], **({"acks": -1} | fields))


def test_a_single_batch_is_appended_at_once_and_as_in_steps(broker):
    service = broker.produce_service
    for partition in (0, 1):
        broker.produce("orders", batch(b"first"), partition)  # from here on, the producers are followed
    at_once_, in_steps = (batch(b"a", b"b", producer_id=PRODUCER, producer_epoch=0, base_sequence=0) for _ in range(2))
    quick = service.produce_at_once(request_of(at_once_), BY_NAME, START_MS)
    slow = at_once(service.produce(request_of(in_steps, partition=1), BY_NAME, START_MS))
    assert quick is not None
    for response, partition in ((quick, 0), (slow, 1)):
        ((answer,),) = (topic.partition_responses for topic in response.responses)
        assert (answer.index, answer.error_code, answer.base_offset) == (partition, NONE, 1)
        assert records_in(broker, partition) == 3
    assert quick.responses[0].name == slow.responses[0].name == "orders"


@pytest.mark.parametrize(
    "request_",
    [
        request_of(),
        request_of(batch(b"a"), batch(b"b")),
        request_of(batch(b"a"), transactional_id="tx"),
        request_of(batch(b"a", producer_id=PRODUCER, base_sequence=0, is_transactional=True)),
    ],
    ids=["no batch", "two batches", "transactional id", "transactional batch"],
)
def test_other_requests_are_left_to_the_steps(broker, request_):
    assert broker.produce_service.produce_at_once(request_, BY_NAME, START_MS) is None
    assert records_in(broker, 0) == records_in(broker, 1) == 0


def test_nothing_is_appended_at_once_before_the_producers_are_known(broker, producer):
    producer.send(0)
    again = VirtualBroker(fs=broker.fs)
    second = batch(b"a", producer_id=PRODUCER, producer_epoch=0, base_sequence=1)
    assert again.produce_service.produce_at_once(request_of(second), BY_NAME, START_MS) is None
    assert records_in(again) == 1
    assert Producer(again).send(2) == (GAP, -1)
    assert again.produce_service.produce_at_once(request_of(second), BY_NAME, START_MS) is not None
    assert records_in(again) == 2


def test_a_topic_that_is_replaced_while_its_producers_are_read_does_not_get_the_batch(broker, producer):
    producer.send(0)
    again = VirtualBroker(fs=broker.fs)
    steps = again.produce_service.produce(
        request_of(batch(b"a", producer_id=PRODUCER, producer_epoch=0, base_sequence=1)), BY_NAME, START_MS
    )
    while again.partitions.open_log("orders", 0) is None:
        next(steps)
    again.topics.delete(["orders"], START_MS)
    again.create_topic("orders", 2)
    ((answer,),) = (topic.partition_responses for topic in at_once(steps).responses)
    assert (answer.error_code, answer.base_offset) == (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, -1)
    assert records_in(again) == 0
