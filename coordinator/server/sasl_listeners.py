"""Makes what the connections of a listener log in with, from its settings."""

from collections.abc import Callable
from dataclasses import dataclass, field
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
from coordinator.metadata.image import MetadataImage
from coordinator.metrics.login_meter import LoginMeter
from coordinator.security.sasl.exchange import Mechanism
from coordinator.security.sasl.jaas import JaasError, plain_users
from coordinator.security.sasl.plain import Plain
from coordinator.security.sasl.scram_credentials import ScramCredential, ScramMechanism
from coordinator.server.login import SaslListener

if TYPE_CHECKING:
    from coordinator.security.sasl.signing_keys import SigningKeys

PLAIN: Final = "PLAIN"
OAUTHBEARER: Final = "OAUTHBEARER"
SCRAM_BY_NAME: Final = {mechanism.mechanism_name: mechanism for mechanism in ScramMechanism}


@dataclass(slots=True)
class SaslMechanisms:
    """Makes the mechanisms of all listeners, and has what they need beside the event loop."""

    image: MetadataImage
    wall_ms: Callable[[], int]
    signing_keys: "list[SigningKeys]" = field(default_factory=list)

    def start(self) -> None:
        """Start to read the keys of tokens."""
        for keys in self.signing_keys:
            keys.start()

    def stop(self) -> None:
        for keys in self.signing_keys:
            keys.stop()

    def listener(self, config: ListenerConfig, meter: LoginMeter) -> SaslListener:
        """Make what connections of a listener log in with.

        Raises:
            ConfigError: a setting of a mechanism is missing or invalid, or a library is.
        """
        enabled = config[SASL_ENABLED_MECHANISMS]
        if not enabled:
            raise ConfigError(
                f"{SASL_ENABLED_MECHANISMS.name} is empty; listener {config.name} needs one at least of "
                f"{', '.join(SASL_ENABLED_MECHANISMS.one_of)}"
            )
        views = {name: config.for_mechanism(name) for name in enabled}
        return SaslListener(
            name=config.name,
            mechanisms={name: self._mechanism(name, view) for name, view in views.items()},
            max_reauth_ms={name: view[CONNECTIONS_MAX_REAUTH_MS] for name, view in views.items()},
            receive_bytes_max=config[SASL_SERVER_MAX_RECEIVE_SIZE],
            failed_delay_ms=config[CONNECTION_FAILED_AUTHENTICATION_DELAY_MS],
            authentication_max_ms=config[CONNECTION_AUTHENTICATION_MAX_MS],
            meter=meter,
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
            return self.image.scram_credentials.get(user, {}).get(mechanism)

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
        self.signing_keys.append(keys)
        rules = TokenRules(
            audiences=config[SASL_OAUTHBEARER_EXPECTED_AUDIENCE],
            issuer=config[SASL_OAUTHBEARER_EXPECTED_ISSUER],
            clock_skew_seconds=config[SASL_OAUTHBEARER_CLOCK_SKEW_SECONDS],
            user_claim=config[SASL_OAUTHBEARER_SUB_CLAIM_NAME],
            scope_claim=config[SASL_OAUTHBEARER_SCOPE_CLAIM_NAME],
        )
        return OAuthBearer(TokenValidator(keys, rules, self.wall_ms))


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
