"""The routes of the page: its files, its data as JSON under `/api/`, and its changes as server-sent events."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from pathlib import Path
from typing import Final

import msgspec
from starlette.applications import Starlette
from starlette.convertors import Convertor, register_url_convertor
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import FileResponse, Response, StreamingResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from coordinator.dashboard import lag_views, topic_views, views
from coordinator.dashboard.actions import Actions
from coordinator.dashboard.board import Board
from coordinator.dashboard.lags import SampledGroup
from coordinator.dashboard.links import NO_ORIGIN, Origin, command_for
from coordinator.dashboard.responses import (
    SECURITY_HEADERS,
    BadQuery,
    NotFound,
    bad_query,
    encode,
    json_response,
    not_found,
)
from coordinator.explain.generation import Generation
from coordinator.explain.history import GroupHistory

STATIC: Final = Path(__file__).parent / "static"
REPORT_EVERY_SECONDS: Final = 0.25
"""Changes that follow each other within this time are told together."""
KEEP_ALIVE_SECONDS: Final = 15
CHANGED_NAMED_MAX: Final = 200
"""Groups that one message names; beyond that it says that all may have changed."""

SHOWN: Final = "shown"
HIDDEN: Final = "hidden"


class NameConvertor(Convertor[str]):
    """A name in a path: any characters, line breaks too, which Starlette's `path` leaves out; it may be empty."""

    regex = r"[\s\S]*"

    def convert(self, value: str) -> str:
        return value

    def to_string(self, value: str) -> str:
        return value


register_url_convertor("name", NameConvertor())


def make_app(board: Board, origin: Origin = NO_ORIGIN, *, allow_actions: bool = False) -> Starlette:
    """The page of a board. With `allow_actions`, groups of the server of `origin` can be changed on it."""
    actions = Actions(origin.bootstrap if allow_actions else None)
    routes = Routes(board, origin, actions)
    return Starlette(
        routes=[
            Route("/", routes.page),
            Route("/api/overview", routes.overview),
            Route("/api/groups", routes.groups),
            # Group ids may contain any character, slashes too, so they come after what belongs to them.
            Route("/api/generation/{generation_id:int}/{group_id:name}", routes.generation),
            Route("/api/ownership/{group_id:name}", routes.ownership),
            Route("/api/diff/{one:int}/{other:int}/{group_id:name}", routes.difference),
            Route("/api/lag/{group_id:name}", routes.lag),
            Route("/api/lag-history/{partition:int}/{group_id:name}", routes.lag_history),
            Route("/api/member/{group_id:name}", routes.member),
            Route("/api/groups/{group_id:name}", routes.group),
            *actions.routes(),
            Route("/api/topics", routes.topics),
            Route("/api/topics/{topic:name}", routes.topic),
            Route("/api/events", routes.events),
            Mount("/static", StaticFiles(directory=STATIC)),
        ],
        middleware=[Middleware(GZipMiddleware, minimum_size=1_000)],
        exception_handlers={NotFound: not_found, BadQuery: bad_query},
    )


