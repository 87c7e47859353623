"""The table of served APIs: API key → versions, handler, error response. ApiVersions is answered from it."""

from collections.abc import Callable, Mapping
from typing import Any, Final, Protocol

import msgspec

from _wire.apis import APIS, Api
from _wire.errors import ErrorCode
from coordinator.core.error_responses import ErrorForEachPartition
from coordinator.front.authorization import Requirement
from coordinator.front.request_context import RequestContext
from coordinator.runtime.slices import Steps


class _Deferred:
    """The response comes later, through PendingRequests."""


class _NoResponse:
    """The client expects no response (Produce with acks=0)."""


DEFERRED: Final = _Deferred()
NO_RESPONSE: Final = _NoResponse()

Handler = Callable[[Any, RequestContext], Any]
"""(request, call) → response, DEFERRED or NO_RESPONSE."""

ErrorResponse = Callable[[Any, ErrorCode, int], Any]
"""(request, error, version) → the response that reports the error; None: its client expects none (`refused`)."""


Downgrade = Callable[[Any, int], None]
"""(response, version): converts a response of the newest version to an older one, in place."""


class Route(msgspec.Struct, frozen=True):
    """How one API is served, in the versions `min_version` to `max_version`."""

    api: Api
    decode: Callable[..., Any]
    """(frame, version, where the body begins, whole, elements_max) → request; `decode` of its class.

    Bytes after the last field are ignored, as Kafka ignores them for every API: librdkafka appends three to each
    Metadata request for all topics from version 9 on.
    """
    handler: Handler
    """In the table it is the handler alone; in `RequestChain.routes` it is behind the steps that are switched on."""
    error_response: ErrorResponse
    requirements: tuple[Requirement, ...]
    """Which operations on which resources a request needs to be allowed."""
    downgrade: Downgrade | None
    min_version: int
    max_version: int


def refused(call: RequestContext, error: ErrorCode) -> Any:
    """What a handler returns for a request that fails as a whole.

    A Produce with acks=0 has no response to say so: as on Kafka its connection is closed, and the client, which
    reconnects, requests metadata again.
    """
    response = call.route.error_response(call.request, error, call.api_version)
    if response is None:
        call.connection.reject(without_response(call, error))
        return NO_RESPONSE
    return response


def refused_in_steps(call: RequestContext, error: ErrorCode) -> Steps[Any]:
    """The same, of a request that may have very many topics."""
    make = call.route.error_response
    if isinstance(make, ErrorForEachPartition):
        return (yield from make.in_steps(call.request, error, call.api_version))
    return refused(call, error)


def without_response(call: RequestContext, error: ErrorCode) -> str:
    """Why the connection of a request that has no response is closed."""
    return f"a {call.route.api.name} that expects no response failed: {error.name}"


def top_level_error(api_key: int) -> ErrorResponse:
    """For responses that have one error code of their own."""
    response_class = APIS[api_key].response
    return lambda request, error, api_version: response_class(error_code=error)  # type: ignore[call-arg]


Versions = tuple[int, int]
"""The oldest and the newest."""


class ServedApi(msgspec.Struct, frozen=True):
    """An API in the versions in which it is served, as ApiVersions lists it."""

    name: str
    key: int
    min_version: int
    max_version: int
    offered_from: int
    """The lowest version in ApiVersions; requests below `min_version` close the connection all the same."""


class Handlers(Protocol):
    """The handlers of some APIs."""

    def add_to(self, table: "DispatchTable") -> None: ...


class DispatchTable:
    """Routes by API key.

    The handlers of most APIs are made, and their modules imported, for the first request: few servers get one of each,
    and the others start faster and need less memory.
    """

    def __init__(self, requirements: Mapping[str, tuple[Requirement, ...]]) -> None:
        """`requirements`: name of an API → what it needs to be allowed. An API that is not there is not served."""
        self._requirements: Final = requirements
        self.routes: dict[int, Route] = {}
        """Those whose handlers are made."""
        self.served: dict[int, ServedApi] = {}
        """All of them."""
        self._later: dict[int, Callable[[], Handlers]] = {}

    def add_later(self, versions: Mapping[str, Versions], make: Callable[[], Handlers]) -> None:
        """Serve APIs (name → versions) whose handlers are made for the first request of one of them."""
        for name, (oldest, newest) in versions.items():
            self._later[self._serve(name, oldest, newest, oldest)] = make

    def load(self, api_key: int) -> None:
        """Make the handlers of an API, if that was left for later."""
        make = self._later.get(api_key)
        if make is not None:
            handlers = make()
            self._later = {key: other for key, other in self._later.items() if other is not make}
            handlers.add_to(self)

    def add(
        self,
        name: str,
        handler: Handler,
        error_response: ErrorResponse | None = None,
        *,
        downgrade: Downgrade | None = None,
        versions: Versions | None = None,
        offered_from: int | None = None,
    ) -> None:
        """Serve an API in these versions, the first to the last; ApiVersions may offer versions below them.

        Handlers that are made later leave the versions to `add_later`.
        """
        api = APIS.named(name)
        assert (versions is None) is (api.key in self.served), name
        if versions is not None:
            oldest, newest = versions
            self._serve(name, oldest, newest, oldest if offered_from is None else offered_from)
        served = self.served[api.key]
        assert api.min_version <= served.min_version <= served.max_version <= api.max_version, served
        assert api.key not in self.routes, name
        self.routes[api.key] = Route(
            api,
            api.request.decode,
            handler,
            error_response or top_level_error(api.key),
            self._requirements[name],
            downgrade,
            served.min_version,
            served.max_version,
        )

    def _serve(self, name: str, oldest: int, newest: int, offered_from: int) -> int:
        assert name in self._requirements, f"{name} does not say what it needs to be allowed"
        key = APIS.key_of(name)
        assert key not in self.served, name
        self.served[key] = ServedApi(name, key, oldest, newest, offered_from)
        return key
