"""Requests at a node's own port: those about groups are handled here, all others are forwarded to a broker.

A client has one connection to a broker behind its own. Logins are forwarded on it like everything else.
"""

from collections.abc import Callable, Mapping
from functools import partial
from hmac import compare_digest
from typing import Final

from _wire.apis import APIS
from _wire.errors import ErrorCode, MalformedMessage
from _wire.headers import decode_request_header, encode_response
from _wire.messages.api_versions import ApiVersionsRequest
from _wire.messages.find_coordinator import FindCoordinatorResponse
from coordinator.cluster.client_upstreams import ClientUpstreams
from coordinator.cluster.found import Finding, Found, NotFound, Unknown
from coordinator.cluster.handlers.own_node import own_response
from coordinator.cluster.nodes.peers import OWNED_KEY_TYPE, peer_client_id
from coordinator.cluster.ownership import GroupOwnership
from coordinator.cluster.relay.coordinator_lookups import CoordinatorLookups
from coordinator.cluster.relay.directory import Directory
from coordinator.cluster.relay.request_heads import InvalidRequest
from coordinator.cluster.relay.responses import (
    ForwardedRequest,
    forwarded_request,
    is_rewritten,
    rewrite_response,
    unsupported_api_versions,
)
from coordinator.cluster.relay.rules import FETCH, PRODUCE, SHARE_ACKNOWLEDGE, SHARE_FETCH
from coordinator.cluster.rights.clients import ClientOfCluster
from coordinator.front.api_versions import has_valid_software, software_of
from coordinator.front.connection import Connection
from coordinator.front.dispatch import ServedApi
from coordinator.front.request_dispatcher import PassesOn, Serve
from coordinator.runtime.slices import Slices
from coordinator.security.principal import ANONYMOUS, Principal

INT16_BYTES: Final = 2
OF_PARTITIONS: Final = (PRODUCE, FETCH, SHARE_FETCH, SHARE_ACKNOWLEDGE)
"""Requests that clients send to the leaders of partitions, and never to a node. Passed on, the answer to a Fetch would
be held whole, of up to 50 MiB for each client."""
API_VERSIONS: Final = ApiVersionsRequest.API_KEY


class PeerAnswers:
    """Tells other nodes which groups this one owns."""

    def __init__(self, ownership: GroupOwnership, *, peers_log_in: bool, peer_token: str) -> None:
        """`peers_log_in`: other nodes are answered after a login. `peer_token` is what they show with a secret."""
        self._ownership = ownership
        self._peers_log_in = peers_log_in
        self._peer_token = peer_token

    def answer(self, connection: Connection, frame: bytes, request: ForwardedRequest) -> None:
        """Answer whether this node owns a group."""
        header, _ = decode_request_header(frame)

        def answered(owned: Finding[None]) -> None:
            match owned:
                case Found():
                    error = ErrorCode.NONE
                case NotFound():
                    error = ErrorCode.GROUP_ID_NOT_FOUND
                case Unknown(unknown):
                    error = unknown
            response = FindCoordinatorResponse(error_code=error)
            connection.send_frame(encode_response(header.correlation_id, response, header.api_version))

        is_node = not self._peer_token or compare_digest(
            (header.client_id or "").encode(), peer_client_id(self._peer_token).encode()
        )
        if (self._peers_log_in and connection.principal.name == ANONYMOUS.name) or not is_node:
            connection.reject("asks as another node, and is not known as one")
        elif request.version >= 4 or not request.keys:
            connection.reject("a node asks for one group at a time")
        else:
            self._ownership.find(request.keys[0], answered)


