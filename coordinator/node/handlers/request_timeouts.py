"""Rejects requests whose `timeout_ms` is already over when they arrive."""

from typing import Any

from _wire.errors import ErrorCode
from coordinator.front.dispatch import ErrorResponse, Handler
from coordinator.front.request_context import RequestContext


def within_timeout(handler: Handler, error_response: ErrorResponse) -> Handler:
    """Return `handler` for requests with a positive `timeout_ms`; the others get REQUEST_TIMED_OUT and change nothing.

    Counterpart in Kafka: the deadline of an event in the queue of the controller (`QuorumController`), which is over at
    once. A handler here runs as soon as the request arrives, so no other timeout can be over.
    """

    def handle(request: Any, call: RequestContext) -> Any:
        if request.timeout_ms <= 0:
            return error_response(request, ErrorCode.REQUEST_TIMED_OUT, call.api_version)
        return handler(request, call)

    return handle
