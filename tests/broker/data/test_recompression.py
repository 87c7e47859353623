"""Topics with a `compression.type`: the batches of recompression_cases.py are stored as by Apache Kafka."""

import json
from concurrent.futures import ThreadPoolExecutor
from random import Random
from typing import Any, Final

import pytest

from _wire.compression import compress_at_level, decompress, decompress_to_scratch
from _wire.errors import ErrorCode
from _wire.messages.produce import PartitionProduceData, ProduceRequest, ProduceResponse, TopicProduceData
from _wire.records import batch_headers, build_batch, parse_records, validate_batch
from coordinator.broker.data.produce import ProduceSteps
from coordinator.broker.data.recompression import Recompression
from coordinator.log.config import TargetCompression
from tests.broker.produce_cases import LATEST
from tests.broker.recompression_cases import Case, cases, description
from tests.broker.record_recompression_answers import RECORDED
from tests.broker.virtual_broker import START_MS, VirtualBroker, recompressing
from tests.wire_client import fetch_request

CASES: Final = {case.name: case for case in cases(START_MS)}
ANSWERS: Final[dict[str, dict[str, Any]]] = json.loads(RECORDED.read_text())


def our_answer(case: Case) -> dict[str, object]:
    broker = VirtualBroker()
    broker.create_topic("orders", configs=case.configs)
    for data in case.requests:
        response = broker.produce("orders", data, api_version=LATEST)
    fetched = broker.fetch(fetch_request("orders", 0, max_bytes=1 << 22), case.fetch_version).partition
    return description(case, response, fetched.error_code, bytes(fetched.records or b""), START_MS)


def test_every_case_has_an_answer():
    assert list(ANSWERS) == list(CASES)


@pytest.mark.parametrize("name", CASES)
def test_a_batch_is_answered_and_stored_as_by_kafka(name):
    assert our_answer(CASES[name]) == ANSWERS[name]


# ---- in steps


