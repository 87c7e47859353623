"""Responses of the page: JSON, and errors of one line."""

from typing import Any, Final

import msgspec
from starlette.requests import Request
from starlette.responses import Response

SECURITY_HEADERS: Final = {
    "Content-Security-Policy": "default-src 'self'; img-src 'self' data:; style-src 'self' 'unsafe-inline';"
    " frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
}
"""Names in the page are chosen by clients: nothing but the page's own files may run, whatever they contain.

No other page may show it in a frame, where a click could be led to a button of it.
"""

encode = msgspec.json.Encoder().encode


class NotFound(Exception):
    """What the address names does not exist. The message is one line."""


class BadQuery(Exception):
    """A query parameter has a value that is not allowed. The message is one line."""


def json_response(body: Any, status: int = 200) -> Response:
    headers = {"Cache-Control": "no-store", **SECURITY_HEADERS}
    return Response(encode(body), status, headers, media_type="application/json")


def error_response(problem: Exception, status: int) -> Response:
    """An error, in one line whatever the names in it are."""
    words = "".join(character if character.isprintable() else ascii(character)[1:-1] for character in str(problem))
    return json_response({"error": words}, status)


def not_found(request: Request, problem: Exception) -> Response:
    return error_response(problem, 404)


def bad_query(request: Request, problem: Exception) -> Response:
    return error_response(problem, 400)
