"""Produce, and the producers that number their batches (KIP-98)."""

import time

import pytest

from _wire.errors import ErrorCode
from _wire.messages.delete_topics import DeleteTopicsRequest
from _wire.messages.find_coordinator import FindCoordinatorRequest
from _wire.messages.init_producer_id import InitProducerIdRequest
from _wire.records import build_batch, parse_records
from tests.servers import RunningServer
from tests.waiting import wait_for
from tests.wire_client import WireClient, fetch_request, produce_request

READ_ONLY = ("__consumer_offsets", "__group_audit")


def batch(*values: bytes, **fields: object) -> bytes:
    return build_batch([(None, value, ()) for value in values], **({"timestamp_ms": 1000} | fields))  # type: ignore[arg-type]


def numbered(producer_id: int, sequence: int, *values: bytes, epoch: int = 0) -> bytes:
    fields = {"producer_id": producer_id, "producer_epoch": epoch, "base_sequence": sequence}
    return batch(*values, timestamp_ms=time.time_ns() // 1_000_000, **fields)


def values_in(client: WireClient, topic: str) -> list[bytes | None]:
    """What a consumer reads from the beginning."""
    response = client.request(fetch_request(topic), 11)
    return [record.value for record in parse_records(response.responses[0].partitions[0].records)]


def outcome(response) -> tuple[ErrorCode, int]:
    return ErrorCode(response.error_code), response.base_offset


def new_producer_id(client: WireClient) -> int:
    response = client.request(InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=1000), 4)
    assert (response.error_code, response.producer_epoch) == (0, 0)
    producer_id: int = response.producer_id
    return producer_id


@pytest.mark.parametrize(("producer_id", "epoch"), [(5, -1), (-1, 0)])
def test_a_producer_without_transactions_names_its_id_and_epoch_or_neither(client, producer_id, epoch):
    request = InitProducerIdRequest(transaction_timeout_ms=1000, producer_id=producer_id, producer_epoch=epoch)
    assert client.request(request, 4).error_code == ErrorCode.INVALID_REQUEST


def test_records_get_the_next_offsets(client, topic):
    client.create_topic(topic)
    assert outcome(client.produce(topic, batch(b"a", b"b"))) == (ErrorCode.NONE, 0)
    assert outcome(client.produce(topic, batch(b"c"))) == (ErrorCode.NONE, 2)
    assert values_in(client, topic) == [b"a", b"b", b"c"]


@pytest.mark.parametrize("version", range(3, 13))
def test_every_version_by_name_is_accepted(client, topic, version):
    client.create_topic(topic)
    answer = client.request(produce_request(topic, batch(b"a")), version).responses[0]
    assert answer.name == topic
    assert outcome(answer.partition_responses[0]) == (ErrorCode.NONE, 0)


def test_from_v13_on_a_topic_is_named_by_its_id(client, topic):
    topic_id = client.create_topic(topic)
    for wanted, error in ((topic_id, ErrorCode.NONE), (b"\x01" * 16, ErrorCode.UNKNOWN_TOPIC_ID)):
        answer = client.request(produce_request("", batch(b"a"), topic_id=wanted), 13).responses[0]
        assert answer.topic_id == wanted
        assert answer.partition_responses[0].error_code == error
    assert values_in(client, topic) == [b"a"]


@pytest.mark.parametrize("acks", [1, -1])
def test_one_and_all_acks_are_the_same_on_one_node(client, topic, acks):
    client.create_topic(topic)
    assert outcome(client.produce(topic, batch(b"a"), acks=acks)) == (ErrorCode.NONE, 0)


def test_other_acks_are_rejected(client, topic):
    client.create_topic(topic)
    assert outcome(client.produce(topic, batch(b"a"), acks=2)) == (ErrorCode.INVALID_REQUIRED_ACKS, -1)
    assert values_in(client, topic) == []


def test_without_acks_there_is_no_response(client, topic):
    client.create_topic(topic)
    client.send(produce_request(topic, batch(b"a"), acks=0), 9)
    assert values_in(client, topic) == [b"a"], "the next answer is the next request's"


def test_without_acks_an_error_closes_the_connection(client, topic):
    client.send(produce_request(topic, batch(b"a"), acks=0), 9)
    assert client.is_closed_by_peer()


