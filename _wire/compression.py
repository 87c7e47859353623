"""The four compressions of record batches, as Kafka's Java client frames them; the codecs themselves are cramjam's.

What comes out of a decompression is bounded by the caller, whatever the compressed bytes say about their size.
"""

import struct
from collections.abc import Callable, Iterator

import cramjam

# The number is the value of the low three bits of the attributes of a batch (KIP-98, zstd: KIP-110).
COMPRESSIONS = ("none", "gzip", "snappy", "lz4", "zstd")

# org.xerial.snappy: magic, version and lowest compatible version, then blocks, each after its int32 size.
XERIAL_HEADER = b"\x82SNAPPY\x00" + struct.pack(">ii", 1, 1)
XERIAL_MAGIC = XERIAL_HEADER[:8]
XERIAL_BLOCK_BYTES = 32 * 1024

# LZ4 frame format 1.6: independent blocks (Kafka's Java reader rejects others) of at most 64 KiB, no checksums.
LZ4_MAGIC = b"\x04\x22\x4d\x18"
LZ4_FRAME_HEADER = LZ4_MAGIC + b"\x60\x40\x82"
LZ4_BLOCK_BYTES = 64 * 1024
LZ4_STORED_BLOCK = 0x8000_0000
LZ4_CONTENT_SIZE_FLAG = 0x08

SNAPPY_RATIO_MAX = 32  # a copy of 64 bytes takes three: more than this much is not in a block

FIRST_GUESS_BYTES = 64 * 1024
GUESS_GROWTH = 8


class BadCompression(Exception):
    """The bytes cannot be decompressed, or their content exceeds the limit."""


def compress(compression: str, data: bytes | memoryview) -> bytes:
    """Compress bytes.

    Raises:
        ValueError: an unknown compression.
    """
    if compression not in _COMPRESSORS:
        raise ValueError(f"compression is one of {', '.join(_COMPRESSORS)}, not {compression!r}")
    return _COMPRESSORS[compression](data)


def decompress(compression: str, data: bytes | memoryview, limit_bytes: int) -> bytes | bytearray | memoryview:
    """Decompress bytes, with at most about `limit_bytes` of memory.

    Raises:
        BadCompression: the bytes cannot be decompressed, or their content exceeds the limit.
    """
    if compression == "snappy":
        return _decompress_snappy(data, limit_bytes)
    return _decompress_into_growing(_DECOMPRESSORS[compression], data, limit_bytes)


def repair_lz4_header(data: bytes | memoryview) -> bytes:
    """Return the frame with the header checksum that the format requires.

    Clients of message format 0 computed it over the magic too (KAFKA-3160).
    """
    descriptor_end = 14 if len(data) > 4 and data[4] & LZ4_CONTENT_SIZE_FLAG else 6
    if bytes(data[:4]) != LZ4_MAGIC or len(data) <= descriptor_end:
        raise BadCompression("no LZ4 frame")
    checksum = _short_xxh32(bytes(data[4:descriptor_end])) >> 8 & 0xFF
    return bytes(data[:descriptor_end]) + bytes((checksum,)) + bytes(data[descriptor_end + 1 :])


def _compress_snappy(data: bytes | memoryview) -> bytes:
    parts = [XERIAL_HEADER]
    for start in range(0, len(data), XERIAL_BLOCK_BYTES):
        block = bytes(cramjam.snappy.compress_raw(data[start : start + XERIAL_BLOCK_BYTES]))
        parts += (struct.pack(">i", len(block)), block)
    return b"".join(parts)


def _decompress_snappy(data: bytes | memoryview, limit_bytes: int) -> bytes | bytearray:
    if not data:
        raise BadCompression("no bytes")
    if bytes(data[: len(XERIAL_MAGIC)]) != XERIAL_MAGIC:
        return _decompress_snappy_block(data, limit_bytes)
    out = bytearray()
    for block in _xerial_blocks(data):
        out += _decompress_snappy_block(block, limit_bytes - len(out))
    return out


