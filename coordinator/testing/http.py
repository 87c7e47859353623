"""The test kit over HTTP, for tests in other languages: JSON routes beside those of the admin port."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any, Final, TypeVar

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from coordinator.faults.faults import FaultReport
from coordinator.faults.specs import FaultError
from coordinator.testing import requests
from coordinator.testing.control import Control
from coordinator.testing.errors import TestingError, WaitTimeout
from coordinator.testing.node import RestartableNode

WAIT_SECONDS_MAX: Final = 9.0
"""A connection of the admin port lives for 10 s; who wants to wait longer asks again."""
JSON: Final = "application/json"
BAD_REQUEST, TIMEOUT, CONFLICT, UNSUPPORTED_MEDIA_TYPE = 400, 408, 409, 415

Body = TypeVar("Body")
Handler = Callable[[Request], Awaitable[Response]]


class _Strict(msgspec.Struct, forbid_unknown_fields=True):
    """A body whose fields are all known."""


class NewTopic(_Strict):
    name: str
    partitions: int = 1


class NewRecords(_Strict):
    """Keys and values are text."""

    topic: str
    values: list[str | None]
    keys: list[str | None] | None = None
    partition: int | None = None


class Advance(_Strict):
    seconds: float
    silent: list[str] = []


class Restart(_Strict):
    clean: bool = False


class ExpectedRebalances(_Strict):
    group: str
    at_most: int | None = None
    at_least: int | None = None
    causes: list[str] | None = None
    after_generation: int = 0


class GroupConfigs(_Strict):
    group: str
    configs: dict[str, str]


class ExpectedDeliveries(_Strict):
    group: str
    at_most: int | None = None
    at_least: int | None = None
    records: int | None = None


class Release(_Strict):
    count: int | None = None


class TestingRoutes:
    """What a test in another language asks of its node."""

    __test__ = False

    def __init__(self, node: RestartableNode) -> None:
        self._node = node
        self._restarting: asyncio.Task[None] | None = None

    def table(self) -> list[Route]:
        return [
            _route("/testing/topics", self.create_topic, "POST"),
            _route("/testing/records", self.produce, "POST"),
            _route("/testing/groups", self.groups, "GET"),
            _route("/testing/group", self.group, "GET"),
            _route("/testing/group", self.configure_group, "POST"),
            _route("/testing/events", self.events, "GET"),
            _route("/testing/why", self.why, "GET"),
            _route("/testing/assert-rebalances", self.assert_rebalances, "POST"),
            _route("/testing/assert-delivered", self.assert_delivered, "POST"),
            _route("/testing/advance", self.advance, "POST"),
            _route("/testing/restart", self.restart, "POST"),
            _route("/testing/faults", self.add_fault, "POST"),
            _route("/testing/faults", self.faults, "GET"),
            _route("/testing/faults", self.clear_faults, "DELETE"),
            _route("/testing/faults/assert-all-hit", self.assert_all_hit, "POST"),
            _route("/testing/faults/{id:int}", self.fault, "GET"),
            _route("/testing/faults/{id:int}", self.remove_fault, "DELETE"),
            _route("/testing/faults/{id:int}/release", self.release, "POST"),
        ]

    @property
    def _control(self) -> Control:
        return self._node.control

    async def create_topic(self, request: Request) -> Response:
        topic = await _body(request, NewTopic)
        self._control.create_topic(topic.name, topic.partitions)
        return _json({"name": topic.name, "partitions": topic.partitions})

    async def produce(self, request: Request) -> Response:
        requested = await _body(request, NewRecords)
        placed = requests.produce(requested.topic, requested.values, requested.keys, requested.partition)(self._control)
        return _json([{"partition": partition, "offset": offset} for partition, offset in placed])

    async def groups(self, request: Request) -> Response:
        return _json(self._control.group_ids())

    async def group(self, request: Request) -> Response:
        """The group, as soon as it has the `state`, the number of `members` and the `generation` that are given."""
        asked = _Query(request)
        wait = asked.integer("members"), asked.integer("generation"), asked.integer("partitions")
        return _json(
            await self._control.wait_for_group(asked.required("id"), asked.text("state"), *wait, asked.timeout())
        )

    async def configure_group(self, request: Request) -> Response:
        requested = await _body(request, GroupConfigs)
        requests.configure(requested.group, requested.configs)(self._control)
        return _json({})

    async def events(self, request: Request) -> Response:
        return _json(self._control.events(_Query(request).required("group")))

    async def why(self, request: Request) -> Response:
        asked = _Query(request)
        return _json({"why": requests.story(asked.required("group"), asked.integer("generation"))(self._control)})

    async def assert_rebalances(self, request: Request) -> Response:
        requested = await _body(request, ExpectedRebalances)
        expected = requested.at_most, requested.at_least, requested.causes, requested.after_generation
        requests.rebalances(requested.group, *expected)(self._control)
        return _json({})

    async def assert_delivered(self, request: Request) -> Response:
        requested = await _body(request, ExpectedDeliveries)
        expected = requested.at_most, requested.at_least, requested.records
        requests.deliveries(requested.group, *expected)(self._control)
        return _json({})

    async def advance(self, request: Request) -> Response:
        requested = await _body(request, Advance)
        self._control.advance(requested.seconds, requested.silent)
        return _json({})

    async def restart(self, request: Request) -> Response:
        """The answer comes first, then the restart: /readyz tells when it is over."""
        requested = await _body(request, Restart)
        loop = asyncio.get_running_loop()
        loop.call_soon(self._restart, requested.clean)
        return _json({})

    def _restart(self, clean: bool) -> None:
        self._restarting = asyncio.create_task(self._node.restart(clean))

    # ---- faults

    async def add_fault(self, request: Request) -> Response:
        fields = await _body(request, dict[str, Any])
        return _json(self._control.faults.add(fields).as_json())

    async def faults(self, request: Request) -> Response:
        return _json([report.as_json() for report in self._control.faults.reports()])

    async def clear_faults(self, request: Request) -> Response:
        self._control.faults.clear()
        return _json({})

    async def assert_all_hit(self, request: Request) -> Response:
        requests.check_all_hit(self._control.faults.reports())
        return _json({})

    async def fault(self, request: Request) -> Response:
        """The fault; that of a barrier as soon as `waiting` requests are held."""
        asked, fault_id = _Query(request), request.path_params["id"]
        waiting = asked.integer("waiting")
        if waiting is not None:
            await self._control.wait_for_held(fault_id, waiting, asked.timeout())
        return _fault(self._control.faults.report(fault_id))

    async def remove_fault(self, request: Request) -> Response:
        return _fault(self._control.faults.remove(request.path_params["id"]))

    async def release(self, request: Request) -> Response:
        requested = await _body(request, Release)
        return _json({"released": self._control.faults.release(request.path_params["id"], requested.count)})


class _Query:
    """The parameters of a URL."""

    def __init__(self, request: Request) -> None:
        self._parameters = request.query_params

    def text(self, name: str) -> str | None:
        return self._parameters.get(name)

    def required(self, name: str) -> str:
        found = self._parameters.get(name)
        if not found:
            raise TestingError(f"the parameter {name} is missing, as in ?{name}=...")
        return found

    def integer(self, name: str) -> int | None:
        found = self._parameters.get(name)
        if found is None:
            return None
        if not found.isdecimal() or len(found) > 9:
            raise TestingError(f"{name}={found}: expected a whole number")
        return int(found)

    def timeout(self) -> float:
        """Seconds of real time; 0 without the parameter."""
        try:
            return min(float(self._parameters.get("timeout", "0")), WAIT_SECONDS_MAX)
        except ValueError:
            raise TestingError(f"timeout={self._parameters['timeout']}: expected seconds") from None


def _route(path: str, handler: Handler, method: str) -> Route:
    return Route(path, _answering(handler, method), methods=[method])


def _answering(handler: Handler, method: str) -> Handler:
    """Turn what goes wrong into a status and one line."""

    async def answer(request: Request) -> Response:
        # A browser sends JSON to another site only after asking it, and this one does not allow it.
        if method == "POST" and request.headers.get("content-type", "").partition(";")[0] != JSON:
            return _error(f"send a body of JSON, with Content-Type: {JSON}", UNSUPPORTED_MEDIA_TYPE)
        try:
            return await handler(request)
        except WaitTimeout as problem:
            return _error(str(problem), TIMEOUT)
        except (TestingError, FaultError, msgspec.MsgspecError) as problem:
            return _error(str(problem), BAD_REQUEST)
        except AssertionError as problem:
            return _error(str(problem), CONFLICT)

    return answer


async def _body(request: Request, kind: type[Body]) -> Body:
    return msgspec.json.decode(await request.body() or b"{}", type=kind)


def _fault(report: FaultReport) -> Response:
    return _json(report.as_json())


def _json(content: Any) -> Response:
    return Response(msgspec.json.encode(content) + b"\n", headers={"Cache-Control": "no-store"}, media_type=JSON)


def _error(message: str, status: int) -> Response:
    return Response(json.dumps({"error": message}) + "\n", status, media_type=JSON)


def testing_routes(node: RestartableNode) -> list[Route]:
    """For `RestartableNode(admin_routes=...)`."""
    return TestingRoutes(node).table()
