"""The security settings of a client: which are understood, what is said of the others, and that no secret is shown."""

import pickle
from pathlib import Path
from typing import Final

import pytest

from coordinator.client.bootstrap import Bootstrap, bootstrap_of
from coordinator.client.login import LoginError, PlainLogin, ScramLogin, TokenLogin
from coordinator.client.security import ClientSecurity
from coordinator.config.key import ConfigError

SECRET: Final = "s3cret-of-ops"
PLAIN_MODULE: Final = (
    f'org.apache.kafka.common.security.plain.PlainLoginModule required username="ops" password="{SECRET}";'
)
SCRAM_MODULE: Final = (
    f'org.apache.kafka.common.security.scram.ScramLoginModule required username="ops" password="{SECRET}";'
)
LOGIN: Final = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN", "sasl.jaas.config": PLAIN_MODULE}


def test_without_settings_there_is_no_login():
    assert ClientSecurity({}).login is None
    assert bootstrap_of("127.0.0.1:9092").security.login is None


def test_a_login_is_read_as_kafkas_tools_read_it():
    login = ClientSecurity(LOGIN | {"client.id": "cli"}).login
    assert isinstance(login, PlainLogin)
    assert list(login.exchange()) == [f"\0ops\0{SECRET}".encode()]


def test_white_space_around_values_counts_for_nothing():
    """A file of properties keeps what stands at the end of a line."""
    login = ClientSecurity({name: f"{text} \t" for name, text in LOGIN.items()}).login
    assert isinstance(login, PlainLogin)
    assert list(login.exchange()) == [f"\0ops\0{SECRET}".encode()]


@pytest.mark.parametrize("mechanism", ["SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_a_login_of_scram(mechanism: str):
    login = ClientSecurity(LOGIN | {"sasl.mechanism": mechanism, "sasl.jaas.config": SCRAM_MODULE}).login
    assert isinstance(login, ScramLogin)
    assert next(login.exchange()).startswith(b"n,,n=ops,r=")


def test_an_invalid_message_of_the_server_ends_the_login():
    exchange = ScramLogin("SCRAM-SHA-256", "ops", SECRET).exchange()
    next(exchange)
    with pytest.raises(LoginError, match="invalid message of SCRAM-SHA-256") as problem:
        exchange.send(b"\xff")
    assert SECRET not in str(problem.value)


def test_a_token_is_read_for_each_login(tmp_path: Path):
    file = tmp_path / "a token"
    file.write_text("first\n")
    url = file.as_uri()
    settings = {"sasl.mechanism": "OAUTHBEARER", "sasl.oauthbearer.token.endpoint.url": url, "sasl.jaas.config": ""}
    login = ClientSecurity(LOGIN | settings).login
    assert isinstance(login, TokenLogin)
    assert next(login.exchange()) == b"n,,\x01auth=Bearer first\x01\x01"
    file.write_text("second")
    exchange = login.exchange()
    assert next(exchange) == b"n,,\x01auth=Bearer second\x01\x01"
    assert exchange.send(b'{"status":"invalid_token"}') == b"\x01"
    file.unlink()
    with pytest.raises(LoginError, match="cannot read the token"):
        next(login.exchange())


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"security.protocol": "TLS"}, "expected one of PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL"),
        ({"sasl.mechanism": "GSSAPI"}, "sasl.mechanism=GSSAPI: expected one of PLAIN, SCRAM-SHA-256"),
        ({"sasl.jaas.config": "PlainLoginModule"}, "there is one of required"),
        ({"sasl.jaas.config": SCRAM_MODULE}, "PLAIN needs the login module org.apache.kafka.common.security.plain"),
        ({"sasl.jaas.config": PLAIN_MODULE.replace("username", "user")}, "the login module has no username"),
        ({"sasl.jaas.config": PLAIN_MODULE.replace("password", "secret")}, "the login module has no password"),
        ({"sasl.mechanism": "OAUTHBEARER"}, "needs sasl.oauthbearer.token.endpoint.url=file:///"),
    ],
)
def test_what_cannot_be_used_is_told_in_one_line(settings: dict[str, str], problem: str):
    with pytest.raises(ConfigError) as found:
        ClientSecurity(LOGIN | settings)
    assert problem in str(found.value)
    assert "\n" not in str(found.value)
    assert SECRET not in str(found.value)


def test_a_login_without_a_mechanism_would_be_that_of_kerberos():
    with pytest.raises(ConfigError, match=r"sasl\.mechanism=GSSAPI"):
        ClientSecurity({"security.protocol": "SASL_PLAINTEXT"})


def test_a_login_without_its_module_is_told_how_to_write_it():
    with pytest.raises(ConfigError, match=r'PLAIN needs sasl\.jaas\.config=.*PlainLoginModule required username="…"'):
        ClientSecurity({"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN"})


def test_security_goes_to_other_processes_and_to_other_servers():
    bootstrap = Bootstrap("a:1, b:2", ClientSecurity(LOGIN | {"client.id": "cli"}))
    there = pickle.loads(pickle.dumps(bootstrap))
    assert there.security.settings == LOGIN
    assert [server.address for server in there.servers()] == ["a:1", "b:2"]
    assert all(server.security is there.security for server in there.servers())


def test_no_secret_is_in_a_representation():
    bootstrap = Bootstrap("a:1", ClientSecurity(LOGIN))
    assert str(bootstrap) == "a:1"
    assert SECRET not in repr(bootstrap)
    assert SECRET not in repr(bootstrap.security.login)
