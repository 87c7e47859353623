"""Authorization by the ACLs of the cluster: what a client may do is asked of a broker, over the client's connection.

The step before the handlers asks for what is not known yet. The step for authorizers of every server then decides by
what is known, so what is denied is answered as by a broker.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import islice
from types import GeneratorType
from typing import Any, Final, Protocol

from _wire.errors import ErrorCode, MalformedMessage
from coordinator.client.requests import Sent, encoded
from coordinator.cluster.rights.named_topics import TOPICS_BY_ID, Ids, give_names
from coordinator.cluster.rights.probes import Permission, Probe, probes_for
from coordinator.front.authorization_step import AuthorizationStep, KnowsHeartbeats, ReportsDenials
from coordinator.front.dispatch import DEFERRED, Handler, Route, refused_in_steps
from coordinator.front.partial_denials import GROUP_ROWS
from coordinator.front.request_context import RequestContext
from coordinator.runtime.slices import Steps, awaited, awaited_all
from coordinator.security.acls.model import AclOperation, ResourceType, question_of
from coordinator.security.principal import Principal

CACHED_SECONDS: Final = 30
"""For how long an answer counts: so long after it was taken away, a right may still be used."""
NAMES_MAX: Final = 10_000
NAMES_BYTES_MAX: Final = 4 << 20
"""Of one request; what is above is denied. Ten thousand names of topics have 2.5 MB at most."""
DECISIONS_MAX: Final = 100_000
DECISIONS_BYTES_MAX: Final = 32 << 20
"""What is kept of all clients. Above it, the client that has most is asked about again."""
DECISIONS_OF_ONE_MAX: Final = 20_000
DECISIONS_OF_ONE_BYTES_MAX: Final = 8 << 20
"""What is kept of one client, with those of its next request."""
ASKED_AT_ONCE: Final = 50
"""Fewer than may wait for an answer of the broker: one more would not be sent."""
LENGTH_BYTES: Final = 4
FIRST_CORRELATION_ID: Final = 1 << 30

Frame = Callable[[bytes, Callable[[bytes | None], None]], None]
"""Sends a request to the broker of a client, as `UpstreamConnection.request`."""


class NoAnswer(Exception):
    """The broker of a client cannot be reached, so nobody knows what the client may do."""


class Upstream(Protocol):
    """The connections of clients to brokers."""

    def ask(self, call: RequestContext, frame: bytes, answered: Callable[[bytes | None], None]) -> None:
        """Send a request in the name of the client of `call`. None: there is no answer, or it was not sent."""


class CachedRights:
    """The authorizer: what was found out in the last while. What is not known is denied."""

    def __init__(self) -> None:
        self._cached: dict[Principal, dict[tuple[int, str | None], bool]] = {}
        self._bytes: dict[Principal, int] = {}
        """Of the names."""
        self._decisions = self._names_bytes = 0
        """Of all clients together."""
        self._on_change: list[Callable[[], None]] = []
        self._expiry: asyncio.TimerHandle | None = None

    def learn(self, principal: Principal, rights: Mapping[Permission, bool]) -> None:
        existing = self._cached.setdefault(principal, {})
        before, names_bytes = len(existing), 0
        for (operation, resource_type, name), is_allowed in rights.items():
            question = question_of(operation, resource_type), name
            if question not in existing:
                names_bytes += len(name)
            existing[question] = is_allowed
        self._decisions += len(existing) - before
        self._names_bytes += names_bytes
        self._bytes[principal] = self._bytes.get(principal, 0) + names_bytes
        while self._decisions > DECISIONS_MAX or self._names_bytes > DECISIONS_BYTES_MAX:
            others = [other for other in self._cached if other != principal]
            if not others:
                break
            self.forget(max(others, key=self._weight))
        if self._expiry is None:
            self._expiry = asyncio.get_running_loop().call_later(CACHED_SECONDS, self._expire)

    def forget(self, principal: Principal) -> None:
        """The connection is closed, or what it may do is to be asked again."""
        self._decisions -= len(self._cached.pop(principal, ()))
        self._names_bytes -= self._bytes.pop(principal, 0)

    def make_room(self, principal: Principal) -> None:
        """A request of this client is about to be asked about. What was kept of it goes if that is much."""
        cached = len(self._cached.get(principal, ()))
        if (
            cached + NAMES_MAX > DECISIONS_OF_ONE_MAX
            or self._bytes.get(principal, 0) + NAMES_BYTES_MAX > DECISIONS_OF_ONE_BYTES_MAX
        ):
            self.forget(principal)

    def _weight(self, principal: Principal) -> float:
        """The larger of the client's parts of both bounds."""
        return max(len(self._cached[principal]) / DECISIONS_MAX, self._bytes.get(principal, 0) / DECISIONS_BYTES_MAX)

    def close(self) -> None:
        if self._expiry is not None:
            self._expiry.cancel()

    def _expire(self) -> None:
        self._expiry = None
        self._cached.clear()
        self._bytes.clear()
        self._decisions = self._names_bytes = 0
        for changed in self._on_change:
            changed()

    # ---- Authorizer

    def authorize(
        self, principal: Principal, client_host: str, operation: AclOperation, resource_type: ResourceType, name: str
    ) -> bool:
        return self._cached.get(principal, {}).get((question_of(operation, resource_type), name), False)

    def authorize_by_resource_type(
        self, principal: Principal, client_host: str, operation: AclOperation, resource_type: ResourceType
    ) -> bool:
        return False

    def decisions(self, principal: Principal, client_host: str) -> Mapping[tuple[int, str | None], bool]:
        return self._cached.get(principal, {})

    def rule(
        self, principal: Principal, client_host: str, operation: AclOperation, resource_type: ResourceType, name: str
    ) -> object:
        return "the authorizer of the cluster"

    def on_change(self, changed: Callable[[], None]) -> None:
        self._on_change.append(changed)