@pytest.mark.parametrize("name", ["no-such-topic", "", "in valid", ".."])
def test_an_unknown_topic_is_reported(client, name):
    assert outcome(client.produce(name, batch(b"a"))) == (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, -1)


@pytest.mark.parametrize("partition", [-1, 1, 2**31 - 1])
def test_an_unknown_partition_is_reported(client, topic, partition):
    client.create_topic(topic)
    answer = client.produce(topic, batch(b"a"), partition=partition)
    assert (answer.index, *outcome(answer)) == (partition, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, -1)


@pytest.mark.parametrize("name", READ_ONLY)
def test_clients_cannot_produce_to_the_coordinators_topics(client, name):
    assert outcome(client.produce(name, batch(b"a"))) == (ErrorCode.INVALID_TOPIC_EXCEPTION, -1)


def test_each_partition_has_an_error_of_its_own(client, topic):
    client.create_topic(topic, partitions=2)
    request = produce_request(topic, batch(b"a"))
    request.topic_data[0].partition_data += (
        produce_request(topic, batch(b"b"), partition=7).topic_data[0].partition_data
    )
    request.topic_data += produce_request("no-such-topic", batch(b"c")).topic_data
    answers = client.request(request, 9).responses
    codes = [[partition_response.error_code for partition_response in answer.partition_responses] for answer in answers]
    assert codes == [[0, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION], [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]]


def changed(data: bytes, position: int) -> bytes:
    position %= len(data)
    return data[:position] + bytes([data[position] ^ 0xFF]) + data[position + 1 :]


@pytest.mark.parametrize(
    ("records", "error"),
    [
        (changed(batch(b"value"), -1), ErrorCode.CORRUPT_MESSAGE),
        (changed(batch(b"value"), 17), ErrorCode.CORRUPT_MESSAGE),
        (batch(b"value")[:-1], ErrorCode.INVALID_RECORD),
        (batch(b"a") + batch(b"b"), ErrorCode.INVALID_RECORD),
        (batch(b"a") + bytes(16), ErrorCode.CORRUPT_MESSAGE),
        (b"", ErrorCode.INVALID_RECORD),
        (None, ErrorCode.INVALID_RECORD),
        (batch(b"a", is_control=True, producer_id=1, producer_epoch=0), ErrorCode.INVALID_RECORD),
    ],
    ids=["crc", "crc field", "cut", "two batches", "zeros left over", "empty", "null", "control"],
)
def test_batches_that_clients_must_not_send_are_rejected(client, topic, records, error):
    client.create_topic(topic)
    assert outcome(client.produce(topic, records)) == (error, -1)
    assert outcome(client.produce(topic, batch(b"good"))) == (ErrorCode.NONE, 0)
    assert values_in(client, topic) == [b"good"]


def test_a_batch_over_the_limit_is_rejected(client, topic):
    client.create_topic(topic)
    assert outcome(client.produce(topic, batch(bytes(1_048_588)))) == (ErrorCode.MESSAGE_TOO_LARGE, -1)
    assert outcome(client.produce(topic, batch(bytes(1_048_588 - 100)))) == (ErrorCode.NONE, 0)


@pytest.mark.parametrize("compression", ["gzip", "snappy", "lz4", "zstd"])
def test_compressed_batches_are_stored_unchanged(client, topic, compression):
    client.create_topic(topic)
    assert outcome(client.produce(topic, batch(b"a" * 500, b"b", compression=compression))) == (ErrorCode.NONE, 0)
    assert values_in(client, topic) == [b"a" * 500, b"b"]


# ---- idempotent producers


def test_producer_ids_are_unique(client):
    ids = [new_producer_id(client) for _ in range(5)]
    assert len(set(ids)) == 5


def test_a_transactional_id_has_no_coordinator_before_somebody_looks_for_one(client):
    request = InitProducerIdRequest(transactional_id="t", transaction_timeout_ms=1000)
    response = client.request(request, 4)
    assert (response.error_code, response.producer_id) == (ErrorCode.NOT_COORDINATOR, -1)
    assert client.request(FindCoordinatorRequest(key="t", key_type=1), 1).error_code == ErrorCode.NONE
    loading = (ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.NONE)
    assert wait_for(lambda: client.request(request, 4).error_code in loading, 5, "the coordinator")


