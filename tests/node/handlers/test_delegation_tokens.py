"""Delegation tokens are refused as by a Kafka 4.3.1 without `delegation.token.secret.key`, whose answers these are."""

import struct
from collections.abc import Iterator

import pytest

from _wire.errors import ErrorCode
from _wire.messages.create_delegation_token import CreatableRenewers, CreateDelegationTokenRequest
from _wire.messages.describe_delegation_token import DescribeDelegationTokenRequest
from _wire.messages.expire_delegation_token import ExpireDelegationTokenRequest
from _wire.messages.renew_delegation_token import RenewDelegationTokenRequest
from tests.front.test_logins import log_in
from tests.sasl_server import SaslServer, plain_jaas
from tests.wire_client import WireClient

SETTINGS = {
    "sasl.enabled.mechanisms": "PLAIN",
    "listener.name.login.plain.sasl.jaas.config": plain_jaas(alice="alice-secret"),
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SaslServer]:
    listeners = {"LOGIN": "SASL_PLAINTEXT", "OPEN": "PLAINTEXT"}
    with SaslServer(tmp_path_factory.mktemp("tokens"), SETTINGS, listeners) as running:
        yield running


@pytest.fixture(params=["LOGIN", "OPEN"])
def asked(server, request) -> Iterator[tuple[WireClient, ErrorCode]]:
    """A client, and the error that each of its requests gets."""
    with WireClient(server.addresses[request.param]) as client:
        if request.param == "LOGIN":
            assert log_in(client).error_code == 0
            yield client, ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED
        else:
            yield client, ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED


@pytest.mark.parametrize("version", [1, 2, 3])
def test_none_is_created(asked, version):
    client, error = asked
    answer = client.request(CreateDelegationTokenRequest(renewers=[], max_lifetime_ms=-1), version)
    user = "alice" if error is ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED else "ANONYMOUS"
    assert (answer.error_code, answer.principal_type, answer.principal_name) == (error, "User", user)
    assert (answer.issue_timestamp_ms, answer.expiry_timestamp_ms, answer.max_timestamp_ms) == (-1, -1, -1)
    assert (answer.token_id, answer.hmac) == ("", b"")
    assert answer.token_requester_principal_name == (user if version == 3 else "")


def test_the_answer_names_the_owner_that_was_asked_for(asked):
    client, error = asked
    wanted = CreateDelegationTokenRequest(owner_principal_type="User", owner_principal_name="bob", max_lifetime_ms=-1)
    answer = client.request(wanted, 3)
    assert (answer.error_code, answer.principal_name) == (error, "bob")


def test_only_users_renew(server):
    with WireClient(server.addresses["LOGIN"]) as client:
        log_in(client)
        renewers = [CreatableRenewers(principal_type=kind, principal_name="x") for kind in ("User", "Group")]
        answer = client.request(CreateDelegationTokenRequest(renewers=renewers, max_lifetime_ms=-1), 3)
        assert answer.error_code == ErrorCode.INVALID_PRINCIPAL_TYPE


@pytest.mark.parametrize("version", [1, 2])
def test_none_is_renewed_expired_or_described(asked, version):
    client, error = asked
    renewed = client.request(RenewDelegationTokenRequest(hmac=b"x", renew_period_ms=1), version)
    expired = client.request(ExpireDelegationTokenRequest(hmac=b"x", expiry_time_period_ms=-1), version)
    described = client.request(DescribeDelegationTokenRequest(owners=None), version)
    assert (renewed.error_code, renewed.expiry_timestamp_ms) == (error, -1)
    assert (expired.error_code, expired.expiry_timestamp_ms) == (error, -1)
    assert (described.error_code, described.tokens) == (error, [])


@pytest.mark.parametrize(
    ("api", "version", "body", "answer"),
    [
        (
            38,
            1,
            "00000000 ffffffffffffffff",
            f"0040 000455736572 0009414e4f4e594d4f5553 {'ff' * 24} 0000 00000000 00000000",
        ),
        (38, 2, "01 ffffffffffffffff 00", f"0040 0555736572 0a414e4f4e594d4f5553 {'ff' * 24} 01 01 00000000 00"),
        (
            38,
            3,
            "0000 01 ffffffffffffffff 00",
            f"0040 {'0555736572 0a414e4f4e594d4f5553' * 2} {'ff' * 24} 01 01 00000000 00",
        ),
        (39, 1, "000000026162 0000000000000001", f"0040 {'ff' * 8} 00000000"),
        (40, 2, "036162 0000000000000001 00", f"0040 {'ff' * 8} 00000000 00"),
        (41, 1, "ffffffff", "0040 00000000 00000000"),
        (41, 3, "00 00", "0040 01 00000000 00"),
    ],
)
def test_the_bytes_are_those_of_kafka(server, api, version, body, answer):
    """Recorded from Kafka 4.3.1 at a listener without a login."""
    is_flexible = version >= 2
    header = struct.pack(">hhih", api, version, 7, 1) + b"p" + b"\0" * is_flexible
    with WireClient(server.addresses["OPEN"]) as client:
        frame = header + bytes.fromhex(body)
        client.socket.sendall(struct.pack(">i", len(frame)) + frame)
        assert client.read_frame() == struct.pack(">i", 7) + b"\0" * is_flexible + bytes.fromhex(answer)
