"""Making of connections: TCP, TLS, the versions that the broker supports, and the login."""

import asyncio
import ssl
from collections.abc import Callable
from typing import Final

from coordinator.client.bootstrap import Bootstrap
from coordinator.client.login import Login
from coordinator.client.requests import RequestSteps
from coordinator.client.security import tls_problem
from coordinator.cluster.brokers.connection import BrokerConnection
from coordinator.cluster.brokers.errors import BrokerError

CONNECT_SECONDS: Final = 10
"""Kafka's clients: socket.connection.setup.timeout.ms."""


async def connect(
    server: Bootstrap, client_id: str, timeout_seconds: float, before_responses: Callable[[], None]
) -> BrokerConnection:
    """Connect to HOST:PORT, and log in if the security settings have a login.

    Raises:
        BrokerError: the address is invalid, the broker cannot be reached, or it refuses the login.
    """
    host, _, port = server.address.rpartition(":")
    if not host or not port.isdecimal():
        raise BrokerError(f"{server.address} is not HOST:PORT")
    host = host.strip("[]")
    context = server.security.tls_context
    try:
        async with asyncio.timeout(CONNECT_SECONDS):
            _, connection = await asyncio.get_running_loop().create_connection(
                lambda: BrokerConnection(server.address, client_id, timeout_seconds, before_responses),
                host,
                int(port),
                ssl=context,
                server_hostname=None if context is None else host,
            )
    except TimeoutError:
        raise BrokerError(f"cannot reach {server.address} within {CONNECT_SECONDS} s") from None
    except ssl.SSLError as problem:
        raise BrokerError(f"no TLS connection to {server.address}: {tls_problem(problem)}") from None
    except (OSError, OverflowError) as problem:
        raise BrokerError(f"cannot reach {server.address}: {problem}") from None
    try:
        await _introduce(connection, server.security.login)
    except BaseException:
        connection.close()
        raise
    return connection


async def _introduce(connection: BrokerConnection, login: Login | None) -> None:
    await _send_all(connection, connection.requests.ask_versions())
    if login is not None:
        await _send_all(connection, connection.requests.log_in(login))


async def _send_all(connection: BrokerConnection, requests: RequestSteps) -> None:
    try:
        message, version = next(requests)
        while True:
            message, version = requests.send(await connection.request_in(message, version))
    except StopIteration:
        return
