"""`coordinator dashboard`: the live page, until SIGTERM or Ctrl-C."""

import asyncio
import os
import signal
import socket
import ssl
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any

import click
import msgspec

from coordinator.cli.bronze_reader import BRONZE, bronze_records
from coordinator.cli.ready_file import ReadyFile
from coordinator.cli.server_options import COMMAND_CONFIG_OPTION, server_of, with_security
from coordinator.client.bootstrap import Bootstrap
from coordinator.client.wire import ClientError
from coordinator.dashboard.links import Origin
from coordinator.http_guard import Application, HttpGuard, is_loopback
from coordinator.http_login import LoginFileError, LoginGuard, Logins, read_logins

DEFAULT_LISTEN = "127.0.0.1:8080"
STOP_SECONDS = 1
"""How long a stop waits for answers; the streams of changes never end by themselves."""


class Guards(msgspec.Struct, frozen=True):
    """Who may open the page, and whether by HTTPS."""

    allowed_hosts: tuple[str, ...]
    logins: Logins | None
    tls: ssl.SSLContext | None


@click.command
@click.option(
    "--bootstrap",
    metavar="HOST:PORT",
    help="The server whose groups are shown; Apache Kafka too, of which lag alone is known.",
)
@COMMAND_CONFIG_OPTION
@click.option(
    "--tables", type=click.Path(file_okay=False, path_type=Path), help="Tables of `coordinator pipeline`, for the past."
)
@click.option(
    "--lag-from",
    metavar="HOST:PORT",
    help="Where the lag is asked for; by default --bootstrap. With that of a watcher: the Kafka that it watches.",
)
@click.option(
    "--lag-config",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="As --command-config, of --lag-from.",
)
@click.option("--listen", default=DEFAULT_LISTEN, show_default=True, metavar="HOST:PORT", help="Port 0: a free one.")
@click.option(
    "--allow-host",
    "allowed_hosts",
    metavar="NAME",
    multiple=True,
    help="A host name, beside those of loopback, under which browsers open the page; repeatable.",
)
@click.option(
    "--allow-actions",
    is_flag=True,
    help="Let everyone who can reach the page reset offsets, remove members and delete groups.",
)
@click.option(
    "--login-file",
    type=click.Path(path_type=Path),
    help="A file with the logins of the page: each line is USER:PASSWORD, or a token (Authorization: Bearer).",
)
@click.option(
    "--tls-key-store",
    type=click.Path(path_type=Path),
    help="A PEM file with a private key and its certificate chain: the page is served by HTTPS.",
)
@click.option("--ready-file", type=click.Path(path_type=Path), help="Write this JSON file (url, pid) when ready.")
@with_security
def command(
    bootstrap: Bootstrap | None,
    tables: Path | None,
    lag_from: str | None,
    lag_config: Path | None,
    listen: str,
    allowed_hosts: tuple[str, ...],
    allow_actions: bool,
    login_file: Path | None,
    tls_key_store: Path | None,
    ready_file: Path | None,
) -> None:
    """Show the groups of a server in a browser, live, or those of tables, or of both.

    Without --login-file, everyone who can reach the address can read all events. So listen on other addresses than
    loopback only with a login and TLS, or in a network that you trust.
    """
    import uvicorn  # noqa: F401  # what is missing is told before anything else

    if bootstrap is None and tables is None:
        raise click.ClickException("name a server (--bootstrap HOST:PORT), tables (--tables DIR), or both")
    if tables is not None and not (tables / BRONZE).is_dir():
        raise click.ClickException(f"there is no table {tables / BRONZE}")
    host, _, port = listen.rpartition(":")
    if not host or not port.isdecimal() or int(port) > 65_535:
        raise click.ClickException(f"--listen {listen}: expected HOST:PORT")
    if lag_config is not None and lag_from is None:
        raise click.ClickException("--lag-config needs a server: --lag-from HOST:PORT")
    lag_server = bootstrap if lag_from is None else server_of(lag_from, lag_config)
    if allow_actions:
        _check_actions(bootstrap, host, allowed_hosts)
    origin = Origin(bootstrap, tables)
    try:
        logins = None if login_file is None else read_logins(login_file)
        tls = None if tls_key_store is None else _tls_context(tls_key_store)
        if not is_loopback(host) and (logins is None or tls is None):
            lacks = "--login-file" if logins is None else "--tls-key-store"
            click.echo(f"coordinator: other hosts may reach {listen}; it has no {lacks}", err=True)
        with ReadyFile(ready_file) as ready, _bind(host.strip("[]"), int(port)) as listener:
            guards = Guards(allowed_hosts, logins, tls)
            asyncio.run(_serve(origin, lag_server, listener, guards, ready, allow_actions=allow_actions))
    except (ClientError, LoginFileError) as problem:
        raise click.ClickException(str(problem)) from problem
    except OSError as problem:
        raise click.ClickException(f"cannot listen on {listen}: {_words(problem)}") from problem