def _xerial_blocks(data: bytes | memoryview) -> Iterator[bytes | memoryview]:
    position = len(XERIAL_HEADER)
    if len(data) < position:
        raise BadCompression(f"snappy header of {len(data)} bytes")
    while position < len(data):
        start = position + 4
        size = int.from_bytes(data[position:start], "big", signed=True)
        if size < 0 or size > len(data) - start:
            raise BadCompression(f"snappy block of {size} bytes, {len(data) - start} left")
        yield data[start : start + size]
        position = start + size


def _decompress_snappy_block(block: bytes | memoryview, limit_bytes: int) -> bytes:
    try:
        size = cramjam.snappy.decompress_raw_len(block)
        if size > min(limit_bytes, SNAPPY_RATIO_MAX * len(block)):
            raise BadCompression(f"snappy block of {len(block)} bytes claims {size}, {limit_bytes} allowed")
        return bytes(cramjam.snappy.decompress_raw(block))
    except cramjam.DecompressionError as error:
        raise BadCompression(f"snappy: {error}") from None


def _compress_lz4(data: bytes | memoryview) -> bytes:
    view = memoryview(data)
    parts: list[bytes | memoryview] = [LZ4_FRAME_HEADER]
    out = bytearray(cramjam.lz4.compress_block_bound(view[:LZ4_BLOCK_BYTES]))
    for start in range(0, len(view), LZ4_BLOCK_BYTES):
        plain = view[start : start + LZ4_BLOCK_BYTES]
        size = cramjam.lz4.compress_block_into(plain, out, store_size=False)
        if size < len(plain):
            parts += (struct.pack("<I", size), bytes(out[:size]))
        else:
            parts += (struct.pack("<I", len(plain) | LZ4_STORED_BLOCK), plain)
    parts.append(b"\x00\x00\x00\x00")
    return b"".join(parts)


def _short_xxh32(data: bytes) -> int:
    """XXH32 with seed 0, for fewer than 16 bytes only, which is enough for an LZ4 frame header."""
    assert len(data) < 16
    mask = 0xFFFF_FFFF

    def rotate(value: int, bits: int) -> int:
        return (value << bits | value >> 32 - bits) & mask

    digest = 374761393 + len(data)
    words_end = len(data) & ~3
    for (word,) in struct.iter_unpack("<I", data[:words_end]):
        digest = rotate(digest + word * 3266489917 & mask, 17) * 668265263 & mask
    for byte in data[words_end:]:
        digest = rotate(digest + byte * 374761393 & mask, 11) * 2654435761 & mask
    digest = (digest ^ digest >> 15) * 2246822519 & mask
    digest = (digest ^ digest >> 13) * 3266489917 & mask
    return digest ^ digest >> 16


def _decompress_into_growing(
    decompress_into: Callable[[bytes | memoryview, bytearray], int], data: bytes | memoryview, limit_bytes: int
) -> memoryview:
    """Try with a buffer that grows up to the limit, because both formats may omit the size of their content."""
    size = min(limit_bytes, max(FIRST_GUESS_BYTES, GUESS_GROWTH * len(data)))
    while True:
        out = bytearray(size)
        try:
            return memoryview(out)[: decompress_into(data, out)]
        except cramjam.DecompressionError as error:
            if "whole buffer" not in str(error):  # std::io::Write into a full slice: "failed to write whole buffer"
                raise BadCompression(str(error)) from None
            if size == limit_bytes:
                raise BadCompression(f"decompresses to more than the {limit_bytes} bytes allowed") from None
        size = min(limit_bytes, GUESS_GROWTH * size)


_COMPRESSORS: dict[str, Callable[[bytes | memoryview], bytes]] = {
    "none": bytes,
    "gzip": lambda data: bytes(cramjam.gzip.compress(data)),
    "snappy": _compress_snappy,
    "lz4": _compress_lz4,
    "zstd": lambda data: bytes(cramjam.zstd.compress(data)),
}
_DECOMPRESSORS: dict[str, Callable[[bytes | memoryview, bytearray], int]] = {
    "gzip": cramjam.gzip.decompress_into,
    "lz4": cramjam.lz4.decompress_into,
    "zstd": cramjam.zstd.decompress_into,
}
