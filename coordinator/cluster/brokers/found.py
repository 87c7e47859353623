"""What becomes of a question that others answer: it is so, it is not so, or nobody knows now."""

from typing import Final, TypeAlias

import msgspec

from _wire.errors import ErrorCode


class Found(msgspec.Struct, frozen=True):
    """It is so."""


class NotFound(msgspec.Struct, frozen=True):
    """It is not so."""


class Unknown(msgspec.Struct, frozen=True):
    """Whoever was asked did not say; `error` is what a client is answered."""

    error: ErrorCode


FOUND: Final = Found()
NOT_FOUND: Final = NotFound()
Finding: TypeAlias = Found | NotFound | Unknown
