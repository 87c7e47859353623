"""Batches for topics with a `compression.type`; recorded/recompression_answers.json has what Apache Kafka answers.

A case is named by its batch and its topic. How a stored batch is described is here too, for both sides.
"""

import struct
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from crc32c import crc32c

from _wire.compression import COMPRESSIONS, decompress
from _wire.errors import ErrorCode
from tests.broker.produce_cases import DELETE_HORIZON, HEADER, batch, headers, packed, record

TARGETS: Final = ("uncompressed", "gzip", "snappy", "lz4", "zstd")
LEVELS: Final = {"gzip": (1, 9), "lz4": (1, 9, 12, 17), "zstd": (-5, 22)}
PRODUCER: Final = {"producer_id": 7, "producer_epoch": 0, "base_sequence": 0}
PLAIN_BYTES_MAX: Final = 1 << 24
SOON_MS: Final = 600_000
"""Within this time the cases were sent."""
ATTRIBUTES_AT: Final = 21
UNKNOWN_ATTRIBUTES: Final = 0x380


class Case(NamedTuple):
    """Requests to a new topic in turn. The answer to the last one counts, and the last batch of the log."""

    name: str
    configs: Mapping[str, str]
    requests: tuple[bytes, ...]
    fetch_version: int = 11


def some_records(*values: bytes) -> bytes:
    values = values or (b"one" * 9, b"two" * 9, b"")
    return b"".join(
        record(
            delta,
            value,
            key=b"key" if delta else None,
            timestamp_delta=(0, 5, -3)[delta % 3],
            headers=headers((b"h", b"1"), (b"h", None)) if delta == 1 else b"\x00",
        )
        for delta, value in enumerate(values)
    )


def of(compression: str, records: bytes, count: int, now_ms: int, **fields: int) -> bytes:
    fields = {"now_ms": now_ms, "max_timestamp": now_ms + (5 if count > 1 else 0)} | fields
    if compression == "none":
        return batch(records, count, **fields)
    return packed(compression, records, count, data=None, **fields)


def cases(now_ms: int) -> Iterator[Case]:
    """All cases. `now_ms` is the time at which they are sent."""
    for target in TARGETS:
        topic = {"compression.type": target}
        for compression in COMPRESSIONS:
            sent = of(compression, some_records(), 3, now_ms, **PRODUCER)
            yield Case(f"{compression} to {target}", topic, (sent,))
            large = some_records(*(b"%d" % number * 100 for number in range(1000)))
            yield Case(f"many records of {compression} to {target}", topic, (of(compression, large, 1000, now_ms),))
        plain = of("none", some_records(), 3, now_ms, **PRODUCER)
        yield Case(f"a duplicate to {target}", topic, (plain, plain))
        yield Case(f"log append time and {target}", topic | {"message.timestamp.type": "LogAppendTime"}, (plain,))
        for level in LEVELS.get(target, ()):
            at_level = topic | {f"compression.{target}.level": str(level)}
            many = of("none", some_records(*(b"%d" % number * 100 for number in range(1000))), 1000, now_ms)
            yield Case(f"{target} of level {level}", at_level, (many,))
    yield from field_cases(now_ms)
    yield from rejected_cases(now_ms)


def field_cases(now_ms: int) -> Iterator[Case]:
    """What else may be unusual in a batch."""
    lz4 = {"compression.type": "lz4"}
    for compression in ("none", "lz4"):
        other = of(compression, some_records(), 3, now_ms, attributes=UNKNOWN_ATTRIBUTES)
        yield Case(f"unknown attributes of {compression} to lz4", lz4, (other,))
        horizon = of(compression, some_records(), 3, now_ms, attributes=DELETE_HORIZON)
        yield Case(f"a delete horizon of {compression} to lz4", lz4, (horizon,))
    wrong = of("none", some_records(), 3, now_ms, max_timestamp=now_ms + 77)
    yield Case("a wrong max timestamp of none to lz4", lz4, (wrong,))
    untimed = batch(record(0, b"value"), now_ms=now_ms, base_timestamp=-1, max_timestamp=-1)
    yield Case("no timestamp of none to lz4", lz4, (untimed,))
    yield Case("zstd fetched with version 9", {"compression.type": "zstd"}, (of("none", record(), 1, now_ms),), 9)
    yield Case("producer's zstd fetched with version 9", {}, (of("zstd", record(), 1, now_ms),), 9)


def rejected_cases(now_ms: int) -> Iterator[Case]:
    """What may not be appended before or after its compression."""
    small = {"max.message.bytes": "1000"}
    zeros = record(0, bytes(2000))
    yield Case("too large before gzip", small | {"compression.type": "gzip"}, (of("none", zeros, 1, now_ms),))
    yield Case(
        "too large when uncompressed", small | {"compression.type": "uncompressed"}, (of("gzip", zeros, 1, now_ms),)
    )
    for more in (0, 1):
        size = 1000 - HEADER.size - len(record(0, bytes(500))) + 500 + more
        yield Case(
            f"{1000 + more} bytes when uncompressed",
            small | {"compression.type": "uncompressed"},
            (of("gzip", record(0, bytes(size)), 1, now_ms),),
        )
    late = of("none", record(), 1, now_ms, base_timestamp=now_ms + 10**8, max_timestamp=now_ms + 10**8)
    yield Case("a late timestamp to lz4", {"compression.type": "lz4"}, (late,))
    yield Case(
        "no key to lz4", {"compression.type": "lz4", "cleanup.policy": "compact"}, (of("none", record(), 1, now_ms),)
    )
    broken = bytearray(of("none", record(), 1, now_ms))
    broken[-1] ^= 1
    yield Case("a wrong checksum to lz4", {"compression.type": "lz4"}, (bytes(broken),))


def description(case: Case, response: Any, fetch_error: int, stored: bytes, now_ms: int) -> dict[str, object]:
    """What is compared: the answer to the last request, and what was stored."""
    answer: dict[str, object] = {"error": ErrorCode(response.error_code).name}
    if response.error_code:
        answer["record_errors"] = [record_error.batch_index for record_error in response.record_errors]
        return answer
    answer["base_offset"] = response.base_offset
    if fetch_error:
        return answer | {"fetch_error": ErrorCode(fetch_error).name}
    (_, length, _, magic, crc, attributes, last_delta, base_ms, max_ms, *producer, count) = HEADER.unpack_from(stored)
    stored = stored[: 12 + length]
    assert (magic, crc) == (2, crc32c(stored[ATTRIBUTES_AT:]))
    has_append_time = case.configs.get("message.timestamp.type") == "LogAppendTime"
    if has_append_time:
        assert 0 <= max_ms - now_ms < SOON_MS
        assert response.log_append_time_ms == max_ms
    return answer | {
        "attributes": attributes,
        "last_offset_delta": last_delta,
        "base_timestamp": base_ms if base_ms < 0 else base_ms - now_ms,
        "max_timestamp": "the append time" if has_append_time else max_ms if max_ms < 0 else max_ms - now_ms,
        "producer": producer,
        "count": count,
        "records": "as sent" if plain_records(stored) == plain_records(case.requests[-1]) else "others",
        "bytes": "as sent" if stored[HEADER.size :] == case.requests[-1][HEADER.size :] else "others",
    }


def plain_records(data: bytes) -> bytes:
    (attributes,) = struct.unpack_from(">h", data, ATTRIBUTES_AT)
    records = data[HEADER.size :]
    compression = COMPRESSIONS[attributes & 7]
    return records if compression == "none" else bytes(decompress(compression, records, PLAIN_BYTES_MAX))
