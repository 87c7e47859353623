"""What validate_batch accepts from the builders of clients, and its limits.

tests/broker/data/test_produce_rules.py has its rules.
"""

import time
import tracemalloc
from typing import Any

import pytest
from aiokafka.record.default_records import DefaultRecordBatchBuilder as AiokafkaBuilder
from hypothesis import given, settings
from hypothesis import strategies as st
from kafka.record.default_records import DefaultRecordBatchBuilder

from _wire.compression import COMPRESSIONS, SCRATCH_BYTES, compress
from _wire.errors import ErrorCode
from _wire.records import (
    BatchHeader,
    InvalidBatch,
    batch_headers,
    build_batch,
    parse_batch,
    validate_batch,
)
from tests.broker.produce_cases import batch, packed, record
from tests.examples import examples

NOW_MS = 1_700_000_000_000
HOUR_MS = 3_600_000
LATEST = 13
INT64_MAX = 2**63 - 1
MIB = 1 << 20
CODES = {"none": 0, "gzip": 1, "snappy": 2, "lz4": 3, "zstd": 4}
STALL_SECONDS = 0.5  # 50 ms on an idle machine

headers = st.lists(st.tuples(st.text(max_size=20), st.binary(max_size=200) | st.none()), max_size=4)
record_lists = st.lists(
    st.tuples(st.binary(max_size=300) | st.none(), st.binary(max_size=3000) | st.none(), headers),
    min_size=1,
    max_size=40,
)
timestamp_lists = st.lists(st.integers(0, NOW_MS + HOUR_MS), min_size=40, max_size=40)


def validated(
    data: bytes | None, *, bytes_max: int = MIB, decompressed_max: int = 32 * MIB
) -> tuple[BatchHeader, bytearray]:
    return validate_batch(data, LATEST, bytes_max, NOW_MS - INT64_MAX, NOW_MS + HOUR_MS, decompressed_max)


def rejected(data: bytes | None, **options: Any) -> InvalidBatch:
    with pytest.raises(InvalidBatch) as caught:
        validated(data, **options)
    return caught.value


def built_by_kafka_python(compression: str, records: list[Any], timestamps: list[int]) -> bytes:
    builder = DefaultRecordBatchBuilder(2, CODES[compression], False, -1, -1, -1, 10 * MIB)
    for offset, (key, value, pairs) in enumerate(records):
        assert builder.append(offset, timestamps[offset], key, value, pairs)
    return bytes(builder.build())


def built_by_aiokafka(compression: str, records: list[Any], timestamps: list[int]) -> bytes:
    builder = AiokafkaBuilder(2, CODES[compression], False, -1, -1, 0, 10 * MIB)
    for offset, (key, value, pairs) in enumerate(records):
        assert builder.append(offset, timestamps[offset], key, value, pairs)
    return bytes(builder.build())


def built_by_us(compression: str, records: list[Any], timestamps: list[int]) -> bytes:
    return build_batch(records, timestamp_ms=timestamps[0], compression=compression)


@pytest.mark.parametrize(
    ("build", "compression"),
    [
        *((built_by_us, compression) for compression in COMPRESSIONS),
        *((built_by_aiokafka, compression) for compression in COMPRESSIONS),
        (built_by_kafka_python, "none"),
        (built_by_kafka_python, "gzip"),  # it has no library for the others here
    ],
)
@settings(max_examples=examples(25), deadline=None)
@given(record_lists, timestamp_lists)
def test_what_a_builder_makes_passes_and_is_stored_as_it_is(build, compression, records, timestamps):
    data = build(compression, records, timestamps)
    header, stored = validated(data, bytes_max=10 * MIB)
    assert bytes(stored) == data
    assert header.record_count == len(records)
    assert header.crc == batch_headers(data)[0].crc
    assert [each.value for each in parse_batch(stored)[1]] == [value for _, value, _ in records]


@pytest.mark.parametrize("compression", COMPRESSIONS)
@settings(max_examples=examples(60), deadline=None)
@given(records=record_lists, data=st.data())
def test_a_changed_byte_of_the_records_is_rejected_or_stays_readable(compression, records, data):
    """Whatever passes can be read: by our reader, which holds every length against what is left."""
    plain = b"".join(record(number, value, key=key, headers=b"\x00") for number, (key, value, _) in enumerate(records))
    position = data.draw(st.integers(0, len(plain) - 1))
    changed = plain[:position] + bytes([data.draw(st.integers(0, 255))]) + plain[position + 1 :]
    sent = packed(compression, changed, len(records), now_ms=NOW_MS)
    try:
        _, stored = validated(sent)
    except InvalidBatch as problem:
        assert problem.error in (ErrorCode.INVALID_RECORD, ErrorCode.INVALID_TIMESTAMP)
        return
    read = parse_batch(stored)[1]
    assert [each.offset for each in read] == list(range(len(records)))
    assert max(each.timestamp_ms for each in read) == parse_batch(stored)[0].max_timestamp_ms


