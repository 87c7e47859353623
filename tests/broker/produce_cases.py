"""Batches made by hand, one for each rule of a Produce request.

recorded/produce_answers.json has what Apache Kafka answers. A case is named by what is wrong with its batch, or what is
unusual in it.
"""

import struct
import zlib
from collections.abc import Iterator
from typing import Final, NamedTuple

from crc32c import crc32c

from _wire.compression import COMPRESSIONS, compress

LATEST: Final = 12
"""The last version that names topics."""
HEADER: Final = struct.Struct(">qiibIhiqqqhii")
NO_TIMESTAMP: Final = -1
HOUR_MS: Final = 3_600_000
LOG_APPEND_TIME, TRANSACTIONAL, CONTROL, DELETE_HORIZON = 0x08, 0x10, 0x20, 0x40


class Case(NamedTuple):
    """Requests that are sent to one new partition in turn; the answer to the last one counts."""

    name: str
    requests: tuple[bytes | None, ...]
    version: int = LATEST


def varint(value: int) -> bytes:
    number = (value << 1) ^ (value >> 63)
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def sized(data: bytes | None) -> bytes:
    return varint(-1) if data is None else varint(len(data)) + data


def record(
    delta: int = 0,
    value: bytes | None = b"value",
    *,
    key: bytes | None = None,
    timestamp_delta: int = 0,
    attributes: int = 0,
    headers: bytes = b"\x00",
    size: int | None = None,
    body: bytes | None = None,
) -> bytes:
    """One record. `size` is the length that it says, `body` is all that follows the length."""
    if body is None:
        body = bytes([attributes]) + varint(timestamp_delta) + varint(delta) + sized(key) + sized(value) + headers
    return varint(len(body) if size is None else size) + body


def batch(
    records: bytes,
    count: int = 1,
    *,
    now_ms: int,
    base_offset: int = 0,
    length: int | None = None,
    magic: int = 2,
    crc: int | None = None,
    attributes: int = 0,
    last_offset_delta: int | None = None,
    base_timestamp: int | None = None,
    max_timestamp: int | None = None,
    producer_id: int = -1,
    producer_epoch: int = -1,
    base_sequence: int = -1,
    leader_epoch: int = -1,
) -> bytes:
    """One batch of format 2. What is not given is as it should be."""
    base_timestamp = now_ms if base_timestamp is None else base_timestamp
    checked = struct.pack(
        ">hiqqqhii",
        attributes,
        count - 1 if last_offset_delta is None else last_offset_delta,
        base_timestamp,
        base_timestamp if max_timestamp is None else max_timestamp,
        producer_id,
        producer_epoch,
        base_sequence,
        count,
    )
    checked += records
    head = struct.pack(
        ">qiibI",
        base_offset,
        9 + len(checked) if length is None else length,
        leader_epoch,
        magic,
        crc32c(checked) if crc is None else crc,
    )
    return head + checked


def packed(compression: str, records: bytes, count: int = 1, *, data: bytes | None = None, **fields: int) -> bytes:
    """A compressed batch; `data` is used instead of the compressed records."""
    attributes = fields.pop("attributes", 0) | COMPRESSIONS.index(compression)
    return batch(compress(compression, records) if data is None else data, count, attributes=attributes, **fields)


def message(magic: int, value: bytes = b"value") -> bytes:
    """A message of format 0 or 1."""
    body = bytes([magic, 0]) + (struct.pack(">q", 0) if magic else b"") + struct.pack(">ii", -1, len(value)) + value
    return struct.pack(">qiI", 0, 4 + len(body), zlib.crc32(body)) + body


def headers(*pairs: tuple[bytes | None, bytes | None], count: int | None = None) -> bytes:
    return varint(len(pairs) if count is None else count) + b"".join(sized(one) + sized(two) for one, two in pairs)


def cases(now_ms: int) -> Iterator[Case]:
    """All cases. `now_ms` is the time at which they are sent."""
    yield from frame_cases(now_ms)
    yield from header_cases(now_ms)
    yield from producer_cases(now_ms)
    for compression in COMPRESSIONS:
        yield from record_cases(now_ms, compression)
    yield from compression_cases(now_ms)


