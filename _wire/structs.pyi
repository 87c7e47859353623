from collections.abc import Callable
from typing import ClassVar, Self

Buffer = bytes | bytearray | memoryview

class Struct:
    """A structure of fields, equal to another one with equal fields. FIELDS is in the order of encoding."""

    FIELDS: ClassVar[tuple[str, ...]]
    ARRAYS: ClassVar[tuple[str, ...]]
    """Those of FIELDS that are arrays."""

class Message(Struct):
    """A top-level struct. FLEXIBLE_FROM is MAX_VERSION + 1 if no version is flexible. Only APIs have an API_KEY."""

    NAME: ClassVar[str]
    API_KEY: ClassVar[int]
    MIN_VERSION: ClassVar[int]
    MAX_VERSION: ClassVar[int]
    FLEXIBLE_FROM: ClassVar[int]

    @classmethod
    def decode(
        cls,
        data: Buffer,
        version: int,
        start: int = 0,
        whole: bool = True,
        elements_max: int = -1,
        pause: Callable[[], object] | None = None,
    ) -> Self:
        """Decode data[start:] in `version`. All arrays together may have `elements_max` elements; -1: no limit.

        `pause` is called after about 5,000 elements, and then after each 500: what takes long can be interrupted there,
        by a switch to another greenlet or by an exception.

        Raises MalformedMessage if it is none, or (where `whole`) if bytes follow it; ValueError for a version that
        does not exist.
        """

    def encode(self, version: int) -> bytes:
        """Encode the body, without a header.

        Raises:
            ValueError: an unknown version, or None in a field that is not nullable.
        """
