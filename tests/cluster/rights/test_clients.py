"""Who a client is: the name of its login, and that no two connections are the same."""

import base64
import json

import pytest

from coordinator.cluster.rights.clients import NAME_CHARACTERS_MAX, ClientOfCluster, login_name
from coordinator.security.principal import ANONYMOUS


def token(claims: object) -> bytes:
    payload = base64.urlsafe_b64encode(json.dumps(claims).encode()).rstrip(b"=")
    return b"n,,\x01auth=Bearer e30." + payload + b".c2ln\x01\x01"


@pytest.mark.parametrize(
    ("mechanism", "message", "name"),
    [
        ("PLAIN", b"\0alice\0secret", "alice"),
        ("PLAIN", b"other\0alice\0secret", "alice"),
        ("SCRAM-SHA-256", b"n,,n=alice,r=abc", "alice"),
        ("SCRAM-SHA-512", b"n,a=x,n=a=2Cb=3Dc,r=abc", "a,b=c"),
        ("OAUTHBEARER", token({"sub": "alice"}), "alice"),
        ("PLAIN", b"nothing", None),
        ("PLAIN", b"\0\xff\0secret", None),
        ("PLAIN", b"\0\0secret", None),
        ("SCRAM-SHA-256", b"c=biws,r=abc,p=proof", None),
        ("OAUTHBEARER", b"\x01", None),
        ("OAUTHBEARER", b"n,,\x01auth=Bearer a.%%%.c\x01\x01", None),
        ("OAUTHBEARER", token([]), None),
        ("GSSAPI", b"\0alice\0secret", None),
    ],
)
def test_the_name_of_a_login(mechanism: str, message: bytes, name: str | None) -> None:
    assert login_name(mechanism, message) == name


def test_a_name_of_any_length_is_bounded() -> None:
    assert len(login_name("PLAIN", b"\0" + b"a" * 10_000 + b"\0s") or "") == NAME_CHARACTERS_MAX


def test_connections_are_different_clients_whatever_their_names_are() -> None:
    alice = ClientOfCluster(1, "alice")
    assert alice != ClientOfCluster(2, "alice")
    assert alice == ClientOfCluster(1)
    assert len({alice, ClientOfCluster(1), ClientOfCluster(2, "alice")}) == 2
    assert str(alice) == "User:alice"
    assert alice != ANONYMOUS
    assert tuple(ClientOfCluster(3)) == tuple(ANONYMOUS)
