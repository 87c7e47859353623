"""Clients that speak something else than Kafka's protocol: their first bytes, read as the length of a request."""

from typing import Final

TLS_HANDSHAKE: Final = 0x160300
"""The first three bytes of a connection with TLS; of the third one the lowest bits are a version."""
HTTP_METHODS: Final = frozenset(int.from_bytes(method) for method in (b"GET ", b"POST", b"PUT ", b"HEAD", b"OPTI"))


def too_large(frame_bytes: int, frame_bytes_max: int, setting: str) -> str:
    """Why a connection is closed whose request has so many bytes, as its first four bytes say."""
    if frame_bytes >> 8 & ~0x7 == TLS_HANDSHAKE:
        return "TLS at a listener without TLS; the client needs security.protocol=PLAINTEXT or SASL_PLAINTEXT"
    if frame_bytes in HTTP_METHODS:
        return "HTTP at a listener of Kafka's protocol"
    return f"a request has {frame_bytes} bytes, but {setting} is {frame_bytes_max}"
