"""What `compression.py` does, with the libraries of the codecs; imported for the first compressed batch.

The codecs are cramjam's, but zstd is decompressed by zstandard: it keeps its context, whose making takes longer than a
batch. zstd with a level is zstandard's too: it adapts its memory to the size of the data. LZ4 with a level is lz4's, as
cramjam has one speed only, and short LZ4 is that of `small_lz4.pyx`. What comes out of a decompression is bounded by
the caller, whatever the compressed bytes say about their size.
"""

import mmap
import struct
from collections.abc import Callable
from typing import Final

import cramjam
import lz4.block
import zstandard

from _wire.compressed_frames import lz4_single_block, short_xxh32, zstd_window_bytes
from _wire.compression import SCRATCH_BYTES, BadCompression, DecompressedTooLarge
from _wire.small_lz4 import SMALL_BYTES_MAX, small_lz4_frame
from _wire.snappy import decompress_snappy_into, snappy_content_bytes

# org.xerial.snappy: magic, version and lowest compatible version, then blocks, each after its int32 size.
XERIAL_HEADER = b"\x82SNAPPY\x00" + struct.pack(">ii", 1, 1)
XERIAL_BLOCK_BYTES = 32 * 1024

# LZ4 frame format 1.6: independent blocks (Kafka's Java reader rejects others) of at most 64 KiB, no checksums.
LZ4_MAGIC = b"\x04\x22\x4d\x18"
LZ4_FRAME_HEADER = LZ4_MAGIC + b"\x60\x40\x82"
LZ4_BLOCK_BYTES = 64 * 1024
LZ4_STORED_BLOCK = 0x8000_0000
LZ4_CONTENT_SIZE_FLAG = 0x08

GZIP_LEVEL_DEFAULT: Final = 6
LZ4_LEVEL_DEFAULT: Final = 9
"""Of Kafka, and not one of high compression (Lz4BlockOutputStream.java)."""

SNAPPY_RATIO_MAX = 32  # a copy of 64 bytes takes three: more than this much is not in a block

ZSTD_WINDOW_KEPT_BYTES: Final = 8 << 20
"""The largest window for which the memory of a decompression is kept: that of the highest levels of most clients."""
ZSTD_WINDOW_BYTES_MAX: Final = 128 << 20
"""As for zstd-jni, which Kafka uses."""
FIRST_GUESS_BYTES = 64 * 1024
GUESS_GROWTH = 8


def compress(compression: str, data: bytes | bytearray | memoryview) -> bytes:
    return _COMPRESSORS[compression](data)


def compress_at_level(compression: str, data: bytes | bytearray | memoryview, level: int) -> bytes:
    if compression == "gzip":
        return bytes(cramjam.gzip.compress(data, level=GZIP_LEVEL_DEFAULT if level == -1 else level))
    if compression == "zstd":
        return zstandard.ZstdCompressor(level=level).compress(data)
    if compression == "lz4" and level != LZ4_LEVEL_DEFAULT:
        return _compress_lz4_high(data, level)
    return compress(compression, data)


def decompress(compression: str, data: bytes | memoryview, limit_bytes: int) -> bytes | bytearray | memoryview:
    if compression == "snappy":
        return _decompress_snappy(data, bytearray(_snappy_content_bytes(data, limit_bytes)))
    size = min(limit_bytes, max(FIRST_GUESS_BYTES, GUESS_GROWTH * len(data)))
    while True:
        # Both formats may omit the size of their content, so this is a buffer that grows up to the limit.
        content = _decompress_into(compression, data, bytearray(size))
        if content is not None:
            return content
        if size == limit_bytes:
            raise DecompressedTooLarge(f"decompresses to more than the {limit_bytes} bytes allowed")
        size = min(limit_bytes, GUESS_GROWTH * size)


def decompress_to_scratch(compression: str, data: bytes | memoryview, limit_bytes: int) -> memoryview:
    if compression == "snappy":
        size = _snappy_content_bytes(data, limit_bytes)
        return _decompress_snappy(data, _scratch(size))
    for size in (min(limit_bytes, SCRATCH_BYTES), limit_bytes):
        out = _scratch(size)
        if compression == "lz4":
            content = _decompress_lz4(data, out)
        elif compression == "zstd":
            content = _decompress_zstd(data, out)
        else:
            content = _decompress_into(compression, data, out)
        if content is not None:
            return content
    raise DecompressedTooLarge(f"decompresses to more than the {limit_bytes} bytes allowed")


def repair_lz4_header(data: bytes | memoryview) -> bytes:
    descriptor_end = 14 if len(data) > 4 and data[4] & LZ4_CONTENT_SIZE_FLAG else 6
    if bytes(data[:4]) != LZ4_MAGIC or len(data) <= descriptor_end:
        raise BadCompression("no LZ4 frame")
    checksum = short_xxh32(bytes(data[4:descriptor_end])) >> 8 & 0xFF
    return bytes(data[:descriptor_end]) + bytes((checksum,)) + bytes(data[descriptor_end + 1 :])


def _compress_snappy(data: bytes | bytearray | memoryview) -> bytes:
    parts = [XERIAL_HEADER]
    for start in range(0, len(data), XERIAL_BLOCK_BYTES):
        block = bytes(cramjam.snappy.compress_raw(data[start : start + XERIAL_BLOCK_BYTES]))
        parts += (struct.pack(">i", len(block)), block)
    return b"".join(parts)


