from typing import Final

SMALL_BYTES_MAX: Final = 8192

def small_lz4_frame(data: bytes | bytearray | memoryview) -> bytes:
    """Up to SMALL_BYTES_MAX bytes as an LZ4 frame of one block.

    Raises:
        ValueError: there are more.
    """
