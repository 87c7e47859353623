"""No secret is in what the server writes, says or keeps: its log, its answers, its files, its metrics, a dump of it.

A password of a client that logs in is a secret too, above all one that the server does not accept: it is often the
right one of another user.
"""

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Final
from urllib.request import urlopen

import pytest
from click.testing import CliRunner

from _wire.messages.alter_user_scram_credentials import AlterUserScramCredentialsRequest, ScramCredentialUpsertion
from _wire.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from _wire.messages.describe_user_scram_credentials import DescribeUserScramCredentialsRequest
from _wire.messages.sasl_authenticate import SaslAuthenticateRequest
from coordinator.cli import main
from coordinator.client.audit_topic import AuditTopic
from coordinator.client.bootstrap import Bootstrap
from coordinator.client.security import ClientSecurity
from coordinator.client.wire import ClientError
from coordinator.config.authorizer_keys import STANDARD_AUTHORIZER
from tests.certificates import server_identity, tls_settings
from tests.servers import QUICK_GROUPS, RunningServer
from tests.wire_client import WireClient

BROKER: Final = 4
STORE_PASSWORD: Final = "keystore-s3cret-1"
PLAIN_PASSWORD: Final = "plain-s3cret-2"
WRONG_PASSWORD: Final = "wrong-s3cret-3"
SCRAM_PASSWORD: Final = "scram-s3cret-4"
TOKEN: Final = "eyJhbGciOiJSUzI1NiJ9.token-s3cret-5.c2lnbmF0dXJl"
SALT: Final = b"salt-s3cret-6"
SALTED: Final = hashlib.pbkdf2_hmac("sha512", SCRAM_PASSWORD.encode(), SALT, 4096)
SECRETS: Final = {
    "the password of the key store": STORE_PASSWORD.encode(),
    "a password of PLAIN": PLAIN_PASSWORD.encode(),
    "a wrong password": WRONG_PASSWORD.encode(),
    "a password of SCRAM": SCRAM_PASSWORD.encode(),
    "a token": b"token-s3cret-5",
    "a salted password": SALTED,
    "a salted password in hexadecimal digits": SALTED.hex().encode(),
}
PLAIN_MODULE: Final = "org.apache.kafka.common.security.plain.PlainLoginModule"
SCRAM_MODULE: Final = "org.apache.kafka.common.security.scram.ScramLoginModule"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("secrets")


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[RunningServer]:
    """A server after logins of all kinds, good and bad."""
    keys = folder.with_name(f"{folder.name}-keys")
    keys.mkdir()
    settings = QUICK_GROUPS | tls_settings(keys)
    settings |= {
        "listeners": "SASL_SSL://127.0.0.1:0",
        "admin.listener": "127.0.0.1:0",
        "ssl.keystore.type": "PKCS12",
        "ssl.keystore.location": str(server_identity().write_pkcs12(keys / "server.p12", STORE_PASSWORD)),
        "ssl.keystore.password": STORE_PASSWORD,
        "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-512",
        "listener.name.sasl_ssl.plain.sasl.jaas.config": f'{PLAIN_MODULE} required user_admin="{PLAIN_PASSWORD}";',
        "authorizer.class.name": STANDARD_AUTHORIZER,
        "super.users": "User:admin;User:alice",
    }
    with RunningServer(folder, settings, log_level="debug") as running:
        use(running, keys)
        yield running


def login(keys: Path, mechanism: str, user: str, password: str) -> ClientSecurity:
    module = PLAIN_MODULE if mechanism == "PLAIN" else SCRAM_MODULE
    return ClientSecurity(
        {
            "security.protocol": "SASL_SSL",
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": str(keys / "authority.pem"),
            "sasl.mechanism": mechanism,
            "sasl.jaas.config": f'{module} required username="{user}" password="{password}";',
        }
    )