def _snappy_content_bytes(data: bytes | memoryview, limit_bytes: int) -> int:
    try:
        size = snappy_content_bytes(data)
    except ValueError as problem:
        raise BadCompression(str(problem)) from None
    if size > SNAPPY_RATIO_MAX * len(data):
        raise BadCompression(f"{len(data)} bytes of snappy claim to be {size}")
    if size > limit_bytes:
        raise DecompressedTooLarge(f"decompresses to {size} bytes, {limit_bytes} are allowed")
    return size


def _decompress_snappy(data: bytes | memoryview, out: bytearray | memoryview) -> memoryview:
    try:
        return memoryview(out)[: decompress_snappy_into(data, out)]
    except ValueError as problem:
        raise BadCompression(str(problem)) from None


def _compress_lz4(data: bytes | bytearray | memoryview) -> bytes:
    if len(data) <= SMALL_BYTES_MAX:
        return small_lz4_frame(data)
    out = bytearray(cramjam.lz4.compress_block_bound(memoryview(data)[:LZ4_BLOCK_BYTES]))

    def compress_block(plain: memoryview) -> bytes:
        return bytes(out[: cramjam.lz4.compress_block_into(plain, out, store_size=False)])

    return _lz4_frame(data, compress_block)


def _compress_lz4_high(data: bytes | bytearray | memoryview, level: int) -> bytes:
    def compress_block(plain: memoryview) -> bytes:
        return bytes(lz4.block.compress(plain, mode="high_compression", compression=level, store_size=False))

    return _lz4_frame(data, compress_block)


def _lz4_frame(data: bytes | bytearray | memoryview, compress_block: Callable[[memoryview], bytes]) -> bytes:
    view = memoryview(data)
    parts: list[bytes | memoryview] = [LZ4_FRAME_HEADER]
    for start in range(0, len(view), LZ4_BLOCK_BYTES):
        plain = view[start : start + LZ4_BLOCK_BYTES]
        block = compress_block(plain)
        if len(block) < len(plain):
            parts += (struct.pack("<I", len(block)), block)
        else:
            parts += (struct.pack("<I", len(plain) | LZ4_STORED_BLOCK), plain)
    parts.append(b"\x00\x00\x00\x00")
    return b"".join(parts)


def _decompress_lz4(data: bytes | memoryview, out: memoryview) -> memoryview | None:
    """Return the content of the one frame that Kafka's Java clients read; None if it does not fit into `out`."""
    try:
        block = lz4_single_block(data)
    except ValueError as problem:
        raise BadCompression(str(problem)) from None
    if block is None:
        return _decompress_into("lz4", data, out)
    start, end, is_stored, content_bytes_max = block
    if content_bytes_max > len(out):
        return _decompress_into("lz4", data, out)
    if is_stored:
        if end - start > content_bytes_max:
            raise BadCompression(f"an LZ4 block of {end - start} bytes, its frame allows {content_bytes_max}")
        return memoryview(data)[start:end]
    try:
        size = cramjam.lz4.decompress_block_into(
            memoryview(data)[start:end], out[:content_bytes_max], output_len=content_bytes_max
        )
    except cramjam.DecompressionError as error:
        raise BadCompression(str(error)) from None
    return out[:size]


def _decompress_zstd(data: bytes | memoryview, out: memoryview) -> memoryview | None:
    """Return the content of the frames; None if it does not fit into `out`."""
    try:
        is_kept = zstd_window_bytes(data) <= ZSTD_WINDOW_KEPT_BYTES
        decompressor = _ZSTD if is_kept else zstandard.ZstdDecompressor(max_window_size=ZSTD_WINDOW_BYTES_MAX)
        reader = decompressor.stream_reader(data, read_across_frames=True)
        size = reader.readinto(out)
        if size == len(out) and reader.read(1):
            return None
    except (ValueError, zstandard.ZstdError) as problem:
        raise BadCompression(str(problem)) from None
    return out[:size]


def _decompress_into(compression: str, data: bytes | memoryview, out: bytearray | memoryview) -> memoryview | None:
    """Return the content; None if it does not fit."""
    try:
        return memoryview(out)[: _DECOMPRESSORS[compression](data, out)]
    except cramjam.DecompressionError as error:
        if "whole buffer" in str(error):  # std::io::Write into a full slice: "failed to write whole buffer"
            return None
        raise BadCompression(str(error)) from None


_ZSTD: Final = zstandard.ZstdDecompressor(max_window_size=ZSTD_WINDOW_KEPT_BYTES)
_SCRATCH: Final[list[memoryview]] = []


def _scratch(size: int) -> memoryview:
    """Memory of `size` bytes, whatever is in it; of a size above SCRATCH_BYTES only what is written takes memory."""
    if size > SCRATCH_BYTES:
        return memoryview(mmap.mmap(-1, size))
    if not _SCRATCH:
        _SCRATCH.append(memoryview(bytearray(SCRATCH_BYTES)))
    return _SCRATCH[0][:size]


_COMPRESSORS: dict[str, Callable[[bytes | bytearray | memoryview], bytes]] = {
    "gzip": lambda data: bytes(cramjam.gzip.compress(data)),
    "snappy": _compress_snappy,
    "lz4": _compress_lz4,
    "zstd": lambda data: bytes(cramjam.zstd.compress(data)),
}
_DECOMPRESSORS: dict[str, Callable[[bytes | memoryview, bytearray | memoryview], int]] = {
    "gzip": cramjam.gzip.decompress_into,
    "lz4": cramjam.lz4.decompress_into,
    "zstd": cramjam.zstd.decompress_into,
}
