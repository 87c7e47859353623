def lz4_single_block(data: bytes | memoryview) -> tuple[int, int, bool, int] | None:
    """The block of a frame that has only one, as small batches do, and neither checksums nor other options.

    It is where its bytes begin and end, whether they are stored as they are, and the most bytes that it may have
    decompressed. None for another frame, and one whose header is not right.

    Raises:
        ValueError: `data` is not one whole frame of the LZ4 frame format, or one with dependent blocks, which Kafka
            rejects.
    """

def short_xxh32(data: bytes) -> int:
    """XXH32 with seed 0 of fewer than 16 bytes, which is enough for the header of an LZ4 frame.

    Raises:
        ValueError: there are more.
    """

def zstd_window_bytes(data: bytes | memoryview) -> int:
    """The largest window of the frames in `data`: how much memory their decompression takes.

    Raises:
        ValueError: `data` is not one or more whole frames, as far as the sizes of their blocks tell.
    """