class Routes:
    """Answers from the board; runs in the loop that applies the events to it."""

    def __init__(self, board: Board, origin: Origin, actions: Actions) -> None:
        self._board = board
        self._origin = origin
        self._actions = actions

    async def page(self, request: Request) -> Response:
        return FileResponse(STATIC / "index.html", headers=SECURITY_HEADERS)

    async def overview(self, request: Request) -> Response:
        return json_response(views.overview(self._board))

    async def groups(self, request: Request) -> Response:
        query = request.query_params
        sort = query.get("sort", "lag")
        if sort not in views.SORTS:
            raise BadQuery(f"sort={sort}: expected one of {', '.join(views.SORTS)}")
        dead = query.get("dead", SHOWN)
        if dead not in (SHOWN, HIDDEN):
            raise BadQuery(f"dead={dead}: expected {SHOWN} or {HIDDEN}")
        chosen = views.Choice(query.get("search", ""), query.get("state", ""), hides_dead=dead == HIDDEN)
        offset, limit = _number(request, "offset", 0), _number(request, "limit", 100)
        return json_response(views.groups(self._board, chosen, sort, offset, limit))

    async def topics(self, request: Request) -> Response:
        return json_response(topic_views.topics(self._board))

    async def topic(self, request: Request) -> Response:
        topic: str = request.path_params["topic"]
        found = topic_views.topic(self._board, topic)
        if found is None:
            raise NotFound(f"no group consumes a topic {topic}")
        return json_response(found)

    async def group(self, request: Request) -> Response:
        history = self._history(request)
        allowed = {"actions_allowed": self._actions.are_allowed}
        return json_response(views.group(self._board, history) | self._command(history, None) | allowed)

    async def generation(self, request: Request) -> Response:
        history, generation_id = self._history(request), request.path_params["generation_id"]
        shown = views.generation(history, _generation(history, generation_id))
        return json_response(shown | self._command(history, generation_id))

    async def ownership(self, request: Request) -> Response:
        return json_response(views.ownership(self._history(request)))

    async def difference(self, request: Request) -> Response:
        history = self._history(request)
        one, other = (_generation(history, request.path_params[name]) for name in ("one", "other"))
        return json_response(views.difference(history, one, other))

    async def member(self, request: Request) -> Response:
        history, member_id = self._history(request), request.query_params.get("member_id", "")
        found = views.member(history, member_id)
        sampled = self._board.lags.group(history.group_id)
        lag = None if sampled is None else lag_views.of_member(self._board.lags, sampled, member_id)
        if found is None and lag is not None:
            found = {"member_id": member_id, "now": None, "generations": [], "removed": []}
        if found is None:
            raise NotFound(f"group {history.group_id} has never had a member {member_id}")
        return json_response({**found, "lag": lag})

    async def lag(self, request: Request) -> Response:
        return json_response(lag_views.of_group(self._board.lags, self._sampled(request)))

    async def lag_history(self, request: Request) -> Response:
        sampled, topic = self._sampled(request), request.query_params.get("topic", "")
        return json_response(lag_views.of_partition(self._board.lags, sampled, topic, request.path_params["partition"]))

    async def events(self, request: Request) -> Response:
        stream = changes(self._board, request.is_disconnected)
        return StreamingResponse(stream, media_type="text/event-stream", headers={"Cache-Control": "no-store"})

    def _command(self, history: GroupHistory, generation_id: int | None) -> dict[str, str]:
        """The command that says the same in a terminal."""
        shown = command_for(self._origin, history.group_id, generation_id, has_events=history.has_events)
        return {"command": shown}

    def _history(self, request: Request) -> GroupHistory:
        group_id = request.path_params["group_id"]
        history = self._board.history(group_id)
        if history is None:
            raise NotFound(f"there are no events of a group {group_id}")
        return history

    def _sampled(self, request: Request) -> SampledGroup:
        group_id = request.path_params["group_id"]
        sampled = self._board.lags.group(group_id)
        if sampled is None:
            why = self._board.lags.problem or "the server has no such group"
            raise NotFound(f"there is no lag of a group {group_id}: {why}")
        return sampled


async def changes(board: Board, is_disconnected: Callable[[], Awaitable[bool]]) -> AsyncGenerator[bytes]:
    """Server-sent events: the groups that changed and how much has been read, at most every `REPORT_EVERY_SECONDS`."""
    changed: set[str] = set()
    has_changed = asyncio.Event()

    def note(group_ids: set[str]) -> None:
        changed.update(group_ids)
        has_changed.set()

    stop = board.listen(note)
    try:
        yield _message(board, set())
        while not await is_disconnected():
            try:
                await asyncio.wait_for(has_changed.wait(), KEEP_ALIVE_SECONDS)
            except TimeoutError:
                yield b": still here\n\n"
                continue
            await asyncio.sleep(REPORT_EVERY_SECONDS)
            has_changed.clear()
            shown, changed = changed, set()
            yield _message(board, shown)
    finally:
        stop()


def _message(board: Board, changed: set[str]) -> bytes:
    named = sorted(changed) if len(changed) <= CHANGED_NAMED_MAX else None
    body = {
        "groups": named,
        "newest_ms": board.newest_ms,
        "lag_ms": board.lags.latest.time_ms,
        "lag_problem": board.lags.problem,
        "progress": msgspec.to_builtins(board.progress),
    }
    return b"data: " + encode(body) + b"\n\n"


def _generation(history: GroupHistory, generation_id: int) -> Generation:
    found = history.generation(generation_id)
    if found is None:
        raise NotFound(f"there are no events of a generation {generation_id} of group {history.group_id}")
    return found


def _number(request: Request, name: str, default: int) -> int:
    text = request.query_params.get(name, str(default))
    if not text.isdecimal() or len(text) > 9:
        raise BadQuery(f"{name}={text}: expected a number from 0 to 999999999")
    return int(text)
