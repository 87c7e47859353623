"""Calls handlers, with the steps before them, and sends what they return."""

from collections.abc import Callable
from functools import partial
from time import monotonic
from types import GeneratorType
from typing import Any, Final

from _wire.errors import ErrorCode
from coordinator.front.dispatch import DEFERRED, NO_RESPONSE, Handler
from coordinator.front.request_context import RequestContext
from coordinator.log.errors import OUT_OF_DESCRIPTORS
from coordinator.logger import logger
from coordinator.runtime.slices import Slices

DESCRIPTORS_LOGGED_EVERY_SECONDS: Final = 1.0


class RequestRunner:
    """Runs requests to their response."""

    def __init__(self, slices: Slices, answered: Callable[[RequestContext, Exception], bool] | None = None) -> None:
        """`answered` does what an exception of the handlers' own calls for; False: nobody expected it."""
        self._slices = slices
        self._answered_failure = answered
        self._descriptors_logged_at = -DESCRIPTORS_LOGGED_EVERY_SECONDS

    def run(self, handler: Handler, request: Any, call: RequestContext) -> None:
        """Call a handler, and send its response if there is one already."""
        try:
            response = handler(request, call)
        except Exception as problem:
            self._failed(call, problem)
            return
        if response is DEFERRED:
            return
        if type(response) is GeneratorType:
            answer, failed = partial(self._answer, call), partial(self._failed, call)
            work = self._slices.start(response, answer, failed, call.client_host)
            if work is not None:
                call.connection.on_close = work.cancel
        else:
            self._answer(call, response)

    def _answer(self, call: RequestContext, response: Any) -> None:
        if response is NO_RESPONSE:
            call.connection.finish()
        elif response is not DEFERRED:
            call.connection.send_response(response)

    def _failed(self, call: RequestContext, problem: Exception) -> None:
        """Called while the exception of a handler is being handled."""
        if self._answered_failure is not None and self._answered_failure(call, problem):
            return
        if isinstance(problem, OSError) and problem.errno in OUT_OF_DESCRIPTORS:
            self._log_lack_of_descriptors(call, problem)
            call.connection.send_error_response(ErrorCode.KAFKA_STORAGE_ERROR)
            return
        logger.exception("unhandled exception in request", api=call.route.api.name, version=call.api_version)
        call.connection.send_error_response(ErrorCode.UNKNOWN_SERVER_ERROR)

    def _log_lack_of_descriptors(self, call: RequestContext, problem: OSError) -> None:
        """Log what is no defect of the server, and as long as it lasts is the same for all requests."""
        now = monotonic()
        if now >= self._descriptors_logged_at + DESCRIPTORS_LOGGED_EVERY_SECONDS:
            self._descriptors_logged_at = now
            logger.error(
                "request failed without a file descriptor (ulimit -n)", api=call.route.api.name, problem=str(problem)
            )
