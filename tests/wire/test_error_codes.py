"""Error codes that others send."""

import pytest

from _wire.errors import ErrorCode


def test_a_code_of_a_later_version_is_an_unknown_error() -> None:
    assert ErrorCode(30_000) is ErrorCode.UNKNOWN_SERVER_ERROR


def test_what_is_no_code_is_refused() -> None:
    with pytest.raises(ValueError):
        ErrorCode("NONE")  # type: ignore[arg-type]
