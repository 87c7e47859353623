"""Signed tokens: what the differential tests do not reach."""

import base64
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from joserfc import jwt
from joserfc.jwk import ECKey, OctKey, RSAKey

from coordinator.security.sasl.exchange import Challenge, LoginFailed
from coordinator.security.sasl.oauthbearer import OAuthBearer
from coordinator.security.sasl.signing_keys import RefreshTimes, SigningKeys
from coordinator.security.sasl.tokens import InvalidToken, Token, TokenRules, TokenValidator

NOW_SECONDS = 1_800_000_000
KEY = ECKey.generate_key("P-256", {"kid": "e1"})
RSA = RSAKey.generate_key(2048, {"kid": "r1"})
TIMES = RefreshTimes(refresh_ms=3_600_000, backoff_ms=100, backoff_max_ms=1_000)


@pytest.fixture(scope="module")
def keys(tmp_path_factory):
    path = tmp_path_factory.mktemp("keys") / "jwks.json"
    path.write_text(json.dumps({"keys": [KEY.as_dict(private=False), RSA.as_dict(private=False)]}))
    return SigningKeys(path.as_uri(), TIMES)


@pytest.fixture(scope="module")
def validate(keys):
    def validate(text: str, **rules: Any) -> Token:
        return TokenValidator(keys, TokenRules(**rules), lambda: NOW_SECONDS * 1000).validate(text)

    return validate


def claims(**other: Any) -> dict[str, Any]:
    said = {"sub": "alice", "iat": NOW_SECONDS, "exp": NOW_SECONDS + 60} | other
    return {name: value for name, value in said.items() if value is not None}


def signed(header: dict[str, Any] | None = None, key: Any = KEY, **other: Any) -> str:
    return jwt.encode(
        {"alg": "ES256", "kid": "e1"} | (header or {}), claims(**other), key, algorithms=["ES256", "HS256"]
    )


def test_a_token_says_who_and_until_when(validate):
    assert validate(signed()) == Token("alice", (NOW_SECONDS + 60) * 1000)
    assert validate(signed(name="bob"), user_claim="name") == Token("bob", (NOW_SECONDS + 60) * 1000)


def test_a_token_signed_with_the_public_key_as_a_secret_is_refused(validate):
    """The oldest trick with tokens: HMAC with what everybody may know."""
    public = RSA.as_pem(private=False)
    header, body = (
        base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=").decode()
        for part in ({"alg": "HS256", "kid": "r1"}, claims())
    )
    import hashlib
    import hmac

    mac = hmac.digest(public, f"{header}.{body}".encode(), hashlib.sha256)
    signature = base64.urlsafe_b64encode(mac).rstrip(b"=").decode()
    with pytest.raises(InvalidToken):
        validate(f"{header}.{body}.{signature}")


@pytest.mark.parametrize("algorithm", ["none", "None", "HS256", "HS512", "RSA-OAEP", "", "ES256 ", None, 5, [], {}])
def test_other_algorithms_are_refused(validate, algorithm):
    header, body = (
        base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=").decode()
        for part in ({"alg": algorithm, "kid": "e1"}, claims())
    )
    for signature in ("", "AAAA"):
        with pytest.raises(InvalidToken):
            validate(f"{header}.{body}.{signature}")


def test_the_key_of_another_type_is_not_used(validate):
    with pytest.raises(InvalidToken):
        validate(signed({"kid": "r1"}))


def test_a_symmetric_key_in_the_set_is_not_used(tmp_path):
    secret = OctKey.generate_key(256, {"kid": "o1"})
    path = tmp_path / "jwks.json"
    path.write_text(json.dumps({"keys": [secret.as_dict(private=True), KEY.as_dict(private=False)]}))
    keys = SigningKeys(path.as_uri(), TIMES)
    with pytest.raises(InvalidToken):
        TokenValidator(keys, TokenRules(), lambda: NOW_SECONDS * 1000).validate(
            signed({"alg": "HS256", "kid": "o1"}, key=secret)
        )


@pytest.mark.parametrize(
    ("exp", "skew", "is_valid"),
    [(NOW_SECONDS + 1, 0, True), (NOW_SECONDS, 0, False), (NOW_SECONDS - 29, 30, True), (NOW_SECONDS - 30, 30, False)],
)
def test_the_clock_skew_is_allowed(validate, exp, skew, is_valid):
    text = signed(iat=NOW_SECONDS - 100, exp=exp)
    if is_valid:
        validate(text, clock_skew_seconds=skew)
    else:
        with pytest.raises(InvalidToken):
            validate(text, clock_skew_seconds=skew)