def _check_actions(bootstrap: Bootstrap | None, host: str, allowed_hosts: tuple[str, ...]) -> None:
    if bootstrap is None:
        raise click.ClickException("--allow-actions needs a server: --bootstrap HOST:PORT")
    if not is_loopback(host) and not allowed_hosts:
        # Any Host would be allowed, so a site whose name resolves to this address could act through a browser.
        raise click.ClickException(f"--allow-actions on {host} needs --allow-host NAME: the host name of the page")


def _tls_context(key_store: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        # An encrypted key would have OpenSSL ask for its password on the terminal.
        context.load_cert_chain(key_store, password="")
    except OSError as problem:
        reason = problem.reason if isinstance(problem, ssl.SSLError) else problem.strerror
        raise click.ClickException(
            f"--tls-key-store {key_store}: no private key with its certificate chain in the form of PEM, unencrypted: "
            f"{reason}"
        ) from problem
    return context


def _words(problem: OSError) -> str:
    """The cause alone: the standard library adds the address, which is in the message already."""
    if isinstance(problem, socket.gaierror) or problem.errno is None:
        return problem.strerror or str(problem)
    return os.strerror(problem.errno)


def _bind(host: str, port: int) -> socket.socket:
    family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
    return socket.create_server((host, port), family=family, backlog=128)


async def _serve(
    origin: Origin,
    lag_server: Bootstrap | None,
    listener: socket.socket,
    guards: Guards,
    ready_file: ReadyFile,
    *,
    allow_actions: bool,
) -> None:
    import uvicorn
    from uvicorn.protocols.http.auto import AutoHTTPProtocol

    from coordinator.dashboard.app import make_app
    from coordinator.dashboard.board import Board
    from coordinator.dashboard.feed import EventQueue, Feed
    from coordinator.dashboard.lag_feed import LagFeed

    bootstrap, tables = origin.bootstrap, origin.tables
    board = Board()
    loop = asyncio.get_running_loop()
    feed = Feed(EventQueue(board, loop), bronze_records(tables, None) if tables is not None else (), bootstrap)
    feed.start()
    lag_feed = LagFeed(board, loop, lag_server) if lag_server is not None else None
    if lag_feed is not None:
        lag_feed.start()
    host, port = listener.getsockname()[:2]
    scheme = "http" if guards.tls is None else "https"
    url = f"{scheme}://[{host}]:{port}/" if ":" in host else f"{scheme}://{host}:{port}/"
    app: Application = make_app(board, origin, allow_actions=allow_actions)
    if guards.logins is not None:
        app = LoginGuard(app, guards.logins)
    app = HttpGuard(app, host, guards.allowed_hosts, "--allow-host")
    http: Any = AutoHTTPProtocol
    tls = None
    if guards.tls is not None:
        from coordinator.cli.dashboard_tls import PageTls

        tls = PageTls(guards.tls, AutoHTTPProtocol)
        http = tls.connection
    server = uvicorn.Server(
        uvicorn.Config(
            app, http=http, log_level="error", lifespan="off", timeout_graceful_shutdown=STOP_SECONDS, ws="none"
        )
    )
    # A signal ends the command with exit status 0; uvicorn would raise it again after the stop.
    server.capture_signals = nullcontext  # type: ignore[method-assign, assignment]
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, partial(setattr, server, "should_exit", True))
    ready_file.write({"url": url})
    click.echo(f"groups of {bootstrap or tables} on {url} (Ctrl-C ends it)", err=True)
    try:
        await server.serve([listener])
    finally:
        if tls is not None:
            tls.close()
        feed.stop()
        if lag_feed is not None:
            lag_feed.stop()