def frame_cases(now_ms: int) -> Iterator[Case]:
    """What surrounds a batch."""
    good = batch(record(), now_ms=now_ms)
    large = batch(record(0, bytes(1_048_588)), now_ms=now_ms)
    yield Case("a good batch", (good,))
    yield Case("null", (None,))
    yield Case("no bytes", (b"",))
    yield Case("16 bytes", (good[:16],))
    yield Case("17 bytes", (good[:17],))
    yield Case("60 bytes", (good[:60],))
    yield Case("cut short by one byte", (good[:-1],))
    yield Case("one byte more", (good + b"\x00",))
    yield Case("16 zero bytes more", (good + bytes(16),))
    yield Case("17 zero bytes more", (good + bytes(17),))
    yield Case("the first half of a batch more", (good + good[:40],))
    yield Case("two batches", (good + good,))
    yield Case("a batch and one of magic 3", (good + batch(record(), magic=3, now_ms=now_ms),))
    yield Case("magic 0", (message(0),))
    yield Case("magic 1", (message(1),))
    yield Case("magic 3", (batch(record(), magic=3, now_ms=now_ms),))
    yield Case("magic -1", (batch(record(), magic=-1, now_ms=now_ms),))
    yield Case("length 0", (batch(record(), length=0, now_ms=now_ms),))
    yield Case("length -1", (batch(record(), length=-1, now_ms=now_ms),))
    yield Case("length 13", (batch(record(), length=13, now_ms=now_ms),))
    yield Case("length 14", (batch(record(), length=14, now_ms=now_ms),))
    yield Case("length 48", (batch(record(), length=48, now_ms=now_ms),))
    yield Case("length one less", (batch(record(), length=len(good) - 13, now_ms=now_ms),))
    yield Case("length one more", (batch(record(), length=len(good) - 11, now_ms=now_ms),))
    yield Case("a wrong checksum", (batch(record(), crc=1, now_ms=now_ms),))
    yield Case("a changed byte", (good[:-1] + b"?",))
    yield Case("too large", (large,))
    yield Case("too large and a wrong checksum", (large[:-1] + b"?",))
    yield Case("too large and magic 1", (message(1, bytes(1_048_588)),))


def header_cases(now_ms: int) -> Iterator[Case]:
    """The fields of the batch."""
    one, two = record(), record(0) + record(1)
    for base_offset in (1, -1, 2**63 - 1):
        yield Case(f"base offset {base_offset}", (batch(one, base_offset=base_offset, now_ms=now_ms),))
    for leader_epoch in (0, 77):
        yield Case(f"leader epoch {leader_epoch}", (batch(one, leader_epoch=leader_epoch, now_ms=now_ms),))
    for delta in (1, -1, 2**31 - 1, -(2**31)):
        yield Case(f"last offset delta {delta} of one record", (batch(one, last_offset_delta=delta, now_ms=now_ms),))
    yield Case("last offset delta 0 of two records", (batch(two, 2, last_offset_delta=0, now_ms=now_ms),))
    yield Case("no records", (batch(b"", 0, last_offset_delta=0, now_ms=now_ms),))
    yield Case("no records and last offset delta -1", (batch(b"", 0, now_ms=now_ms),))
    yield Case("count 0 of one record", (batch(one, 0, last_offset_delta=0, now_ms=now_ms),))
    yield Case("count -1", (batch(one, -1, last_offset_delta=0, now_ms=now_ms),))
    yield Case("count 2147483647", (batch(one, 2**31 - 1, now_ms=now_ms),))
    yield Case("a control batch", (batch(one, attributes=CONTROL, now_ms=now_ms),))
    yield Case(
        "a control batch of a producer",
        (batch(one, attributes=CONTROL | TRANSACTIONAL, producer_id=5, producer_epoch=0, now_ms=now_ms),),
    )
    yield Case("log append time", (batch(one, attributes=LOG_APPEND_TIME, now_ms=now_ms),))
    yield Case("a delete horizon", (batch(one, attributes=DELETE_HORIZON, now_ms=now_ms),))
    for bits in (0x80, 0x100, 0x4000):
        yield Case(f"attributes {bits:#x}", (batch(one, attributes=bits, now_ms=now_ms),))
    yield Case("attributes 0x8000", (batch(one, attributes=-0x8000, now_ms=now_ms),))
    for compression in (5, 6, 7):
        yield Case(f"compression {compression}", (batch(one, attributes=compression, now_ms=now_ms),))
    for timestamp in (0, now_ms - 1, now_ms + 1, -1, 2**63 - 1, -(2**63)):
        name = timestamp - now_ms if abs(timestamp - now_ms) == 1 else timestamp
        yield Case(f"max timestamp {name}", (batch(one, max_timestamp=timestamp, now_ms=now_ms),))
    for timestamp in (NO_TIMESTAMP, 0, 1, -2, 2**63 - 1, -(2**63)):
        yield Case(f"base timestamp {timestamp}", (batch(one, base_timestamp=timestamp, now_ms=now_ms),))


