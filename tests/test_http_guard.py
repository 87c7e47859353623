"""Which web pages may reach an HTTP port: the headers Host and Origin."""

import asyncio
from typing import Any

import pytest

from coordinator.http_guard import HttpGuard, is_loopback, parse_names

LOOPBACK, WILDCARD = "127.0.0.1", "0.0.0.0"


async def served(scope, receive, send):
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b""})


def ask(bound_host, names=(), host=None, origin=None):
    """The status and the body of the response."""
    headers = [(b"host", host.encode())] if host is not None else []
    headers += [(b"origin", origin.encode())] if origin is not None else []
    sent = []
    nothing: Any = None

    async def send(message):
        sent.append(message)

    async def play():
        guard = HttpGuard(served, bound_host, names, "the.setting")
        await guard({"type": "http", "headers": headers}, nothing, send)

    asyncio.run(play())
    return sent[0]["status"], sent[1]["body"].decode()


@pytest.mark.parametrize(
    "host",
    [
        "localhost",
        "LocalHost:8080",
        "localhost.",
        "127.0.0.1",
        "127.0.0.1:9100",
        "127.8.9.1:1",
        "[::1]",
        "[::1]:80",
        None,
    ],
)
@pytest.mark.parametrize("bound_host", [LOOPBACK, "::1", WILDCARD, "10.0.0.7"])
def test_names_of_loopback_are_always_allowed(bound_host, host):
    assert ask(bound_host, host=host)[0] == 200
    assert ask(bound_host, ["named"], host=host)[0] == 200


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:9100",
        "localhost.evil.example",
        "127.0.0.1.evil.example",
        "evil.example#localhost",
        "localhost@evil.example",
        "[::1]evil",
        "10.0.0.7",
        "0.0.0.0",
        "[::2]:80",
        "",
        ":80",
        "x" * 10_000,
        "\x00",
    ],
)
def test_on_loopback_no_other_host_is_allowed(host):
    status, body = ask(LOOPBACK, host=host)
    assert status == 403
    assert body.startswith("the host ") and body.endswith("add it to the.setting\n") and len(body) < 500


@pytest.mark.parametrize("host", ["coordinator.svc", "10.0.0.7:9100", "evil.example", "[fd00::1]:9100"])
def test_on_another_address_every_host_is_allowed_unless_names_are_given(host):
    """Orchestrators ask by the address of the pod."""
    assert ask(WILDCARD, host=host)[0] == 200
    assert ask(WILDCARD, ["coordinator.svc"], host=host)[0] == (403 if host == "evil.example" else 200)


@pytest.mark.parametrize("bound_host", [LOOPBACK, WILDCARD])
def test_names_that_are_given_are_allowed_with_any_port(bound_host):
    for host in ("box.lan", "BOX.lan:8080", "box.lan."):
        assert ask(bound_host, ["Box.LAN"], host=host)[0] == 200
    assert ask(bound_host, ["box.lan"], host="box.lan.evil")[0] == 403


@pytest.mark.parametrize(
    ("host", "origin", "status"),
    [
        ("localhost:8080", "http://localhost:8080", 200),
        ("LOCALHOST:8080", "http://localhost:8080", 200),
        ("localhost", "https://localhost", 200),
        ("127.0.0.1:8080", "http://127.0.0.1:8080", 200),
        ("localhost:8080", "https://box.lan", 200),
        ("localhost:8080", "http://localhost:3000", 403),
        ("localhost:8080", "http://127.0.0.1:8080", 403),
        ("localhost:8080", "http://evil.example", 403),
        ("localhost:8080", "http://evil.example@localhost:8080", 403),
        ("localhost:8080", "null", 403),
        ("localhost:8080", "", 403),
        ("localhost:8080", "file://", 403),
        ("localhost:8080", "http://[", 403),
        ("localhost:8080", "chrome-extension://localhost:8080", 403),
    ],
)
@pytest.mark.parametrize("bound_host", [LOOPBACK, WILDCARD])
def test_the_origin_is_that_of_the_port_or_a_given_name(bound_host, host, origin, status):
    found, body = ask(bound_host, ["box.lan"], host, origin)
    assert found == status
    assert status == 200 or (body.startswith("the origin ") and body.endswith("add its host to the.setting\n"))


def test_what_is_no_request_passes():
    passed = []

    async def app(scope, receive, send):
        passed.append(scope["type"])

    nothing: Any = None
    asyncio.run(HttpGuard(app, LOOPBACK, (), "x")({"type": "lifespan"}, nothing, nothing))
    assert passed == ["lifespan"]


def test_a_list_of_names():
    assert parse_names(" a, b.c ,,") == ["a", "b.c"]
    assert is_loopback("LOCALHOST") and is_loopback("::1") and not is_loopback("::")