class RightsQuestions:
    """Asks the cluster what clients may do."""

    def __init__(self, rights: CachedRights, upstream: Upstream) -> None:
        self._rights = rights
        self._upstream = upstream
        self._correlation_id = FIRST_CORRELATION_ID

    def find_out_for(self, route: Route, request: Any, call: RequestContext) -> Steps[None] | None:
        unknown = self._unknown(route, request, call)
        return self.find_out(unknown, call) if unknown else None

    def _unknown(self, route: Route, request: Any, call: RequestContext) -> list[Permission]:
        """All that the request needs, if anything of it is not known: the rest may expire before the answers come."""
        cached = self._rights.decisions(call.principal, call.client_host)
        needed = [
            Permission(requirement.operation, requirement.resource_type, name)
            for requirement in route.requirements
            if requirement.names is not None
            for name in requirement.names(request, call.api_version)
            if isinstance(name, str)
        ]
        is_cached = all((question_of(operation, kind), name) in cached for operation, kind, name in needed)
        return [] if is_cached else needed

    def find_out(self, permissions: Iterable[Permission], call: RequestContext) -> Steps[None]:
        """Have it known what the client may do of this; what a broker does not tell is denied.

        Raises:
            NoAnswer: the broker cannot be reached. Not for the caller: the step closes the connection.
        """
        asked = _bounded(permissions)
        self._rights.make_room(call.principal)
        asks = [partial(self._ask, probe, call) for probe in probes_for(asked)]
        for first in range(0, len(asks), ASKED_AT_ONCE):
            for rights in (yield from awaited_all(asks[first : first + ASKED_AT_ONCE])):
                if rights is None:
                    raise NoAnswer
                self._rights.learn(call.principal, rights)

    def answers(self, permissions: Sequence[Permission], call: RequestContext) -> Steps[dict[Permission, bool] | None]:
        """What the cluster says of these now, which is not kept; None: there is no answer. They fit into one probe."""
        (probe,) = probes_for(permissions)
        return awaited(partial(self._ask, probe, call))

    def _ask(
        self, probe: Probe, call: RequestContext, answered: Callable[[dict[Permission, bool] | None], None]
    ) -> None:
        self._correlation_id += 1
        frame, sent = encoded(self._correlation_id, call.client_id, probe.request, probe.version)

        def read(response: bytes | None) -> None:
            answered(None if response is None else _read(probe, sent, response))

        self._upstream.ask(call, frame[LENGTH_BYTES:], read)


class ClusterRights:
    """The step of the chain: asks the cluster for what is not known, then decides as for any authorizer."""

    def __init__(
        self,
        rights: CachedRights,
        questions: RightsQuestions,
        topic_ids: Ids,
        denials: ReportsDenials,
        sessions: KnowsHeartbeats,
    ) -> None:
        self._decide = AuthorizationStep(
            rights,
            denials,
            sessions,
            GROUP_ROWS,
            topic_name=_named_before,
            creates_topic=_creates_none,
            find_out=questions.find_out_for,
        )
        self._topic_ids = topic_ids

    def __call__(self, route: Route, proceed: Handler) -> Handler:
        handle = partial(self._handle, self._decide(route, proceed))
        return partial(self._by_name, handle) if route.api.name in TOPICS_BY_ID else handle

    def _by_name(self, handle: Handler, request: Any, call: RequestContext) -> Any:
        """Topics that the request names by id get their names first, by which they are authorized and handled."""
        first_version, topics_of = TOPICS_BY_ID[call.route.api.name]
        if call.api_version < first_version:
            return handle(request, call)
        return self._with_names(topics_of(request), handle, request, call)

    def _with_names(self, topics: Iterable[Any], handle: Handler, request: Any, call: RequestContext) -> Steps[Any]:
        if not (yield from give_names(topics, self._topic_ids)):
            return (yield from refused_in_steps(call, ErrorCode.COORDINATOR_NOT_AVAILABLE))
        response = handle(request, call)
        return (yield from response) if type(response) is GeneratorType else response

    def _handle(self, authorized: Handler, request: Any, call: RequestContext) -> Any:
        response = authorized(request, call)
        return self._closing(response, call) if type(response) is GeneratorType else response

    def _closing(self, steps: Steps[Any], call: RequestContext) -> Steps[Any]:
        """The steps; the connection of the client is closed when the broker behind it does not answer.

        Clients connect and ask again, while a denial ends them.
        """
        try:
            return (yield from steps)
        except NoAnswer:
            call.connection.close()
            return DEFERRED


def _named_before(topic_id: bytes) -> None:
    """Topics have their names when this step begins, but for ids that no topic has."""


def _creates_none(name: str) -> bool:
    """Topics are made at the brokers."""
    return False


def _bounded(permissions: Iterable[Permission]) -> list[Permission]:
    """As many of them as are asked about."""
    asked: list[Permission] = []
    names_bytes = 0
    for permission in islice(permissions, NAMES_MAX):
        names_bytes += len(permission.name)
        if names_bytes > NAMES_BYTES_MAX:
            break
        asked.append(permission)
    return asked


def _read(probe: Probe, sent: Sent, frame: bytes) -> dict[Permission, bool]:
    """What the response to a probe says; nothing if it cannot be decoded."""
    try:
        return probe.read(sent.decoder(frame)())
    except MalformedMessage:
        return {}
