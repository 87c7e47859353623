"""The first bytes of a request, which the relay looks at before the rest of it has come."""

from struct import Struct
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


class _Incomplete(Exception):
    """The bytes end too early."""


class _HeadReader:
    """Reads fields up to the end of the bytes that are there."""

    __slots__ = ("_data", "_end", "_position")

    def __init__(self, data: bytes, start: int, end: int) -> None:
        self._data = data
        self._position = start
        self._end = end

    def skip(self, size: int) -> None:
        self._position += size
        if self._position > self._end:
            raise _Incomplete

    def int16(self) -> int:
        start = self._position
        self.skip(INT16.size)
        value: int = INT16.unpack_from(self._data, start)[0]
        return value

    def uvarint(self) -> int:
        value = 0
        for place in range(UVARINT_BYTES_MAX):
            start = self._position
            self.skip(1)
            value |= (self._data[start] & 0x7F) << (7 * place)
            if self._data[start] < 0x80:
                return value
        raise InvalidRequest("a number has too many bytes")


def produce_acks(data: bytes, start: int, end: int, version: int) -> int | None:
    """The `acks` of a Produce request whose frame begins with its length at data[start]; None: data[:end] ends before.

    Raises:
        InvalidRequest: it has too many tagged fields, or invalid numbers.
    """
    reader = _HeadReader(data, start, end)
    try:
        reader.skip(LENGTH_BYTES + HEAD.size)
        reader.skip(max(reader.int16(), 0))  # the client id
        if version >= FLEXIBLE_VERSION:
            _skip_tags(reader)
            reader.skip(max(reader.uvarint() - 1, 0))  # the transactional id
        elif version >= TRANSACTIONAL_ID_VERSION:
            reader.skip(max(reader.int16(), 0))
        return reader.int16()
    except _Incomplete:
        return None


def _skip_tags(reader: _HeadReader) -> None:
    count = reader.uvarint()
    if count > HEADER_TAGS_MAX:
        raise InvalidRequest(f"a request header has {count} tagged fields")
    for _ in range(count):
        reader.uvarint()
        reader.skip(reader.uvarint())
