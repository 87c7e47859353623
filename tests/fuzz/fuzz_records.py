"""Record batches of all formats and compressions: read or refused, and what was read can be written and read again.

    FUZZ_SECONDS=60 python -m tests.fuzz.fuzz_records

The first byte of an input chooses what is done to the rest before it is read, because hardly any input would get past
a checksum or into a compressed block by chance.
"""

import zlib
from collections.abc import Callable, Iterator
from itertools import pairwise

from crc32c import crc32c

from _wire.compression import COMPRESSIONS, compress
from _wire.control_records import control_record_type, read_end_txn_marker
from _wire.records import (
    BATCH_HEADER_BYTES,
    CorruptBatch,
    Record,
    batch_headers,
    build_batch,
    end_of_whole_batches,
    find_batch,
    parse_batch,
    parse_records,
    place_batches,
    set_batch_position,
    set_log_append_time,
)
from tests.fuzz.harness import fuzz
from tests.golden_vectors import golden_vectors

LENGTH_AT, LENGTH_END, MAGIC_AT, CRC_AT, ATTRIBUTES_AT = 8, 12, 16, 17, 21
LEGACY_CRC_AT = 12
DECOMPRESSED_BYTES_MAX = 1 << 20
AS_IT_IS, SEALED, COMPRESSED = 0, 1, 2


def one_input(data: bytes, saw: Callable[[str], None]) -> None:
    how, batch = (data[0], bytearray(data[1:])) if data else (0, bytearray())
    if how % 3 == COMPRESSED:
        batch = compressed(batch, COMPRESSIONS[1 + how // 3 % 4])
    if how % 3 != AS_IT_IS:
        seal(batch)
    saw(f"{'abc'[how % 3]} m{batch[MAGIC_AT : MAGIC_AT + 1].hex()} {records_in(batch)}")
    look_at_headers(batch)
    change_in_place(batch)


def compressed(batch: bytearray, compression: str) -> bytearray:
    """The batch with its records compressed, whatever they are."""
    if len(batch) < BATCH_HEADER_BYTES:
        return batch
    batch[ATTRIBUTES_AT + 1] = batch[ATTRIBUTES_AT + 1] & 0xF8 | COMPRESSIONS.index(compression)
    return batch[:BATCH_HEADER_BYTES] + compress(compression, bytes(batch[BATCH_HEADER_BYTES:]))


def seal(batch: bytearray) -> None:
    """Give it the length it has, and the checksum that fits."""
    if len(batch) < BATCH_HEADER_BYTES:
        return
    batch[LENGTH_AT:LENGTH_END] = (len(batch) - LENGTH_END).to_bytes(4, "big")
    if batch[MAGIC_AT] == 2:
        batch[CRC_AT:ATTRIBUTES_AT] = crc32c(batch[ATTRIBUTES_AT:]).to_bytes(4, "big")
    else:
        batch[LEGACY_CRC_AT:MAGIC_AT] = zlib.crc32(batch[MAGIC_AT:]).to_bytes(4, "big")


def records_in(batch: bytearray) -> str:
    """What became of it."""
    try:
        header, records = parse_batch(batch, 0, DECOMPRESSED_BYTES_MAX)
        assert parse_records(batch[: header.size_in_bytes], 0, DECOMPRESSED_BYTES_MAX) == records
    except CorruptBatch as corrupt:
        return f"{corrupt.field} {corrupt.why}"
    for record in records:
        outcome_of_control_record(record)
    offsets = [record.offset for record in records]
    if not records or offsets[0] < 0 or any(one >= other for one, other in pairwise(offsets)):
        return "read, but in no order"
    if offsets[-1] - offsets[0] < 2**31:
        assert parse_records(build_batch(records, compression=header.compression)) == records
    return f"read {header.compression} x{min(len(records), 9)}"


def outcome_of_control_record(record: Record) -> None:
    for ask in (control_record_type, read_end_txn_marker):
        try:
            ask(record)
        except CorruptBatch:
            continue


def look_at_headers(batch: bytearray) -> None:
    for check_crc in (True, False):
        try:
            headers = batch_headers(batch, 0, check_crc)
        except CorruptBatch:
            continue
        assert sum(header.size_in_bytes for header in headers) <= len(batch)
        assert repr(headers)
    assert 0 <= end_of_whole_batches(batch) <= len(batch)
    try:
        position, found = find_batch(batch, 5)
    except CorruptBatch:
        return
    assert not found or position < len(batch)


def change_in_place(batch: bytearray) -> None:
    size = len(batch)
    for change in (
        lambda: set_batch_position(batch, 0, 2**40, 7),
        lambda: set_log_append_time(batch, 0, 99),
        lambda: place_batches(batch, 1_000, 3),
        lambda: place_batches(batch, 2**62, 3, False),
    ):
        try:
            change()
        except CorruptBatch:
            continue
        assert len(batch) == size


def seeds() -> Iterator[bytes]:
    for vector in golden_vectors("wire/_batches.jsonl.gz"):
        for how in (AS_IT_IS, SEALED):
            yield bytes((how,)) + bytes.fromhex(vector["hex"])
        if all(batch["magic"] == 2 and batch["compression"] == "none" for batch in vector["batches"]):
            for number in range(4):
                yield bytes((3 * number + COMPRESSED,)) + bytes.fromhex(vector["hex"])


if __name__ == "__main__":
    fuzz("records", one_input, seeds())
