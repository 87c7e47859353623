"""CRC-32C, the checksum of record batches, for other files."""

from crc32c import crc32c


def checksum(data: bytes | memoryview) -> int:
    """Return the CRC-32C of the bytes."""
    return crc32c(data)
