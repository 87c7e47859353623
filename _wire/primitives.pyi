from typing import ClassVar, Self

Buffer = bytes | bytearray | memoryview

class Struct:
    """Fields that belong together. Equal if of one type with equal fields; FIELDS names them in the wire's order."""

    FIELDS: ClassVar[tuple[str, ...]]

class Message(Struct):
    """A struct that stands alone. FLEXIBLE_FROM is MAX_VERSION + 1 if never flexible; only APIs have an API_KEY."""

    NAME: ClassVar[str]
    API_KEY: ClassVar[int]
    MIN_VERSION: ClassVar[int]
    MAX_VERSION: ClassVar[int]
    FLEXIBLE_FROM: ClassVar[int]

    @classmethod
    def decode(cls, data: Buffer, version: int, start: int = 0, whole: bool = True) -> Self:
        """The message that data[start:] is, in `version`.

        Raises MalformedMessage if it is none, or (where `whole`) if bytes follow it; ValueError for a version that
        does not exist.
        """

    def encode(self, version: int) -> bytes:
        """The body, without header. Raises ValueError for a version that does not exist, or None where not nullable."""
