"""LZ4 frames of a few KiB: others can read them, and they are as short as those of the library, or nearly."""

import lz4.block
import lz4.frame
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from _wire.compressed_frames import lz4_single_block
from _wire.compression import compress, decompress
from _wire.small_lz4 import SMALL_BYTES_MAX, small_lz4_frame
from tests.examples import examples

PIECES = (b"a", b"bc", b"abcabcd", b"\0" * 30, b'"partitions":{', b"x" * 300)
REPEATING = st.lists(st.sampled_from(PIECES), max_size=400)
CONTENT = st.one_of(st.binary(max_size=SMALL_BYTES_MAX), REPEATING.map(b"".join)).map(
    lambda data: data[:SMALL_BYTES_MAX]
)
AN_EVENT = b'{"type":"member.joined","group_id":"orders","seq":%d,"member":{"member_id":"consumer-1","client":"%d"}}'


@settings(max_examples=examples(300))
@given(CONTENT)
@example(b"")
@example(b"a" * 12)
@example(b"a" * 13)
@example(b"a" * SMALL_BYTES_MAX)
@example(bytes(range(256)) * 32)
@example(b"0123456789abcdef" + bytes(15 + 255) + b"0123456789abcdef")
def test_the_library_reads_a_frame(content):
    frame = small_lz4_frame(content)
    assert lz4.frame.decompress(frame) == content
    assert bytes(decompress("lz4", frame, SMALL_BYTES_MAX + 1)) == content
    if content:
        block = lz4_single_block(frame)
        assert block is not None
        start, end, is_stored, _ = block
        assert (end - start == len(content)) if is_stored else (end - start < len(content))


def test_a_frame_is_about_as_short_as_one_of_the_library():
    events = b"".join(AN_EVENT % (number, number * 7919) for number in range(50))[:SMALL_BYTES_MAX]
    assert len(small_lz4_frame(events)) < len(lz4.block.compress(events, store_size=False)) * 1.1


def test_memory_is_read_in_place():
    content = b"one two one two one two one two one two"
    assert small_lz4_frame(memoryview(b"--" + content)[2:]) == small_lz4_frame(bytearray(content))


def test_more_is_left_to_the_library():
    content = b"abcd" * SMALL_BYTES_MAX
    with pytest.raises(ValueError, match="32768 bytes, at most 8192 are allowed"):
        small_lz4_frame(content)
    assert lz4.frame.decompress(compress("lz4", content)) == content
