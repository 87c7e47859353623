"""`coordinator log dump` of the internal topics: records of every type, of this server and of Kafka; hostile bytes."""

import base64
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

import pytest
from click.testing import CliRunner, Result

from _wire.embedded import OFFSETS_TOPIC, decode_key, encode_versioned, prefix_of, record_formats
from _wire.errors import ErrorCode
from _wire.messages.consumer_group_partition_metadata_record import (
    ConsumerGroupPartitionMetadataKey,
    ConsumerGroupPartitionMetadataValue,
    PartitionMetadata,
    TopicMetadata,
)
from _wire.messages.consumer_group_regular_expression_record import (
    ConsumerGroupRegularExpressionKey,
    ConsumerGroupRegularExpressionValue,
)
from _wire.messages.find_coordinator import FindCoordinatorRequest
from _wire.messages.init_producer_id import InitProducerIdRequest
from _wire.messages.offset_commit_record import OffsetCommitKey, OffsetCommitValue
from _wire.messages.transaction_log_record import PartitionsSchema, TransactionLogKey, TransactionLogValue
from _wire.records import build_batch
from _wire.structs import Message
from coordinator.cli.log import command
from coordinator.log.config import LogConfig
from coordinator.log.data_dirs.directory import LogDirectory
from coordinator.log.names import METADATA_LOG
from tests.golden_vectors import golden_path
from tests.log.batches import START_MS
from tests.servers import RunningServer
from tests.waiting import wait_for
from tests.wire_client import WireClient

TRANSACTIONS_TOPIC: Final = "__transaction_state"
Rows = Iterable[tuple[bytes | None, bytes | None]]
KAFKA: Final[dict[str, list[tuple[bytes, bytes | None]]]] = {
    topic: [(base64.b64decode(key), None if value is None else base64.b64decode(value)) for key, value in rows]
    for topic, rows in json.loads(golden_path("internal_topics/kafka-4.3.1.json").read_text()).items()
}
"""Records of internal topics as Kafka 4.3.1 has written them: classic and KIP-848 groups, offsets, transactions."""


def dump(folder: Path, topic: str, *options: str) -> Result:
    return CliRunner().invoke(command, ["dump", str(folder), "--topic", topic, *options], catch_exceptions=False)


def stored(root: Path, topic: str, rows: Rows) -> Path:
    """A data folder with these records in partition 0 of a topic."""
    directory = LogDirectory.open(root)
    is_metadata = topic == METADATA_LOG
    log = directory.open_metadata_log(LogConfig()) if is_metadata else directory.open_log(topic, 0, LogConfig())
    for key, value in rows:
        log.append(bytearray(build_batch([(key, value, ())], timestamp_ms=START_MS)), leader_epoch=0, now_ms=START_MS)
    directory.close()
    return root


def shown(folder: Path, topic: str) -> list[tuple[Any, Any]]:
    """Key and payload of each record, of both ways to print them."""
    as_lines = dump(folder, topic)
    assert as_lines.exit_code == 0, as_lines.output
    assert all(line.isprintable() for line in as_lines.stdout.splitlines())
    as_json = dump(folder, topic, "--json")
    assert as_json.exit_code == 0, as_json.output
    batches = [json.loads(line) for line in as_json.stdout.splitlines()]
    records = [record for batch in batches for record in batch["records"]]
    assert len(records) == sum(line.startswith("| offset: ") for line in as_lines.stdout.splitlines())
    return [(record["key"], record["payload"]) for record in records]


def record(key: Message, value: Message | None, record_type: int = 0) -> tuple[bytes, bytes | None]:
    return encode_versioned(key, record_type), None if value is None else encode_versioned(value, value.MAX_VERSION)


@pytest.mark.parametrize("topic", [OFFSETS_TOPIC, TRANSACTIONS_TOPIC])
def test_the_records_of_kafka_are_decoded(tmp_path, topic):
    rows = KAFKA[topic]
    found = shown(stored(tmp_path, topic, rows), topic)
    assert len(found) == len(rows)
    for (key, value), (key_bytes, value_bytes) in zip(found, rows, strict=True):
        decoded = decode_key(key_bytes, topic)
        assert decoded is not None
        assert list(key) == [type(decoded).NAME]
        assert list(key[type(decoded).NAME]) == list(type(decoded).FIELDS)
        assert isinstance(value, dict) if value_bytes is not None else value is None


def test_the_records_of_kafka_are_of_most_types():
    assert {prefix_of(key) for key, _ in KAFKA[OFFSETS_TOPIC]} >= {1, 2, 3, 5, 6, 7, 8, 16}
    assert {value is None for _, value in KAFKA[OFFSETS_TOPIC]} == {True, False}
    assert any(value is not None for _, value in KAFKA[TRANSACTIONS_TOPIC])


