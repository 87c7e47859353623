"""The step of the request chain that asks the authorizer: what is denied as a whole, in part, or left out.

It stands before the handlers, which know nothing of it. What an API needs is in `requirements.py`, how a part is denied
in `partial_denials.py`. What it has to do with a response is done when that is sent, in place of the route's downgrade:
so it meets all responses, also those that come later.
"""

from collections.abc import Callable, Iterator, Mapping
from time import perf_counter as seconds
from types import GeneratorType
from typing import Any, Final, Protocol

import msgspec

from coordinator.front.authorization import Authorizer, Requirement, WhenDenied
from coordinator.front.denied_elements import Denied, Part, Resource
from coordinator.front.dispatch import NO_RESPONSE, Handler, Route, refused_in_steps, without_response
from coordinator.front.hidden_resources import DECISIONS_AT_ONCE, operations_of
from coordinator.front.partial_denials import NO_ROW, Row, suffices
from coordinator.front.request_context import RequestContext
from coordinator.front.response_changes import AT_ONCE_SECONDS, ResponseChanges
from coordinator.runtime.slices import Steps
from coordinator.security.acls.model import CLUSTER_NAME, SUPPORTED_OPERATIONS, AclOperation, ResourceType, question_of

NAMES_AT_ONCE: Final = DECISIONS_AT_ONCE
"""Names of a request that the authorizer is asked about in one step."""
NAMES_CACHED_MAX: Final = 1_000
"""Names of a request whose decisions are looked up without a pause: some 100 µs."""

ON_HEARTBEAT: Final = frozenset({"Heartbeat", "ConsumerGroupHeartbeat", "ShareGroupHeartbeat", "StreamsGroupHeartbeat"})
"""APIs whose next requests connections may answer themselves."""


FindOut = Callable[[Route, Any, RequestContext], Steps[None] | None]
"""(route, request, its context) → steps before the authorizer decides; None: it decides at once."""


class ReportsDenials(Protocol):
    """Is told of each operation that is denied."""

    def denied(self, call: RequestContext, operation: AclOperation, resource_type: ResourceType, name: str) -> None: ...


class KnowsHeartbeats(Protocol):
    """`SessionTable`."""

    @property
    def authorizations(self) -> int:
        """A number that rises when an ACL changes."""

    def authorize(self, group_id: str, member_id: str, connection: int, since: int = -1) -> None:
        """Let connections answer the heartbeats of a member by this one, until an ACL changes.

        `since` is what `authorizations` was when the authorizer was first asked; -1: it was asked just now.
        """


class Access:
    """What the client of a request may do."""

    __slots__ = ("_authorizer", "_host", "_principal")

    def __init__(self, authorizer: Authorizer, call: RequestContext) -> None:
        self._authorizer = authorizer
        self._principal = call.principal
        self._host = call.client_host

    def may(self, operation: AclOperation, resource_type: ResourceType, name: str) -> bool:
        return self._authorizer.authorize(self._principal, self._host, operation, resource_type, name)

    def has_alternative(self, requirement: Requirement) -> bool:
        """Whether one of the alternatives replaces the requirement for all resources."""
        return any(
            self.may(alternative.operation, alternative.resource_type, CLUSTER_NAME)
            if alternative.resource_type is ResourceType.CLUSTER
            else self._authorizer.authorize_by_resource_type(
                self._principal, self._host, alternative.operation, alternative.resource_type
            )
            for alternative in requirement.alternatives
        )


class AuthorizationStep:
    """The step for one authorizer. Belongs to the event loop."""

    def __init__(
        self,
        authorizer: Authorizer,
        denials: ReportsDenials,
        sessions: KnowsHeartbeats,
        rows: Mapping[str, Row],
        *,
        topic_name: Callable[[bytes], str | None],
        creates_topic: Callable[[str], bool],
        find_out: FindOut | None = None,
    ) -> None:
        """`rows`: name of an API → what becomes of a part that is denied.

        `topic_name` finds the name of a topic by its id. `creates_topic` says whether a request that may create topics
        would create this one. `find_out`: where the authorizer has to ask others before it can decide.
        """
        self.authorizer: Final = authorizer
        self.denials: Final = denials
        self.sessions: Final = sessions
        self.rows: Final = rows
        self.topic_name: Final = topic_name
        self.creates_topic: Final = creates_topic
        self.find_out: Final = find_out

    def __call__(self, route: Route, proceed: Handler) -> Handler:
        row = self.rows.get(route.api.name, NO_ROW)
        if not route.requirements and row is NO_ROW:
            return proceed
        assert suffices(row, route.requirements), f"{route.api.name} does not say what becomes of a part that is denied"
        return _AuthorizedRoute(self, route, row, proceed).handle


