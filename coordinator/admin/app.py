"""The routes of the admin port, as a table."""

import asyncio
import json
from collections.abc import Sequence
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import BaseRoute, Route

from coordinator.logger import logger
from coordinator.metrics.exposition import CONTENT_TYPE, exposition
from coordinator.metrics.node_metrics import NodeMetrics

NOT_READY = 503


def routes(metrics: NodeMetrics) -> list[BaseRoute]:
    """What the admin port serves, to GET and HEAD."""
    health, scrapes = Health(metrics), Scrapes(metrics)
    return [
        Route("/metrics", scrapes.metrics),
        Route("/healthz", health.healthz),
        Route("/readyz", health.readyz),
    ]


def make_app(metrics: NodeMetrics, more_routes: Sequence[BaseRoute] = ()) -> Starlette:
    return Starlette(routes=[*routes(metrics), *more_routes], exception_handlers={Exception: _failed})


class Health:
    """Whether the process lives, and whether it serves."""

    def __init__(self, metrics: NodeMetrics) -> None:
        self._metrics = metrics

    async def healthz(self, request: Request) -> Response:
        """200 as long as the event loop turns: otherwise nobody answers."""
        return _json({"healthy": True})

    async def readyz(self, request: Request) -> Response:
        """200 if all partitions of `__consumer_offsets` that this node leads are active, else 503 and which are not."""
        readiness = self._metrics.readiness()
        return _json(readiness.as_json(), 200 if readiness.is_ready else NOT_READY)


class Scrapes:
    """Answers all scrapes that come while one is under way with the page of that one."""

    def __init__(self, metrics: NodeMetrics) -> None:
        self._metrics = metrics
        self._running: asyncio.Task[bytes] | None = None

    async def metrics(self, request: Request) -> Response:
        if self._running is None:
            self._running = asyncio.create_task(exposition(self._metrics, _let_others_run))
            self._running.add_done_callback(self._done)
        # A client that gives up must not end the scrape of the others.
        return Response(await asyncio.shield(self._running), headers={"Content-Type": CONTENT_TYPE})

    def _done(self, task: asyncio.Task[bytes]) -> None:
        self._running = None


async def _let_others_run() -> None:
    await asyncio.sleep(0)


def _json(body: dict[str, Any], status: int = 200) -> Response:
    return Response(json.dumps(body) + "\n", status, {"Cache-Control": "no-store"}, media_type="application/json")


def _failed(request: Request, problem: Exception) -> Response:
    logger.error("unhandled exception in a request to the admin port", path=request.url.path, exc_info=problem)
    return PlainTextResponse("internal error; the log of the server says more\n", 500)