def large(seed: int, size: int = 300_000) -> bytes:
    """A batch of one record, too large to be compressed in the event loop."""
    return build_batch([(None, Random(seed).randbytes(size // 2).hex().encode(), ())], timestamp_ms=START_MS)


def steps_of(broker: VirtualBroker, *batches: bytes) -> ProduceSteps[ProduceResponse]:
    """A Produce with a batch for each partition, from 0 on."""
    data = [PartitionProduceData(index=index, records=batch) for index, batch in enumerate(batches)]
    topics = [TopicProduceData(name="orders", partition_data=data)]
    return broker.produce_service.produce(ProduceRequest(acks=-1, topic_data=topics), LATEST, START_MS)


def awaited(steps: ProduceSteps[ProduceResponse]) -> Recompression:
    """Do the steps up to the next one that waits; what it waits for."""
    return next(filter(None, steps))


def errors(response: ProduceResponse) -> list[int]:
    return [
        partition_response.error_code
        for topic in response.responses
        for partition_response in topic.partition_responses
    ]


def test_a_large_batch_is_compressed_again_by_another_thread():
    broker = VirtualBroker()
    broker.create_topic("orders", configs={"compression.type": "gzip"})
    steps = steps_of(broker, large(1))
    recompression = awaited(steps)
    with ThreadPoolExecutor(1) as thread:
        thread.submit(recompression.run).result()
    assert errors(recompressing(steps, START_MS)) == [ErrorCode.NONE]
    (record,) = parse_records(broker.fetch(fetch_request("orders", 0, max_bytes=1 << 22)).partition.records)
    assert record.value == parse_records(large(1))[0].value


def test_of_many_partitions_one_batch_at_a_time_is_kept():
    broker = VirtualBroker()
    broker.create_topic("orders", 3, {"compression.type": "zstd"})
    steps = steps_of(broker, large(1), large(2), large(3))
    recompression = awaited(steps)
    for appended in range(3):
        ends = [broker.partitions.get("orders", index).log_end_offset for index in range(3)]
        assert ends == [1] * appended + [0] * (3 - appended)
        recompression.run()
        if appended < 2:
            recompression = steps.send(START_MS) or awaited(steps)
    assert errors(recompressing(steps, START_MS)) == [ErrorCode.NONE] * 3


def test_a_topic_that_is_created_again_meanwhile_gets_nothing():
    broker = VirtualBroker()
    broker.create_topic("orders", configs={"compression.type": "gzip"})
    steps = steps_of(broker, large(1))
    recompression = awaited(steps)
    broker.topics.delete(["orders"], START_MS)
    broker.create_topic("orders")
    recompression.run()
    assert errors(recompressing(steps, START_MS)) == [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]
    assert broker.partitions.get("orders", 0).log_end_offset == 0


def test_batches_of_other_producers_may_come_between():
    broker = VirtualBroker()
    broker.create_topic("orders", configs={"compression.type": "gzip"})
    steps = steps_of(broker, large(1))
    recompression = awaited(steps)
    assert broker.produce("orders", large(2, 100)).base_offset == 0
    recompression.run()
    response = recompressing(steps, START_MS)
    assert response.responses[0].partition_responses[0].base_offset == 1


def test_the_append_time_is_that_after_the_compression():
    broker = VirtualBroker()
    broker.create_topic("orders", configs={"compression.type": "gzip", "message.timestamp.type": "LogAppendTime"})
    steps = steps_of(broker, large(1))
    awaited(steps).run()
    broker.advance(1000)
    assert broker.produce("orders", large(2, 100)).log_append_time_ms == START_MS + 1000
    response = recompressing(steps, START_MS + 1001)
    assert response.responses[0].partition_responses[0].log_append_time_ms == START_MS + 1001


def test_an_idempotent_batch_that_was_appended_meanwhile_is_not_appended_again():
    broker = VirtualBroker()
    broker.create_topic("orders", configs={"compression.type": "gzip"})
    batch = build_batch([(None, bytes(100_000), ())], producer_id=7, producer_epoch=0, base_sequence=0)
    first, second = steps_of(broker, batch), steps_of(broker, batch)
    for steps in (first, second):
        awaited(steps).run()
    offsets = [
        recompressing(each, START_MS).responses[0].partition_responses[0].base_offset for each in (first, second)
    ]
    assert offsets == [0, 0]
    assert broker.partitions.get("orders", 0).log_end_offset == 1


def test_compressed_zeros_are_neither_decompressed_in_the_event_loop_nor_kept():
    broker = VirtualBroker()
    broker.create_topic("orders", configs={"compression.type": "uncompressed"})
    bomb = build_batch([(None, bytes(20_000_000), ())], compression="zstd")
    assert len(bomb) < 16_384
    steps = steps_of(broker, bomb)
    recompression = awaited(steps)
    recompression.run()
    assert errors(recompressing(steps, START_MS)) == [ErrorCode.MESSAGE_TOO_LARGE]
    assert broker.partitions.get("orders", 0).log_end_offset == 0


def test_what_fails_in_the_thread_fails_the_request(monkeypatch):
    broker = VirtualBroker()
    broker.create_topic("orders", configs={"compression.type": "gzip"})
    steps = steps_of(broker, large(1))
    recompression = awaited(steps)

    def fail(*arguments: object) -> bytes:
        raise MemoryError("no memory is left")

    monkeypatch.setattr("coordinator.broker.data.recompression.compress_at_level", fail)
    recompression.run()
    with pytest.raises(MemoryError):
        recompressing(steps, START_MS)


@pytest.mark.parametrize(
    ("compression", "level"),
    [("none", 0), ("snappy", 0)]
    + [("gzip", level) for level in (-1, 1, 9)]
    + [("lz4", level) for level in (1, 8, 9, 10, 12, 17)]
    + [("zstd", level) for level in (-131072, -1, 0, 3, 22)],
)
@pytest.mark.parametrize("size", [0, 1, 65_536, 200_000])
def test_what_is_compressed_at_a_level_is_decompressed_as_it_was(compression, level, size):
    data = (b"%d" % size * 200_000)[:size]
    packed = compress_at_level(compression, memoryview(data), level)
    if compression == "none":
        assert packed == data
    else:
        assert bytes(decompress(compression, packed, 1 << 20)) == data
        assert bytes(decompress_to_scratch(compression, packed, 1 << 20)) == data


def test_a_level_has_an_effect():
    data = b"".join(b"%d,%d;" % (number, number * 7919 % 1000) for number in range(8_000))
    for compression, fast, dense in (("gzip", 1, 9), ("lz4", 9, 12), ("zstd", -5, 19)):
        assert len(compress_at_level(compression, data, dense)) < 0.95 * len(compress_at_level(compression, data, fast))
    assert compress_at_level("gzip", data, -1) == compress_at_level("gzip", data, 6)


def test_a_transactional_batch_stays_transactional():
    broker = VirtualBroker()
    broker.create_topic("orders", configs={"compression.type": "snappy"})
    sent = build_batch([(b"k", b"v", ())], producer_id=7, producer_epoch=3, base_sequence=9, is_transactional=True)
    header, batch = validate_batch(sent, LATEST, 1 << 20, 0, 1 << 62, 1 << 20)
    log = broker.partitions.get("orders", 0)
    recompression = Recompression(log, header, batch, TargetCompression("snappy", 0), 1 << 20)
    assert recompression.run_if_small()
    (stored,) = batch_headers(recompression.result()[1])
    assert (stored.is_transactional, stored.compression, stored.is_control) == (True, "snappy", False)
    assert (stored.producer_id, stored.producer_epoch, stored.base_sequence) == (7, 3, 9)
