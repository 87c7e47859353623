"""The listeners with a login: makes what their connections log in with, from their settings."""

from typing import TYPE_CHECKING, Final

from coordinator.config.key import ConfigError
from coordinator.config.listener_overrides import ListenerConfig
from coordinator.config.sasl_keys import (
    CONNECTION_AUTHENTICATION_MAX_MS,
    CONNECTION_FAILED_AUTHENTICATION_DELAY_MS,
    CONNECTIONS_MAX_REAUTH_MS,
    SASL_ENABLED_MECHANISMS,
    SASL_JAAS_CONFIG,
    SASL_OAUTHBEARER_CLOCK_SKEW_SECONDS,
    SASL_OAUTHBEARER_EXPECTED_AUDIENCE,
    SASL_OAUTHBEARER_EXPECTED_ISSUER,
    SASL_OAUTHBEARER_JWKS_ENDPOINT_REFRESH_MS,
    SASL_OAUTHBEARER_JWKS_ENDPOINT_RETRY_BACKOFF_MAX_MS,
    SASL_OAUTHBEARER_JWKS_ENDPOINT_RETRY_BACKOFF_MS,
    SASL_OAUTHBEARER_JWKS_ENDPOINT_URL,
    SASL_OAUTHBEARER_SCOPE_CLAIM_NAME,
    SASL_OAUTHBEARER_SUB_CLAIM_NAME,
    SASL_SERVER_MAX_RECEIVE_SIZE,
)
from coordinator.config.settings import Config
from coordinator.metadata.image import MetadataImage
from coordinator.metrics.login_meter import LoginMeter
from coordinator.security.sasl.exchange import Mechanism
from coordinator.security.sasl.jaas import JaasError, plain_users
from coordinator.security.sasl.plain import Plain
from coordinator.security.sasl.scram_credentials import ScramCredential, ScramMechanism
from coordinator.server.listener import Listener
from coordinator.server.login import SaslListener
from coordinator.server.logins import LoginGate, Logins
from coordinator.server.node_loop import NodeLoop
from coordinator.server.request_dispatcher import RequestDispatcher

if TYPE_CHECKING:
    from coordinator.metrics.node_metrics import NodeMetrics
    from coordinator.security.sasl.signing_keys import SigningKeys

PLAIN: Final = "PLAIN"
OAUTHBEARER: Final = "OAUTHBEARER"
SCRAM_BY_NAME: Final = {mechanism.mechanism_name: mechanism for mechanism in ScramMechanism}
MECHANISMS: Final = (PLAIN, *SCRAM_BY_NAME, OAUTHBEARER)


