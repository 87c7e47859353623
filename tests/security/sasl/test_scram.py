"""SCRAM: the vector of RFC 7677, and properties; formats are in the differential tests."""

import base64
import hashlib
import hmac
from collections.abc import Callable

import pytest
import scramp
from hypothesis import given, settings
from hypothesis import strategies as st

from coordinator.security.sasl.exchange import Challenge, LoggedIn, LoginFailed
from coordinator.security.sasl.scram import Scram, ScramExchange
from coordinator.security.sasl.scram_credentials import ScramCredential, ScramMechanism
from coordinator.security.sasl.scram_keys import (
    credential_of_password,
    credential_of_salted_password,
    new_salted_password,
)
from tests.examples import examples

CREDENTIALS = {mechanism: credential_of_password(mechanism, "pencil") for mechanism in ScramMechanism}
NAMES = st.text(alphabet=st.characters(min_codepoint=0x20, max_codepoint=0x7E), min_size=1, max_size=20)


def test_the_example_of_rfc_7677():
    salt = base64.b64decode("W22ZaJ0SNY7soEsUEjb6gQ==")
    salted = hashlib.pbkdf2_hmac("sha256", b"pencil", salt, 4096)
    credential = credential_of_salted_password(ScramMechanism.SCRAM_SHA_256, salted, salt, 4096)
    exchange = ScramExchange(
        ScramMechanism.SCRAM_SHA_256, {"user": credential}.get, lambda: "%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0"
    )
    assert exchange.evaluate(b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO") == Challenge(
        b"r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"
    )
    assert exchange.evaluate(
        b"c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
    ) == LoggedIn(b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=", "user")


@pytest.mark.parametrize("mechanism", ScramMechanism)
@given(user=NAMES)
@settings(max_examples=examples(30))
def test_a_client_of_the_library_logs_in_with_any_name(mechanism, user):
    exchange = Scram(mechanism, {user: CREDENTIALS[mechanism]}.get).exchange()
    client = scramp.ScramClient([mechanism.mechanism_name], user, "pencil")
    challenge = exchange.evaluate(client.get_client_first().encode())
    client.set_server_first(challenge.data.decode())
    result = exchange.evaluate(client.get_client_final().encode())
    assert isinstance(result, LoggedIn)
    assert result.user == user == exchange.user
    client.set_server_final(result.data.decode())  # the server knows the password, too


@given(
    messages=st.lists(st.binary(max_size=80) | st.from_regex(rb"n,(a=x)?,n=user,r=[a-z]+(,[a-z]=1)*", fullmatch=True))
)
def test_no_bytes_log_anybody_in(messages):
    exchange = Scram(ScramMechanism.SCRAM_SHA_256, {"user": CREDENTIALS[ScramMechanism.SCRAM_SHA_256]}.get).exchange()
    for message in messages:
        try:
            result = exchange.evaluate(message)
        except LoginFailed:
            break
        assert isinstance(result, Challenge)


def test_a_message_that_is_too_long_is_refused_before_it_is_read():
    scram = Scram(ScramMechanism.SCRAM_SHA_256, {"user": CREDENTIALS[ScramMechanism.SCRAM_SHA_256]}.get)
    start = b"n,,n=user,r="
    assert scram.exchange().evaluate(start.ljust(16_384, b"a"))
    with pytest.raises(LoginFailed, match="more than 16384"):
        scram.exchange().evaluate(start.ljust(16_385, b"a"))


def test_the_final_message_has_the_nonce_of_the_server():
    """Also if the client, who knows the password, has signed another one."""
    mechanism = ScramMechanism.SCRAM_SHA_256
    salted = hashlib.pbkdf2_hmac("sha256", b"pencil", b"salt", 4096)
    credential = credential_of_salted_password(mechanism, salted, b"salt", 4096)
    client_key = hmac.digest(salted, b"Client Key", "sha256")

    def log_in(change: Callable[[bytes], bytes]) -> object:
        exchange = Scram(mechanism, {"user": credential}.get).exchange()
        challenge = exchange.evaluate(b"n,,n=user,r=abc")
        nonce = challenge.data.split(b",")[0].removeprefix(b"r=")
        final = b"c=biws,r=" + change(nonce)
        signature = hmac.digest(credential.stored_key, b"n=user,r=abc," + challenge.data + b"," + final, "sha256")
        proof = bytes(one ^ other for one, other in zip(client_key, signature, strict=True))
        return exchange.evaluate(final + b",p=" + base64.b64encode(proof))

    assert isinstance(log_in(lambda nonce: nonce), LoggedIn)
    for change in (lambda nonce: b"abc", lambda nonce: nonce + b"x", lambda nonce: b"x" + nonce):
        with pytest.raises(LoginFailed, match="another nonce"):
            log_in(change)


def test_the_nonce_is_new_each_time():
    scram = Scram(ScramMechanism.SCRAM_SHA_256, {"user": CREDENTIALS[ScramMechanism.SCRAM_SHA_256]}.get)
    assert len({scram.exchange().evaluate(b"n,,n=user,r=abc").data for _ in range(100)}) == 100


def test_a_credential_of_too_few_iterations_is_not_used():
    weak = ScramCredential(b"salt", b"stored", b"server", 4095)
    with pytest.raises(LoginFailed, match="fewer than 4096"):
        Scram(ScramMechanism.SCRAM_SHA_256, {"user": weak}.get).exchange().evaluate(b"n,,n=user,r=abc")


def test_no_repr_shows_a_credential():
    credential = ScramCredential(b"the-salt", b"the-stored", b"the-server", 4096)
    assert repr(credential) == "ScramCredential(iterations=4096)"


def test_each_password_gets_a_salt_of_its_own():
    salts = {new_salted_password(ScramMechanism.SCRAM_SHA_256, "x")[0] for _ in range(5)}
    assert len(salts) == 5
