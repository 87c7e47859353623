"""Decompression into scratch memory: the same content, an exact limit, and no frame that is damaged."""

import struct
import subprocess
import sys

import cramjam
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from _wire.codecs import ZSTD_WINDOW_BYTES_MAX
from _wire.compressed_frames import short_xxh32
from _wire.compression import (
    SCRATCH_BYTES,
    BadCompression,
    DecompressedTooLarge,
    compress,
    decompress_to_scratch,
)
from tests.examples import examples

LIMIT_BYTES = 4 * SCRATCH_BYTES
CODECS = ("gzip", "snappy", "lz4", "zstd")
contents = st.binary(max_size=500) | st.tuples(st.binary(min_size=1, max_size=20), st.integers(1, 20_000)).map(
    lambda parts: parts[0] * parts[1]
)


@pytest.mark.parametrize("codec", CODECS)
@settings(max_examples=examples(50), deadline=None)
@given(content=contents)
def test_what_was_compressed_comes_back(codec, content):
    assert bytes(decompress_to_scratch(codec, compress(codec, content), LIMIT_BYTES)) == content


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("size", [2, 65_535, 65_536, 65_537, SCRATCH_BYTES - 1, SCRATCH_BYTES, SCRATCH_BYTES + 1])
def test_the_limit_is_exact(codec, size):
    content = bytes(range(256)) * (size // 256) + bytes(size % 256)
    compressed = compress(codec, content)
    assert bytes(decompress_to_scratch(codec, compressed, size)) == content
    with pytest.raises(DecompressedTooLarge, match=f"more than the|are allowed|{size - 1}"):
        decompress_to_scratch(codec, compressed, size - 1)


@pytest.mark.parametrize("codec", sorted({*CODECS} - {"snappy"}))
def test_a_frame_that_is_cut(codec):
    compressed = compress(codec, b"some value" * 100)
    for end in range(1, len(compressed)):
        with pytest.raises(BadCompression):
            decompress_to_scratch(codec, compressed[:end], LIMIT_BYTES)
        assert bytes(decompress_to_scratch(codec, compressed, LIMIT_BYTES)) == b"some value" * 100


def test_bytes_that_were_changed():
    """Without checksums a change may go unnoticed; it is an error, or other content, and never anything else."""
    for codec in CODECS:
        compressed = compress(codec, bytes(range(100)) * 20)
        for position in range(len(compressed)):
            changed = bytearray(compressed)
            changed[position] ^= 0x55
            try:
                content = decompress_to_scratch(codec, bytes(changed), LIMIT_BYTES)
            except BadCompression:
                continue
            assert len(content) <= LIMIT_BYTES


def lz4_frame(block_size: int, *blocks: bytes) -> bytes:
    descriptor = bytes([0x60, block_size << 4])
    parts = [b"\x04\x22\x4d\x18", descriptor, bytes([short_xxh32(descriptor) >> 8 & 0xFF])]
    parts += [struct.pack("<I", len(block) | 0x8000_0000) + block for block in blocks]
    return b"".join([*parts, bytes(4)])


@pytest.mark.parametrize("block_size", [4, 5, 6, 7])
def test_stored_blocks_of_each_size(block_size):
    block_bytes = 1 << (8 + 2 * block_size)
    content = bytes(block_bytes)
    assert bytes(decompress_to_scratch("lz4", lz4_frame(block_size, content), LIMIT_BYTES)) == content
    with pytest.raises(BadCompression):
        decompress_to_scratch("lz4", lz4_frame(block_size, content + b"1"), 2 * LIMIT_BYTES)


def test_a_stored_block_that_is_too_large_is_not_taken_for_a_compressed_one():
    literals = bytes(65_300)
    compressed = b"\xf0" + b"\xff" * 256 + b"\x05" + literals
    assert bytes(cramjam.lz4.decompress_block(compressed, output_len=len(literals))) == literals
    with pytest.raises(BadCompression, match="65558 bytes"):
        decompress_to_scratch("lz4", lz4_frame(4, compressed), LIMIT_BYTES)


def test_a_reserved_flag_of_an_lz4_frame_is_an_error():
    frame = bytearray(lz4_frame(4, b"value"))
    frame[4] |= 0x02
    frame[6] = short_xxh32(bytes(frame[4:6])) >> 8 & 0xFF
    with pytest.raises(BadCompression):
        decompress_to_scratch("lz4", bytes(frame), LIMIT_BYTES)


def test_a_zstd_frame_to_be_skipped_has_no_content():
    skipped = struct.pack("<II", 0x184D2A50, 3) + b"abc"
    frames = skipped + compress("zstd", b"value") + skipped
    assert bytes(decompress_to_scratch("zstd", frames, LIMIT_BYTES)) == b"value"


def test_a_compressed_block_may_not_have_more_than_the_frame_says():
    content = bytes(65_537)
    block = bytes(cramjam.lz4.compress_block(content, store_size=False))
    frame = lz4_frame(4)[:-4] + struct.pack("<I", len(block)) + block + bytes(4)
    with pytest.raises(BadCompression):
        decompress_to_scratch("lz4", frame, LIMIT_BYTES)


@pytest.mark.parametrize("window_log", [20, 24, 27])
def test_zstd_with_a_large_window(window_log):
    parameters = zstandard.ZstdCompressionParameters(window_log=window_log, write_content_size=False)
    content = bytes(range(256)) * 1_000
    compressor = zstandard.ZstdCompressor(compression_params=parameters).compressobj()
    frame = compressor.compress(content) + compressor.flush()
    assert bytes(decompress_to_scratch("zstd", frame, LIMIT_BYTES)) == content


def test_zstd_with_a_window_that_is_not_allowed():
    last_empty_block = bytes([1, 0, 0])
    for window_log in range(28, 42):
        frame = b"\x28\xb5\x2f\xfd" + bytes([0, (window_log - 10) << 3]) + last_empty_block
        assert 1 << window_log > ZSTD_WINDOW_BYTES_MAX
        with pytest.raises(BadCompression):
            decompress_to_scratch("zstd", frame, LIMIT_BYTES)


def test_several_zstd_frames_are_one_content():
    frames = compress("zstd", b"first ") + compress("zstd", b"second")
    assert bytes(decompress_to_scratch("zstd", frames, LIMIT_BYTES)) == b"first second"


def test_the_libraries_of_codecs_are_imported_for_the_first_compressed_batch():
    program = """
import sys
from _wire.records import Record, build_batch
from _wire.small_lz4 import SMALL_BYTES_MAX
def imported():
    return {"cramjam", "lz4.block", "zstandard", "_wire.codecs"} & sys.modules.keys()
build_batch([Record(key=b"k", value=b"v")])
print(len(imported()))
build_batch([Record(key=b"k", value=b"v")], compression="lz4")
print(len(imported()))
build_batch([Record(key=b"k", value=bytes(SMALL_BYTES_MAX))], compression="lz4")
print(len(imported()))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["0", "0", "4"]