def test_a_duplicate_batch_is_answered_with_its_offset(client, topic):
    client.create_topic(topic)
    producer_id = new_producer_id(client)
    batches = [numbered(producer_id, sequence, b"%d" % sequence) for sequence in range(5)]
    first = [outcome(client.produce(topic, batch)) for batch in batches]
    assert first == [(ErrorCode.NONE, sequence) for sequence in range(5)]
    assert [outcome(client.produce(topic, batch)) for batch in batches] == first
    assert len(values_in(client, topic)) == 5


def test_a_batch_older_than_the_last_five_is_out_of_order(client, topic):
    client.create_topic(topic)
    producer_id = new_producer_id(client)
    for sequence in range(6):
        client.produce(topic, numbered(producer_id, sequence, b"a"))
    answer = client.produce(topic, numbered(producer_id, 0, b"a"))
    assert outcome(answer) == (ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, -1)


def test_a_gap_in_sequence_numbers_is_rejected(client, topic):
    client.create_topic(topic)
    producer_id = new_producer_id(client)
    client.produce(topic, numbered(producer_id, 0, b"a", b"b"))
    for sequence in (1, 3):
        answer = client.produce(topic, numbered(producer_id, sequence, b"c"))
        assert outcome(answer) == (ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, -1)
    assert outcome(client.produce(topic, numbered(producer_id, 2, b"c"))) == (ErrorCode.NONE, 2)


def test_sequence_numbers_wrap_around(client, topic):
    client.create_topic(topic)
    producer_id = new_producer_id(client)
    client.produce(topic, numbered(producer_id, 2**31 - 2, b"a", b"b"))
    assert outcome(client.produce(topic, numbered(producer_id, 0, b"c"))) == (ErrorCode.NONE, 2)


def test_an_older_epoch_is_fenced(client, topic):
    client.create_topic(topic)
    producer_id = new_producer_id(client)
    client.produce(topic, numbered(producer_id, 0, b"a", epoch=1))
    assert outcome(client.produce(topic, numbered(producer_id, 1, b"b"))) == (ErrorCode.INVALID_PRODUCER_EPOCH, -1)


def test_a_newer_epoch_starts_at_zero(client, topic):
    client.create_topic(topic)
    producer_id = new_producer_id(client)
    client.produce(topic, numbered(producer_id, 0, b"a"))
    gap = client.produce(topic, numbered(producer_id, 1, b"b", epoch=1))
    assert outcome(gap) == (ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, -1)
    assert outcome(client.produce(topic, numbered(producer_id, 0, b"b", epoch=1))) == (ErrorCode.NONE, 1)


def test_sequence_numbers_are_per_partition(client, topic):
    client.create_topic(topic, partitions=2)
    producer_id = new_producer_id(client)
    for partition in (0, 1):
        answer = client.produce(topic, numbered(producer_id, 0, b"a"), partition=partition)
        assert outcome(answer) == (ErrorCode.NONE, 0)


@pytest.mark.parametrize("end", ["stop", "kill"])
def test_producers_are_known_after_a_restart(tmp_path, end):
    with RunningServer(tmp_path) as server:
        with WireClient(server.bootstrap) as client:
            client.create_topic("t")
            producer_id = new_producer_id(client)
            for sequence in range(3):
                client.produce("t", numbered(producer_id, sequence, b"a"))
        getattr(server, end)()
        server.start()
        with WireClient(server.bootstrap) as client:
            assert outcome(client.produce("t", numbered(producer_id, 1, b"a"))) == (ErrorCode.NONE, 1)
            gap = client.produce("t", numbered(producer_id, 4, b"a"))
            assert outcome(gap) == (ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, -1)
            assert outcome(client.produce("t", numbered(producer_id, 3, b"a"))) == (ErrorCode.NONE, 3)
            assert new_producer_id(client) > producer_id
            assert len(values_in(client, "t")) == 4


def test_the_producers_of_a_deleted_topic_are_forgotten(client, topic):
    producer_id = new_producer_id(client)
    for _ in range(2):
        client.create_topic(topic)
        assert outcome(client.produce(topic, numbered(producer_id, 0, b"a"))) == (ErrorCode.NONE, 0)
        client.request(DeleteTopicsRequest(topic_names=[topic], timeout_ms=1000), 5)
    wait_for(
        lambda: outcome(client.produce(topic, batch(b"a")))[0] == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        5,
        "the topic to be gone",
    )
