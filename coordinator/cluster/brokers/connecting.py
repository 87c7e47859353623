"""Making of connections: TCP, TLS, the versions that the broker supports, and the login."""

import asyncio
import ssl
from collections.abc import Callable
from typing import Final

from _wire.errors import ErrorCode
from _wire.messages.api_versions import ApiVersionsRequest
from _wire.messages.sasl_authenticate import SaslAuthenticateRequest
from _wire.messages.sasl_handshake import SaslHandshakeRequest
from coordinator.client.bootstrap import Bootstrap
from coordinator.client.login import Login, LoginError
from coordinator.client.security import tls_problem
from coordinator.cluster.brokers.connection import BrokerConnection
from coordinator.cluster.brokers.errors import BrokerError

HANDSHAKE_VERSION: Final = 1
AUTHENTICATE_VERSION: Final = 1
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
    supported = await connection.request_in(ApiVersionsRequest(), 0)
    if supported.error_code != ErrorCode.NONE:
        raise BrokerError(f"ApiVersions failed on {connection.broker}: error {supported.error_code}")
    connection.versions = {
        api_key.api_key: (api_key.min_version, api_key.max_version) for api_key in supported.api_keys
    }
    if login is None:
        return
    handshake = await connection.request_in(SaslHandshakeRequest(mechanism=login.mechanism), HANDSHAKE_VERSION)
    if handshake.error_code != ErrorCode.NONE:
        served = ", ".join(handshake.mechanisms) or "none"
        raise BrokerError(f"{connection.broker} does not accept {login.mechanism}; its mechanisms are: {served}")
    try:
        await _log_in(connection, login)
    except LoginError as problem:
        raise BrokerError(f"cannot log in to {connection.broker}: {problem}") from None


async def _log_in(connection: BrokerConnection, login: Login) -> None:
    messages = login.exchange()
    try:
        message = next(messages)
        while True:
            request = SaslAuthenticateRequest(auth_bytes=message)
            answer = await connection.request_in(request, AUTHENTICATE_VERSION)
            if answer.error_code != ErrorCode.NONE:
                raise LoginError(f"the login of {login.who} was refused: {answer.error_message}")
            message = messages.send(answer.auth_bytes)
    except StopIteration:
        return