@pytest.mark.parametrize(
    "other",
    [
        {"exp": "soon"}, {"exp": True}, {"exp": float("nan")}, {"exp": float("inf")}, {"exp": 10**400}, {"exp": -1},
        {"exp": 2**60}, {"iat": "now"}, {"iat": False}, {"iat": []}, {"nbf": "x"}, {"nbf": NOW_SECONDS + 40},
        {"sub": "a" * 1025}, {"sub": 5}, {"sub": ["alice"]}, {"sub": " \t"}, {"scope": ["a", 5]}, {"aud": "any"},
    ],
)  # fmt: skip
def test_odd_claims_are_refused(validate, other):
    with pytest.raises(InvalidToken) as problem:
        validate(signed(**other))
    assert "\n" not in str(problem.value)


def test_an_audience_is_refused_where_none_is_expected_and_needed_where_one_is(validate):
    validate(signed(aud=["a", "kafka"]), audiences=("kafka", "other"))
    for aud in (None, "a", [], ["a"], 5, {"kafka": 1}):
        with pytest.raises(InvalidToken):
            validate(signed(aud=aud), audiences=("kafka", "other"))


@given(
    text=st.text(alphabet=st.characters(codec="ascii"))
    | st.from_regex(r"[A-Za-z0-9_-]{0,40}\.[A-Za-z0-9_-]{0,40}\.[A-Za-z0-9_-]{0,40}", fullmatch=True)
)
def test_any_text_is_no_token(validate, text):
    with pytest.raises(InvalidToken):
        validate(text)


@given(
    header=st.dictionaries(
        st.sampled_from(["alg", "kid", "crit", "b64", "typ", "jwk", "x5c"]),
        st.none() | st.booleans() | st.integers() | st.text() | st.lists(st.text()),
    )
)
def test_any_header_is_refused(validate, header):
    parts = (json.dumps(part).encode() for part in (header, claims()))
    encoded = [base64.urlsafe_b64encode(part).rstrip(b"=").decode() for part in parts]
    with pytest.raises(InvalidToken):
        validate(".".join((*encoded, "AAAA")))


def test_deeply_nested_json_is_no_token(validate):
    header = base64.urlsafe_b64encode(b'{"alg":"ES256","kid":"e1"}').rstrip(b"=").decode()
    deep = base64.urlsafe_b64encode(b"[" * 100_000).rstrip(b"=").decode()
    for text in (f"{header}.{deep}.AAAA", f"{deep}.{deep}.AAAA"):
        with pytest.raises(InvalidToken):
            validate(text)


def test_a_client_may_try_a_few_tokens(keys):
    exchange = OAuthBearer(TokenValidator(keys, TokenRules(), lambda: NOW_SECONDS * 1000)).exchange()
    message = f"n,,\x01auth=Bearer {signed(exp=NOW_SECONDS - 100)}\x01\x01".encode()
    for _ in range(3):
        assert exchange.evaluate(message) == Challenge(b'{"status":"invalid_token"}')
    with pytest.raises(LoginFailed, match="4 tokens are refused"):
        exchange.evaluate(message)


def test_a_message_that_is_too_long_is_refused_before_it_is_read(keys):
    exchange = OAuthBearer(TokenValidator(keys, TokenRules(), lambda: NOW_SECONDS * 1000)).exchange()
    assert exchange.evaluate(b"x" * 131_073) == Challenge(b'{"status":"invalid_token"}')
    with pytest.raises(LoginFailed, match="more than 131072"):
        exchange.evaluate(b"\x01")


@given(
    message=st.binary(max_size=100)
    | st.from_regex(rb"n,(a=[a-z]+)?,\x01(auth=Bearer [a-z.]+\x01)?(x=y\x01)*\x01", fullmatch=True)
)
def test_no_bytes_log_anybody_in(keys, message):
    exchange = OAuthBearer(TokenValidator(keys, TokenRules(), lambda: NOW_SECONDS * 1000)).exchange()
    try:
        result = exchange.evaluate(message)
    except LoginFailed as problem:
        assert "Bearer" not in str(problem) or "scheme" in str(problem)
    else:
        assert result == Challenge(b'{"status":"invalid_token"}')
