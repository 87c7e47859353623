"""The way of responses, from a broker to its client."""

from collections.abc import Callable
from typing import Final

from coordinator.cluster.relay.directory import Directory
from coordinator.cluster.relay.expected_responses import ExpectedResponses
from coordinator.cluster.relay.frame_stream import INT32, FrameStream, Route
from coordinator.cluster.relay.request_flow import Ends
from coordinator.cluster.relay.request_heads import LENGTH_BYTES, InvalidRequest
from coordinator.cluster.relay.responses import rewrite_response
from coordinator.cluster.relay.tap import Passing, Tap
from coordinator.runtime.slices import SlicedWork, Slices

REWRITTEN_BYTES_MAX: Final = 64 << 20
"""The largest response that is rewritten. The Metadata of a million partitions with three replicas has 50 MB."""
RESPONSE_BYTES_MAX: Final = (1 << 31) - 1
"""Of a response that is passed on: nothing of it is kept."""


class ResponseFlow:
    """Handles the frames of a broker, and puts the responses of the relay between them."""

    sent_version = b""
    """Responses have no versions."""

    def __init__(
        self,
        ends: Ends,
        expected: ExpectedResponses,
        directory: Directory,
        slices: Slices,
        answered_login: Callable[[int, bytes], bool] = lambda api_key, frame: False,
        tap: Tap | None = None,
    ) -> None:
        """`answered_login` is asked whether a response (API key, frame) belongs to the login of the client."""
        self._look: Callable[[Passing, bytes, int, int, int], bool] = _seen if tap is None else tap.response
        self._answered_login = answered_login
        self._ends = ends
        self._expected = expected
        self._directory = directory
        self._slices = slices
        self._work: SlicedWork | None = None
        self._rewritten_bytes = 0
        self._is_open = True
        self.stream: Final = FrameStream(self, ends.write_client, INT32.size, RESPONSE_BYTES_MAX)

    @property
    def held_bytes(self) -> int:
        return self.stream.held_bytes + self._rewritten_bytes

    def begin(self, data: bytes, start: int, end: int, frame_bytes: int) -> Route | None:
        first = self._expected.first
        correlation_id = INT32.unpack_from(data, start + LENGTH_BYTES)[0]
        if first is None or first.correlation_id != correlation_id:
            raise InvalidRequest(f"the broker sent correlation id {correlation_id}, which is not the next one")
        passing = first.passing
        if passing is not None:
            if not self._look(passing, data, start + LENGTH_BYTES, end, frame_bytes):
                return None
            first.passing = None
        if first.rewritten is None:
            return Route.PASS
        if frame_bytes > REWRITTEN_BYTES_MAX:
            raise InvalidRequest(f"the broker sent a response of {frame_bytes} bytes that is too large to rewrite")
        return Route.COLLECT

    def collected(self, frame: bytes) -> None:
        first = self._expected.first
        assert first is not None and first.rewritten is not None, "a response is in the queue until its end"
        if self._answered_login(first.rewritten.api_key, frame):
            self._rewritten(INT32.pack(len(frame)) + frame)
            return
        steps = rewrite_response(first.rewritten, frame, self._directory)
        self._rewritten_bytes = len(frame)
        self._work = self._slices.start(steps, self._rewritten, self._ends.fail, self._ends.address)
        self.update()

    def passed(self) -> bool:
        self._expected.complete()
        return self._expected.has_own_first

    def insert(self) -> None:
        self._expected.write_own(self._ends.write_client)

    def update(self) -> None:
        """Stop the stream while a response is rewritten."""
        self.stream.is_stopped = self._work is not None or not self._is_open

    def stop(self) -> None:
        """The connection has ended."""
        self._is_open = False
        self.stream.is_stopped = True
        if self._work is not None:
            self._work.cancel()

    def _rewritten(self, response: bytes) -> None:
        was_waiting, self._work = self._work is not None, None
        self._rewritten_bytes = 0
        self._ends.write_client(response)
        self._expected.complete()
        self._expected.write_own(self._ends.write_client)
        if was_waiting:
            self._ends.go_on()


def _seen(passing: Passing, data: bytes, start: int, end: int, frame_bytes: int) -> bool:
    """Nothing is read of what passes."""
    return True
