"""The secured listeners of the servers of the matrix, and what a client needs to get in.

A scenario that names a security is played with members that connect by its listener. What the scenario itself asks of
the server goes by the listener without security.
"""

import hashlib
import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

import msgspec
from joserfc import jwt
from joserfc.jwk import ECKey

from _wire.messages.alter_user_scram_credentials import AlterUserScramCredentialsRequest, ScramCredentialUpsertion
from coordinator.client.wire import ClientError, WireConnection
from coordinator.config.authorizer_keys import STANDARD_AUTHORIZER
from coordinator.security.sasl.scram_credentials import ScramMechanism
from tests.certificates import Authority
from tests.differential.kafka import free_port
from tests.waiting import wait_for

TITLES: Final = {
    "ssl": "SSL",
    "ssl-client-auth": "SSL with client certificates",
    "plain": "SASL_SSL with PLAIN",
    "scram-sha-256": "SASL_SSL with SCRAM-SHA-256",
    "scram-sha-512": "SASL_SSL with SCRAM-SHA-512",
    "oauthbearer": "SASL_SSL with OAUTHBEARER",
}
"""The securities, which are abilities of clients, too."""
USER: Final = "alice"
PASSWORD: Final = "alice-secret"
SALT: Final = b"0123456789abcdef"
ITERATIONS: Final = 4096
ISSUER, AUDIENCE = "https://issuer.example", "interop"
TOKEN_SECONDS: Final = 4 * 3600
MODULES: Final = "org.apache.kafka.common.security."
WRONG_PASSWORD, UNKNOWN_USER = "wrong password", "unknown user"
EXPIRED_TOKEN, EXPIRED_CERTIFICATE = "expired token", "expired certificate"
"""Why a member is refused: keys of `Secured.refused`."""
LISTENER_NAMES: Final = {"ssl": "SSL", "ssl-client-auth": "CERT"}
"""The listener of each security; SASL for all with a login."""


class Secured(msgspec.Struct, frozen=True):
    """How a member connects: the address, and the field `security` of its command, valid or `refused` for a reason."""

    bootstrap: str
    security: dict[str, str]
    refused: dict[str, dict[str, str]]


