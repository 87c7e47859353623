"""The two servers of the conversations, with the same listeners and users, and how all conversations are held."""

import json
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from joserfc.jwk import ECKey, Key, RSAKey

from _wire.messages.alter_user_scram_credentials import AlterUserScramCredentialsRequest, ScramCredentialUpsertion
from coordinator.client.wire import WireConnection
from coordinator.security.sasl.scram_credentials import ScramMechanism
from tests.differential.kafka import RunningKafka, free_port
from tests.differential.logins.client import AUDIENCE, ISSUER, SESSION_MS, LoginClient
from tests.differential.logins.conversations import ANONYMOUS, CONVERSATIONS, LOGIN, SHORT, Conversation
from tests.sasl_server import SaslServer, salted_password
from tests.waiting import wait_for

RECORDED: Final = Path(__file__).parent.parent / "recorded" / "logins.json"
AT_ONE_TIME: Final = 24

MECHANISMS: Final = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER")
PLAIN_USERS: Final = r"""org.apache.kafka.common.security.plain.PlainLoginModule required
    username="broker" password="broker-secret" // comments are left out
    user_alice="alice-secret" user_bob="it\"s a \\ secret";"""
SCRAM_USERS: Final = (
    ("carol", ScramMechanism.SCRAM_SHA_256, "carol-secret", b"0123456789abcdef"),
    ("carol", ScramMechanism.SCRAM_SHA_512, "carol-secret-512", b"0123456789abcdef"),
    ("dave", ScramMechanism.SCRAM_SHA_256, "dave-secret", b"0123456789abcdef"),
    ("erin", ScramMechanism.SCRAM_SHA_256, "erin-secret", b"0123456789ab"),
    ("a=b,c", ScramMechanism.SCRAM_SHA_256, "escaped-secret", b"0123456789abcdef"),
)

Said = dict[str, list[str]]


def make_keys() -> dict[str, Key]:
    """Keys for tokens; that called unknown is not in the set of the servers."""
    return {
        "r1": RSAKey.generate_key(2048, {"kid": "r1", "use": "sig"}),
        "e1": ECKey.generate_key("P-256", {"kid": "e1", "use": "sig"}),
        "unknown": RSAKey.generate_key(2048, {"kid": "unknown", "use": "sig"}),
    }


def write_key_set(keys: Mapping[str, Key], path: Path) -> None:
    public = [key.as_dict(private=False) for name, key in keys.items() if name != "unknown"]
    path.write_text(json.dumps({"keys": public}), encoding="utf-8")


def login_settings(key_set: Path) -> dict[str, str]:
    """The settings of the listeners with a login, the same on both sides."""
    settings = {
        "sasl.enabled.mechanisms": ",".join(MECHANISMS),
        "sasl.oauthbearer.jwks.endpoint.url": key_set.as_uri(),
        "sasl.oauthbearer.expected.audience": AUDIENCE,
        "sasl.oauthbearer.expected.issuer": ISSUER,
        "connection.failed.authentication.delay.ms": "50",
    }
    jaas = {
        "plain": PLAIN_USERS,
        "scram-sha-256": "org.apache.kafka.common.security.scram.ScramLoginModule required;",
        "scram-sha-512": "org.apache.kafka.common.security.scram.ScramLoginModule required;",
        "oauthbearer": "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required;",
    }
    handler = "org.apache.kafka.common.security.oauthbearer.OAuthBearerValidatorCallbackHandler"
    for listener in (LOGIN, SHORT):
        place = f"listener.name.{listener.lower()}"
        settings |= {f"{place}.{mechanism}.sasl.jaas.config": module for mechanism, module in jaas.items()}
        settings[f"{place}.oauthbearer.sasl.server.callback.handler.class"] = handler
    short = f"listener.name.{SHORT.lower()}"
    return settings | {f"{short}.{name.lower()}.connections.max.reauth.ms": str(SESSION_MS) for name in MECHANISMS}


@contextmanager
def running_kafka(folder: Path, keys: Mapping[str, Key]) -> Iterator[Mapping[str, str]]:
    """Listener → address. Raises KafkaMissing."""
    key_set = folder / "keys.json"
    write_key_set(keys, key_set)
    ports = {name: free_port() for name in (ANONYMOUS, LOGIN, SHORT, "CONTROLLER")}
    settings = {
        name: value.replace("\\", "\\\\").replace("\n", "\\n") for name, value in login_settings(key_set).items()
    }
    clients = {name: port for name, port in ports.items() if name != "CONTROLLER"}
    settings |= {
        "listeners": ",".join(f"{name}://127.0.0.1:{port}" for name, port in ports.items()),
        "advertised.listeners": ",".join(f"{name}://127.0.0.1:{port}" for name, port in clients.items()),
        "controller.quorum.voters": f"1@127.0.0.1:{ports['CONTROLLER']}",
        "inter.broker.listener.name": ANONYMOUS,
        "listener.security.protocol.map": (
            f"{ANONYMOUS}:PLAINTEXT,{LOGIN}:SASL_PLAINTEXT,{SHORT}:SASL_PLAINTEXT,CONTROLLER:PLAINTEXT"
        ),
    }
    allowed = (
        f"-Dorg.apache.kafka.sasl.oauthbearer.allowed.urls={key_set.as_uri()}",
        f"-Dorg.apache.kafka.sasl.oauthbearer.allowed.files={key_set}",
    )
    with RunningKafka(folder, settings, {}, port=ports[ANONYMOUS], jvm_options=allowed):
        addresses = {name: f"127.0.0.1:{port}" for name, port in clients.items()}
        add_users(addresses[ANONYMOUS])
        yield addresses


@contextmanager
def running_server(folder: Path, keys: Mapping[str, Key]) -> Iterator[Mapping[str, str]]:
    """The same of our server."""
    key_set = folder / "keys.json"
    write_key_set(keys, key_set)
    listeners = {ANONYMOUS: "PLAINTEXT", LOGIN: "SASL_PLAINTEXT", SHORT: "SASL_PLAINTEXT"}
    with SaslServer(folder, login_settings(key_set), listeners) as server:
        add_users(server.addresses[ANONYMOUS])
        yield server.addresses


def add_users(bootstrap: str) -> None:
    """Make the users of SCRAM, and wait until they can log in."""
    with WireConnection(bootstrap, "logins") as client:
        for user, mechanism, password, salt in SCRAM_USERS:
            upsertion = ScramCredentialUpsertion(
                name=user,
                mechanism=mechanism,
                iterations=4096,
                salt=salt,
                salted_password=salted_password(mechanism, password, salt),
            )

            def is_set(upsertion: ScramCredentialUpsertion = upsertion) -> bool:
                request = AlterUserScramCredentialsRequest(deletions=[], upsertions=[upsertion])
                (result,) = client.request(request, 0).results
                return bool(result.error_code == 0)

            wait_for(is_set, 30, "the controller to take credentials", every_ms=200)


def hold(
    addresses: Mapping[str, str], keys: Mapping[str, Key], conversations: Sequence[Conversation] = CONVERSATIONS
) -> Said:
    """Hold all conversations, many at a time; name → what the server said."""

    def one(conversation: Conversation) -> list[str]:
        with LoginClient(addresses[conversation.listener], keys) as client:
            conversation.talk(client)
            return client.said

    with ThreadPoolExecutor(AT_ONE_TIME) as pool:
        return dict(
            zip([conversation.name for conversation in conversations], pool.map(one, conversations), strict=True)
        )