class _AuthorizedRoute:
    """One API behind its requirements."""

    def __init__(self, step: AuthorizationStep, route: Route, row: Row, proceed: Handler) -> None:
        def needed(kind: WhenDenied) -> tuple[Requirement, ...]:
            return tuple(requirement for requirement in route.requirements if requirement.when_denied is kind)

        self._step = step
        self._route = route
        self._authorizer = step.authorizer
        self._topic_name = step.topic_name
        self._creates_topic = step.creates_topic
        self._find_out = step.find_out
        self._row = row
        self._whole = needed(WhenDenied.REJECT_REQUEST)
        self._by_resource = needed(WhenDenied.REJECT_RESOURCES)
        self._found = needed(WhenDenied.LEAVE_OUT)
        self._proceed = proceed
        self._is_heartbeat = route.api.name in ON_HEARTBEAT
        self._questions = tuple(
            (question_of(requirement.operation, requirement.resource_type), requirement.names, requirement.only_missing)
            for requirement in (*self._whole, *self._by_resource)
            if requirement.names is not None
        )

    def handle(self, request: Any, call: RequestContext) -> Any:
        """Handle a request that is authorized at once, as nearly all are; others in steps."""
        if self._is_allowed_by_cache(request, call):
            if self._is_heartbeat:
                self._step.sessions.authorize(request.group_id, request.member_id, call.connection.serial)
            return self._proceed(request, call)
        since = self._step.sessions.authorizations if self._is_heartbeat else 0
        finding_out = None if self._find_out is None else self._find_out(self._route, request, call)
        if finding_out is not None:
            return self._decide_after(finding_out, request, call, since)
        return self._decide(request, call, since)

    def _decide_after(self, finding_out: Steps[None], request: Any, call: RequestContext, since: int) -> Steps[Any]:
        yield from finding_out
        response = self._decide(request, call, since)
        return (yield from response) if type(response) is GeneratorType else response

    def _decide(self, request: Any, call: RequestContext, since: int) -> Any:
        steps = self._steps(request, call, since)
        try:
            next(steps)
            until = seconds() + AT_ONCE_SECONDS
            while seconds() < until:
                next(steps)
        except StopIteration as end:
            return end.value
        return _resumed(steps)

    def _is_allowed_by_cache(self, request: Any, call: RequestContext) -> bool:
        """Whether all that the request needs was decided before, and nothing is to be done with its response.

        This is the way of nearly all requests, so it makes no objects. Not asked of large requests.
        """
        row, version, left = self._row, call.api_version, NAMES_CACHED_MAX
        if row.operations is not None and row.has_operations(request):
            return False
        if self._found and row.has_found(request, version):
            return False
        decided = self._authorizer.decisions(call.connection.principal, call.client_host).get
        for question, names, only_missing in self._questions:
            for name in names(request, version):
                left -= 1
                if left < 0:
                    return False
                resource_name = name if isinstance(name, str) else self._topic_name(name)
                if (
                    resource_name is None
                    or decided((question, resource_name))
                    or (only_missing and not self._creates_topic(resource_name))
                ):
                    continue
                return False
        return True

    def _steps(self, request: Any, call: RequestContext, since: int) -> Steps[Any]:
        """The result is what a handler returns. `since`: what was asked first was asked then (`KnowsHeartbeats`)."""
        access = Access(self._authorizer, call)
        for requirement in self._whole:
            for name in self._denied_names(requirement, request, call, access):
                if name is None:
                    yield
                    continue
                return (yield from refused_in_steps(call, requirement.resource_type.denied))
        denied: dict[Resource, frozenset[AclOperation]] = {}
        for requirement in self._by_resource:
            for name in self._denied_names(requirement, request, call, access):
                if name is None:
                    yield
                    continue
                key = requirement.resource_type, name
                denied[key] = denied.get(key, frozenset()) | {requirement.operation}
        part = Part()
        if denied:
            part = yield from self._remove_denied(denied, request, call, access)
            if part.response is not None:
                return part.response
        restricted = yield from self._prepare_response(part, request, call, access)
        if restricted is not None:
            return restricted
        if self._is_heartbeat:
            self._step.sessions.authorize(request.group_id, request.member_id, call.connection.serial, since)
        return self._proceed(request, call)

    def _denied_names(
        self, requirement: Requirement, request: Any, call: RequestContext, access: Access
    ) -> Iterator[str | bytes | None]:
        """The names of a requirement that are denied; None now and then, for a pause. Topics may be named by id."""
        assert requirement.names is not None, call.route.api.name
        for position, name in enumerate(requirement.names(request, call.api_version)):
            if position % NAMES_AT_ONCE == NAMES_AT_ONCE - 1:
                yield None
            resource_name = name if isinstance(name, str) else self._topic_name(name)
            if resource_name is None:
                continue  # an id that no topic has is no secret: the handler answers that it is unknown
            if requirement.only_missing and not self._creates_topic(resource_name):
                continue
            if access.may(requirement.operation, requirement.resource_type, resource_name):
                continue
            if requirement.alternatives and access.has_alternative(requirement):
                return
            self._step.denials.denied(call, requirement.operation, requirement.resource_type, resource_name)
            yield name

    def _remove_denied(self, denied: Denied, request: Any, call: RequestContext, access: Access) -> Steps[Part]:
        assert self._row.remove_denied is not None, call.route.api.name
        part = yield from self._row.remove_denied(denied, request, call, access)
        if getattr(request, "acks", None) != 0:
            return part
        # A Produce that expects no response: what is allowed is appended, then the connection is closed, as on Kafka.
        if part.response is None:
            result = self._proceed(request, call)
            if type(result) is GeneratorType:
                yield from result
        resource_type, _ = next(iter(denied))
        call.connection.reject(without_response(call, resource_type.denied))
        return Part(response=NO_RESPONSE)

    def _prepare_response(self, part: Part, request: Any, call: RequestContext, access: Access) -> Steps[Any]:
        """Have the response changed when it is sent, if that is necessary. The result is a response if it is known."""
        row = self._row
        changes: list[Callable[[Any], Steps[None]]] = []
        if self._found and row.has_found(request, call.api_version):
            for requirement in self._found:
                if access.has_alternative(requirement):
                    continue
                is_allowed = _allowed_of(access, requirement)
                if row.restrict is not None:
                    restricted = yield from row.restrict(is_allowed, request)
                    if restricted.response is not None:
                        return restricted.response
                elif row.leave_out is not None:
                    changes.append(_leaving_out(row, is_allowed, request))
        if row.operations is not None and row.has_operations(request):
            changes.append(_reporting_operations(row, request, access))
        if changes or part.add_to is not None:
            call.route = msgspec.structs.replace(call.route, downgrade=ResponseChanges(changes, part.add_to, call))
        return None


def _resumed(steps: Steps[Any]) -> Steps[Any]:
    yield
    response = yield from steps
    return (yield from response) if type(response) is GeneratorType else response


def _allowed_of(access: Access, requirement: Requirement) -> Callable[[str], bool]:
    return lambda name: access.may(requirement.operation, requirement.resource_type, name)


def _leaving_out(row: Row, is_allowed: Callable[[str], bool], request: Any) -> Callable[[Any], Steps[None]]:
    leave_out = row.leave_out
    assert leave_out is not None
    return lambda response: leave_out(is_allowed, request, response)


def _reporting_operations(row: Row, request: Any, access: Access) -> Callable[[Any], Steps[None]]:
    operations = row.operations
    assert operations is not None
    return lambda response: operations_of(operations(request, response), access, SUPPORTED_OPERATIONS)
