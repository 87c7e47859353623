"""The way of requests, from a client to its broker."""

from collections.abc import Callable, Collection
from functools import partial
from typing import Any, Final, Protocol

from _wire.headers import decode_request_header
from coordinator.cluster.relay.coordinator_lookups import CoordinatorLookups
from coordinator.cluster.relay.directory import Directory
from coordinator.cluster.relay.expected_responses import ExpectedResponses
from coordinator.cluster.relay.frame_stream import INT32, FrameStream, Route
from coordinator.cluster.relay.group_requests import GROUP_REQUESTS, not_coordinator_response
from coordinator.cluster.relay.login_exchange import LoginExchange, check_before_login
from coordinator.cluster.relay.request_heads import HEAD, INT16, LENGTH_BYTES, InvalidRequest, produce_acks
from coordinator.cluster.relay.responses import (
    ForwardedRequest,
    forwarded_request,
    unserved,
    unsupported_api_versions,
)
from coordinator.cluster.relay.rules import API_VERSIONS, PRODUCE, RULES
from coordinator.cluster.relay.tap import MORE, Passing, Tap
from coordinator.runtime.slices import SlicedWork, Slices

API_VERSIONS_BYTES: Final = 1 << 10
"""An ApiVersions request that says what the client is has less."""
COLLECTED_BYTES_MAX: Final = 16 << 20
"""The largest request that is read whole. Those of groups become records of at most message.max.bytes (1 MiB)."""


class Ends(Protocol):
    """What both ways need of the connection."""

    address: str
    client_id: str
    software: str

    def write_upstream(self, data: bytes | memoryview) -> None: ...

    def write_client(self, data: bytes | memoryview) -> None: ...

    def abort(self, reason: str) -> None:
        """Close both sides because of `reason`, which is logged."""

    def fail(self, problem: Exception) -> None:
        """Close both sides because work for this connection failed."""

    def go_on(self) -> None:
        """A stream that was stopped may go on."""

    def logged_in(self) -> None:
        """The login of the client has succeeded."""