class SecuredListeners:
    """Keys and certificates in a folder, free ports, and the settings of a server that uses them."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self._ports = {name: free_port() for name in ("PLAINTEXT", "SSL", "CERT", "SASL", "CONTROLLER")}
        self.bootstrap = f"127.0.0.1:{self._ports['PLAINTEXT']}"
        authority = Authority()
        client = authority.issue(f"CN={USER}", names=())
        now = datetime.now(UTC)
        expired = authority.issue(
            f"CN={USER}", names=(), valid_from=now - timedelta(days=2), valid_until=now - timedelta(days=1)
        )
        authority.issue().write(folder / "server.pem")
        self._write("authority.pem", authority.certificate_pem)
        self._write("client.crt", client.certificate_pem)
        self._write("client.key", client.key_pem())
        self._write("expired.crt", expired.certificate_pem)
        self._write("expired.key", expired.key_pem())
        key = ECKey.generate_key("P-256", {"kid": "interop", "use": "sig"})
        self.key_set = self._write("keys.json", json.dumps({"keys": [key.as_dict(private=False)]}))
        at = int(now.timestamp())
        claims = {"iss": ISSUER, "aud": AUDIENCE, "sub": USER, "iat": at, "exp": at + TOKEN_SECONDS, "scope": "all"}
        header = {"alg": "ES256", "kid": "interop"}
        self._token = jwt.encode(header, claims, key)
        expired_at = at - TOKEN_SECONDS
        self._expired_token = jwt.encode(header, claims | {"iat": expired_at - TOKEN_SECONDS, "exp": expired_at}, key)

    def _write(self, name: str, text: str) -> Path:
        path = self._folder / name
        path.write_text(text, encoding="ascii")
        return path

    def settings(self, *, is_kafka: bool) -> dict[str, str]:
        """The settings of a server, as Kafka names them."""
        clients = {name: port for name, port in self._ports.items() if name != "CONTROLLER"}
        listeners = self._ports if is_kafka else clients
        protocols = {"PLAINTEXT": "PLAINTEXT", "SSL": "SSL", "CERT": "SSL", "SASL": "SASL_SSL"}
        if is_kafka:
            protocols["CONTROLLER"] = "PLAINTEXT"
        settings = {
            "listeners": ",".join(f"{name}://127.0.0.1:{port}" for name, port in listeners.items()),
            "advertised.listeners": ",".join(f"{name}://127.0.0.1:{port}" for name, port in clients.items()),
            "listener.security.protocol.map": ",".join(":".join(each) for each in protocols.items()),
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": str(self._folder / "server.pem"),
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": str(self._folder / "authority.pem"),
            "listener.name.cert.ssl.client.auth": "required",
            # Everybody may use what has no ACL, so only the scenario that makes one has to know of them.
            "authorizer.class.name": STANDARD_AUTHORIZER,
            "allow.everyone.if.no.acl.found": "true",
            "super.users": "User:ANONYMOUS",
            "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512,OAUTHBEARER",
            "sasl.oauthbearer.jwks.endpoint.url": self.key_set.as_uri(),
            "sasl.oauthbearer.expected.audience": AUDIENCE,
            "sasl.oauthbearer.expected.issuer": ISSUER,
            "listener.name.sasl.oauthbearer.sasl.server.callback.handler.class": (
                f"{MODULES}oauthbearer.OAuthBearerValidatorCallbackHandler"
            ),
        }
        modules = {
            "plain": f'plain.PlainLoginModule required user_{USER}="{PASSWORD}";',
            "scram-sha-256": "scram.ScramLoginModule required;",
            "scram-sha-512": "scram.ScramLoginModule required;",
            "oauthbearer": "oauthbearer.OAuthBearerLoginModule required;",
        }
        settings |= {f"listener.name.sasl.{name}.sasl.jaas.config": MODULES + text for name, text in modules.items()}
        if is_kafka:
            settings["controller.quorum.voters"] = f"1@127.0.0.1:{self._ports['CONTROLLER']}"
            settings["inter.broker.listener.name"] = "PLAINTEXT"
        return settings

    @property
    def jvm_options(self) -> tuple[str, ...]:
        """What Kafka needs to be allowed to read the keys of tokens."""
        place = "-Dorg.apache.kafka.sasl.oauthbearer.allowed"
        return f"{place}.urls={self.key_set.as_uri()}", f"{place}.files={self.key_set}"

    def add_users(self) -> None:
        """Make the users of SCRAM."""

        def are_added() -> bool:
            upsertions = [_credential(ScramMechanism.SCRAM_SHA_256)], [_credential(ScramMechanism.SCRAM_SHA_512)]
            try:
                with WireConnection(self.bootstrap, "interop") as client:
                    requests = [
                        AlterUserScramCredentialsRequest(deletions=[], upsertions=upsertion) for upsertion in upsertions
                    ]
                    results = [client.request(request, 0).results[0] for request in requests]
            except ClientError:
                return False
            return all(result.error_code == 0 for result in results)

        wait_for(are_added, 30, "the server to take the users of SCRAM", every_ms=200)

    def secured(self) -> Mapping[str, Secured]:
        """How members connect, by security."""
        return {name: self._secured(name) for name in TITLES}

    def _secured(self, name: str) -> Secured:
        listener = LISTENER_NAMES.get(name, "SASL")
        security: dict[str, Any] = {"protocol": "SSL", "ca": str(self._folder / "authority.pem")}
        refused: dict[str, dict[str, Any]] = {}
        if name == "ssl-client-auth":
            security |= self._certificate("client")
            refused[EXPIRED_CERTIFICATE] = security | self._certificate("expired")
        elif name == "oauthbearer":
            security |= {"protocol": "SASL_SSL", "mechanism": "OAUTHBEARER", "token": self._token}
            refused[EXPIRED_TOKEN] = security | {"token": self._expired_token}
        elif name != "ssl":
            login = {"mechanism": name.upper(), "username": USER, "password": PASSWORD}
            security |= {"protocol": "SASL_SSL", **login}
            refused[WRONG_PASSWORD] = security | {"password": "wrong"}
            refused[UNKNOWN_USER] = security | {"username": "nobody"}
        return Secured(f"127.0.0.1:{self._ports[listener]}", security, refused)

    def _certificate(self, name: str) -> dict[str, str]:
        return {"certificate": str(self._folder / f"{name}.crt"), "key": str(self._folder / f"{name}.key")}


def _credential(mechanism: ScramMechanism) -> ScramCredentialUpsertion:
    salted = hashlib.pbkdf2_hmac(mechanism.digest, PASSWORD.encode(), SALT, ITERATIONS)
    return ScramCredentialUpsertion(
        name=USER, mechanism=mechanism, iterations=ITERATIONS, salt=SALT, salted_password=salted
    )
