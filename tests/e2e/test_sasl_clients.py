"""Stock clients log in by each mechanism, produce and consume, and go on when their session is renewed."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from confluent_kafka import Consumer as ConfluentConsumer
from confluent_kafka import KafkaError
from confluent_kafka import Producer as ConfluentProducer
from joserfc import jwt
from joserfc.jwk import Key
from kafka import KafkaConsumer, KafkaProducer
from kafka.net.sasl.oauth import AbstractTokenProvider

from tests.differential.logins.client import AUDIENCE, ISSUER
from tests.differential.logins.servers import add_users, login_settings, make_keys, write_key_set
from tests.sasl_server import SaslServer
from tests.waiting import wait_for

pytestmark = pytest.mark.realtime

USERS: Final = {
    "PLAIN": ("alice", "alice-secret"),
    "SCRAM-SHA-256": ("carol", "carol-secret"),
    "SCRAM-SHA-512": ("carol", "carol-secret-512"),
}
MECHANISMS: Final = (*USERS, "OAUTHBEARER")
SESSION_MS: Final = 2_500


@pytest.fixture(scope="module")
def keys() -> dict[str, Key]:
    return make_keys()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, keys: dict[str, Key]) -> Iterator[SaslServer]:
    folder: Path = tmp_path_factory.mktemp("clients")
    write_key_set(keys, folder / "keys.json")
    settings = login_settings(folder / "keys.json") | {"group.initial.rebalance.delay.ms": "0"}
    listeners = {"PLAINTEXT": "PLAINTEXT", "LOGIN": "SASL_PLAINTEXT", "SHORT": "SASL_PLAINTEXT"}
    with SaslServer(folder, settings, listeners) as running:
        add_users(running.addresses["PLAINTEXT"])
        yield running


def token(keys: dict[str, Key], seconds: int = 3600) -> tuple[str, int]:
    now = int(time.time())
    claims = {"sub": "alice", "iss": ISSUER, "aud": AUDIENCE, "iat": now, "exp": now + seconds}
    return jwt.encode({"alg": "RS256", "kid": "r1"}, claims, keys["r1"]), now + seconds


def confluent_settings(bootstrap: str, mechanism: str, keys: dict[str, Key]) -> dict[str, Any]:
    settings: dict[str, Any] = {
        "bootstrap.servers": bootstrap,
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": mechanism,
    }
    if mechanism == "OAUTHBEARER":
        return settings | {"oauth_cb": lambda _: token(keys)}
    user, password = USERS[mechanism]
    return settings | {"sasl.username": user, "sasl.password": password}


def kafka_python_settings(bootstrap: str, mechanism: str, keys: dict[str, Key]) -> dict[str, Any]:
    class Tokens(AbstractTokenProvider):
        def token(self) -> str:
            return token(keys)[0]

    settings: dict[str, Any] = {
        "bootstrap_servers": bootstrap,
        "security_protocol": "SASL_PLAINTEXT",
        "sasl_mechanism": mechanism,
    }
    if mechanism == "OAUTHBEARER":
        return settings | {"sasl_oauth_token_provider": Tokens()}
    user, password = USERS[mechanism]
    return settings | {"sasl_plain_username": user, "sasl_plain_password": password}


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_confluent_kafka(server, keys, mechanism):
    settings = confluent_settings(server.addresses["LOGIN"], mechanism, keys)
    topic = f"confluent-{mechanism}"
    producer = ConfluentProducer(settings)
    producer.produce(topic, b"hello")
    assert producer.flush(20) == 0
    consumer = ConfluentConsumer(settings | {"group.id": topic, "auto.offset.reset": "earliest"})
    try:
        consumer.subscribe([topic])
        message = wait_for(lambda: consumer.poll(1.0), 30, "a record")
        assert message is not None and message.value() == b"hello"
    finally:
        consumer.close()


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_kafka_python(server, keys, mechanism):
    settings = kafka_python_settings(server.addresses["LOGIN"], mechanism, keys)
    topic = f"python-{mechanism}"
    with KafkaProducer(**settings) as producer:
        producer.send(topic, b"hello").get(20)
    with KafkaConsumer(topic, **settings, group_id=topic, auto_offset_reset="earliest") as consumer:
        assert next(iter(consumer)).value == b"hello"


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_the_session_of_confluent_kafka_is_renewed(server, keys, mechanism):
    """librdkafka logs in again at 90 % of the session; no request is lost."""
    meter = server.login_meter("SHORT")
    before = meter.reauthentications, meter.expired
    producer = ConfluentProducer(confluent_settings(server.addresses["SHORT"], mechanism, keys))
    until = time.monotonic() + 2 * SESSION_MS / 1000
    failures: list[KafkaError | None] = []
    while time.monotonic() < until:
        producer.produce("renewed", b"hello", on_delivery=lambda error, message: failures.append(error))
        producer.poll(0.1)
    assert producer.flush(20) == 0
    assert set(failures) == {None}
    assert meter.reauthentications > before[0]
    assert meter.expired == before[1]


def test_a_wrong_password_is_what_the_client_is_told(server, keys):
    errors: list[KafkaError] = []
    settings = confluent_settings(server.addresses["LOGIN"], "PLAIN", keys)
    producer = ConfluentProducer(settings | {"sasl.password": "wrong", "error_cb": errors.append})
    wait_for(lambda: producer.poll(0.1) or errors, 20, "the client to be refused")
    assert any("Authentication failed: Invalid username or password" in error.str() for error in errors)
    with KafkaProducer(**kafka_python_settings(server.addresses["LOGIN"], "PLAIN", keys)) as other:
        other.send("after", b"hello").get(20)
