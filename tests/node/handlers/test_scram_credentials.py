"""SCRAM credentials: bounds and durability. What Kafka answers is in tests/differential/logins."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from _wire.errors import ErrorCode
from _wire.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)
from _wire.messages.describe_user_scram_credentials import DescribeUserScramCredentialsRequest, UserName
from coordinator.node.handlers import scram_credentials
from coordinator.security.sasl.scram_credentials import ScramMechanism
from tests.sasl_server import SaslServer
from tests.wire_client import WireClient

MOST: Final = 4
PLAINTEXT: Final = {"PLAINTEXT": "PLAINTEXT"}
SHA_256, SHA_512 = map(int, ScramMechanism)
SECRET: Final = b"a salted password of a user"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SaslServer]:
    folder = tmp_path_factory.mktemp("credentials")
    with SaslServer(folder, {"scram.credentials.max": str(MOST)}, PLAINTEXT) as running:
        yield running


@pytest.fixture
def client(server: SaslServer) -> Iterator[WireClient]:
    with WireClient(server.bootstrap) as connected:
        yield connected
        for name in users(connected):
            for mechanism in (SHA_256, SHA_512):
                alter(connected, deletion(name, mechanism))


def upsertion(name: str, mechanism: int = SHA_256, **other: Any) -> ScramCredentialUpsertion:
    fields: dict[str, Any] = {"iterations": 4096, "salt": b"salt", "salted_password": SECRET} | other
    return ScramCredentialUpsertion(name=name, mechanism=mechanism, **fields)


def deletion(name: str, mechanism: int = SHA_256) -> ScramCredentialDeletion:
    return ScramCredentialDeletion(name=name, mechanism=mechanism)


def alter(client: WireClient, *changes: Any) -> dict[str, tuple[int, str | None]]:
    request = AlterUserScramCredentialsRequest(
        upsertions=[change for change in changes if isinstance(change, ScramCredentialUpsertion)],
        deletions=[change for change in changes if isinstance(change, ScramCredentialDeletion)],
    )
    results = client.request(request, 0).results
    assert len({result.user for result in results}) == len(results)
    return {result.user: (result.error_code, result.error_message) for result in results}


def users(client: WireClient) -> dict[str, list[tuple[int, int]]]:
    response = client.request(DescribeUserScramCredentialsRequest(users=None), 0)
    return {
        result.user: [(info.mechanism, info.iterations) for info in result.credential_infos]
        for result in response.results
    }


def test_all_users_are_described(client):
    assert users(client) == {}
    alter(client, upsertion("a"), upsertion("b", SHA_512, iterations=9999))
    alter(client, upsertion("a", SHA_512))
    assert users(client) == {"a": [(SHA_256, 4096), (SHA_512, 4096)], "b": [(SHA_512, 9999)]}


def test_there_are_so_many_credentials_at_most(client):
    assert set(alter(client, *(upsertion(f"u{number}") for number in range(MOST))).values()) == {(0, None)}
    code, message = alter(client, upsertion("more"))["more"]
    assert code == ErrorCode.POLICY_VIOLATION
    assert message == "There are 4 credentials already; scram.credentials.max allows no more."
    assert alter(client, upsertion("u0", SHA_512))["u0"][0] == ErrorCode.POLICY_VIOLATION
    assert alter(client, upsertion("u0", iterations=5000))["u0"][0] == ErrorCode.NONE, "no new one"
    answers = alter(client, deletion("u1"), upsertion("more"), upsertion("another"))
    assert sorted(code for code, _ in answers.values()) == [0, 0, ErrorCode.POLICY_VIOLATION]
    assert len(users(client)) == MOST


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (upsertion("a" * 1025), "Username must not be longer than 1024"),
        (upsertion("a", salt=bytes(1025)), "Salt must not be longer than 1024"),
        (upsertion("a", salted_password=bytes(1025)), "Salted password must not be longer than 1024"),
    ],
)
def test_what_is_stored_is_small(client, change, message):
    assert alter(client, change) == {change.name: (ErrorCode.UNACCEPTABLE_CREDENTIAL, message)}
    assert users(client) == {}


def test_a_request_may_be_very_long(client):
    answers = alter(client, *(deletion(f"u{number}") for number in range(20_000)))
    assert len(answers) == 20_000
    names = [UserName(name=f"u{number}") for number in range(20_000)]
    assert len(client.request(DescribeUserScramCredentialsRequest(users=names), 0).results) == 20_000


def test_without_the_library_the_client_is_told_what_to_install(client, monkeypatch):
    monkeypatch.setattr(scram_credentials, "find_spec", lambda name: None)
    code, message = alter(client, upsertion("a"))["a"]
    assert code == ErrorCode.UNSUPPORTED_SASL_MECHANISM
    assert message is not None and "pip install 'kafka-group-coordinator[security]'" in message


def test_credentials_survive_a_restart_and_no_password_is_stored(tmp_path: Path):
    with SaslServer(tmp_path, {}, PLAINTEXT) as server, WireClient(server.bootstrap) as client:
        alter(client, upsertion("a"), upsertion("b"))
        alter(client, deletion("b"))
    with SaslServer(tmp_path, {}, PLAINTEXT) as server, WireClient(server.bootstrap) as client:
        assert users(client) == {"a": [(SHA_256, 4096)]}
    stored = b"".join(each.read_bytes() for each in (tmp_path / "data" / "__cluster_metadata-0").iterdir())
    assert b"scram_credential" in stored
    assert SECRET not in stored
