"""Stands between a handler and the connection that its answer goes to."""

from collections.abc import Callable
from types import GeneratorType
from typing import Any

from _wire.errors import ErrorCode
from coordinator.front.dispatch import DEFERRED, NO_RESPONSE, refused
from coordinator.front.request_context import RequestContext
from coordinator.runtime.slices import Steps

Send = Callable[[Any], None]
"""(response): sends it to where it was to go."""


class CaughtAnswer:
    """In the place of the connection of a request: `deal_with(response, send)` decides what becomes of the answer."""

    __slots__ = ("_beneath", "_context", "_deal_with")

    def __init__(self, context: RequestContext, deal_with: Callable[[Any, Send], None]) -> None:
        for name, value in (("_beneath", context.connection), ("_context", context), ("_deal_with", deal_with)):
            object.__setattr__(self, name, value)

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

    def __getattr__(self, name: str) -> Any:
        return getattr(self._beneath, name)

    def __setattr__(self, name: str, value: object) -> None:
        """What a handler notes of its connection outlives the request."""
        setattr(self._beneath, name, value)


def raw_connection(connection: Any) -> Any:
    """The connection itself, where answers on it may be caught."""
    return connection.raw if isinstance(connection, CaughtAnswer) else connection


def catch_answer(context: RequestContext, deal_with: Callable[[Any, Send], None], proceed: Callable[[], Any]) -> Any:
    """Let a request be handled, and have its answer dealt with, whether it comes at once or later."""
    caught = CaughtAnswer(context, deal_with)
    context.connection = caught  # type: ignore[assignment]
    response = proceed()
    return _caught_in_steps(caught, response) if type(response) is GeneratorType else _caught(caught, response)


def _caught(caught: CaughtAnswer, response: Any) -> Any:
    if response is NO_RESPONSE or response is DEFERRED:
        return response
    caught.send_response(response)
    return DEFERRED


def _caught_in_steps(caught: CaughtAnswer, steps: Steps[Any]) -> Steps[Any]:
    """Some wait for others on their way, as a ShareFetch for the share coordinator."""
    return _caught(caught, (yield from steps))