def use(server: RunningServer, keys: Path) -> None:
    upsertion = ScramCredentialUpsertion(name="alice", mechanism=2, iterations=4096, salt=SALT, salted_password=SALTED)
    with WireClient(Bootstrap(server.bootstrap, login(keys, "PLAIN", "admin", PLAIN_PASSWORD))) as admin:
        admin.join_alone("billing")
        answer = admin.request(AlterUserScramCredentialsRequest(upsertions=[upsertion]), 0)
        assert [result.error_code for result in answer.results] == [0]
        admin.request(SaslAuthenticateRequest(auth_bytes=f"\0admin\0{WRONG_PASSWORD}".encode()), 1)
    with WireClient(Bootstrap(server.bootstrap, login(keys, "SCRAM-SHA-512", "alice", SCRAM_PASSWORD))) as alice:
        alice.join_alone("shipping")
    for mechanism, user in (("PLAIN", "admin"), ("PLAIN", "nobody"), ("SCRAM-SHA-512", "alice")):
        for password in (WRONG_PASSWORD, TOKEN):
            with pytest.raises(ClientError):
                WireClient(Bootstrap(server.bootstrap, login(keys, mechanism, user, password)))


def check(text: bytes, where: str) -> None:
    found = [name for name, secret in SECRETS.items() if secret in text]
    assert not found, f"{', '.join(found)} in {where}"


def test_the_log(server: RunningServer):
    text = server.log.read_bytes()
    assert b"SASL_SSL" in text
    check(text, "the log")


def test_the_files(server: RunningServer):
    files = [path for path in server.data.rglob("*") if path.is_file()]
    assert files
    for path in files:
        check(path.read_bytes(), str(path))


def test_answers_about_configs_and_users(server: RunningServer, folder: Path):
    keys = folder.with_name(f"{folder.name}-keys")
    request = DescribeConfigsRequest(
        resources=[DescribeConfigsResource(resource_type=BROKER, resource_name="1", configuration_keys=None)],
        include_synonyms=True,
        include_documentation=True,
    )
    with WireClient(Bootstrap(server.bootstrap, login(keys, "PLAIN", "admin", PLAIN_PASSWORD))) as admin:
        configs = admin.request(request, 4).results[0].configs
        users = admin.request(DescribeUserScramCredentialsRequest(users=None), 0)
    values = {config.name: config.value for config in configs}
    assert values["ssl.keystore.password"] is None
    check(
        repr([(config.name, config.value, config.synonyms) for config in configs]).encode(), "the configs of the broker"
    )
    assert [result.user for result in users.results] == ["alice"]
    check(repr(users).encode(), "the SCRAM credentials of users")


def test_the_audit_topic_names_principals_alone(server: RunningServer, folder: Path):
    keys = folder.with_name(f"{folder.name}-keys")
    with AuditTopic(Bootstrap(server.bootstrap, login(keys, "PLAIN", "admin", PLAIN_PASSWORD))) as topic:
        records, _ = topic.tail(1_000)
    text = b"".join(record.value for record in records)
    assert b'"principal":"User:alice"' in text
    assert b'"principal":"User:admin"' in text
    check(text, "the audit topic")


def test_the_metrics(server: RunningServer):
    with urlopen(f"http://{server.admin}/metrics", timeout=20) as response:
        check(response.read(), "the metrics")


def test_a_dump_of_the_metadata_log(server: RunningServer):
    dumped = CliRunner().invoke(main, ["log", "dump", str(server.data), "--topic", "__cluster_metadata", "--json"])
    assert dumped.exit_code == 0, dumped.output
    assert "alice" in dumped.output
    check(dumped.output.encode(), "a dump")
    check(json.dumps(dumped.output).encode(), "a dump as JSON")


def test_settings_that_are_refused(server: RunningServer, folder: Path):
    path = folder.with_name(f"{folder.name}.properties")
    path.write_text(
        f"ssl.keystore.password={STORE_PASSWORD}\n"
        f"listener.name.plaintext.plain.sasl.jaas.config={PLAIN_MODULE} required user_admin={PLAIN_PASSWORD}\n"
        "listeners=SASL_SSL://127.0.0.1:0\n"
    )
    refused = CliRunner().invoke(main, ["config", "check", "--config", str(path)])
    assert refused.exit_code == 1
    check(refused.output.encode(), "an error about settings")
