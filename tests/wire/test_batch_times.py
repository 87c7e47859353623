"""The timestamp of a batch by its header."""

import struct

import pytest

from _wire.batch_times import HEAD_BYTES, batch_timestamp
from _wire.records import Record, build_batch

CREATE, APPEND = 1_000, 5_000
ATTRIBUTES = struct.Struct(">h")


def batch_with(attributes: int, magic: int = 2) -> bytes:
    data = bytearray(build_batch([Record(offset=0, timestamp_ms=CREATE), Record(offset=1, timestamp_ms=APPEND)]))
    data[16] = magic
    ATTRIBUTES.pack_into(data, 21, attributes)
    return bytes(data)


@pytest.mark.parametrize(
    ("attributes", "timestamp_ms"), [(0, CREATE), (0x08, APPEND), (0x40, APPEND), (0x48, APPEND), (0x13, CREATE)]
)
def test_the_time_follows_from_the_attributes(attributes, timestamp_ms):
    assert batch_timestamp(batch_with(attributes)) == timestamp_ms
    assert batch_timestamp(batch_with(attributes)[:HEAD_BYTES]) == timestamp_ms


@pytest.mark.parametrize("magic", [0, 1, 3, 255])
def test_other_formats_have_none(magic):
    assert batch_timestamp(batch_with(0, magic)) is None


def test_a_part_of_a_header_has_none():
    data = batch_with(0)
    assert {batch_timestamp(data[:size]) for size in range(HEAD_BYTES)} == {None}
