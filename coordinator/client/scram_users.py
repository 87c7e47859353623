"""The users of SCRAM of a server, by the requests of KIP-554: of this server or of Apache Kafka."""

from collections.abc import Mapping, Sequence
from typing import Any

from _wire.errors import ErrorCode
from _wire.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)
from _wire.messages.describe_user_scram_credentials import DescribeUserScramCredentialsRequest
from coordinator.client.wire import ClientError, WireConnection
from coordinator.security.sasl.scram_credentials import ScramMechanism
from coordinator.security.sasl.scram_keys import new_salted_password

Iterations = Mapping[ScramMechanism, int]
"""The mechanisms of a user, with the iterations of each."""


def list_users(connection: WireConnection) -> dict[str, Iterations]:
    """Return the users by name.

    Raises:
        ClientError: the server does not answer, or refuses.
    """
    response = connection.send_latest(DescribeUserScramCredentialsRequest(users=None))
    _check(response)
    users: dict[str, Iterations] = {}
    for result in response.results:
        _check(result)
        users[result.user] = {
            ScramMechanism(credential_info.mechanism): credential_info.iterations
            for credential_info in result.credential_infos
        }
    return dict(sorted(users.items()))


def set_password(
    connection: WireConnection, user: str, password: str, mechanisms: Sequence[ScramMechanism], iterations: int
) -> None:
    """Give a user a password, or another one: one request per mechanism, as a request may name a user once.

    Raises:
        ClientError: the server does not answer, or refuses.
    """
    for mechanism in mechanisms:
        salt, salted_password = new_salted_password(mechanism, password, iterations)
        upsertion = ScramCredentialUpsertion(
            name=user, mechanism=mechanism, iterations=iterations, salt=salt, salted_password=salted_password
        )
        _alter(connection, AlterUserScramCredentialsRequest(deletions=[], upsertions=[upsertion]))


def delete_credentials(connection: WireConnection, user: str, mechanisms: Sequence[ScramMechanism]) -> None:
    """Remove the credentials of a user for these mechanisms.

    Raises:
        ClientError: the server does not answer, or refuses, as where there is no such credential.
    """
    for mechanism in mechanisms:
        deletion = ScramCredentialDeletion(name=user, mechanism=mechanism)
        _alter(connection, AlterUserScramCredentialsRequest(deletions=[deletion], upsertions=[]))


def _alter(connection: WireConnection, request: AlterUserScramCredentialsRequest) -> None:
    response = connection.send_latest(request)
    if not response.results:
        raise ClientError(f"{connection.bootstrap} answered nothing about the user")
    for result in response.results:
        _check(result)


def _check(answer: Any) -> None:
    if answer.error_code != ErrorCode.NONE:
        errors = {int(error): error for error in ErrorCode}
        error = errors.get(answer.error_code)
        name = f"error {answer.error_code}" if error is None else error.name
        raise ClientError(f"{name}: {answer.error_message}" if answer.error_message else name)
