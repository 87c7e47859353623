"""Requests whose response comes later."""

from collections.abc import Callable
from functools import partial
from typing import Any, Final

from coordinator.metadata.store import MetadataStore
from coordinator.runtime.slices import Steps
from coordinator.server.dispatch import DEFERRED
from coordinator.server.pending_requests import PendingRequests
from coordinator.server.request_context import RequestContext
from coordinator.server.request_runner import RequestRunner


class Deferral:
    """Goes on with requests that wait, for changes of the metadata or for something else."""

    def __init__(self, pending: PendingRequests, runner: RequestRunner, metadata: MetadataStore) -> None:
        self.pending: Final = pending
        self._run = runner.run
        self._metadata = metadata

    def go_on(self, call: RequestContext, handle: Callable[[], Any]) -> None:
        """Go on with a deferred request, unless its client has disconnected; `handle` returns what a handler does."""
        request_id = call.request_id
        if request_id is None or request_id not in self.pending.unanswered:
            return
        self.pending.forget(request_id)
        self._run(lambda request, call: handle(), call.request, call)

    def go_on_when_committed(self, call: RequestContext, handle: Callable[[], Any]) -> Any:
        """Go on with a request when all changes of the metadata so far are durable and in the image."""
        call.request_id = self.pending.register(call.connection)
        self._metadata.when_committed(partial(self.go_on, call, handle))
        return DEFERRED

    def answer_when_committed(self, call: RequestContext, response: Any) -> Any:
        """Return the response if all changes of the metadata so far are durable; else it is sent as soon as they are.

        For whatever was found in the latest image, errors too: a client must not learn of what a crash may take back.
        """
        if not self._metadata.is_pending:
            return response
        return self.go_on_when_committed(call, lambda: _in_turn(response))


def _in_turn(response: Any) -> Steps[Any]:
    """As steps, so that it is encoded when its client has its turn: many may have waited for the same flush."""
    yield
    return response
