def snappy_content_bytes(data: bytes | memoryview) -> int:
    """How many bytes the blocks say that they decompress to. `data` is framed as by Kafka's clients, or one raw block.

    Raises:
        ValueError: the blocks do not fill `data`, or one does not begin with a size.
    """

def decompress_snappy_into(data: bytes | memoryview, out: bytearray | memoryview) -> int:
    """Decompress blocks into `out`; return the number of bytes written.

    Raises:
        ValueError: as `snappy_content_bytes`; also a block that is not as large as it says, and an `out` that is too
            small.
    """
