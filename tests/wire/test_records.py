"""Record batches against those that Kafka wrote."""

import struct
import tracemalloc

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from _wire.compression import COMPRESSIONS
from _wire.control_records import ControlRecordType, EndTxnMarker, control_record_type, read_end_txn_marker
from _wire.errors import MalformedMessage
from _wire.records import (
    BATCH_HEADER_BYTES,
    BatchHeader,
    CorruptBatch,
    Record,
    batch_headers,
    build_batch,
    parse_batch,
    parse_records,
    place_batch,
    set_batch_position,
    set_log_append_time,
)
from tests.examples import examples
from tests.golden_vectors import golden_vectors

VECTORS = golden_vectors("wire/_batches.jsonl.gz")
every_vector = pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector["name"])
SMALL = [vector for vector in VECTORS if 0 < len(vector["hex"]) // 2 < 800]
every_small_vector = pytest.mark.parametrize("vector", SMALL, ids=lambda vector: vector["name"])


def unhex(text: str | None) -> bytes | None:
    return None if text is None else bytes.fromhex(text)


def records_of(batch: dict) -> list[Record]:
    return [
        Record(
            offset=record["offset"],
            timestamp_ms=record["timestamp"],
            key=unhex(record["key"]),
            value=unhex(record["value"]),
            headers=[(header["key"], unhex(header["value"])) for header in record["headers"]],
        )
        for record in batch["records"]
    ]


def described(header: BatchHeader) -> dict:
    """A header under the names of the vectors."""
    fields = {
        "magic": header.magic,
        "base_offset": header.base_offset,
        "last_offset": header.last_offset,
        "next_offset": header.next_offset,
        "size_in_bytes": header.size_in_bytes,
        "crc": header.crc,
        "compression": header.compression,
        "timestamp_type": header.timestamp_type,
        "max_timestamp": header.max_timestamp_ms,
    }
    if header.magic == 2:
        fields |= {
            "base_timestamp": header.base_timestamp_ms,
            "producer_id": header.producer_id,
            "producer_epoch": header.producer_epoch,
            "base_sequence": header.base_sequence,
            "last_sequence": header.last_sequence,
            "transactional": header.is_transactional,
            "control": header.is_control,
            "partition_leader_epoch": header.partition_leader_epoch,
            "count": header.record_count,
            "delete_horizon_ms": header.delete_horizon_ms,
        }
    return fields


def built(batch: dict) -> bytes:
    records = records_of(batch)
    log_append_time = batch["timestamp_type"] == "LogAppendTime"
    if log_append_time:  # the times given by the producer stay in the bytes; the vectors count them up by three
        for number, record in enumerate(records):
            fields = {name: getattr(record, name) for name in ("offset", "key", "value", "headers")}
            records[number] = Record(timestamp_ms=batch["base_timestamp"] + 3 * number, **fields)
    return build_batch(
        records,
        base_offset=batch["base_offset"],
        last_offset=batch["last_offset"],
        timestamp_ms=batch["max_timestamp"],
        compression=batch["compression"],
        producer_id=batch["producer_id"],
        producer_epoch=batch["producer_epoch"],
        base_sequence=batch["base_sequence"],
        is_transactional=batch["transactional"],
        is_control=batch["control"],
        partition_leader_epoch=batch["partition_leader_epoch"],
        log_append_time=log_append_time,
    )


@every_vector
def test_kafkas_batches_are_read(vector):
    data = bytes.fromhex(vector["hex"])
    position = 0
    for batch in vector["batches"]:
        header, records = parse_batch(data, position)
        assert described(header) == {name: value for name, value in batch.items() if name != "records"}
        assert records == records_of(batch)
        position += header.size_in_bytes
    assert position == len(data)
    assert parse_records(data) == [record for batch in vector["batches"] for record in records_of(batch)]


@every_vector
def test_headers_are_found_without_reading_records(vector):
    data = bytes.fromhex(vector["hex"])
    headers = batch_headers(memoryview(data))
    assert [header.last_offset for header in headers] == [batch["last_offset"] for batch in vector["batches"]]
    assert [header.crc for header in headers] == [batch["crc"] for batch in vector["batches"]]
    assert sum(header.size_in_bytes for header in headers) == len(data)
    shifted = batch_headers(b"?" * 7 + data, start=7)
    assert [header.position for header in shifted] == [header.position + 7 for header in headers]


def uncompressed(vector: dict) -> bool:
    return all(batch["magic"] == 2 and batch["compression"] == "none" for batch in vector["batches"])


@pytest.mark.parametrize(
    "vector", [vector for vector in VECTORS if uncompressed(vector)], ids=lambda vector: vector["name"]
)
def test_uncompressed_batches_are_written_as_kafka_writes_them(vector):
    assert b"".join(map(built, vector["batches"])).hex() == vector["hex"]


@pytest.mark.parametrize(
    "batch",
    [
        pytest.param(batch, id=vector["name"])
        for vector in VECTORS
        for batch in vector["batches"]
        if batch["magic"] == 2 and batch["compression"] != "none"
    ],
)
def test_compressed_batches_are_read_back(batch):
    header, records = parse_batch(built(batch))
    assert records == records_of(batch)
    varies = {"records", "size_in_bytes", "crc"}
    ours, theirs = described(header), batch
    assert {name: ours[name] for name in ours.keys() - varies} == {
        name: theirs[name] for name in theirs.keys() - varies
    }


@every_small_vector
def test_every_truncation_is_refused(vector):
    data = bytes.fromhex(vector["hex"])
    ends = {header.position for header in batch_headers(data)}
    for size in range(1, len(data)):
        whole = [header for header in batch_headers(data) if header.position + header.size_in_bytes <= size]
        assert len(batch_headers(data[:size])) == len(whole)
        if size not in ends:
            with pytest.raises(CorruptBatch):
                parse_records(data[:size])


@every_small_vector
def test_every_flipped_byte_under_the_checksum_is_refused(vector):
    data = bytearray.fromhex(vector["hex"])
    header = batch_headers(data)[0]
    covered = range(12 if header.magic < 2 else 16, header.size_in_bytes)
    for position in covered:
        data[position] ^= 0x41
        with pytest.raises(CorruptBatch):
            parse_batch(data)
        data[position] ^= 0x41
    assert parse_batch(data)


@every_small_vector
@settings(max_examples=examples(60), deadline=None)
@given(flips=st.lists(st.tuples(st.floats(0, 1, exclude_max=True), st.integers(1, 255)), min_size=1, max_size=6))
def test_batches_that_lie_under_a_right_checksum_do_no_harm(vector, flips):
    """A client computes the checksum itself, so it proves nothing: whatever is inside is read or refused."""
    data = bytearray.fromhex(vector["hex"])
    if batch_headers(data)[0].magic < 2:
        return
    for where, flip in flips:
        data[BATCH_HEADER_BYTES - 4 + int(where * (len(data) - BATCH_HEADER_BYTES + 4))] ^= flip
    try:
        set_log_append_time(data, 0, 5)
        header, records = parse_batch(data, decompressed_bytes_max=1 << 20)
    except CorruptBatch:
        return
    assert len(records) == header.record_count
    assert all(record.timestamp_ms == 5 for record in records)


def test_an_error_says_where_and_why():
    data = bytearray(build_batch([(None, b"v", ())]))
    data[-2] ^= 1
    with pytest.raises(CorruptBatch, match=r"RecordBatch v2.crc at byte 0: is 0x\w+, the batch says 0x\w+"):
        parse_batch(data)
    assert issubclass(CorruptBatch, MalformedMessage)
    assert len(batch_headers(data, check_crc=False)) == 1


@pytest.mark.parametrize("length", [-1, 0, 5])
def test_an_impossible_length_is_refused_at_once(length):
    with pytest.raises(CorruptBatch, match=f"length {length} is not allowed"):
        batch_headers(struct.pack(">qi", 0, length) + b"\0" * 100)


def test_a_batch_shorter_than_its_header_and_an_unknown_format_are_refused():
    with pytest.raises(CorruptBatch, match="60 bytes are less than a header"):
        batch_headers(struct.pack(">qiib", 0, 48, 0, 2) + b"\0" * 60)
    with pytest.raises(CorruptBatch, match="33 bytes are less than a message"):
        batch_headers(struct.pack(">qiib", 0, 21, 0, 1) + b"\0" * 60)
    with pytest.raises(CorruptBatch, match="unknown record format"):
        batch_headers(struct.pack(">qiib", 0, 60, 0, 3) + b"\0" * 60)


def test_start_must_lie_within_the_data():
    for start in (-1, 11):
        with pytest.raises(ValueError, match="outside"):
            batch_headers(b"0123456789", start)


@pytest.mark.parametrize("compression", COMPRESSIONS[1:])
def test_a_small_batch_cannot_take_much_memory(compression):
    bomb = build_batch([(None, b"\0" * 30_000_000, ())], compression=compression)
    assert len(bomb) < 3_000_000
    tracemalloc.start()
    with pytest.raises(CorruptBatch):
        parse_batch(bomb, decompressed_bytes_max=1_000_000)
    peak_bytes = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak_bytes < 3_000_000
    _, records = parse_batch(bomb)
    assert len(records[0].value or b"") == 30_000_000


def test_a_record_count_is_not_trusted():
    data = bytearray(build_batch([(None, None, ())]))
    struct.pack_into(">i", data, BATCH_HEADER_BYTES - 4, 2**31 - 1)
    set_log_append_time(data, 0, 0)
    with pytest.raises(CorruptBatch, match="2147483647 records do not fit into 7 bytes"):
        parse_batch(data)


def test_records_follow_one_another_from_the_base_offset():
    records = parse_records(build_batch([(b"a", None, ()), (None, b"b", [("h", None)])], base_offset=7, timestamp_ms=9))
    assert records == [
        Record(offset=7, timestamp_ms=9, key=b"a"),
        Record(offset=8, timestamp_ms=9, value=b"b", headers=[("h", None)]),
    ]


def test_log_append_time_covers_every_record():
    own = [Record(offset=1, timestamp_ms=100), Record(offset=2, timestamp_ms=50)]
    header, records = parse_batch(build_batch(own, timestamp_ms=70, log_append_time=True))
    assert (header.timestamp_type, header.max_timestamp_ms) == ("LogAppendTime", 70)
    assert [record.timestamp_ms for record in records] == [70, 70]


@pytest.mark.parametrize(
    ("records", "options", "error"),
    [
        ([], {}, ValueError),
        ([(b"key",)], {}, TypeError),
        ([("key", b"value", ())], {}, TypeError),
        ([(b"key", bytearray(b"value"), ())], {}, TypeError),
        ([(b"key", b"value", None)], {}, TypeError),
        ([(b"key", b"value", [("name", "value")])], {}, TypeError),
        ([(b"key", b"value", [(b"name", b"value")])], {}, TypeError),
        ([b"record"], {}, TypeError),
        ([Record(offset=5), Record(offset=5)], {}, ValueError),
        ([Record(offset=5)], {"base_offset": 6}, ValueError),
        ([Record(offset=5)], {"last_offset": 4}, ValueError),
        ([Record(offset=2**31 + 5)], {"base_offset": 5}, ValueError),
        ([Record(offset=5)], {"last_offset": 2**40}, ValueError),
        ([(b"key", b"value", ())], {"compression": "brotli"}, ValueError),
    ],
)
def test_what_is_no_batch_is_not_built(records, options, error):
    with pytest.raises(error):
        build_batch(records, **options)


def test_a_batch_moves_to_its_place_without_a_new_checksum():
    buffer = bytearray(b"--" + build_batch([(None, b"v", ())] * 3))
    set_batch_position(buffer, 2, 1_000, 7)
    header, records = parse_batch(buffer, 2)
    assert (header.base_offset, header.last_offset, header.partition_leader_epoch) == (1_000, 1_002, 7)
    assert [record.offset for record in records] == [1_000, 1_001, 1_002]


def test_log_append_time_is_set_in_place():
    buffer = bytearray(build_batch([(None, b"v", ())] * 2, timestamp_ms=5))
    set_log_append_time(buffer, 0, 99)
    header, records = parse_batch(buffer)
    assert header.timestamp_type == "LogAppendTime"
    assert [record.timestamp_ms for record in records] == [99, 99]


@pytest.mark.parametrize("name", ["none/magic0", "none/magic1", "gzip/magic1"])
def test_older_formats_are_not_placed(name):
    vector = next(vector for vector in VECTORS if vector["name"] == name)
    buffer = bytearray.fromhex(vector["hex"])
    with pytest.raises(CorruptBatch):
        set_batch_position(buffer, 0, 5, 5)
    with pytest.raises(CorruptBatch):
        set_log_append_time(buffer, 0, 5)
    assert buffer.hex() == vector["hex"]


@pytest.mark.parametrize(
    "vector", [vector for vector in VECTORS if "magic" in vector["name"]], ids=lambda vector: vector["name"]
)
def test_older_formats_become_format_2(vector):
    records = parse_records(bytes.fromhex(vector["hex"]))
    assert parse_records(build_batch(records)) == records


HEADERS = st.lists(st.tuples(st.text(max_size=40), st.none() | st.binary(max_size=40)), max_size=4)
RECORDS = st.lists(
    st.tuples(
        st.integers(1, 1_000),
        st.integers(-(2**62), 2**62),
        st.none() | st.binary(max_size=200),
        st.none() | st.binary(max_size=200),
        HEADERS,
    ),
    min_size=1,
    max_size=20,
)


@settings(max_examples=examples(200), deadline=None)
@given(rows=RECORDS, first_offset=st.integers(0, 2**62), compression=st.sampled_from(COMPRESSIONS))
def test_what_is_written_is_read(rows, first_offset, compression):
    records, offset = [], first_offset
    for gap, timestamp_ms, key, value, headers in rows:
        records.append(Record(offset=offset, timestamp_ms=timestamp_ms, key=key, value=value, headers=headers))
        offset += gap
    header, read = parse_batch(build_batch(records, compression=compression))
    assert read == records
    assert header.max_timestamp_ms == max(record.timestamp_ms for record in records)


@pytest.mark.parametrize("committed", [True, False])
def test_transaction_markers_are_kafkas(committed):
    name = f"control/{'COMMIT' if committed else 'ABORT'}/5"
    vector = next(vector for vector in VECTORS if vector["name"] == name)
    (record,) = parse_records(bytes.fromhex(vector["hex"]))
    assert control_record_type(record).name == name.split("/")[1]
    assert read_end_txn_marker(record) == EndTxnMarker(committed, coordinator_epoch=5)
    assert EndTxnMarker(committed, 5).as_record() == (record.key, record.value, ())


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (None, b""),
        (b"\0\0\0", b""),
        (b"\xff\xff\0\0", b"\0" * 6),
        (b"\0\0\0\2", b"\0" * 6),
        (b"\0\0\0\1", None),
        (b"\0\0\0\1", b"\0" * 5),
        (b"\0\0\0\1", b"\xff" * 6),
    ],
)
def test_what_is_no_marker_is_refused(key, value):
    with pytest.raises(CorruptBatch):
        read_end_txn_marker(Record(key=key, value=value))