def producer_cases(now_ms: int) -> Iterator[Case]:
    """Producer id, epoch and sequence."""

    def of(producer_id: int, epoch: int, sequence: int, count: int = 1, **fields: int) -> bytes:
        records = b"".join(record(delta) for delta in range(count))
        return batch(
            records,
            count,
            producer_id=producer_id,
            producer_epoch=epoch,
            base_sequence=sequence,
            now_ms=now_ms,
            **fields,
        )

    for producer_id in (-1, 0, 7, -2, 2**63 - 1):
        for epoch in (-1, 0, -2):
            for sequence in (-1, 0, 3, -2):
                name = f"producer id {producer_id}, epoch {epoch}, sequence {sequence}"
                yield Case(name, (of(producer_id, epoch, sequence),))
    yield Case("a duplicate", (of(7, 0, 0), of(7, 0, 0)))
    yield Case("a duplicate with another checksum error", (of(7, 0, 0), of(7, 0, 0)[:-1] + b"?"))
    yield Case("a gap", (of(7, 0, 0), of(7, 0, 2)))
    yield Case("an older epoch", (of(7, 1, 0), of(7, 0, 1)))
    yield Case("a newer epoch that does not start at 0", (of(7, 0, 0), of(7, 1, 1)))
    yield Case("epoch -1 after 0", (of(7, 0, 0), of(7, -1, 1)))
    yield Case("epoch 0 after -1 at sequence 5", (of(7, -1, 0), of(7, 0, 5)))
    yield Case("a duplicate with other timestamps", (of(7, 0, 0), of(7, 0, 0, base_timestamp=5)))
    yield Case("a duplicate from far in the future", (of(7, 0, 0), of(7, 0, 0, base_timestamp=now_ms + 9 * HOUR_MS)))
    yield Case("sequences that wrap around", (of(7, 0, 2**31 - 1, 2), of(7, 0, 1)))
    yield Case("a transactional batch without a producer", (of(-1, -1, -1, attributes=TRANSACTIONAL),))


def record_cases(now_ms: int, compression: str) -> Iterator[Case]:
    """The records of a batch, compressed or not."""

    def case(name: str, records: bytes, count: int = 1, **fields: int) -> Case:
        data = packed(compression, records, count, now_ms=now_ms, **fields)  # type: ignore[arg-type]
        return Case(f"{compression}: {name}", (data,))

    one, two = record(), record(0) + record(1)
    three = two + record(2)
    yield case("three records", three, 3)
    yield case("no bytes for one record", b"")
    yield case("no bytes for no records", b"", 0, last_offset_delta=0)
    yield case("a record less than the count", two, 3)
    yield case("a record more than the count", three, 2)
    yield case("one byte more", one + b"\x00")
    yield case("a gap in the offsets", record(0) + record(2), 2)
    yield case("a gap in the offsets and in the range", record(0) + record(2), 2, last_offset_delta=2)
    yield case("the same offset twice", record(0) + record(0), 2)
    yield case("offsets that go backwards", record(1) + record(0), 2)
    yield case("offsets from 1", record(1) + record(2), 2)
    yield case("all offsets 0", record(0) * 3, 3)
    yield case("offset delta -1", record(-1))
    yield case("offset delta 2147483647", record(2**31 - 1))
    yield case("record attributes", record(attributes=0x7F))
    yield case("a null value", record(value=None))
    yield case("a key", record(key=b"key"))
    yield case("key length -2", record(body=b"\x00\x00\x00" + varint(-2) + sized(b"value") + b"\x00"))
    yield case("value length -2", record(body=b"\x00\x00\x00" + varint(-1) + varint(-2) + b"\x00"))
    yield case("a key beyond the record", record(body=b"\x00\x00\x00" + varint(100) + b"value") + bytes(200))
    yield case("a key beyond the batch", record(body=b"\x00\x00\x00" + varint(100) + b"value"))
    yield case("a value beyond the record", record(body=b"\x00\x00\x00" + varint(-1) + varint(100) + b"v") + bytes(200))
    yield case("a value beyond the batch", record(body=b"\x00\x00\x00" + varint(-1) + varint(100) + b"value"))
    yield case("a value one byte shorter", record(body=b"\x00\x00\x00" + varint(-1) + varint(4) + b"value\x00"))
    yield case("a record without headers field", record(headers=b""))
    yield case("record size -1", record(size=-1))
    yield case("record size 0", record(size=0))
    yield case("record size one less", record(size=len(one) - 2))
    yield case("record size one more", record(size=len(one)))
    yield case("record size 1000000", record(size=1_000_000))
    yield case("a size of six bytes", b"\xff\xff\xff\xff\xff\x01" + one)
    yield case("a size of five bytes", b"\x96\x80\x80\x80\x00" + one[1:])
    yield case("an offset delta of six bytes", record(body=b"\x00\x00\x80\x80\x80\x80\x80\x00\x01\x0avalue\x00"))
    yield case("a timestamp delta of eleven bytes", record(body=b"\x00" + b"\x80" * 10 + b"\x00\x00\x01\x0avalue\x00"))
    yield case("two headers", record(headers=headers((b"a", b"b"), (b"", None))))
    yield case("header count -1", record(headers=varint(-1)))
    yield case("header count 5 of one", record(headers=headers((b"a", b"b"), count=5)))
    yield case("header count 2147483647", record(headers=headers((b"a", b"b"), count=2**31 - 1)))
    yield case("a header without a name", record(headers=headers((None, b"b"))))
    yield case("header name length -2", record(headers=varint(1) + varint(-2) + sized(b"b")))
    yield case("header value length -2", record(headers=varint(1) + sized(b"a") + varint(-2)))
    yield case("a header name beyond the record", record(headers=varint(1) + varint(50) + b"a") + bytes(100))
    yield case("a header value beyond the batch", record(headers=varint(1) + sized(b"a") + varint(50)))
    yield case("a header name that is not UTF-8", record(headers=headers((b"\xff\xfe", b"b"))))
    yield case("a byte after the headers", record(headers=b"\x00\x00"))
    yield case("a timestamp in the past", record(timestamp_delta=-now_ms + 5), max_timestamp=5)
    yield case("a negative timestamp", record(timestamp_delta=-now_ms - 5), max_timestamp=-5)
    yield case("59 minutes ahead", record(timestamp_delta=59 * 60_000), max_timestamp=now_ms + 59 * 60_000)
    yield case("61 minutes ahead", record(timestamp_delta=61 * 60_000), max_timestamp=now_ms + 61 * 60_000)
    ahead = record(0) + record(1, timestamp_delta=2 * HOUR_MS) + record(2) + record(3, timestamp_delta=2 * HOUR_MS)
    yield case("two of four are two hours ahead", ahead, 4)
    yield case("max timestamp too early", record(0) + record(1, timestamp_delta=1000) + record(2), 3)
    yield case("max timestamp too late", three, 3, max_timestamp=now_ms + 500)
    yield case("max timestamp two hours ahead", three, 3, max_timestamp=now_ms + 2 * HOUR_MS)
    yield case("log append time", three, 3, attributes=LOG_APPEND_TIME)
    yield case("log append time and a gap", record(0) + record(2), 2, attributes=LOG_APPEND_TIME)
    yield case("a timestamp that overflows", record(timestamp_delta=2**62), base_timestamp=2**63 - 1)
    yield case("no timestamps", record(0) + record(1), 2, base_timestamp=NO_TIMESTAMP)


