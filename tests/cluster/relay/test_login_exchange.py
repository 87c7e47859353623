"""A login is one when the broker says so in its last message, and in no other."""

from typing import Any

import pytest

from _wire.errors import MalformedMessage
from _wire.headers import encode_request, encode_response
from _wire.messages.api_versions import ApiVersionsRequest
from _wire.messages.metadata import MetadataRequest
from _wire.messages.sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse
from _wire.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse
from coordinator.cluster.relay.login_exchange import AUTHENTICATE, HANDSHAKE, LoginExchange, check_before_login
from coordinator.cluster.relay.request_heads import InvalidRequest

HANDSHAKE_VERSION, AUTHENTICATE_VERSION = 1, 2
FAILED, UNSUPPORTED = 58, 33


def frame_of(request: Any, version: int) -> bytes:
    return encode_request(1, "c", request, version)[4:]


def agree(login: LoginExchange, mechanism: str, error_code: int = 0) -> None:
    login.request(frame_of(SaslHandshakeRequest(mechanism=mechanism), HANDSHAKE_VERSION))
    assert login.is_waiting
    response = SaslHandshakeResponse(error_code=error_code)
    login.response(HANDSHAKE, encode_response(1, response, HANDSHAKE_VERSION)[4:])
    assert not login.is_waiting


def say(login: LoginExchange, message: bytes, error_code: int = 0) -> bool:
    """Whether the login is done when the broker has said this."""
    login.request(frame_of(SaslAuthenticateRequest(auth_bytes=b"m"), AUTHENTICATE_VERSION))
    response = SaslAuthenticateResponse(error_code=error_code, auth_bytes=message, error_message="")
    login.response(AUTHENTICATE, encode_response(1, response, AUTHENTICATE_VERSION)[4:])
    return login.is_done


@pytest.mark.parametrize(
    ("mechanism", "messages"),
    [
        ("PLAIN", [(b"", 0)]),
        ("SCRAM-SHA-256", [(b"r=nonce,s=c2FsdA==,i=4096", 0), (b"v=proof", 0)]),
        ("SCRAM-SHA-512", [(b"e=other-error", 0), (b"", 0), (b"v=proof", 0)]),
        ("OAUTHBEARER", [(b'{"status":"invalid_token"}', 0), (b"", 0)]),
        ("PLAIN", [(b"", FAILED), (b"", 0)]),
    ],
)
def test_only_the_last_message_is_a_login(mechanism, messages):
    login = LoginExchange()
    agree(login, mechanism)
    *earlier, last = messages
    assert not any(say(login, *each) for each in earlier)
    assert say(login, *last)


def test_a_mechanism_that_the_broker_does_not_have_begins_no_login():
    login = LoginExchange()
    agree(login, "PLAIN", UNSUPPORTED)
    with pytest.raises(InvalidRequest, match="before SaslHandshake"):
        login.request(frame_of(SaslAuthenticateRequest(auth_bytes=b"m"), AUTHENTICATE_VERSION))


@pytest.mark.parametrize(
    "request_", [SaslHandshakeRequest(mechanism="PLAIN"), SaslAuthenticateRequest(auth_bytes=b"m")]
)
def test_damaged_requests_are_invalid_however_they_are_cut(request_):
    frame = frame_of(request_, 1)
    for size in range(len(frame)):
        login = LoginExchange()
        login.mechanism = "PLAIN"
        with pytest.raises((MalformedMessage, InvalidRequest)):
            login.request(frame[:size])


def test_what_may_be_sent_before():
    for api_key in (ApiVersionsRequest.API_KEY, HANDSHAKE, AUTHENTICATE):
        check_before_login(api_key, 100, 100)
        with pytest.raises(InvalidRequest, match="101 bytes"):
            check_before_login(api_key, 101, 100)
    for api_key in (MetadataRequest.API_KEY, 999, -1):
        with pytest.raises(InvalidRequest, match="came before the login"):
            check_before_login(api_key, 10, 100)
