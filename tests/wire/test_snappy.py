"""Snappy against cramjam's, and blocks that are not what they say."""

import struct

import cramjam
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from _wire.codecs import XERIAL_HEADER
from _wire.compression import compress
from _wire.snappy import decompress_snappy_into, snappy_content_bytes
from tests.examples import examples

repetitive = st.lists(st.tuples(st.binary(min_size=1, max_size=12), st.integers(1, 300)), max_size=20).map(
    lambda parts: b"".join(part * times for part, times in parts)
)
contents = st.binary(max_size=500) | repetitive


def decompressed(data: bytes) -> bytes:
    out = bytearray(snappy_content_bytes(data))
    assert decompress_snappy_into(data, out) == len(out)
    return bytes(out)


@settings(max_examples=examples(200), deadline=None)
@given(contents)
def test_a_raw_block_is_decompressed(content):
    assert decompressed(bytes(cramjam.snappy.compress_raw(content))) == content


@settings(max_examples=examples(50), deadline=None)
@given(contents, st.integers(1, 40_000))
def test_framed_blocks_are_decompressed(content, times):
    content = (content * times)[:200_000]
    assert decompressed(compress("snappy", content)) == content


@settings(max_examples=examples(300), deadline=None)
@given(contents, st.data())
def test_a_changed_block_is_rejected_or_as_cramjam_decompresses_it(content, data):
    block = bytearray(cramjam.snappy.compress_raw(content))
    position = data.draw(st.integers(0, len(block) - 1))
    block[position] = data.draw(st.integers(0, 255))
    try:
        if snappy_content_bytes(bytes(block)) > 100_000:
            return
        ours: bytes | None = decompressed(bytes(block))
    except ValueError:
        ours = None
    try:
        theirs: bytes | None = bytes(cramjam.snappy.decompress_raw(bytes(block)))
    except cramjam.DecompressionError:
        theirs = None
    assert ours == theirs


def literal(data: bytes) -> bytes:
    return bytes([(len(data) - 1) << 2]) + data


@pytest.mark.parametrize(
    ("block", "content"),
    [
        (b"\x05" + literal(b"value"), b"value"),
        (b"\x0a" + literal(b"ab") + b"\x11\x02", b"ababababab"),
        (b"\x06" + literal(b"a") + b"\x12\x01\x00", b"aaaaaa"),
        (b"\x06" + literal(b"a") + b"\x13\x01\x00\x00\x00", b"aaaaaa"),
        (b"\x04" + b"\xf0\x03" + b"wxyz", b"wxyz"),
        (b"\x04" + b"\xfc\x03\x00\x00\x00" + b"wxyz", b"wxyz"),
        (b"\x00", b""),
    ],
    ids=["literal", "copy 1", "copy 2", "copy 4", "literal with a size byte", "literal with four", "empty"],
)
def test_each_element_of_a_block(block, content):
    assert decompressed(block) == content


@pytest.mark.parametrize(
    "block",
    [
        b"",
        b"\x80",
        b"\xff\xff\xff\xff\xff\x01",
        b"\xff\xff\xff\xff\x1f",
        b"\x05" + literal(b"value")[:-1],
        b"\x05" + literal(b"value!"),
        b"\x06" + literal(b"value"),
        b"\x05\xf0",
        b"\x05" + literal(b"a") + b"\x01\x00",
        b"\x05" + literal(b"a") + b"\x01\x02",
        b"\x05" + literal(b"a") + b"\x12\x01",
        b"\x03" + literal(b"a") + b"\x12\x01\x00",
        XERIAL_HEADER[:-1],
        XERIAL_HEADER + b"\x00\x00\x00",
        XERIAL_HEADER + struct.pack(">i", -1),
        XERIAL_HEADER + struct.pack(">i", 8) + b"\x05" + literal(b"value"),
        XERIAL_HEADER + struct.pack(">i", 0),
    ],
)
def test_blocks_that_are_not_what_they_say(block):
    with pytest.raises(ValueError, match=r"snappy|no bytes"):
        decompress_snappy_into(block, bytearray(100))


def test_a_block_does_not_reach_into_the_one_before():
    first = b"\x05" + literal(b"value")
    second = b"\x04" + b"\x01\x05"
    framed = XERIAL_HEADER + b"".join(struct.pack(">i", len(block)) + block for block in (first, second))
    with pytest.raises(ValueError, match="cannot be decompressed"):
        decompress_snappy_into(framed, bytearray(100))


def test_a_buffer_that_is_too_small_is_not_overrun():
    out = bytearray(b"?" * 8)
    with pytest.raises(ValueError, match="left for it"):
        decompress_snappy_into(b"\x05" + literal(b"value"), memoryview(out)[:4])
    assert out == b"?" * 8
