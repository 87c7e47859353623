"""Topics are created and removed in the image, on the disk and over restarts, or not at all."""

from itertools import count

import pytest

from _wire.errors import ErrorCode
from coordinator.broker.topics import PARTITIONS_AT_MOST, TopicError
from coordinator.internal_topics import AUDIT_TOPIC, OFFSETS_TOPIC
from coordinator.log.errors import LogAppendError
from coordinator.log.partition.partition_log import PartitionLog
from coordinator.runtime import slices
from tests.broker.virtual_broker import DATA, VirtualBroker, batch


@pytest.fixture
def broker() -> VirtualBroker:
    return VirtualBroker({"num.partitions": "3", "offsets.topic.num.partitions": "5"})


def error_of(broker: VirtualBroker, name: str, partitions: int = 1, replication_factor: int = 1) -> ErrorCode:
    with pytest.raises(TopicError) as refused:
        broker.topics.create(name, partitions, replication_factor, {}, 0)
    return refused.value.error


def test_minus_one_selects_the_defaults(broker):
    assert broker.topics.create("orders", -1, -1, {}, 0).partitions == 3


@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("", ErrorCode.INVALID_TOPIC_EXCEPTION),
        (".", ErrorCode.INVALID_TOPIC_EXCEPTION),
        ("a/b", ErrorCode.INVALID_TOPIC_EXCEPTION),
        ("x" * 250, ErrorCode.INVALID_TOPIC_EXCEPTION),
        ("__cluster_metadata", ErrorCode.INVALID_REQUEST),
        ("a.b", ErrorCode.TOPIC_ALREADY_EXISTS),
        ("a_b", ErrorCode.INVALID_TOPIC_EXCEPTION),
    ],
)
def test_a_name_that_cannot_be_used_is_rejected(broker, name, error):
    broker.create_topic("a.b")
    assert error_of(broker, name) == error


@pytest.mark.parametrize("partitions", [0, -2, PARTITIONS_AT_MOST + 1])
def test_an_invalid_number_of_partitions_is_rejected(broker, partitions):
    assert error_of(broker, "orders", partitions) == ErrorCode.INVALID_PARTITIONS
    broker.create_topic("orders", PARTITIONS_AT_MOST)


@pytest.mark.parametrize("replication_factor", [0, 2, -2])
def test_a_replication_factor_other_than_one_is_rejected(broker, replication_factor):
    assert error_of(broker, "orders", 1, replication_factor) == ErrorCode.INVALID_REPLICATION_FACTOR


def test_a_creation_that_fails_on_the_disk_has_no_effect(broker):
    broker.fs.is_full = True
    with pytest.raises(LogAppendError):
        broker.create_topic("orders")
    assert broker.partitions.locate("orders", 0) == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    broker.fs.is_full = False
    broker.create_topic("orders")
    assert broker.produce("orders", batch(b"a")).base_offset == 0


def test_a_removed_topic_leaves_nothing_on_the_disk(broker):
    broker.create_topic("orders", 2)
    for partition in (0, 1):
        broker.produce("orders", batch(b"a"), partition)
    assert [name for name in broker.fs.names(DATA) if "orders" in name] == ["orders-0", "orders-1"]
    broker.topics.delete(["orders"], 0)
    broker.advance(0)  # on a busy machine the deletion takes more than one slice
    assert [name for name in broker.fs.names(DATA) if "orders" in name] == []
    assert broker.produce("orders", batch(b"a")).error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_a_topic_that_is_created_again_is_empty_and_another_one(broker):
    first = broker.create_topic("orders")
    broker.produce("orders", batch(b"a"))
    broker.topics.delete(["orders"], 0)
    assert broker.create_topic("orders") != first
    assert broker.produce("orders", batch(b"b")).base_offset == 0


@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("unknown", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (OFFSETS_TOPIC, ErrorCode.INVALID_TOPIC_EXCEPTION),
        (AUDIT_TOPIC, ErrorCode.INVALID_TOPIC_EXCEPTION),
    ],
)
def test_a_topic_that_cannot_be_removed_is_rejected(broker, name, error):
    broker.topics.create_internal_topics(0)
    with pytest.raises(TopicError) as refused:
        broker.topics.check_deletion(name)
    assert refused.value.error == error


def test_internal_topics_are_created_once_and_with_the_same_number_of_partitions(broker):
    for _ in range(2):
        broker.topics.create_internal_topics(0)
    broker.close(clean=True)
    again = VirtualBroker({"offsets.topic.num.partitions": "7"}, broker.fs)
    again.topics.create_internal_topics(0)
    for name in (OFFSETS_TOPIC, AUDIT_TOPIC):
        assert isinstance(again.partitions.locate(name, 4), PartitionLog)
        assert again.partitions.locate(name, 5) == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_automatic_creation_skips_invalid_names(broker):
    broker.topics.create_automatically(["il legal"], 0)
    broker.topics.create_automatically(["orders"], 0)
    assert broker.partitions.locate("il legal", 0) == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert isinstance(broker.partitions.locate("orders", 2), PartitionLog)


def test_more_partitions_of_a_topic_count_once_for_the_bound_of_all():
    broker = VirtualBroker({"max.broker.partitions": "1000"})
    broker.create_topic("orders", 600)
    broker.topics.add_partitions("orders", 1000, 0)
    with pytest.raises(TopicError) as refused:
        broker.topics.add_partitions("orders", 1001, 0)
    assert refused.value.error == ErrorCode.POLICY_VIOLATION


def test_a_topic_of_the_name_of_one_that_is_being_deleted_has_its_own_logs(broker, monkeypatch):
    steps = count()
    monkeypatch.setattr(slices, "seconds", lambda: float(next(steps)))  # each slice has one step
    broker.create_topic("orders", 5)
    for partition in range(5):
        broker.produce("orders", batch(b"old"), partition)
    broker.topics.delete(["orders"], 0)
    assert [name for name in broker.fs.names(DATA) if name.startswith("orders-") and "delete" not in name]
    broker.create_topic("orders", 5)
    for partition in range(5):
        assert broker.produce("orders", batch(b"new"), partition).base_offset == 0
    broker.end_iteration()
    assert sorted(name for name in broker.fs.names(DATA) if "orders" in name) == [f"orders-{n}" for n in range(5)]
    assert broker.produce("orders", batch(b"newer"), 4).base_offset == 1
