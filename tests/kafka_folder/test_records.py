"""The records of Kafka's metadata log, in bytes that Kafka 4.3.1 wrote."""

import random

import pytest

from coordinator.kafka_folder.metadata_log import KafkaImage
from coordinator.kafka_folder.records import (
    ABORT_TRANSACTION,
    BEGIN_TRANSACTION,
    END_TRANSACTION,
    KafkaAcl,
    KafkaConfig,
    KafkaFeature,
    KafkaMetadataError,
    KafkaPartition,
    KafkaPartitionChange,
    KafkaProducerIds,
    KafkaQuota,
    KafkaRecord,
    KafkaRemovedAcl,
    KafkaRemovedScramCredential,
    KafkaRemovedTopic,
    KafkaScramCredential,
    KafkaTopic,
    KafkaTransaction,
    decode_kafka_record,
    encode_kafka_record,
)

ID = bytes(range(16))
RECORDS: list[KafkaRecord] = [
    KafkaTopic("orders", ID),
    KafkaPartition(ID, 7, (1,), (bytes(range(16, 32)),)),
    KafkaPartitionChange(ID, 7, None, (bytes(range(16, 32)),)),
    KafkaConfig(2, "orders", "cleanup.policy", "compact"),
    KafkaConfig(2, "orders", "x" * 300, None),
    KafkaRemovedTopic(ID),
    KafkaFeature("metadata.version", 25),
    KafkaQuota((("client-id", None), ("user", "alice")), "producer_byte_rate", 1000.5),
    KafkaQuota((("ip", "::1"),), "connection_creation_rate", None),
    KafkaProducerIds(2**62),
    KafkaScramCredential("alice", 2, b"salt", bytes(64), bytes(range(64)), 8192),
    KafkaScramCredential("", 1, b"", b"", b"", -1),
    KafkaRemovedScramCredential("alice", 1),
    KafkaAcl(ID, 2, "*", 3, "User:CN=ü,O=x", "::1", 15, 2),
    KafkaRemovedAcl(ID),
    KafkaTransaction(BEGIN_TRANSACTION),
]

T5 = bytes.fromhex("e2ae0426476d49dcbc9e7985411313d3")
WRITTEN_BY_KAFKA: list[tuple[str, KafkaRecord | None]] = [
    (
        "010200037435e2ae0426476d49dcbc9e7985411313d300",
        KafkaTopic("t5", bytes.fromhex("e2ae0426476d49dcbc9e7985411313d3")),
    ),
    (
        "01030200000001e2ae0426476d49dcbc9e7985411313d3020000000102000000010101000000010000000000000000020000000000000000"
        "000000000000000100",
        KafkaPartition(T5, 1, (1,), (b"\x00" * 15 + b"\x01",)),
    ),
    (
        "0104000401146d696e2e696e73796e632e7265706c69636173023100",
        KafkaConfig(4, "", "min.insync.replicas", "1"),
    ),
    (
        "01050200000002e2ae0426476d49dcbc9e7985411313d3010811024239d7c7c1aa99478c427ecea70a323e",
        KafkaPartitionChange(T5, 2, None, (bytes.fromhex("4239d7c7c1aa99478c427ecea70a323e"),)),
    ),
    ("010c00116d657461646174612e76657273696f6e001e00", KafkaFeature("metadata.version", 30)),
    (
        "010b000a6b61666b617573657201217ce36a24ffda6cacd47db2d0405208bfb16267b8606ea70f51ff99f79249aee2210f2a5ba4d40b8cdc"
        "d75e8b09ee9b13ea4ee1d584a9d8c1e2b4a4a029c11f80d921713a08e6150601d026798f44ed1e461d65f6407460e2fbda4d5f980d71c4e4"
        "1b0000100000",
        KafkaScramCredential(
            "kafkauser",
            1,
            bytes.fromhex("7ce36a24ffda6cacd47db2d0405208bfb16267b8606ea70f51ff99f79249aee2"),
            bytes.fromhex("0f2a5ba4d40b8cdcd75e8b09ee9b13ea4ee1d584a9d8c1e2b4a4a029c11f80d9"),
            bytes.fromhex("713a08e6150601d026798f44ed1e461d65f6407460e2fbda4d5f980d71c4e41b"),
            4096,
        ),
    ),
    ("0116000a6b61666b61757365720200", KafkaRemovedScramCredential("kafkauser", 2)),
    (
        "0112000010962d1eb34b5d8477f8264d20704b040e6b61666b612d636c7573746572040b557365723a616c696365022a030300",
        KafkaAcl(bytes.fromhex("0010962d1eb34b5d8477f8264d20704b"), 4, "kafka-cluster", 4, "User:alice", "*", 3, 3),
    ),
    (
        "0113000ab28eefa0aa435f88b63d89b53db8da00",
        KafkaRemovedAcl(bytes.fromhex("0ab28eefa0aa435f88b63d89b53db8da")),
    ),
    ("01140000", None),
    ("01170001001212426f6f747374726170207265636f726473", KafkaTransaction(BEGIN_TRANSACTION)),
    ("01180000", KafkaTransaction(END_TRANSACTION)),
]


