"""Where a reply goes that is not for a connection."""

from collections.abc import Callable
from typing import Any

from _wire.errors import ErrorCode


class ReplyTo:
    """Passes a reply on to a function. `fail` makes the reply that reports an error."""

    __slots__ = ("_fail", "_reply")

    def __init__(self, reply: Callable[[Any], None], fail: Callable[[ErrorCode], Any]) -> None:
        self._reply = reply
        self._fail = fail

    def send_response(self, response: Any) -> None:
        self._reply(response)

    def send_error_response(self, error: ErrorCode) -> None:
        self._reply(self._fail(error))