BODY = record(0, b"v" * 70, key=b"key", headers=b"\x02\x02h\x04hv")[2:]


@pytest.mark.parametrize("end", range(len(BODY)))
def test_a_record_that_is_cut_anywhere_is_rejected(end):
    assert rejected(batch(record(body=BODY[:end]), now_ms=NOW_MS)).error == ErrorCode.INVALID_RECORD
    assert validated(batch(record(body=BODY), now_ms=NOW_MS))


# ---- timestamps


@pytest.mark.parametrize(("delta", "is_allowed"), [(HOUR_MS, True), (HOUR_MS + 1, False)])
def test_the_latest_timestamp_is_inclusive(delta, is_allowed):
    data = batch(record(timestamp_delta=delta), now_ms=NOW_MS)
    if is_allowed:
        assert validated(data)[0].max_timestamp_ms == NOW_MS + delta
    else:
        assert rejected(data).error == ErrorCode.INVALID_TIMESTAMP


@pytest.mark.parametrize(("timestamp", "is_allowed"), [(100, True), (99, False), (-1, True), (-2, False)])
def test_the_earliest_timestamp_is_inclusive_and_no_timestamp_is_always_allowed(timestamp, is_allowed):
    data = batch(record(), base_timestamp=timestamp, now_ms=NOW_MS)
    try:
        validate_batch(data, LATEST, MIB, 100, INT64_MAX, MIB)
    except InvalidBatch as problem:
        assert (problem.error, is_allowed) == (ErrorCode.INVALID_TIMESTAMP, False)
        assert [index for index, _ in problem.record_errors] == [0]
    else:
        assert is_allowed


def test_the_list_of_late_records_is_limited():
    records = b"".join(record(number, timestamp_delta=2 * HOUR_MS) for number in range(5000))
    errors = rejected(batch(records, 5000, now_ms=NOW_MS)).record_errors
    assert [index for index, _ in errors] == list(range(1000))


def test_the_max_timestamp_and_the_type_are_corrected_and_sealed():
    data = batch(record() + record(1, timestamp_delta=7), 2, max_timestamp=5, attributes=8 | 0x40, now_ms=NOW_MS)
    header, stored = validated(data)
    assert header.timestamp_type == "CreateTime"
    (again,) = batch_headers(stored)
    assert (again.timestamp_type, again.delete_horizon_ms) == ("CreateTime", NOW_MS)
    assert again.max_timestamp_ms == header.max_timestamp_ms == NOW_MS + 7
    assert again.crc == header.crc
    assert stored[61:] == data[61:]


# ---- limits


def test_the_size_of_a_batch_is_limited_to_the_byte():
    data = batch(record(), now_ms=NOW_MS)
    assert validated(data, bytes_max=len(data))
    assert rejected(data, bytes_max=len(data) - 1).error == ErrorCode.MESSAGE_TOO_LARGE


@pytest.mark.parametrize("compression", COMPRESSIONS[1:])
@pytest.mark.parametrize("size", [5_000, SCRATCH_BYTES, SCRATCH_BYTES + 1, 3 * MIB])
def test_the_decompressed_size_is_limited_to_the_byte(compression, size):
    plain = record(0, bytes(size - 16))
    plain = record(0, bytes(size - 16 + size - len(plain)))
    assert len(plain) == size
    data = packed(compression, plain, now_ms=NOW_MS)
    validated(data, decompressed_max=size)
    assert rejected(data, decompressed_max=size - 1).error == ErrorCode.MESSAGE_TOO_LARGE


def test_the_limit_is_not_for_what_is_not_compressed():
    assert validated(batch(record(0, bytes(1000)), now_ms=NOW_MS), decompressed_max=10)


@pytest.mark.parametrize("compression", COMPRESSIONS[1:])
def test_what_expands_to_a_gigabyte_takes_neither_the_memory_nor_the_time(compression):
    size = 1 << 30 if compression != "snappy" else 1 << 24  # snappy packs 1:21 at most, so less than a batch can hold
    data = packed(compression, b"", 1000, data=compress(compression, bytes(size)), now_ms=NOW_MS)
    tracemalloc.start()
    began = time.perf_counter()
    try:
        problem = rejected(data, bytes_max=8 * MIB, decompressed_max=8 * MIB)
        peak_bytes = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert problem.error == ErrorCode.MESSAGE_TOO_LARGE
    assert time.perf_counter() - began < STALL_SECONDS
    assert peak_bytes < 2 * MIB


def test_a_count_of_records_that_cannot_fit_is_rejected_before_the_decompression():
    data = packed("zstd", b"", 2**31 - 1, data=b"not looked at", now_ms=NOW_MS)
    assert rejected(data).error == ErrorCode.MESSAGE_TOO_LARGE


@pytest.mark.parametrize("data", [bytearray, memoryview])
def test_any_buffer_is_read_and_none_is_changed(data):
    sent = batch(record(), max_timestamp=1, now_ms=NOW_MS)
    given_data = data(sent)
    _, stored = validated(given_data)
    assert bytes(given_data) == sent != bytes(stored)
