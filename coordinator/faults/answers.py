"""Stands between a handler and the connection that its answer goes to."""

from collections.abc import Callable
from typing import Any

from _wire.errors import ErrorCode
from coordinator.front.dispatch import DEFERRED, NO_RESPONSE, refused
from coordinator.front.request_context import RequestContext

Send = Callable[[Any], None]
"""(response): sends it to where it was to go."""


class CaughtAnswer:
    """In the place of the connection of a request: `deal_with(response, send)` decides what becomes of the answer."""

    def __init__(self, context: RequestContext, deal_with: Callable[[Any, Send], None]) -> None:
        self._beneath = context.connection
        self._context = context
        self._deal_with = deal_with

    def send_response(self, response: Any) -> None:
        self._deal_with(response, self._beneath.send_response)

    def send_error_response(self, error: ErrorCode) -> None:
        response = refused(self._context, error)
        if response is not NO_RESPONSE:
            self.send_response(response)

    @property
    def raw(self) -> Any:
        """The connection itself."""
        return raw_connection(self._beneath)

    @property
    def on_close(self) -> Callable[[], object] | None:
        found: Callable[[], object] | None = self._beneath.on_close
        return found

    @on_close.setter
    def on_close(self, called: Callable[[], object] | None) -> None:
        self._beneath.on_close = called

    @property
    def software(self) -> tuple[str, str]:
        return self._beneath.software

    @software.setter
    def software(self, said: tuple[str, str]) -> None:
        self._beneath.software = said

    def __getattr__(self, name: str) -> Any:
        return getattr(self._beneath, name)


def raw_connection(connection: Any) -> Any:
    """The connection itself, where answers on it may be caught."""
    return connection.raw if isinstance(connection, CaughtAnswer) else connection


def catch_answer(context: RequestContext, deal_with: Callable[[Any, Send], None], proceed: Callable[[], Any]) -> Any:
    """Let a request be handled, and have its answer dealt with, whether it comes at once or later."""
    caught = CaughtAnswer(context, deal_with)
    context.connection = caught  # type: ignore[assignment]
    response = proceed()
    if response is NO_RESPONSE or response is DEFERRED:
        return response
    caught.send_response(response)
    return DEFERRED