class ForwardedRequests:
    """What a node's own port does with requests: it passes on what its table does not have."""

    def __init__(
        self,
        served: Mapping[int, ServedApi],
        upstreams: ClientUpstreams,
        directory: Directory,
        rewriting: Slices,
        peers: PeerAnswers,
        *,
        listed_id: int,
        before_request: Callable[[], None],
        forget: Callable[[Principal], None],
    ) -> None:
        """`before_request` is called before each request is handled, `forget` when a client is gone. `listed_id` is the
        id by which clients know this node. `served` are the APIs that are answered here."""
        self._served = served
        self._upstreams = upstreams
        self._directory = directory
        self._rewriting = rewriting
        self._peers = peers
        self._listed_id = listed_id
        self._before_request = before_request
        self._forget = forget
        self._lookups: dict[Connection, CoordinatorLookups] = {}
        self.passes_on: Final = PassesOn(opened=self._opened, closed=self._closed, around=self._around)

    def _opened(self, connection: Connection) -> None:
        connection.principal = ClientOfCluster(connection.serial)

    def _closed(self, connection: Connection) -> None:
        self._lookups.pop(connection, None)
        self._forget(connection.principal)
        self._upstreams.closed(connection)

    def _around(self, serve: Serve) -> Serve:
        return partial(self._serve, serve)

    def _serve(self, serve: Serve, connection: Connection, frame: bytes) -> None:
        self._before_request()
        if int.from_bytes(frame[:INT16_BYTES], "big") in self._served:
            serve(connection, frame)
            return
        connection.call = None
        try:
            request = forwarded_request(frame)
            if request.key_type == OWNED_KEY_TYPE:
                self._peers.answer(connection, frame, request)
                return
            if request.api_key in OF_PARTITIONS:
                name = APIS[request.api_key].name
                connection.reject(f"a {name} was sent to a node: it has no partitions of topics")
                return
            _note_software(connection, frame, request)
            own = own_response(request.api_key, frame, self._listed_id)
        except InvalidRequest as problem:
            _reject_version(connection, frame, str(problem))
            return
        except MalformedMessage as problem:
            connection.reject(str(problem))
            return
        if request.keys:
            lookups = self._lookups.setdefault(connection, CoordinatorLookups())
            lookups.note_software(connection.software[0].encode())
            request = lookups.note(request)
        if own is None:
            self.forward(connection, frame, request)
        else:
            connection.send_frame(own)

    def forward(
        self,
        connection: Connection,
        frame: bytes,
        request: ForwardedRequest,
        heard: Callable[[bytes], None] = lambda response: None,
    ) -> None:
        """Send a request to the broker of the client; `heard` is called with the response before that is passed on."""
        upstream = self._upstreams.of(connection)
        if upstream is None:
            connection.reject("no broker of the cluster is known")
            return

        def answered(response: bytes | None) -> None:
            if response is None:
                connection.close()
                return
            try:
                heard(response)
            except MalformedMessage as problem:
                connection.reject(f"a broker sent a response that cannot be decoded: {problem}")
                return
            if is_rewritten(request):
                self._rewrite(connection, request, response)
            else:
                connection.send_frame(len(response).to_bytes(4, "big") + response)

        upstream.request(frame, answered)

    def _rewrite(self, connection: Connection, request: ForwardedRequest, response: bytes) -> None:
        def failed(problem: Exception) -> None:
            connection.reject(f"a broker sent a response that cannot be decoded: {problem}")

        steps = rewrite_response(request, response, self._directory)
        work = self._rewriting.start(steps, connection.send_frame, failed, connection.client_host)
        if work is not None:
            connection.on_close = work.cancel


def _note_software(connection: Connection, frame: bytes, request: ForwardedRequest) -> None:
    """Remember name and version of the client's library (KIP-511), which the audit tells."""
    if request.api_key != API_VERSIONS:
        return
    _, body_start = decode_request_header(frame)
    said = ApiVersionsRequest.decode(frame, request.version, body_start, False)
    if has_valid_software(said, request.version):
        connection.software = software_of(said)


def _reject_version(connection: Connection, frame: bytes, reason: str) -> None:
    """Close the connection; but answer ApiVersions of a newer client with the version that is served."""
    header, _ = decode_request_header(frame)
    if header.api_key == API_VERSIONS:
        connection.send_frame(unsupported_api_versions(header.correlation_id))
    else:
        connection.reject(reason)