def test_an_unknown_control_type_is_known_as_such():
    assert control_record_type(Record(key=b"\0\0\0\x63")) is ControlRecordType.UNKNOWN


def test_headers_may_be_left_out():
    assert build_batch([(b"key", b"value"), (b"gone", None)]) == build_batch(
        [(b"key", b"value", ()), (b"gone", None, ())]
    )


# ---- one batch placed


def test_a_batch_without_room_for_its_offsets_is_not_changed():
    buffer = bytearray(build_batch([(None, b"a"), (None, b"b")]))
    (header,) = batch_headers(buffer)
    before = bytes(buffer)
    with pytest.raises(CorruptBatch, match="no offset is left"):
        place_batch(header, buffer, 2**63 - 2, 0)
    assert (bytes(buffer), header.base_offset) == (before, 0)
    place_batch(header, buffer, 2**63 - 3, 0)
    assert batch_headers(buffer)[0].last_offset == header.last_offset == 2**63 - 2


@pytest.mark.parametrize("change", [-1, 1])
def test_a_header_of_another_batch_is_refused(change):
    buffer = bytearray(build_batch([(None, b"a")]))
    (header,) = batch_headers(buffer)
    other = buffer[:change] if change < 0 else buffer + b"!"
    before = bytes(other)
    with pytest.raises(CorruptBatch, match="are not the batch"):
        place_batch(header, other, 5, 0)
    assert bytes(other) == before
