"""The routes that change groups, if the page was started with `--allow-actions`.

`GET /api/plans/ACTION/GROUP` says what an action would change; `POST /api/actions/ACTION/GROUP` does it, and takes what
was confirmed as JSON. The page of another site can send neither: `HttpGuard` checks Host and Origin, and browsers send
a body of the type application/json across origins only after a preflight, which is not answered.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Annotated, Any, Final, TypeVar

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from coordinator.client import group_admin
from coordinator.client.bootstrap import Server
from coordinator.client.cluster import EARLIEST, LATEST
from coordinator.client.group_admin import CHANGES_MAX, OFFSET_MAX, GroupPlan, OffsetChange, OffsetsMoved, Target
from coordinator.client.wire import ClientError
from coordinator.dashboard.names import MemberNames
from coordinator.dashboard.responses import BadQuery, error_response, json_response
from coordinator.logger import logger
from coordinator.printable import printable

ACTIONS_AT_ONCE: Final = 4
"""Plans and actions at a time; each has a thread and connections of its own."""
BODY_BYTES_MAX: Final = 32 * 1024 * 1024
"""Of a confirmed action: `CHANGES_MAX` partitions of topics with the longest names."""
REASON: Final = "removed by an administrator on the live page"
FORBIDDEN: Final = "actions are not allowed on this page: start `coordinator dashboard` with --allow-actions"

Body = TypeVar("Body")
PartitionIndex = Annotated[int, msgspec.Meta(ge=0, le=2**31 - 1)]
Offset = Annotated[int, msgspec.Meta(ge=0, le=OFFSET_MAX)]
Name = Annotated[str, msgspec.Meta(max_length=32_767)]


class ConfirmedOffsets(msgspec.Struct, forbid_unknown_fields=True):
    """[topic, partition, before, after] of each partition; null: no committed offset."""

    offsets: Annotated[
        list[tuple[Name, PartitionIndex, Offset | None, Offset | None]],
        msgspec.Meta(min_length=1, max_length=CHANGES_MAX),
    ]


class ConfirmedMembers(msgspec.Struct, forbid_unknown_fields=True):
    member_ids: Annotated[list[Name], msgspec.Meta(min_length=1, max_length=10_000)]


class ConfirmedGroup(msgspec.Struct, forbid_unknown_fields=True):
    """The name of the group again, so that an address alone deletes nothing."""

    group_id: Name


class Rejected(Exception):
    """The action is not done. The message is one line."""

    def __init__(self, status: int, problem: str) -> None:
        super().__init__(problem)
        self.status = status


class Actions:
    """Plans and actions on the groups of one server. Each runs in a thread, as it waits for the server."""

    def __init__(self, bootstrap: Server | None) -> None:
        """Without a server, all is answered 403."""
        self._bootstrap = bootstrap
        self._slots = asyncio.Semaphore(ACTIONS_AT_ONCE)

    @property
    def are_allowed(self) -> bool:
        return self._bootstrap is not None

    def routes(self) -> list[BaseRoute]:
        return [
            Route("/api/plans/{action}/{group_id:name}", self._answer(self._plan)),
            Route("/api/actions/{action}/{group_id:name}", self._answer(self._act), methods=["POST"]),
        ]

    def _answer(self, handle: Callable[[Request, Server], Awaitable[Any]]) -> Callable[[Request], Awaitable[Response]]:
        async def answer(request: Request) -> Response:
            try:
                if self._bootstrap is None:
                    raise Rejected(403, FORBIDDEN)
                return json_response(await handle(request, self._bootstrap))
            except Rejected as problem:
                return error_response(problem, problem.status)

        return answer

    async def _plan(self, request: Request, bootstrap: Server) -> Any:
        group_id, action, query = request.path_params["group_id"], request.path_params["action"], request.query_params
        topic = query.get("topic", "")
        match action:
            case "reset-offsets":
                target, partition = _target(query.get("to", ""), query.get("at", "")), _partition(query)
                plan = await self._run(group_admin.plan_reset, bootstrap, group_id, target, topic, partition)
            case "delete-offsets":
                plan = await self._run(group_admin.plan_delete_offsets, bootstrap, group_id, topic)
            case "remove-members" | "delete-group":
                plan = await self._run(group_admin.plan_delete_group, bootstrap, group_id)
            case _:
                raise Rejected(404, f"there is no action {action}")
        return _plan_json(plan)

    async def _act(self, request: Request, bootstrap: Server) -> Any:
        group_id, action = request.path_params["group_id"], request.path_params["action"]
        body = await _body(request)
        match action:
            case "reset-offsets" | "delete-offsets":
                changes = [OffsetChange(*offset) for offset in _decoded(body, ConfirmedOffsets).offsets]
                if any((change.after is None) != (action == "delete-offsets") for change in changes):
                    raise Rejected(400, f"{action} with offsets of the other kind")
                await self._run(group_admin.change_offsets, bootstrap, group_id, changes)
                done = f"{len(changes)} partitions"
            case "remove-members":
                member_ids = _decoded(body, ConfirmedMembers).member_ids
                await self._run(group_admin.remove_members, bootstrap, group_id, member_ids, REASON)
                done = f"{len(member_ids)} members"
            case "delete-group":
                if _decoded(body, ConfirmedGroup).group_id != group_id:
                    raise Rejected(400, "the group that was confirmed is another one")
                await self._run(group_admin.delete_group, bootstrap, group_id)
                done = "done"
            case _:
                raise Rejected(404, f"there is no action {action}")
        logger.info(f"{action} of group {printable(group_id)} on the live page: {done}")
        return {"done": done}

    async def _run(self, function: Callable[..., Any], *arguments: Any) -> Any:
        if self._slots.locked():
            raise Rejected(503, "too many actions at a time; try again")
        async with self._slots:
            try:
                return await asyncio.to_thread(function, *arguments)
            except OffsetsMoved as problem:
                raise Rejected(409, str(problem)) from problem
            except ClientError as problem:
                raise Rejected(502, str(problem)) from problem


def _target(to: str, at: str) -> Target:
    if to in ("earliest", "latest"):
        return Target(timestamp=EARLIEST if to == "earliest" else LATEST)
    if to not in ("time", "offset"):
        raise BadQuery(f"to={to}: expected earliest, latest, time or offset")
    value = _number("at", at, OFFSET_MAX)
    return Target(timestamp=value) if to == "time" else Target(offset=value)


def _partition(query: Any) -> int | None:
    text = query.get("partition", "")
    if text and not query.get("topic", ""):
        raise BadQuery("a partition needs a topic")
    return _number("partition", text, 2**31 - 1) if text else None


def _number(name: str, text: str, most: int) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) <= len(str(most)) and int(text) <= most):
        raise BadQuery(f"{name}={text}: expected a number from 0 to {most}")
    return int(text)


async def _body(request: Request) -> bytes:
    kind = request.headers.get("content-type", "").split(";")[0].strip().lower()
    if kind != "application/json":
        raise Rejected(415, "an action takes a body of the type application/json")
    if request.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        raise Rejected(403, "an action is taken from the page itself alone")
    found = bytearray()
    async for part in request.stream():
        found += part
        if len(found) > BODY_BYTES_MAX:
            raise Rejected(413, f"the body is larger than {BODY_BYTES_MAX} bytes")
    return bytes(found)


def _decoded(body: bytes, kind: type[Body]) -> Body:
    try:
        return msgspec.json.decode(body, type=kind)
    except (msgspec.DecodeError, RecursionError) as problem:
        raise Rejected(400, f"the body cannot be read: {problem}") from problem


def _plan_json(plan: GroupPlan) -> dict[str, Any]:
    names = MemberNames(plan.members)
    return {
        "members": [
            {
                "member_id": member.member_id,
                "name": names.of(member),
                "client_host": member.client_host,
                "group_instance_id": member.group_instance_id,
                "partitions": sum(map(len, (member.partitions or {}).values())),
            }
            for member in plan.members
        ],
        "offsets": [[offset.topic, offset.partition, offset.before, offset.after] for offset in plan.offsets],
    }
