"""Makes the mechanisms of a listener with a login, from its settings."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

from coordinator.config.key import ConfigError
from coordinator.config.listener_overrides import ListenerConfig
from coordinator.config.sasl_keys import (
    JAVA_SECURITY_AUTH_LOGIN_CONFIG,
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
)
from coordinator.extras import needs
from coordinator.security.sasl.exchange import Mechanism
from coordinator.security.sasl.plain import Plain
from coordinator.security.sasl.scram_credentials import ScramCredential, ScramMechanism

if TYPE_CHECKING:
    from coordinator.security.sasl.signing_keys import SigningKeys

PLAIN: Final = "PLAIN"
OAUTHBEARER: Final = "OAUTHBEARER"
SCRAM_BY_NAME: Final = {mechanism.mechanism_name: mechanism for mechanism in ScramMechanism}
MECHANISMS: Final = (PLAIN, *SCRAM_BY_NAME, OAUTHBEARER)


ScramCredentials = Mapping[str, Mapping[ScramMechanism, ScramCredential]]
"""By user and mechanism; they may change."""


class SaslMechanisms:
    """Makes the mechanisms of all listeners, and has the keys of tokens, which are read beside the event loop."""

    def __init__(self, scram_credentials: ScramCredentials, wall_ms: Callable[[], int]) -> None:
        self._scram_credentials = scram_credentials
        self._wall_ms = wall_ms
        self.signing_keys: Final[list[SigningKeys]] = []

    def of(self, config: ListenerConfig) -> dict[str, Mechanism]:
        """The mechanisms of a listener by name.

        Raises:
            ConfigError: it has none, a setting of one is missing or invalid, or a library is.
        """
        enabled = config[SASL_ENABLED_MECHANISMS]
        if not enabled or not set(enabled) <= set(MECHANISMS):
            raise ConfigError(
                f"{config.name_of(SASL_ENABLED_MECHANISMS)}={','.join(enabled)}: the listener {config.name} needs one "
                f"at least of {', '.join(MECHANISMS)}, and no other"
            )
        return {name: self._mechanism(name, config.for_mechanism(name)) for name in enabled}

    def _mechanism(self, name: str, config: ListenerConfig) -> Mechanism:
        try:
            if name == PLAIN:
                return _plain(config)
            if name == OAUTHBEARER:
                return self._oauthbearer(config)
            return self._scram(SCRAM_BY_NAME[name])
        except ModuleNotFoundError as missing:
            raise ConfigError(needs(f"{SASL_ENABLED_MECHANISMS.name}: {name}", missing)) from None

    def _scram(self, mechanism: ScramMechanism) -> Mechanism:
        from coordinator.security.sasl.scram import Scram

        def find(user: str) -> ScramCredential | None:
            return self._scram_credentials.get(user, {}).get(mechanism)

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
        return OAuthBearer(TokenValidator(keys, rules, self._wall_ms))


def _plain(config: ListenerConfig) -> Plain:
    from coordinator.security.sasl.jaas import JaasError, plain_users

    name = config.name_of(SASL_JAAS_CONFIG)
    text = config[SASL_JAAS_CONFIG].value
    if not text:
        return _plain_of_file(config)
    try:
        return Plain(plain_users(text))
    except JaasError as problem:
        raise ConfigError(f"{name}: {problem}") from None


def _plain_of_file(config: ListenerConfig) -> Plain:
    from coordinator.security.sasl.jaas import JaasError, plain_users_of_file

    path = config[JAVA_SECURITY_AUTH_LOGIN_CONFIG]
    if not path:
        raise ConfigError(
            f"listener.name.{config.name.lower()}.plain.{SASL_JAAS_CONFIG.name} is missing: it has the users of PLAIN "
            f"(or a JAAS file has them: {JAVA_SECURITY_AUTH_LOGIN_CONFIG.name})"
        )
    try:
        return Plain(plain_users_of_file(Path(path).read_text(encoding="utf-8"), config.name))
    except (OSError, UnicodeDecodeError) as problem:
        raise ConfigError(f"{JAVA_SECURITY_AUTH_LOGIN_CONFIG.name}: cannot read {path}: {problem}") from None
    except JaasError as problem:
        raise ConfigError(f"{JAVA_SECURITY_AUTH_LOGIN_CONFIG.name}={path}: {problem}") from None
