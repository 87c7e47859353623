"""Commits that come as frames, as connections get them: those of steady members take the short way."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

from _wire.headers import decode_request_header, decode_response_header, encode_request
from _wire.messages.offset_commit import OffsetCommitRequest, OffsetCommitResponse
from coordinator.core.decision import OperationContext
from coordinator.core.kinds import operations
from coordinator.core.offsets.commit import ExistingTopics
from coordinator.groups.steady_commits import SteadyCommits
from coordinator.runtime.batch import QueuedOperation

if TYPE_CHECKING:
    from coordinator.runtime.steady import CallsSoon
    from tests.simulation.server import SimulatedServer

LENGTH_BYTES: Final = 4
ELEMENTS_MAX: Final = 1_000


class CommitInFrame:
    """Waits for the answer to one commit; the request has its id by then."""

    def __init__(self, request: OffsetCommitRequest, context: OperationContext, reply: Callable[[Any], None]) -> None:
        self._request = request
        self._context = context
        self._reply = reply

    @property
    def frame(self) -> bytes:
        """The request, without its length."""
        context = self._context
        return encode_request(1, context.client_id, self._request, context.api_version)[LENGTH_BYTES:]

    def send_frame(self, frame: bytes) -> None:
        """Get the answer; names of topics that it leaves out are those of the request."""
        _, start = decode_response_header(frame, OffsetCommitRequest.API_KEY, self._context.api_version, LENGTH_BYTES)
        response = OffsetCommitResponse.decode(frame, self._context.api_version, start)
        self._reply(response)

    def operation(self, frame: bytes, topics: Sequence[str]) -> QueuedOperation:
        """What is decided in place of a commit that turned out to be unusual."""
        header, start = decode_request_header(frame)
        request = OffsetCommitRequest.decode(frame, header.api_version, start)
        for topic, name in zip(request.topics, topics, strict=True):
            topic.name = name
        known = ExistingTopics(request, request.topics, [])
        return QueuedOperation(operations.OFFSET_COMMIT, request.group_id, known, self._context)


def operation_of(waiting: CommitInFrame, frame: bytes, topics: Sequence[str]) -> QueuedOperation:
    return waiting.operation(frame, topics)


class CalledSoon:
    """Calls back when it is told to."""

    def __init__(self) -> None:
        self.callbacks: list[Callable[[], None]] = []
        self.call_soon: Callable[[Callable[[], None]], object] = self.callbacks.append
        self.is_abandoned = False

    def run(self) -> None:
        called, self.callbacks[:] = list(self.callbacks), []
        for callback in called:
            callback()


def add_steady_commits(server: "SimulatedServer", scheduler: "CallsSoon | None") -> None:
    """Have the sessions of a server answer commits, as a node does."""
    server.sessions.commits = SteadyCommits(
        server.sessions,
        server.environment,
        server.coordinator,
        operation_of,
        ELEMENTS_MAX,
        scheduler,
        lambda: server.now_ms,
    )