def compression_cases(now_ms: int) -> Iterator[Case]:
    """What only compressed batches can have."""
    one = record()
    zstd = packed("zstd", one, now_ms=now_ms)
    for version in (3, 6, 7):
        yield Case(f"zstd in version {version}", (zstd,), version)
    yield Case("zstd with a wrong checksum in version 6", (zstd[:-1] + b"?",), 6)
    yield Case("version 3", (batch(one, now_ms=now_ms),), 3)
    yield Case("version 3 without records", (None,), 3)
    for compression in COMPRESSIONS[1:]:
        plain = compress(compression, one)
        large = compress(compression, b"".join(record(delta, bytes(1000)) for delta in range(1000)))
        for name, data, count in (
            ("no compressed bytes", b"", 1),
            ("not compressed", one, 1),
            ("compressed data that is cut short", plain[:-1], 1),
            ("compressed data that is cut in half", large[: len(large) // 2], 1000),
            ("one byte after the compressed data", plain + b"\x00", 1),
            ("compressed data twice", plain + plain, 1),
            ("compressed data twice for two", plain + compress(compression, record(1)), 2),
            ("zeros", bytes(100), 1),
        ):
            yield Case(f"{compression}: {name}", (packed(compression, b"", count, data=data, now_ms=now_ms),))
    yield Case("snappy: one raw block", (packed("snappy", b"", data=_raw_snappy(one), now_ms=now_ms),))
    for name, data in _lz4_frames(one):
        yield Case(f"lz4: {name}", (packed("lz4", b"", data=data, now_ms=now_ms),))


def _raw_snappy(data: bytes) -> bytes:
    """A snappy block with the bytes as they are."""
    return bytes([len(data), (len(data) - 1) << 2]) + data


def _lz4_frames(data: bytes) -> Iterator[tuple[str, bytes]]:
    block = struct.pack("<I", len(data) | 0x8000_0000) + data
    end = bytes(4)
    yield "no end mark", b"\x04\x22\x4d\x18\x60\x40\x82" + block
    yield "a wrong header checksum", b"\x04\x22\x4d\x18\x60\x40\x83" + block + end
    yield "dependent blocks", b"\x04\x22\x4d\x18\x40\x40\xc0" + block + end
    yield "blocks of up to 4 MiB", b"\x04\x22\x4d\x18\x60\x70\x73" + block + end
