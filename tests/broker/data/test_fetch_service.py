"""Fetches that wait, to the millisecond: what answers them, and what they leave behind."""

from typing import Any, Final

import pytest

from _wire.errors import ErrorCode
from _wire.messages.fetch import FetchPartition, FetchTopic
from coordinator.broker.data.fetch import READ_FIRST_BYTES_MAX
from coordinator.log.partition.partition_log import PartitionLog
from tests.broker.virtual_broker import Fetched, VirtualBroker, batch
from tests.wire_client import fetch_request

WAIT_MS: Final = 500
BY_ID: Final = 13
SIZE: Final = len(batch(b"a"))


@pytest.fixture
def broker() -> VirtualBroker:
    broker = VirtualBroker()
    broker.create_topic("orders", 2)
    return broker


def waiting(broker: VirtualBroker, min_bytes: int = 1, topic: str = "orders", partition: int = 0) -> Fetched:
    """A fetch at the end of an empty log."""
    fetched = broker.fetch(fetch_request(topic, partition=partition, max_wait_ms=WAIT_MS, min_bytes=min_bytes))
    assert fetched.is_waiting
    assert broker.wheel.pending == 1
    return fetched


def assert_nothing_waits(broker: VirtualBroker) -> None:
    """No timer runs, and no append or passage of time leads to anything."""
    assert broker.wheel.pending == 0
    requested = broker.iterations_requested
    broker.produce("orders", batch(b"later"))
    assert broker.iterations_requested == requested, "a listener was left"


@pytest.mark.parametrize(("min_bytes", "max_wait_ms"), [(0, WAIT_MS), (-1, WAIT_MS), (1, 0), (1, -1)])
def test_a_fetch_that_may_not_wait_is_answered_at_once(broker, min_bytes, max_wait_ms):
    fetched = broker.fetch(fetch_request("orders", max_wait_ms=max_wait_ms, min_bytes=min_bytes))
    assert (fetched.values, fetched.partition.error_code) == ([], ErrorCode.NONE)
    assert_nothing_waits(broker)


def test_enough_bytes_are_answered_at_once(broker):
    broker.produce("orders", batch(b"a"))
    assert broker.fetch(fetch_request("orders", max_wait_ms=WAIT_MS, min_bytes=SIZE)).values == [b"a"]
    assert_nothing_waits(broker)


def test_min_bytes_complete_it_at_the_end_of_the_iteration(broker):
    fetched = waiting(broker, min_bytes=2 * SIZE)
    broker.produce("orders", batch(b"a"))
    broker.end_iteration()
    assert fetched.is_waiting, "one byte short of two batches"
    broker.produce("orders", batch(b"b"))
    assert fetched.is_waiting
    broker.end_iteration()
    assert fetched.values == [b"a", b"b"]
    assert_nothing_waits(broker)


def test_one_byte_less_than_min_bytes_is_not_enough(broker):
    fetched = waiting(broker, min_bytes=SIZE + 1)
    broker.produce("orders", batch(b"a"))
    broker.end_iteration()
    assert fetched.is_waiting


def test_the_bytes_of_all_its_partitions_count_together(broker):
    partitions = [FetchPartition(partition=index, partition_max_bytes=10_000) for index in (0, 1)]
    request = fetch_request("orders", max_wait_ms=WAIT_MS, min_bytes=2 * SIZE)
    request.topics = [FetchTopic(topic="orders", partitions=partitions)]
    fetched = broker.fetch(request)
    for partition in (0, 1):
        assert fetched.is_waiting
        broker.produce("orders", batch(b"a"), partition)
        broker.end_iteration()
    (response,) = fetched.responses
    assert [len(partition.records) for partition in response.responses[0].partitions] == [SIZE, SIZE]


def test_appends_of_one_iteration_are_answered_together(broker):
    fetched = waiting(broker)
    requested = broker.iterations_requested
    broker.produce("orders", batch(b"a"))
    broker.produce("orders", batch(b"b"))
    assert broker.iterations_requested == requested + 1
    broker.end_iteration()
    assert fetched.values == [b"a", b"b"]


def test_max_wait_answers_with_what_there_is(broker):
    fetched = waiting(broker, min_bytes=2 * SIZE)
    broker.produce("orders", batch(b"a"))
    broker.end_iteration()
    broker.advance(WAIT_MS - 1)
    assert fetched.is_waiting
    broker.advance(1)
    assert fetched.values == [b"a"]
    assert_nothing_waits(broker)


def test_max_wait_answers_with_nothing_from_a_log_that_did_not_grow(broker):
    fetched = waiting(broker)
    broker.advance(WAIT_MS)
    assert (fetched.values, fetched.partition.error_code) == ([], ErrorCode.NONE)
    assert_nothing_waits(broker)


def test_an_append_to_another_partition_does_not_complete_it(broker):
    fetched = waiting(broker)
    broker.produce("orders", batch(b"a"), partition=1)
    broker.end_iteration()
    assert fetched.is_waiting


def test_every_fetch_that_waits_for_a_log_is_answered(broker):
    first, second = (broker.fetch(fetch_request("orders", max_wait_ms=WAIT_MS)) for _ in range(2))
    broker.produce("orders", batch(b"a"))
    broker.end_iteration()
    assert (first.values, second.values) == ([b"a"], [b"a"])


