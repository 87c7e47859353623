"""What each fault of requests does with a request that it applies to."""

from collections import deque
from collections.abc import Callable, Container
from typing import Any, Final

import msgspec

from _wire.errors import ErrorCode
from coordinator.core.groups.rejections import RejectedRequest
from coordinator.core.kinds import operations
from coordinator.deadlines import deadline_after
from coordinator.faults.answers import Send, catch_answer, raw_connection
from coordinator.faults.matching import Matcher
from coordinator.faults.named import groups_of, members_of
from coordinator.faults.specs import Answer, Close, Delay, Drop, Hold, RequestSpec, Throttle, error_named
from coordinator.front.dispatch import DEFERRED, refused
from coordinator.front.group_parts import GroupParts
from coordinator.front.loop_scheduler import LoopScheduler
from coordinator.front.request_context import RequestContext
from coordinator.front.request_runner import RequestRunner

Proceed = Callable[[], Any]
"""Handles the request as without the fault; returns what a handler returns."""


class Surroundings(msgspec.Struct, frozen=True):
    """The parts of the node that faults act on."""

    groups: GroupParts
    scheduler: LoopScheduler
    now_ms: Callable[[], int]
    runner: RequestRunner
    connections: Container[Any]
    """Those that are open, always."""


class DelayedAnswerKey(msgspec.Struct, frozen=True):
    """The timer key of an answer that is sent later."""

    send: Callable[[], None]


class RequestFault:
    """A fault of requests while it is installed."""

    def __init__(self, spec: RequestSpec, matcher: Matcher, around: Surroundings) -> None:
        self.spec = spec
        self.matcher = matcher
        self.around = around

    def act(self, request: Any, context: RequestContext, proceed: Proceed) -> Any:
        """Do what the fault does; returns what a handler returns."""
        raise NotImplementedError

    def end(self) -> None:
        """The fault is removed."""


class AnswerFault(RequestFault):
    def act(self, request: Any, context: RequestContext, proceed: Proceed) -> Any:
        assert isinstance(self.spec, Answer)
        error = error_named(self.spec.error)
        audit_injected(self.around.groups, request, context, error)
        return refused(context, error)


def audit_injected(groups: GroupParts, request: Any, context: RequestContext, error: ErrorCode) -> None:
    """Have the audit report the error, in each group that the request names, for each member that it names there.

    For a group that does not exist nothing is reported: its events begin when it is created.
    """
    for group_id in dict.fromkeys(groups_of(request)):
        for member in members_of(request):
            rejected = RejectedRequest(context.route.api.name, member, error, injected=True)
            groups.coordinator.enqueue(operations.REPORT_REJECTION, group_id, rejected, context)


class DelayFault(RequestFault):
    def act(self, request: Any, context: RequestContext, proceed: Proceed) -> Any:
        return catch_answer(context, self._later, proceed)

    def _later(self, response: Any, send: Send) -> None:
        assert isinstance(self.spec, Delay)
        at_ms = deadline_after(self.around.now_ms(), self.spec.ms)
        self.around.scheduler.start(DelayedAnswerKey(lambda: send(response)), at_ms)


class DropFault(RequestFault):
    def act(self, request: Any, context: RequestContext, proceed: Proceed) -> Any:
        return catch_answer(context, lambda response, send: None, proceed)


class CloseFault(RequestFault):
    def act(self, request: Any, context: RequestContext, proceed: Proceed) -> Any:
        assert isinstance(self.spec, Close)
        connection = context.connection
        if self.spec.when == "before":
            connection.close()
            return DEFERRED
        return catch_answer(context, lambda response, send: connection.close(), proceed)


class ThrottleFault(RequestFault):
    def act(self, request: Any, context: RequestContext, proceed: Proceed) -> Any:
        return catch_answer(context, self._throttled, proceed)

    def _throttled(self, response: Any, send: Send) -> None:
        assert isinstance(self.spec, Throttle)
        if hasattr(response, "throttle_time_ms"):
            response.throttle_time_ms = self.spec.ms
        send(response)


class HoldFault(RequestFault):
    """A barrier. `held` are the requests that wait at it, in order."""

    def __init__(self, spec: RequestSpec, matcher: Matcher, around: Surroundings) -> None:
        super().__init__(spec, matcher, around)
        self._held: deque[tuple[Any, Callable[[], None]]] = deque()
        self._is_open = False

    def act(self, request: Any, context: RequestContext, proceed: Proceed) -> Any:
        if self._is_open:
            return proceed()

        def resume() -> None:
            self.around.runner.run(lambda request, call: proceed(), request, context)

        self._held.append((raw_connection(context.connection), resume))
        self.around.scheduler.request_iteration()
        return DEFERRED

    @property
    def waiting(self) -> int:
        """How many requests wait whose client is still connected."""
        return sum(connection in self.around.connections for connection, _ in self._held)

    def release(self, count: int | None = None) -> int:
        """Let the first `count` requests go on, or all that wait and all that come; returns how many went on."""
        self._is_open = self._is_open or count is None
        released = 0
        while self._held and (count is None or released < count):
            connection, resume = self._held.popleft()
            if connection in self.around.connections:
                released += 1
                resume()
        return released

    def end(self) -> None:
        self.release()


FAULTS: Final[dict[type[RequestSpec], type[RequestFault]]] = {
    Answer: AnswerFault,
    Delay: DelayFault,
    Drop: DropFault,
    Close: CloseFault,
    Throttle: ThrottleFault,
    Hold: HoldFault,
}
