"""Frames of LZ4 and zstd: where they end, and what their headers say."""

import struct

import cramjam
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from _wire.compressed_frames import lz4_single_block, short_xxh32, zstd_window_bytes
from _wire.compression import compress
from tests.examples import examples

SKIPPED = struct.pack("<II", 0x184D2A57, 3) + b"abc"
contents = st.binary(max_size=500) | st.binary(min_size=1, max_size=20).map(lambda part: part * 20_000)


def positions(frame: bytes) -> range:
    return range(0, len(frame), max(1, len(frame) // 20))


# ---- LZ4


def lz4(flags: int, head: bytes = b"", checksum: bytes = b"", tail: bytes = b"", blocks: int = 1) -> bytes:
    """A frame of stored blocks of at most 64 KiB, without what `flags` promise unless it is given."""
    descriptor = bytes([flags, 0x40]) + head
    block = struct.pack("<I", 0x8000_0005) + b"value" + checksum
    checked = descriptor + bytes([short_xxh32(descriptor) >> 8 & 0xFF])
    return b"\x04\x22\x4d\x18" + checked + block * blocks + bytes(4) + tail


@settings(max_examples=examples(50), deadline=None)
@given(contents, st.binary(min_size=1, max_size=20))
def test_a_frame_that_is_not_whole_or_not_alone(content, rest):
    frame = compress("lz4", content)
    lz4_single_block(frame)
    with pytest.raises(ValueError, match="bytes after an LZ4 frame"):
        lz4_single_block(frame + rest)
    for end in positions(frame):
        with pytest.raises(ValueError, match="LZ4"):
            lz4_single_block(frame[:end])


def test_a_single_block():
    assert lz4_single_block(lz4(0x60)) == (11, 16, True, 65_536)
    frame = compress("lz4", b"value" * 100)
    block = lz4_single_block(frame)
    assert block is not None
    start, end, is_stored, content_bytes_max = block
    assert (start, end, is_stored, content_bytes_max) == (11, len(frame) - 4, False, 65_536)
    content = cramjam.lz4.decompress_block(frame[start:end], output_len=500)
    assert bytes(content) == b"value" * 100


@pytest.mark.parametrize(
    "data",
    [
        lz4(0x60, blocks=0),
        lz4(0x60, blocks=2),
        lz4(0x68, head=bytes(8)),
        lz4(0x61, head=bytes(4)),
        lz4(0x69, head=bytes(12)),
        lz4(0x70, checksum=bytes(4)),
        lz4(0x64, tail=bytes(4)),
        compress("lz4", bytes(65_537)),
    ],
    ids=[
        "no block",
        "two blocks",
        "content size",
        "dictionary",
        "both",
        "block checksums",
        "content checksum",
        "large",
    ],
)
def test_other_frames_are_whole_and_have_no_single_block(data):
    assert lz4_single_block(data) is None
    with pytest.raises(ValueError, match="LZ4"):
        lz4_single_block(data[:-1])


@pytest.mark.parametrize("position", [5, 6], ids=["block size", "header checksum"])
def test_a_header_that_is_not_right_is_left_to_the_codec(position):
    frame = bytearray(lz4(0x60))
    frame[position] ^= 0x08
    assert lz4_single_block(bytes(frame)) is None


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "no LZ4 frame"),
        (b"\x02\x21\x4c\x18" + bytes(20), "no LZ4 frame"),
        (lz4(0x40), "dependent blocks"),
        (lz4(0xA0), "unknown version"),
    ],
)
def test_frames_that_kafka_rejects(data, why):
    with pytest.raises(ValueError, match=why):
        lz4_single_block(data)


def test_only_short_data_has_a_short_xxh32():
    assert short_xxh32(b"") == 0x02CC5D05
    assert short_xxh32(b"abc") == 0x32D153FF
    with pytest.raises(ValueError, match="16 bytes"):
        short_xxh32(bytes(16))


# ---- zstd


def zstd(content: bytes, *, checksum: bool = False, content_size: bool = True) -> bytes:
    return zstandard.ZstdCompressor(write_checksum=checksum, write_content_size=content_size).compress(content)


@settings(max_examples=examples(50), deadline=None)
@given(contents, st.booleans(), st.booleans())
def test_where_a_zstd_frame_ends(content, checksum, content_size):
    frame = zstd(content, checksum=checksum, content_size=content_size)
    window = zstd_window_bytes(frame)
    assert window == zstandard.get_frame_parameters(frame).window_size or not content
    assert zstd_window_bytes(SKIPPED + frame + frame) == window
    for end in positions(frame):
        with pytest.raises(ValueError, match="zstd"):
            zstd_window_bytes(frame[:end])
    with pytest.raises(ValueError, match="zstd"):
        zstd_window_bytes(frame + b"rest")


def test_a_frame_to_be_skipped_is_not_cut():
    assert zstd_window_bytes(SKIPPED) == 0
    for end in range(len(SKIPPED)):
        with pytest.raises(ValueError, match="zstd"):
            zstd_window_bytes(SKIPPED[:end])


@pytest.mark.parametrize("size", [1, 255, 256, 65_791, 65_792, 1 << 20])
def test_the_window_of_a_single_segment_is_its_content(size):
    frame = zstd(bytes(size))
    assert zstd_window_bytes(frame) == zstandard.get_frame_parameters(frame).window_size


@pytest.mark.parametrize("descriptor", range(0, 256, 5))
def test_the_window_of_a_descriptor(descriptor):
    last_empty_block = bytes([1, 0, 0])
    frame = b"\x28\xb5\x2f\xfd" + bytes([0, descriptor]) + last_empty_block
    base = 1 << (10 + (descriptor >> 3))
    assert zstd_window_bytes(frame) == base + base // 8 * (descriptor & 7)


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"\x28\xb5\x2f\xfd" + bytes([0x08, 0, 1, 0, 0]), "unknown kind"),
        (b"\x28\xb5\x2f\xfd" + bytes([0, 0, 7, 0, 0]), "unknown type"),
        (b"\x28\xb5\x2f\xfe" + bytes([0, 0, 1, 0, 0]), "no zstd frame"),
        (b"\x28\xb5\x2f\xfd" + bytes([0, 0, 3, 0, 0]), "block of 1 bytes, 0 left"),
    ],
)
def test_zstd_frames_that_are_none(data, why):
    with pytest.raises(ValueError, match=why):
        zstd_window_bytes(data)