def test_a_deletion_of_its_topic_completes_it_with_an_error(broker):
    broker.create_topic("gone")
    fetched = waiting(broker, topic="gone")
    broker.topics.delete(["gone"], broker.clock.now_ms())
    broker.end_iteration()
    assert fetched.partition.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert fetched.partition.aborted_transactions is None, "as on Kafka"
    assert_nothing_waits(broker)


def test_a_deletion_completes_it_also_where_the_topic_is_named_by_id(broker):
    topic_id = broker.create_topic("gone")
    fetched = broker.fetch(fetch_request("", topic_id=topic_id, max_wait_ms=WAIT_MS), BY_ID)
    assert fetched.is_waiting
    broker.topics.delete(["gone"], broker.clock.now_ms())
    broker.end_iteration()
    assert fetched.partition.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_a_topic_that_is_deleted_and_created_again_is_not_that_of_a_fetch_by_id(broker):
    topic_id = broker.create_topic("gone")
    fetched = broker.fetch(fetch_request("", topic_id=topic_id, max_wait_ms=WAIT_MS), BY_ID)
    broker.topics.delete(["gone"], broker.clock.now_ms())
    assert broker.create_topic("gone") != topic_id
    broker.produce("gone", batch(b"new"))
    broker.end_iteration()
    assert fetched.partition.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_a_deletion_of_another_topic_does_not_complete_it(broker):
    broker.create_topic("gone")
    fetched = waiting(broker)
    broker.topics.delete(["gone"], broker.clock.now_ms())
    broker.end_iteration()
    assert fetched.is_waiting


def test_a_fetch_whose_client_disconnected_is_dropped(broker):
    fetched = waiting(broker)
    assert fetched.delayed is not None
    broker.fetch_service.cancel(fetched.delayed)
    assert_nothing_waits(broker)
    broker.end_iteration()
    broker.advance(WAIT_MS)
    assert fetched.responses == []


def test_dropping_a_fetch_affects_no_other(broker):
    dropped = waiting(broker)
    stays = broker.fetch(fetch_request("orders", max_wait_ms=WAIT_MS))
    assert dropped.delayed is not None
    broker.fetch_service.cancel(dropped.delayed)
    broker.produce("orders", batch(b"a"))
    broker.end_iteration()
    assert (dropped.responses, stays.values) == ([], [b"a"])


def test_an_append_and_the_timeout_in_one_iteration_answer_once(broker):
    fetched = waiting(broker)
    broker.produce("orders", batch(b"a"))
    broker.advance(WAIT_MS)
    broker.end_iteration()
    assert fetched.values == [b"a"]


def test_a_log_that_cannot_be_read_answers_a_fetch_that_waits(broker):
    fetched = waiting(broker)
    broker.produce("orders", batch(b"a"))
    broker.fs.is_unreadable = True
    broker.end_iteration()
    assert fetched.partition.error_code == ErrorCode.KAFKA_STORAGE_ERROR
    assert broker.wheel.pending == 0


def test_the_size_of_a_response_is_limited():
    broker = VirtualBroker({"fetch.max.bytes": "1024"})
    broker.create_topic("orders")
    value = b"x" * (512 - len(batch(b"")) - 4)
    for _ in range(3):
        broker.produce("orders", batch(value))
    assert broker.fetch(fetch_request("orders", max_bytes=2**31 - 1)).values == [value, value]


def test_an_unknown_topic_id_is_answered_at_once(broker):
    fetched = broker.fetch(fetch_request("", topic_id=b"\x07" * 16, max_wait_ms=WAIT_MS), BY_ID)
    assert fetched.partition.error_code == ErrorCode.UNKNOWN_TOPIC_ID
    assert_nothing_waits(broker)


def test_a_partition_counts_for_no_more_than_a_response_would_have_of_it(broker):
    fetched = broker.fetch(fetch_request("orders", max_wait_ms=WAIT_MS, min_bytes=2 * SIZE, max_bytes=SIZE))
    for value in (b"a", b"b", b"c"):
        broker.produce("orders", batch(value))
    broker.end_iteration()
    assert fetched.is_waiting
    broker.advance(WAIT_MS)
    assert fetched.values == [b"a"]


@pytest.mark.parametrize(("min_bytes", "reads"), [(READ_FIRST_BYTES_MAX, 2), (READ_FIRST_BYTES_MAX + 1, 1)])
def test_a_fetch_for_many_bytes_counts_before_it_reads(broker, monkeypatch, min_bytes, reads):
    read_from: list[int] = []
    view = PartitionLog.view

    def noted(log: PartitionLog, offset: int, *rest: Any, **more: Any) -> bytes | memoryview:
        read_from.append(offset)
        return view(log, offset, *rest, **more)

    monkeypatch.setattr(PartitionLog, "view", noted)
    broker.produce("orders", batch(b"a"))
    fetched = broker.fetch(fetch_request("orders", max_wait_ms=WAIT_MS, min_bytes=min_bytes))
    assert fetched.is_waiting
    broker.advance(WAIT_MS)
    assert fetched.values == [b"a"]
    assert read_from == [0] * reads