class RequestFlow:
    """Handles the frames of a client. Requests for groups are inspected, one after the other."""

    def __init__(
        self,
        ends: Ends,
        expected: ExpectedResponses,
        directory: Directory,
        slices: Slices,
        request_bytes_max: int,
        login_bytes_max: int | None = None,
        tap: Tap | None = None,
    ) -> None:
        """`login_bytes_max`: clients have to log in, and send requests of so many bytes at most before.

        `tap` sees what passes of watched groups.
        """
        self._tapped: Collection[int] = () if tap is None else tap.apis
        self._look: Callable[[Ends, bytes, int, int, int], Any] = _nothing_to_see if tap is None else tap.request
        self._lookups = CoordinatorLookups()
        self._ends = ends
        self._expected = expected
        self._directory = directory
        self._slices = slices
        self._work: SlicedWork | None = None
        self._inspected_bytes = 0
        self._is_open = False
        self._login = None if login_bytes_max is None else LoginExchange()
        self._login_bytes_max = login_bytes_max or 0
        self.sent_version = b""
        self.stream: Final = FrameStream(self, ends.write_upstream, HEAD.size, request_bytes_max)
        self.update()

    def open(self) -> None:
        """There is a connection to the broker. Requests that came before have waited."""
        self._is_open = True

    @property
    def held_bytes(self) -> int:
        return self.stream.held_bytes + self._inspected_bytes

    def begin(self, data: bytes, start: int, end: int, frame_bytes: int) -> Route | None:
        api_key, version, correlation_id = HEAD.unpack_from(data, start + LENGTH_BYTES)
        if self._login is not None:
            check_before_login(api_key, frame_bytes, self._login_bytes_max)
            return Route.COLLECT
        rule = RULES.get(api_key)
        passing = None
        if api_key in self._tapped and (rule is None or not rule.is_collected):
            passing = self._look(self._ends, data, start + LENGTH_BYTES, end, frame_bytes)
            if passing is MORE:
                return None
        if rule is None:
            self._expect(correlation_id, None, passing)
            return Route.PASS
        if not rule.serves(version):
            if api_key != API_VERSIONS:
                raise InvalidRequest(unserved(api_key, version))
            return self._collect(frame_bytes)
        if rule.is_collected:
            return self._collect(frame_bytes)
        if api_key == API_VERSIONS and frame_bytes <= API_VERSIONS_BYTES:
            if end - start < LENGTH_BYTES + frame_bytes:
                return None
            self._lookups.note_software(data[start : start + LENGTH_BYTES + frame_bytes])
        if api_key == PRODUCE:
            acks = produce_acks(data, start, end, version)
            if acks is None:
                return None
            if acks == 0:
                return Route.PASS
        rewritten = ForwardedRequest(api_key, version) if version >= rule.rewritten_from else None
        self._expect(correlation_id, rewritten, passing)
        if version > rule.sent_version_max:
            self.sent_version = INT16.pack(rule.sent_version_max)
            return Route.PASS_AS_OLDER
        return Route.PASS

    def _collect(self, frame_bytes: int) -> Route:
        if frame_bytes > COLLECTED_BYTES_MAX:
            raise InvalidRequest(f"a request of {frame_bytes} bytes is too large for its API")
        return Route.COLLECT

    def _expect(self, correlation_id: int, rewritten: ForwardedRequest | None, passing: Passing | None = None) -> None:
        self._expected.expect(correlation_id, rewritten, passing)
        self.update()

    def collected(self, frame: bytes) -> None:
        api_key, version, correlation_id = HEAD.unpack_from(frame)
        if api_key == API_VERSIONS and not RULES[api_key].serves(version):
            self._answer(unsupported_api_versions(correlation_id))
        elif api_key in GROUP_REQUESTS:
            self._inspect(frame)
        else:
            if api_key == API_VERSIONS:
                self._lookups.note_software(frame)
            request = self._lookups.note(forwarded_request(frame))
            if self._login is not None and api_key != API_VERSIONS:
                self._login.request(frame)
            self._pass_on(frame, request)

    def answered_login(self, api_key: int, frame: bytes) -> bool:
        """Note the response of the broker to a request of the login; False: it is none."""
        if self._login is None or api_key == API_VERSIONS:
            return False
        self._login.response(api_key, frame)
        if self._login.is_done:
            self._login = None
            self._ends.logged_in()
        return True

    def passed(self) -> bool:
        return False

    def insert(self) -> None:
        """Nothing is inserted between requests."""

    def update(self) -> None:
        """Stop the stream while the next request has to wait."""
        is_logging_in = self._login is not None and self._login.is_waiting
        self.stream.is_stopped = self._expected.is_full or self._work is not None or is_logging_in or not self._is_open

    def stop(self) -> None:
        """The connection has ended."""
        self._is_open = False
        self.stream.is_stopped = True
        if self._work is not None:
            self._work.cancel()

    def _inspect(self, frame: bytes) -> None:
        steps = not_coordinator_response(frame, self._directory)
        self._inspected_bytes = len(frame)
        self._work = self._slices.start(steps, partial(self._inspected, frame), self._ends.fail, self._ends.address)
        self.update()

    def _inspected(self, frame: bytes, response: bytes | None) -> None:
        was_waiting, self._work = self._work is not None, None
        self._inspected_bytes = 0
        if response is None:
            passing = None
            if HEAD.unpack_from(frame)[0] in self._tapped:
                passing = self._look(self._ends, frame, 0, len(frame), len(frame))
            self._pass_on(frame, None, passing)
        else:
            self._answer(response)
        if was_waiting:
            self._ends.go_on()

    def _pass_on(self, frame: bytes, rewritten: ForwardedRequest | None, passing: Passing | None = None) -> None:
        self._expect(decode_request_header(frame)[0].correlation_id, rewritten, passing)
        self._ends.write_upstream(INT32.pack(len(frame)) + frame)

    def _answer(self, response: bytes) -> None:
        self._expected.answer(response)
        self._expected.write_own(self._ends.write_client)
        self.update()


def _nothing_to_see(connection: Ends, data: bytes, start: int, end: int, frame_bytes: int) -> None:
    """Nothing is read of what passes."""
