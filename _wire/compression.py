"""The four compressions of record batches, as Kafka's Java client frames them.

What does it, `codecs.py`, is imported for the first compressed batch: its libraries take a test 3 ms and 2 MiB.
"""

from typing import Final

# The number is the value of the low three bits of the attributes of a batch (KIP-98, zstd: KIP-110).
COMPRESSIONS: Final = ("none", "gzip", "snappy", "lz4", "zstd")
NONE: Final = COMPRESSIONS[0]

SCRATCH_BYTES: Final = 1 << 20


class BadCompression(Exception):
    """The bytes cannot be decompressed, or their content exceeds the limit."""


class DecompressedTooLarge(BadCompression):
    """The content exceeds the limit."""


def compress(compression: str, data: bytes | bytearray | memoryview) -> bytes:
    """Compress bytes.

    Raises:
        ValueError: an unknown compression.
    """
    if compression not in COMPRESSIONS:
        raise ValueError(f"compression is one of {', '.join(COMPRESSIONS)}, not {compression!r}")
    if compression == NONE:
        return bytes(data)
    from _wire.codecs import compress as compress_by

    return compress_by(compression, data)


def compress_at_level(compression: str, data: bytes | bytearray | memoryview, level: int) -> bytes:
    """Compress bytes, where `level` is a value of Kafka's `compression.*.level`; snappy has none. May run in a thread.

    As with Kafka, -1 is the default of gzip, and the default of LZ4 is its fast compressor, not its high compression.
    """
    if compression == NONE:
        return bytes(data)
    from _wire import codecs

    return codecs.compress_at_level(compression, data, level)


def decompress(compression: str, data: bytes | memoryview, limit_bytes: int) -> bytes | bytearray | memoryview:
    """Decompress bytes, with at most about `limit_bytes` of memory.

    Raises:
        BadCompression: the bytes cannot be decompressed, or their content exceeds the limit.
    """
    from _wire import codecs

    return codecs.decompress(compression, data, limit_bytes)


def decompress_to_scratch(compression: str, data: bytes | memoryview, limit_bytes: int) -> memoryview:
    """Decompress bytes into memory that the next call overwrites. The limit is exact.

    Content of up to a MiB takes no new memory. More takes up to `limit_bytes`, and one more pass.

    Raises:
        DecompressedTooLarge: the content exceeds the limit.
        BadCompression: the bytes cannot be decompressed, or Kafka's Java clients could not decompress them.
    """
    from _wire import codecs

    return codecs.decompress_to_scratch(compression, data, limit_bytes)


def repair_lz4_header(data: bytes | memoryview) -> bytes:
    """Return the frame with the header checksum that the format requires.

    Clients of message format 0 computed it over the magic too (KAFKA-3160).
    """
    from _wire import codecs

    return codecs.repair_lz4_header(data)
