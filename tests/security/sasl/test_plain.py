"""PLAIN: what the differential tests do not reach, and its properties."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coordinator.security.sasl.exchange import LoggedIn, LoginFailed
from coordinator.security.sasl.plain import Plain

USERS = {"alice": "alice-secret", "bob": "\ud800", "": "empty"}


@given(response=st.binary(max_size=60))
def test_any_bytes_fail_with_a_message_or_name_a_user(response):
    exchange = Plain(USERS).exchange()
    try:
        result = exchange.evaluate(response)
    except LoginFailed as problem:
        assert problem.message
        assert "secret" not in str(problem)
    else:
        assert response.split(b"\0")[1:] == [result.user.encode(), USERS[result.user].encode()]


@given(
    user=st.text(alphabet=st.characters(exclude_characters="\0", codec="utf-8"), min_size=1),
    password=st.text(alphabet=st.characters(exclude_characters="\0", codec="utf-8"), min_size=1),
)
def test_whatever_name_and_password_are_set_log_in(user, password):
    result = Plain({user: password}).exchange().evaluate(f"\0{user}\0{password}".encode())
    assert result == LoggedIn(b"", user)


@pytest.mark.parametrize(
    ("response", "message"),
    [
        (b"\0\0empty", "Authentication failed: username not specified"),
        (b"\0alice\0", "Authentication failed: password not specified"),
        (b"\0alice\0alice-secret\0", "Invalid SASL/PLAIN response: expected 3 tokens, got 4"),
        (b"\0mallory\0alice-secret", "Authentication failed: Invalid username or password"),
        (b"\0alice\0another", "Authentication failed: Invalid username or password"),
    ],
)
def test_the_reason_is_kafkas(response, message):
    with pytest.raises(LoginFailed) as problem:
        Plain(USERS).exchange().evaluate(response)
    assert problem.value.message == message


def test_a_password_that_no_client_can_send_is_no_error():
    with pytest.raises(LoginFailed, match="Invalid username or password"):
        Plain(USERS).exchange().evaluate(b"\0bob\0x")


def test_no_users_at_all():
    with pytest.raises(LoginFailed, match="Invalid username or password"):
        Plain({}).exchange().evaluate(b"\0alice\0alice-secret")


def test_the_user_is_known_for_the_log():
    exchange = Plain(USERS).exchange()
    with pytest.raises(LoginFailed):
        exchange.evaluate(b"\0alice\0wrong")
    assert exchange.user == "alice"