@pytest.mark.parametrize(("data", "record"), WRITTEN_BY_KAFKA)
def test_what_kafka_wrote_is_read(data, record):
    assert decode_kafka_record(bytes.fromhex(data)) == record


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: type(record).__name__)
def test_what_is_written_is_read(record):
    assert decode_kafka_record(encode_kafka_record(record, 1)) == record


def test_a_topic_is_written_as_by_kafka():
    for data, record in WRITTEN_BY_KAFKA:
        if isinstance(record, KafkaTopic | KafkaConfig | KafkaFeature | KafkaScramCredential):
            assert encode_kafka_record(record, 1).hex() == data


def test_damaged_records_are_an_error_or_another_record():
    choice = random.Random(4)
    errors = 0
    for record in RECORDS:
        data = encode_kafka_record(record, 1)
        for length in range(len(data)):
            damaged = bytearray(data[:length]) or bytearray(b"\x02")
            damaged[choice.randrange(len(damaged))] = choice.randrange(256)
            try:
                decode_kafka_record(bytes(damaged))
            except KafkaMetadataError:
                errors += 1
    assert errors > 100


@pytest.mark.parametrize(
    "data", ["", "02", "01ffffffffff7f", "010e00ffffffff0f", "0103" + "00" * 22 + "ffffffff0f", "010200"]
)
def test_numbers_at_their_limits_are_an_error(data):
    with pytest.raises(KafkaMetadataError):
        decode_kafka_record(bytes.fromhex(data))


def image(*records: KafkaRecord) -> KafkaImage:
    made = KafkaImage()
    for record in records:
        made.apply(record)
    return made


def test_a_deleted_topic_is_gone_with_its_configs():
    found = image(
        KafkaTopic("a", ID), KafkaConfig(2, "a", "x", "1"), KafkaPartition(ID, 0, (1,)), KafkaRemovedTopic(ID)
    )
    assert (found.topics, found.configs, found.partitions) == ({}, {}, {})


def test_a_change_of_a_partition_counts_for_what_it_names():
    found = image(
        KafkaPartition(ID, 0, (1,), (bytes(16),)),
        KafkaPartitionChange(ID, 0, None, (ID,)),
        KafkaPartitionChange(ID, 0, (1, 2), None),
        KafkaPartitionChange(ID, 1, (1, 2), None),
    )
    assert found.partitions == {ID: {0: KafkaPartition(ID, 0, (1, 2), (ID,))}}


def test_the_last_value_of_a_config_and_a_quota_counts_and_a_removed_one_is_gone():
    entity = (("user", "alice"),)
    found = image(
        KafkaConfig(2, "a", "x", "1"),
        KafkaConfig(2, "a", "y", "1"),
        KafkaConfig(2, "a", "x", None),
        KafkaConfig(4, "", "z", "1"),
        KafkaQuota(entity, "k", 1.0),
        KafkaQuota(entity, "k", 2.0),
        KafkaQuota(entity, "l", 2.0),
        KafkaQuota(entity, "l", None),
        KafkaProducerIds(1000),
        KafkaProducerIds(2000),
    )
    assert (found.configs, found.quotas, found.next_producer_id) == ({"a": {"y": "1"}}, {entity: {"k": 2.0}}, 2000)


def test_a_transaction_of_the_metadata_counts_when_it_has_ended():
    begin, end, abort = map(KafkaTransaction, (BEGIN_TRANSACTION, END_TRANSACTION, ABORT_TRANSACTION))
    topics = [KafkaTopic(name, bytes([number]) * 16) for number, name in enumerate("abc")]
    found = image(begin, topics[0], end, begin, topics[1], abort, begin, topics[2])
    assert list(found.topics.values()) == ["a"]


def test_a_record_of_a_newer_kafka_is_an_error_and_one_of_another_type_is_skipped():
    """Fields that are not known would be taken for others."""
    with pytest.raises(KafkaMetadataError, match="a record of type 3 has version 3, of a newer Kafka"):
        decode_kafka_record(b"\x01\x03\x03" + bytes(100))
    assert decode_kafka_record(b"\x01\x63\x09" + bytes(100)) is None
