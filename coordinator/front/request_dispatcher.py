"""Handles the requests that a connection does not answer itself: decodes them and calls their handlers."""

from collections.abc import Callable
from functools import partial
from types import GeneratorType
from typing import Any, Final

import msgspec

from _wire.errors import ErrorCode, MalformedMessage
from _wire.headers import RequestHeader
from _wire.messages.api_versions import ApiVersionsRequest
from _wire.release import Release
from coordinator.core.decision import Environment
from coordinator.core.groups.old_clients import RefusedVersion
from coordinator.front.api_versions import unsupported_api_versions
from coordinator.front.connection import Connection
from coordinator.front.dispatch import DEFERRED, NO_RESPONSE, Route, refused
from coordinator.front.limits import ConnectionLimits
from coordinator.front.old_clients import OldClients
from coordinator.front.pending_requests import PendingRequests
from coordinator.front.rejection_log import RejectionLog
from coordinator.front.request_chain import RequestChain
from coordinator.front.request_context import RequestContext
from coordinator.front.request_runner import RequestRunner
from coordinator.front.request_serving import CLIENT_ID_CHARACTERS_MAX, RequestServing
from coordinator.front.response_changes import ResponseChanges
from coordinator.front.slow_peers import SlowPeers
from coordinator.front.throttling import Throttling
from coordinator.runtime.pauses import Pause, in_steps, in_steps_beside
from coordinator.runtime.slices import SlicedWork, Slices, Steps

BYTES_OF_LONG_REQUEST: Final = 16
"""What a request with very many elements takes for each byte of it, decoded and with its response: 10 to 35."""


Serve = Callable[[Connection, bytes], None]
"""Handles one request (connection, frame)."""


class RequestPath(msgspec.Struct, frozen=True, kw_only=True):
    """What a request passes: its route, the limits of its client, and who runs its handler."""

    chain: RequestChain
    runner: RequestRunner
    throttling: Throttling


class PeerWatch(msgspec.Struct, frozen=True, kw_only=True):
    """What is kept of the other ends of connections: who has too many, is slow, was rejected, or is too old."""

    limits: ConnectionLimits
    slow_peers: SlowPeers
    rejections: RejectionLog
    old_clients: OldClients | None = None
    """Is told of versions that are not served; None: nobody looks whose they are."""


class PassesOn(msgspec.Struct, frozen=True, kw_only=True):
    """What a node does that has connections to another server behind those of its clients."""

    opened: Callable[[Connection], None]
    """Before anything else is done with a new connection."""
    closed: Callable[[Connection], None]
    around: Callable[[Serve], Serve]
    """(how requests are served here) → how all requests are served."""


