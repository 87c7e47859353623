"""The messages of a login, by each mechanism: nobody gets in, and nothing is raised but LoginFailed.

    FUZZ_SECONDS=60 python -m tests.fuzz.fuzz_logins

The first byte of an input chooses the mechanism. Each message begins with its length, as two bytes.
"""

import json
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from joserfc import jwt
from joserfc.jwk import ECKey

from coordinator.security.sasl.exchange import Challenge, LoggedIn, LoginFailed, Mechanism
from coordinator.security.sasl.oauthbearer import OAuthBearer
from coordinator.security.sasl.plain import Plain
from coordinator.security.sasl.scram import Scram
from coordinator.security.sasl.scram_credentials import ScramCredential, ScramMechanism
from coordinator.security.sasl.signing_keys import RefreshTimes, SigningKeys
from coordinator.security.sasl.tokens import TokenRules, TokenValidator
from tests.fuzz.harness import fuzz

NOW_SECONDS = 1_800_000_000
LENGTH_BYTES = 2
KEY = ECKey.generate_key("P-256", {"kid": "e1"})
PASSWORD = "a password that no input has, as it is longer than what libFuzzer makes of nothing: " + "x" * 3_000
CREDENTIAL = ScramCredential(b"0123456789abcdef", bytes(32), bytes(32), 4096)


def _validator() -> TokenValidator:
    with tempfile.NamedTemporaryFile() as file:
        path = Path(file.name)
        path.write_text(json.dumps({"keys": [KEY.as_dict(private=False)]}), encoding="utf-8")
        keys = SigningKeys(path.as_uri(), RefreshTimes(refresh_ms=1_000, backoff_ms=1, backoff_max_ms=1))
    return TokenValidator(keys, TokenRules(audiences=("kafka",)), lambda: NOW_SECONDS * 1000)


MECHANISMS: tuple[Mechanism, ...] = (
    Plain({"alice": PASSWORD}),
    Scram(ScramMechanism.SCRAM_SHA_256, {"alice": CREDENTIAL}.get),
    OAuthBearer(_validator()),
)


def one_input(data: bytes, saw: Callable[[str], None]) -> None:
    number = data[0] % len(MECHANISMS) if data else 0
    exchange = MECHANISMS[number].exchange()
    for message in messages_in(data[1:]):
        try:
            result = exchange.evaluate(message)
        except LoginFailed as problem:
            assert str(problem).isprintable() or exchange.user, problem
            assert PASSWORD not in f"{problem}{problem.message}"
            saw(f"{number} {problem} {problem.message}")
            return
        assert not isinstance(result, LoggedIn), "somebody logged in without a password"
        assert isinstance(result, Challenge)
        saw(f"{number} {result.data[:2]!r}")


def messages_in(data: bytes) -> Iterator[bytes]:
    while data:
        size = int.from_bytes(data[:LENGTH_BYTES], "big")
        yield data[LENGTH_BYTES : LENGTH_BYTES + size]
        data = data[LENGTH_BYTES + size :]


def seeds() -> Iterator[bytes]:
    expired = {"sub": "alice", "aud": "kafka", "iat": NOW_SECONDS - 200, "exp": NOW_SECONDS - 100}
    token = jwt.encode({"alg": "ES256", "kid": "e1"}, expired, KEY)
    proof = b"A" * 43 + b"="
    for number, messages in (
        (0, [b"\0alice\0wrong"]),
        (0, [b"alice\0alice\0"]),
        (1, [b"n,,n=alice,r=abc"]),
        (1, [b"n,a=alice,n=alice,r=abc,tokenauth=true"]),
        (1, [b"n,,n=al=2Cice,r=abc,ext=1", b"c=biws,r=abc,p=" + proof]),
        (1, [b"n,,n=alice,r=abc", b"c=biws,r=abc,p=" + proof]),
        (2, [f"n,,\x01auth=Bearer {token}\x01\x01".encode(), b"\x01"]),
        (2, [f"n,a=bob,\x01auth=bearer {token}\x01key=value\x01\x01".encode(), b"n,,\x01\x01"]),
    ):
        yield bytes([number]) + b"".join(len(message).to_bytes(LENGTH_BYTES, "big") + message for message in messages)


if __name__ == "__main__":
    fuzz("logins", one_input, seeds())
