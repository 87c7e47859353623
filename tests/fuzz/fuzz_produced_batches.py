"""The batch of a Produce request: rejected with one of a few errors, or what can be read from the log afterwards.

    FUZZ_SECONDS=60 python -m tests.fuzz.fuzz_produced_batches

The first byte of an input chooses the compression of what follows a header and whether the batch is sealed, because
hardly any input would get past a checksum or into a compressed block by chance.
"""

from collections.abc import Callable, Iterator
from typing import Final

from _wire.compression import COMPRESSIONS
from _wire.errors import ErrorCode
from _wire.records import (
    InvalidBatch,
    batch_headers,
    parse_batch,
    place_batches,
    validate_batch,
)
from tests.broker.produce_cases import HEADER, cases
from tests.fuzz.fuzz_records import compressed, seal
from tests.fuzz.harness import fuzz

NOW_MS: Final = 1_700_000_000_000
DECOMPRESSED_BYTES_MAX: Final = 1 << 20
AS_IT_IS, SEALED = 0, 1
ERRORS: Final = {
    ErrorCode.CORRUPT_MESSAGE,
    ErrorCode.INVALID_RECORD,
    ErrorCode.INVALID_TIMESTAMP,
    ErrorCode.MESSAGE_TOO_LARGE,
    ErrorCode.UNSUPPORTED_COMPRESSION_TYPE,
}


def one_input(data: bytes, saw: Callable[[str], None]) -> None:
    how, batch = (data[0], bytearray(data[1:])) if data else (0, bytearray())
    if compression := how // 2 % len(COMPRESSIONS):
        batch = compressed(batch, COMPRESSIONS[compression])
    if how % 2 == SEALED:
        seal(batch)
    saw(f"{'ab'[how % 2]} {COMPRESSIONS[compression]} {outcome_of(bytes(batch), 7 - how % 2)}")


def outcome_of(data: bytes, api_version: int) -> str:
    """What became of it."""
    try:
        header, stored = validate_batch(data, api_version, 1 << 20, 0, NOW_MS + 3_600_000, DECOMPRESSED_BYTES_MAX)
    except InvalidBatch as problem:
        assert problem.error in ERRORS
        assert bool(problem.record_errors) == (problem.error == ErrorCode.INVALID_TIMESTAMP)
        return f"{problem.error.name} {problem}"
    assert stored[HEADER.size :] == data[HEADER.size : len(stored)]
    (placed,) = place_batches(stored, 1000, 0)
    again, records = parse_batch(stored, 0, DECOMPRESSED_BYTES_MAX)
    assert [record.offset for record in records] == list(range(1000, 1000 + header.record_count))
    assert max(record.timestamp_ms for record in records) == again.max_timestamp_ms
    assert placed.last_offset == again.last_offset == 999 + header.record_count
    assert len(batch_headers(stored)) == 1
    return f"stored {header.compression} x{min(header.record_count, 9)}"


def seeds() -> Iterator[bytes]:
    for case in cases(NOW_MS):
        for data in case.requests:
            if data is not None:
                for how in range(2 * len(COMPRESSIONS)) if "none: " in case.name else (AS_IT_IS, SEALED):
                    yield bytes((how,)) + data


if __name__ == "__main__":
    fuzz("produced_batches", one_input, seeds())