class RequestDispatcher(RequestServing):
    """Serves the connections of all listeners."""

    def __init__(
        self,
        path: RequestPath,
        peers: PeerWatch,
        *,
        pending: PendingRequests,
        environment: Environment,
        slices: Slices,
        fire_due: Callable[[], None],
        passes_on: PassesOn | None = None,
    ) -> None:
        """`fire_due` lets the timers fire that are due, before a request is read.

        Without `passes_on` all requests are answered here.
        """
        chain, throttling = path.chain, path.throttling
        self._slices = slices
        self.fire_due = fire_due
        super().__init__(chain, path.runner.run, environment)
        self.served: Final = chain.served
        self._pending = pending
        self._limits = peers.limits
        self._slow_peers = peers.slow_peers
        self._rejections = peers.rejections
        self._old_clients = peers.old_clients
        self._passes_on = passes_on
        self._throttling = throttling
        self.mute = throttling.mute
        self.serve: Serve
        """The connection stays busy until the request is answered."""
        throttling.on_switch(self.compose)
        self.compose()
        self.connections: set[Connection] = set()

    def opened(self, connection: Connection) -> None:
        """Register a new connection, or close it when there are too many."""
        if self._passes_on is not None:
            self._passes_on.opened(connection)
        self.connections.add(connection)
        too_many = self._limits.opened(connection)
        if too_many is not None:
            connection.reject(too_many)
        else:
            self._throttling.opened(connection)

    def closed(self, connection: Connection) -> None:
        self.connections.discard(connection)
        self._limits.closed(connection)
        self._slow_peers.closed(connection)
        if connection.call is not None and connection.call.request_id is not None:
            self._pending.forget(connection.call.request_id)
        if self._passes_on is not None:
            self._passes_on.closed(connection)

    def rejected(self, connection: Connection, reason: str) -> None:
        self._rejections.rejected(connection.client_host, reason)

    def holds_requests(self, connection: Connection, size_bytes: int) -> None:
        self._slow_peers.holds_requests(connection, size_bytes)

    def holds_responses(self, connection: Connection, size_bytes: int) -> None:
        self._slow_peers.holds_responses(connection, size_bytes)

    def compose(self) -> None:
        """Take over what was switched on or off: while clients have quotas, requests are measured."""
        serve = self._serve_measured if self._throttling.is_active else self._serve
        self.serve = serve if self._passes_on is None else self._passes_on.around(serve)

    def _serve_measured(self, connection: Connection, frame: bytes) -> None:
        self._throttling.begin(connection, len(frame))
        self._serve(connection, frame)

    def _handle_long(self, frame: bytes, body_start: int, _: None, call: RequestContext) -> Steps[Any]:
        """Decode a request in steps, and when it is known as a whole, handle it."""
        connection, route = call.connection, call.route

        def decode(pause: Pause) -> Any:
            return route.decode(frame, call.api_version, body_start, False, self._elements_max, pause)

        yield len(frame) * BYTES_OF_LONG_REQUEST
        steps = in_steps(decode)
        charge = connection.charge
        try:
            call.request = yield from (steps if charge is None else charge.measured(steps))
        except MalformedMessage as problem:
            connection.reject(str(problem))
            return DEFERRED
        response = route.handler(call.request, call)
        return (yield from response) if type(response) is GeneratorType else response

    def encode_in_steps(self, connection: Connection, response: Any) -> None:
        """Encode and send the response to the request in progress, which has too many elements for one step."""
        apart: list[Any] = []

        def failed(problem: Exception) -> None:
            connection.reject_response(problem)

        steps = _encoded(connection, response, apart)
        if connection.charge is not None:
            steps = connection.charge.measured(steps)
        sent = partial(connection.send_encoded, response, apart)
        built_bytes = 0 if connection.call is None else connection.call.built_bytes
        work = self._slices.start(steps, sent, failed, connection.client_host, built_bytes)
        if work is not None:
            connection.on_close = partial(self._cancel_encoding, work, connection.client_host, [response])

    def _cancel_encoding(self, work: SlicedWork, client_host: str, messages: list[Any]) -> None:
        work.cancel()
        self.release(client_host, messages)

    def release(self, client_host: str, messages: list[Any]) -> None:
        """Free messages with very many elements in steps, as far as nobody else holds them in the next iteration."""
        self._slices.later(in_steps(partial(_release, messages)), client_host)

    def _reject_unsupported(self, connection: Connection, header: RequestHeader, route: Route | None) -> None:
        """Close the connection; but answer ApiVersions of a newer client with the versions that are served."""
        if route is None:
            connection.reject(f"API key {header.api_key} is not served")
        elif header.api_key == ApiVersionsRequest.API_KEY:
            client_id, correlation_id = cut(header.client_id or ""), header.correlation_id
            connection.call = RequestContext(
                None,
                0,
                client_id,
                connection.client_host,
                self._environment,
                0,
                0,
                connection,
                route,
                None,
                correlation_id,
            )
            connection.send_response(unsupported_api_versions(self.served))
        else:
            served = f"{route.min_version} to {route.max_version}"
            connection.reject(f"{route.api.name} version {header.api_version} is not served; {served} are")
            if self._old_clients is not None and header.api_version < route.min_version:
                refused = RefusedVersion(route.api.name, header.api_version, route.min_version)
                self._old_clients.refused(cut(header.client_id or ""), connection.client_host, refused)

    def error_response(self, call: RequestContext, error: ErrorCode) -> Any:
        """None if the request has no response: its connection is closed then."""
        response = refused(call, error)
        return None if response is NO_RESPONSE else response


def _encoded(connection: Connection, response: Any, apart: list[Any]) -> Steps[Any]:
    """Encode in steps, after what is left to be changed in the response."""
    call = connection.call
    built_bytes = 0 if call is None else call.built_bytes
    if call is not None and isinstance(call.route.downgrade, ResponseChanges):
        yield from call.route.downgrade.finish()

    return (yield from in_steps_beside(built_bytes, partial(connection.encode, response, apart)))


def _release(messages: list[Any], pause: Pause) -> None:
    Release(pause).run(messages)


def cut(client_id: str) -> str:
    """The client id of a request as groups, quotas and the audit know it: Kafka accepts longer ones, too."""
    return client_id[:CLIENT_ID_CHARACTERS_MAX]