class SaslParts:
    """The listeners with a login, and what their mechanisms need beside the event loop."""

    def __init__(
        self,
        config: Config,
        image: MetadataImage,
        dispatcher: RequestDispatcher,
        loop: NodeLoop,
        metrics: "NodeMetrics | None",
    ) -> None:
        self._image = image
        self._config = config
        self._dispatcher = dispatcher
        self._loop = loop
        self._metrics = metrics
        self._logins: Logins | None = None
        self._signing_keys: list[SigningKeys] = []
        self.gates: Final[dict[str, LoginGate]] = {}
        """Listener → what its connections have in place of the dispatcher."""

    def add(self, listener: Listener) -> None:
        """Prepare a listener with a login.

        Raises:
            ConfigError: a setting of a mechanism is missing or invalid, or a library is.
        """
        if self._logins is None:
            # Only now: what has timers is asked about each one that is due.
            loop = self._loop
            self._logins = Logins(
                self._config, self._dispatcher, loop.scheduler, now_ms=loop.now_ms, wall_ms=loop.wall_ms
            )
        self.gates[listener.name] = LoginGate(self._dispatcher, self._logins, self._sasl_listener(listener.config))

    def start(self) -> None:
        """Start to read the keys of tokens."""
        for keys in self._signing_keys:
            keys.start()

    def stop(self) -> None:
        for keys in self._signing_keys:
            keys.stop()

    def _sasl_listener(self, config: ListenerConfig) -> SaslListener:
        enabled = config[SASL_ENABLED_MECHANISMS]
        if not enabled or not set(enabled) <= set(MECHANISMS):
            raise ConfigError(
                f"{config.name_of(SASL_ENABLED_MECHANISMS)}={','.join(enabled)}: the listener {config.name} needs one "
                f"at least of {', '.join(MECHANISMS)}, and no other"
            )
        views = {name: config.for_mechanism(name) for name in enabled}
        return SaslListener(
            name=config.name,
            mechanisms={name: self._mechanism(name, view) for name, view in views.items()},
            max_reauth_ms={name: view[CONNECTIONS_MAX_REAUTH_MS] for name, view in views.items()},
            receive_bytes_max=config[SASL_SERVER_MAX_RECEIVE_SIZE],
            failed_delay_ms=config[CONNECTION_FAILED_AUTHENTICATION_DELAY_MS],
            authentication_max_ms=config[CONNECTION_AUTHENTICATION_MAX_MS],
            meter=LoginMeter() if self._metrics is None else self._metrics.login_meter(config.name),
        )

    def _mechanism(self, name: str, config: ListenerConfig) -> Mechanism:
        try:
            if name == PLAIN:
                return _plain(config)
            if name == OAUTHBEARER:
                return self._oauthbearer(config)
            return self._scram(SCRAM_BY_NAME[name])
        except ModuleNotFoundError as missing:
            raise ConfigError(
                f"{SASL_ENABLED_MECHANISMS.name}: {name} needs the library {missing.name}: "
                "pip install 'kafka-group-coordinator[security]'"
            ) from None

    def _scram(self, mechanism: ScramMechanism) -> Mechanism:
        from coordinator.security.sasl.scram import Scram

        def find(user: str) -> ScramCredential | None:
            return self._image.scram_credentials.get(user, {}).get(mechanism)

        return Scram(mechanism, find)

    def _oauthbearer(self, config: ListenerConfig) -> Mechanism:
        from coordinator.security.sasl.oauthbearer import OAuthBearer
        from coordinator.security.sasl.signing_keys import KeySetError, RefreshTimes, SigningKeys
        from coordinator.security.sasl.tokens import TokenRules, TokenValidator

        url = config[SASL_OAUTHBEARER_JWKS_ENDPOINT_URL]
        times = RefreshTimes(
            refresh_ms=config[SASL_OAUTHBEARER_JWKS_ENDPOINT_REFRESH_MS],
            backoff_ms=config[SASL_OAUTHBEARER_JWKS_ENDPOINT_RETRY_BACKOFF_MS],
            backoff_max_ms=config[SASL_OAUTHBEARER_JWKS_ENDPOINT_RETRY_BACKOFF_MAX_MS],
        )
        try:
            keys = SigningKeys(url, times)
        except KeySetError as problem:
            name = config.name_of(SASL_OAUTHBEARER_JWKS_ENDPOINT_URL)
            raise ConfigError(f"{name}={url}: {problem}") from None
        self._signing_keys.append(keys)
        rules = TokenRules(
            audiences=config[SASL_OAUTHBEARER_EXPECTED_AUDIENCE],
            issuer=config[SASL_OAUTHBEARER_EXPECTED_ISSUER],
            clock_skew_seconds=config[SASL_OAUTHBEARER_CLOCK_SKEW_SECONDS],
            user_claim=config[SASL_OAUTHBEARER_SUB_CLAIM_NAME],
            scope_claim=config[SASL_OAUTHBEARER_SCOPE_CLAIM_NAME],
        )
        return OAuthBearer(TokenValidator(keys, rules, self._loop.wall_ms))


def _plain(config: ListenerConfig) -> Plain:
    name = config.name_of(SASL_JAAS_CONFIG)
    text = config[SASL_JAAS_CONFIG].value
    if not text:
        raise ConfigError(
            f"listener.name.{config.name.lower()}.plain.{SASL_JAAS_CONFIG.name} is missing: it has the users of PLAIN"
        )
    try:
        return Plain(plain_users(text))
    except JaasError as problem:
        raise ConfigError(f"{name}: {problem}") from None
