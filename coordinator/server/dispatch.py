"""The table of served APIs: API key → versions, handler, error response. ApiVersions is answered from it."""

from collections.abc import Callable
from typing import Any, Final

import msgspec

from _wire.apis import APIS, Api
from _wire.errors import ErrorCode
from coordinator.server.authorization import Requirement
from coordinator.server.partial_denials import has_row
from coordinator.server.request_context import RequestContext
from coordinator.server.requirements import REQUIREMENTS


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
    offered_from: int
    """The lowest version in ApiVersions; requests below `min_version` close the connection all the same."""


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


def without_response(call: RequestContext, error: ErrorCode) -> str:
    """Why the connection of a request that has no response is closed."""
    return f"a {call.route.api.name} that expects no response failed: {error.name}"


def top_level_error(api_key: int) -> ErrorResponse:
    """For responses that have one error code of their own."""
    response_class = APIS[api_key].response
    return lambda request, error, api_version: response_class(error_code=error)  # type: ignore[call-arg]


class DispatchTable:
    """Routes by API key."""

    def __init__(self) -> None:
        self.routes: dict[int, Route] = {}

    def add(
        self,
        name: str,
        handler: Handler,
        error_response: ErrorResponse | None = None,
        *,
        downgrade: Downgrade | None = None,
        versions: tuple[int, int],
        offered_from: int | None = None,
    ) -> None:
        """Serve an API in these versions, the first to the last; ApiVersions may offer versions below them.

        What a request needs to be allowed is in `REQUIREMENTS`: an API that is not there is not served.
        """
        api = APIS.named(name)
        assert name in REQUIREMENTS, f"{name} does not say what it needs to be allowed"
        assert has_row(name), f"{name} does not say what becomes of a part that is denied"
        oldest, newest = versions
        assert api.min_version <= oldest <= newest <= api.max_version, (name, versions)
        answer_error = error_response or top_level_error(api.key)
        assert api.key not in self.routes, name
        offered = oldest if offered_from is None else offered_from
        self.routes[api.key] = Route(
            api, api.request.decode, handler, answer_error, REQUIREMENTS[name], downgrade, oldest, newest, offered
        )
