"""How a client of this project is connected, by the settings of Kafka's clients: `--command-config` names their file.

security.protocol=SASL_SSL
ssl.truststore.location=ca.pem
ssl.truststore.type=PEM
sasl.mechanism=SCRAM-SHA-512
sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required username="ops" password="…";
"""

import socket
import ssl
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote, urlsplit

from coordinator.client.login import Login, PlainLogin, ScramLogin, TokenLogin
from coordinator.client.tls import client_context
from coordinator.config.key import ConfigError
from coordinator.security.protocols import SecurityProtocol
from coordinator.security.sasl.jaas import PLAIN_LOGIN_MODULE, JaasError, LoginModule, parse_jaas

PREFIXES: Final = ("security.", "ssl.", "sasl.")
SECURITY_PROTOCOL: Final = "security.protocol"
SASL_MECHANISM: Final = "sasl.mechanism"
SASL_JAAS_CONFIG: Final = "sasl.jaas.config"
TOKEN_URL: Final = "sasl.oauthbearer.token.endpoint.url"
DEFAULT_MECHANISM: Final = "GSSAPI"
"""Kafka's."""
PLAIN: Final = "PLAIN"
OAUTHBEARER: Final = "OAUTHBEARER"
SCRAM_LOGIN_MODULE: Final = "org.apache.kafka.common.security.scram.ScramLoginModule"
CERTIFICATE_REQUIRED: Final = ("TLSV13_ALERT_CERTIFICATE_REQUIRED", "SSLV3_ALERT_BAD_CERTIFICATE")
"""What OpenSSL and Java send to a client without a certificate."""
MODULES: Final = {
    PLAIN: PLAIN_LOGIN_MODULE,
    "SCRAM-SHA-256": SCRAM_LOGIN_MODULE,
    "SCRAM-SHA-512": SCRAM_LOGIN_MODULE,
}


class ClientSecurity:
    """The security settings of a client, shared by all its connections. Pickled, it is its settings."""

    def __init__(self, settings: Mapping[str, str]) -> None:
        """Settings that are not about security are left out, and white space around values, as Kafka's clients do.

        Raises:
            ConfigError: settings contradict each other, this client does not support them, or a file cannot be read.
        """
        self.settings: Final = {name: text.strip() for name, text in settings.items() if name.startswith(PREFIXES)}
        protocol = _protocol(self.settings)
        self.tls_context: Final = client_context(self.settings) if protocol.has_tls else None
        """None: connections are without TLS."""
        self.login: Final[Login | None] = _login(self.settings) if protocol.has_sasl else None

    def __reduce__(self) -> tuple[Any, ...]:
        return ClientSecurity, (self.settings,)

    def secured(self, connected: socket.socket, host: str) -> socket.socket:
        """The socket to use in place of a connected one.

        Raises:
            OSError: the handshake failed, as with a certificate that is not trusted (`ssl.SSLError`).
        """
        return connected if self.tls_context is None else self.tls_context.wrap_socket(connected, server_hostname=host)


def tls_problem(problem: OSError) -> str:
    """Why a handshake failed, and what to look at, in one line."""
    if isinstance(problem, ssl.SSLCertVerificationError):
        return f"its certificate is not trusted: {problem.verify_message}"
    if isinstance(problem, ssl.SSLError) and problem.reason == "WRONG_VERSION_NUMBER":
        return f"it does not answer with TLS; {SECURITY_PROTOCOL} may be another one"
    if isinstance(problem, ssl.SSLError) and problem.reason in CERTIFICATE_REQUIRED:
        return "it requires a certificate of the client: ssl.keystore.location, ssl.keystore.type"
    return str(problem)


def _protocol(settings: Mapping[str, str]) -> SecurityProtocol:
    text = settings.get(SECURITY_PROTOCOL, SecurityProtocol.PLAINTEXT.value)
    try:
        return SecurityProtocol(text.upper())
    except ValueError:
        supported = ", ".join(security_protocol.value for security_protocol in SecurityProtocol)
        raise ConfigError(f"{SECURITY_PROTOCOL}={text}: expected one of {supported}") from None


def _login(settings: Mapping[str, str]) -> Login:
    mechanism = settings.get(SASL_MECHANISM, DEFAULT_MECHANISM)
    if mechanism == OAUTHBEARER:
        return TokenLogin(_token_file(settings))
    if mechanism not in MODULES:
        supported = ", ".join((*MODULES, OAUTHBEARER))
        raise ConfigError(f"{SASL_MECHANISM}={mechanism}: expected one of {supported}")
    options = _login_module(settings, mechanism).options
    missing = [name for name in ("username", "password") if name not in options]
    if missing:
        raise ConfigError(f"{SASL_JAAS_CONFIG}: the login module has no {missing[0]}")
    username, password = options["username"], options["password"]
    return PlainLogin(username, password) if mechanism == PLAIN else ScramLogin(mechanism, username, password)


def _login_module(settings: Mapping[str, str], mechanism: str) -> LoginModule:
    name = MODULES[mechanism]
    text = settings.get(SASL_JAAS_CONFIG)
    if text is None:
        raise ConfigError(f'{mechanism} needs {SASL_JAAS_CONFIG}={name} required username="…" password="…";')
    try:
        modules = parse_jaas(text)
    except JaasError as problem:
        raise ConfigError(f"{SASL_JAAS_CONFIG}: {problem}") from None
    if len(modules) != 1 or modules[0].name != name:
        raise ConfigError(f"{SASL_JAAS_CONFIG}: {mechanism} needs the login module {name}, and no other one")
    return modules[0]


def _token_file(settings: Mapping[str, str]) -> Path:
    url = urlsplit(settings.get(TOKEN_URL, ""))
    if url.scheme != "file" or not url.path:
        raise ConfigError(
            f"{OAUTHBEARER} needs {TOKEN_URL}=file:///… with the path of a file that has the token; "
            "tokens are not requested from servers"
        )
    return Path(unquote(url.path))
