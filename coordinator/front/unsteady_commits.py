"""Commits that a connection took for steady, and that turn out to be unusual: they are decoded after all."""

from collections.abc import Sequence
from typing import Final

from _wire.headers import decode_request_header
from coordinator.core.decision import Environment
from coordinator.core.kinds import operations
from coordinator.core.offsets.commit import ExistingTopics
from coordinator.front.connection import Connection
from coordinator.front.long_messages import not_in_steps
from coordinator.front.pending_requests import PendingRequests
from coordinator.front.request_chain import RequestChain
from coordinator.front.request_context import RequestContext
from coordinator.front.request_dispatcher import cut
from coordinator.runtime.batch import QueuedOperation

ELEMENTS_MAX: Final = 1_000
"""Topics and partitions of a commit that is decided in one piece: well below a millisecond."""


class UnsteadyCommits:
    """Makes the operations of such commits, as `RequestDispatcher` and the handler of OffsetCommit make them."""

    def __init__(self, chain: RequestChain, pending: PendingRequests, environment: Environment) -> None:
        self._chain = chain
        self._pending = pending
        self._environment = environment

    def operation(self, connection: Connection, frame: bytes, topics: Sequence[str]) -> QueuedOperation:
        """The operation for a frame without its length; `topics` are the names of its topics, all of which exist."""
        header, body_start = decode_request_header(frame)
        route = self._chain.route(header.api_key)
        assert route is not None, "a commit of an API that is not served"
        version = header.api_version
        request = route.decode(frame, version, body_start, False, ELEMENTS_MAX, not_in_steps)
        for topic, name in zip(request.topics, topics, strict=True):
            topic.name = name
        call = connection.call = RequestContext(
            self._pending.register(connection),
            version,
            cut(header.client_id or ""),
            connection.client_host,
            self._environment,
            0,
            0,
            connection,
            route,
            request,
            header.correlation_id,
        )
        return QueuedOperation(
            operations.OFFSET_COMMIT, request.group_id, ExistingTopics(request, request.topics, []), call
        )
