"""Requests whose response comes later."""

from collections.abc import Callable
from functools import partial
from typing import Any

from coordinator.runtime.slices import Steps
from coordinator.server.dispatch import DEFERRED
from coordinator.server.node_context import NodeContext
from coordinator.server.request_context import RequestContext


def go_on(node: NodeContext, call: RequestContext, handle: Callable[[], Any]) -> None:
    """Go on with a deferred request, unless its client has disconnected; `handle` returns what a handler returns."""
    request_id = call.request_id
    if request_id is None or request_id not in node.pending.unanswered:
        return
    node.pending.forget(request_id)
    node.resume(lambda request, call: handle(), call.request, call)


def go_on_when_committed(node: NodeContext, call: RequestContext, handle: Callable[[], Any]) -> Any:
    """Go on with a request when all changes of the metadata so far are durable and in the image."""
    call.request_id = node.pending.register(call.connection)
    node.metadata.when_committed(partial(go_on, node, call, handle))
    return DEFERRED


def answer_when_committed(node: NodeContext, call: RequestContext, response: Any) -> Any:
    """Return the response if all changes of the metadata so far are durable; else it is sent as soon as they are.

    For whatever was found in the latest image, errors too: a client must not learn of what a crash may take back.
    """
    if not node.metadata.is_pending:
        return response
    return go_on_when_committed(node, call, lambda: _in_turn(response))


def _in_turn(response: Any) -> Steps[Any]:
    """As steps, so that it is encoded when its client has its turn: many may have waited for the same flush."""
    yield
    return response
