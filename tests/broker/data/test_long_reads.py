"""A fetch of many bytes of one partition: in steps, with the same result as in one."""

from collections.abc import Generator
from typing import Any

import pytest

from _wire.records import batch_headers, next_offset_after
from coordinator.broker.data import long_reads
from coordinator.log.partition.partition_log import PartitionLog
from coordinator.runtime.slices import at_once
from tests.broker.virtual_broker import VirtualBroker, batch
from tests.wire_client import fetch_request

SIZE = len(batch(b"a"))
PART = 3 * SIZE
"""In these tests a step reads three small batches."""


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(long_reads, "PART_BYTES", PART)
    monkeypatch.setattr("coordinator.broker.data.fetch.PART_BYTES", PART)


@pytest.fixture
def broker() -> VirtualBroker:
    broker = VirtualBroker()
    broker.create_topic("orders", configs={"segment.bytes": "1048576"})
    return broker


def log_of(broker: VirtualBroker) -> PartitionLog:
    log = broker.partitions.get("orders", 0)
    assert isinstance(log, PartitionLog)
    return log


def produce(broker: VirtualBroker, *values: bytes) -> None:
    for value in values:
        broker.produce("orders", batch(value))


def letters(count: int) -> list[bytes]:
    return [bytes([ord("a") + number]) for number in range(count)]


def begun(
    broker: VirtualBroker, before_offset: int = 100, *, is_current: bool = True
) -> Generator[Any, None, bytes | memoryview]:
    """A read whose first part has been read."""
    log = log_of(broker)
    first = long_reads.read_part(log, 0, 1_000_000, at_least_one_batch=True, before_offset=None)
    return long_reads.read_on(log, first, 1_000_000, before_offset, lambda: is_current)


@pytest.mark.parametrize("count", [2, 3, 4, 6, 7, 20])
def test_all_batches_come_in_one_response(broker, count):
    produce(broker, *letters(count))
    fetched = broker.fetch(fetch_request("orders", max_bytes=1_000_000))
    assert fetched.values == letters(count)
    assert fetched.partition.high_watermark == count


@pytest.mark.parametrize("batches", range(3, 9))
def test_the_limit_is_that_of_the_whole_response(broker, batches):
    produce(broker, *letters(10))
    limit = batches * SIZE + SIZE // 2
    assert broker.fetch(fetch_request("orders", max_bytes=limit)).values == letters(batches)


def test_a_batch_that_is_larger_than_a_part_is_whole(broker):
    values = [b"a", b"b" * 2 * PART, b"c", b"d" * 2 * PART]
    produce(broker, *values)
    assert broker.fetch(fetch_request("orders", max_bytes=1_000_000)).values == values
    assert broker.fetch(fetch_request("orders", max_bytes=PART + SIZE)).values == values[:1]


def test_a_read_goes_on_in_the_next_segment(broker):
    produce(broker, *letters(4))
    log_of(broker).roll()
    produce(broker, b"e")
    assert broker.fetch(fetch_request("orders", max_bytes=1_000_000)).values == letters(5)


def test_what_is_appended_between_two_steps_is_left_to_the_next_fetch(broker):
    produce(broker, *letters(4))
    reading = begun(broker, before_offset=4)
    next(reading)
    produce(broker, b"later")
    assert next_offset_after(at_once(reading)) == 4


def test_a_log_that_is_deleted_between_two_steps_ends_the_read(broker):
    produce(broker, *letters(9))
    reading = begun(broker, is_current=False)
    assert next_offset_after(at_once(reading)) == 3


def test_what_cannot_be_read_any_more_ends_the_read(broker, monkeypatch):
    produce(broker, *letters(9))
    reading = begun(broker)
    next(reading)

    def fail(*_: object, **__: object) -> bytes:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(PartitionLog, "view", fail)
    assert next_offset_after(at_once(reading)) == 3


def test_others_have_their_turn_between_the_parts(broker):
    produce(broker, *letters(12))
    assert len(list(begun(broker))) == 4  # three parts, and that there are no more


@pytest.mark.parametrize("count", [0, 1, 4])
def test_the_offset_after_whole_batches(count):
    broker = VirtualBroker()
    broker.create_topic("orders")
    produce(broker, *letters(count))
    data = bytes(log_of(broker).view(0, 1_000_000))
    assert next_offset_after(data) == count == (batch_headers(data)[-1].next_offset if count else 0)
    assert next_offset_after(memoryview(data)[: len(data) - 1]) in (max(count - 1, 0), count)
