"""The first bytes of a request, which the relay looks at before the rest of it has come."""

from struct import Struct
from struct import error as StructError
from typing import Final

LENGTH_BYTES: Final = 4
HEAD: Final = Struct(">hhi")
"""API key, version and correlation id, which follow the length."""
INT16: Final = Struct(">h")
HEADER_TAGS_MAX: Final = 16
"""No client sends tagged fields in the header of a Produce; more than a few serve no purpose."""
FLEXIBLE_VERSION: Final = 9
"""Of Produce (KIP-482)."""
TRANSACTIONAL_ID_VERSION: Final = 3
UVARINT_BYTES_MAX: Final = 5


class InvalidRequest(Exception):
    """The bytes of a peer are not Kafka's protocol, or ask for what the relay does not pass on. One line."""


def produce_acks(data: bytes, start: int, end: int, version: int) -> int | None:
    """The `acks` of a Produce request whose frame begins with its length at data[start]; None: data[:end] ends before.

    Raises:
        InvalidRequest: it has too many tagged fields, or invalid numbers.
    """
    position = start + LENGTH_BYTES + HEAD.size
    try:
        position = _after_string(data, position)  # the client id
        if version >= FLEXIBLE_VERSION:
            position = _after_tags(data, position)
            size, position = _uvarint(data, position)
            position += max(size - 1, 0)  # the transactional id
        elif version >= TRANSACTIONAL_ID_VERSION:
            position = _after_string(data, position)
        acks: int = INT16.unpack_from(data, position)[0]
    except (IndexError, StructError):
        return None
    # What is read behind the end is that of another frame.
    return acks if position + INT16.size <= end else None


def _after_string(data: bytes, position: int) -> int:
    size: int = INT16.unpack_from(data, position)[0]
    return position + INT16.size + max(size, 0)


def _after_tags(data: bytes, position: int) -> int:
    count, position = _uvarint(data, position)
    if count > HEADER_TAGS_MAX:
        raise InvalidRequest(f"a request header has {count} tagged fields")
    for _ in range(count):
        _, position = _uvarint(data, position)
        size, position = _uvarint(data, position)
        position += size
    return position


def _uvarint(data: bytes, position: int) -> tuple[int, int]:
    """The number, and the position behind it."""
    value = data[position]
    if value < 0x80:
        return value, position + 1
    value &= 0x7F
    for place in range(1, UVARINT_BYTES_MAX):
        byte = data[position + place]
        value |= (byte & 0x7F) << (7 * place)
        if byte < 0x80:
            return value, position + place + 1
    raise InvalidRequest("a number has too many bytes")