def test_every_type_of_record_is_decoded(tmp_path):
    """Those that Kafka 4.3 does not write, or no longer, too; and each with its defaults."""
    partitions = [PartitionMetadata(partition=3, racks=["a\u202e"])]
    topics = [TopicMetadata(topic_id=b"\1" * 16, topic_name="orders", num_partitions=4, partition_metadata=partitions)]
    rows = [
        record(
            OffsetCommitKey(group="g", topic="orders", partition=1), OffsetCommitValue(offset=7, metadata="\x1b[2J")
        ),
        record(OffsetCommitKey(group="g", topic="orders", partition=1), None, 1),
        record(ConsumerGroupPartitionMetadataKey(group_id="g"), ConsumerGroupPartitionMetadataValue(topics=topics), 4),
        record(
            ConsumerGroupRegularExpressionKey(group_id="g", regular_expression="ord.*"),
            ConsumerGroupRegularExpressionValue(topics=["orders"], version=5, timestamp=START_MS),
            16,
        ),
    ]
    for record_type, record_format in record_formats(OFFSETS_TOPIC).items():
        if record_type >= record_format.key.MIN_VERSION:
            rows.append(record(record_format.key(), record_format.value(), record_type))
    found = shown(stored(tmp_path, OFFSETS_TOPIC, rows), OFFSETS_TOPIC)
    assert all(isinstance(key, dict) and (value is None or isinstance(value, dict)) for key, value in found)
    assert found[0][1]["metadata"] == "\x1b[2J"
    assert found[2][1]["topics"][0]["partition_metadata"] == [{"partition": 3, "racks": ["a\u202e"]}]
    assert found[3][1]["topics"] == ["orders"]


def test_the_partitions_of_a_transaction_are_decoded(tmp_path):
    partitions = [PartitionsSchema(topic="orders", partition_ids=[0, 2])]
    rows = [
        record(TransactionLogKey(transactional_id="t"), TransactionLogValue(transaction_partitions=partitions)),
        record(TransactionLogKey(transactional_id="t"), TransactionLogValue(transaction_partitions=None)),
    ]
    found = shown(stored(tmp_path, TRANSACTIONS_TOPIC, rows), TRANSACTIONS_TOPIC)
    assert found[0][0] == {"TransactionLogKey": {"transactional_id": "t"}}
    assert found[0][1]["transaction_partitions"] == [{"topic": "orders", "partition_ids": [0, 2]}]
    assert found[1][1]["transaction_partitions"] is None


def test_an_unknown_record_type_is_shown_as_such(tmp_path):
    known, value = record(OffsetCommitKey(group="g", topic="orders", partition=1), OffsetCommitValue(offset=7))
    rows = [(b"\x00\x63key", b"value"), (b"\xff\xff", None), (known, b"\x00\x63of a later version"), (known, b"")]
    found = shown(stored(tmp_path, OFFSETS_TOPIC, rows), OFFSETS_TOPIC)
    assert found[:2] == [
        ({"unknownRecordType": 99, "key": repr("\x00ckey")}, "value"),
        ({"unknownRecordType": -1, "key": "ffff"}, None),
    ]
    assert found[2] == (
        {"OffsetCommitKey": {"group": "g", "topic": "orders", "partition": 1}},
        repr("\x00cof a later version"),
    )
    assert found[3][1] == ""
    assert value is not None


HOSTILE: Final = (
    b"",
    b"\x00",
    b"\x00\x02",
    b"\x00\x02\x7f\xff",
    b"\x00\x02\xff\xff",
    b"\x00\x03\xff\xff\xff\xff\x0f",
    b"\x00\x00\x00\x04\xff\xfe\xfd\xfc\x00\x00\x00\x00\x00\x00",
    b"\x1b[2J\r\n| offset: 0 forged",
    "\u202e\u2028".encode(),
    b"[" * 200_000,
    b"9" * 10_000,
    b'{"a": NaN}',
    b'"\\ud800"',
    b"\xff" * 1_000,
)


@pytest.mark.parametrize("topic", [OFFSETS_TOPIC, TRANSACTIONS_TOPIC, METADATA_LOG, "orders"])
def test_hostile_bytes_are_escaped(tmp_path, topic):
    rows = [(key, value) for key in (None, *HOSTILE) for value in (None, *HOSTILE)]
    for key, _ in KAFKA[OFFSETS_TOPIC]:
        rows += [(key, value) for value in HOSTILE]
        rows += [(key[:size], None) for size in range(len(key))]
    assert len(shown(stored(tmp_path, topic, rows), topic)) == len(rows)


def test_the_folder_of_a_running_server_with_members_and_transactions(tmp_path):
    with RunningServer(tmp_path) as server:
        with WireClient(server.bootstrap) as client:
            client.create_topic("orders")
            client.join_alone("group", instance_id="static")
            client.request(FindCoordinatorRequest(key_type=1, coordinator_keys=["t"]), 4)
            request = InitProducerIdRequest(transactional_id="t", transaction_timeout_ms=60_000)
            wait_for(lambda: client.request(request, 4).error_code == ErrorCode.NONE, 10, "the transaction coordinator")
        groups = shown(server.data, OFFSETS_TOPIC)
        transactions = shown(server.data, TRANSACTIONS_TOPIC)
    (group,) = [value for key, value in groups if key == {"GroupMetadataKey": {"group": "group"}}][-1:]
    assert [member["group_instance_id"] for member in group["members"]] == ["static"]
    assert transactions[-1][0] == {"TransactionLogKey": {"transactional_id": "t"}}
    assert transactions[-1][1]["transaction_timeout_ms"] == 60_000
