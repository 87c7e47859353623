"""What becomes of a question that others answer: it is found, there is nothing to find, or nobody knows now."""

from typing import Final, Generic, TypeAlias, TypeVar

import msgspec

from _wire.errors import ErrorCode

T = TypeVar("T")


class Found(msgspec.Struct, Generic[T], frozen=True):
    """What was asked for; where the question is whether something is so, there is nothing more to say."""

    value: T


class NotFound(msgspec.Struct, frozen=True):
    """There is none, or it is not so."""


class Unknown(msgspec.Struct, frozen=True):
    """Whoever was asked did not say; `error` is what a client is answered."""

    error: ErrorCode


Finding: TypeAlias = Found[T] | NotFound | Unknown
FOUND: Final = Found(None)
NOT_FOUND: Final = NotFound()
