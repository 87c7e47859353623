def siphash_of(secret: bytes, data: bytes) -> bytes:
    """The 16 bytes as the reference implementation writes them."""
