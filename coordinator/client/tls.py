"""The TLS settings of Kafka's clients as a context of Python's `ssl`."""

import ssl
from collections.abc import Mapping
from typing import Any

from coordinator.config import ssl_keys
from coordinator.config.key import ConfigError, ConfigKey
from coordinator.config.listener_overrides import ListenerConfig
from coordinator.extras import needs


def client_context(settings: Mapping[str, str]) -> ssl.SSLContext:
    """The context of a client. Without a trust store it trusts the authorities of the system, as Kafka's clients do.

    Raises:
        ConfigError: settings are invalid, a file cannot be read, or a library is missing.
    """
    try:
        from coordinator.security.tls.contexts import VERSIONS, load_key, trust
        from coordinator.security.tls.stores import read_key_store, read_trust_store
    except ModuleNotFoundError as missing:
        raise ConfigError(needs("TLS", missing)) from None
    config = _config(settings)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    enabled: tuple[str, ...] = config[ssl_keys.SSL_ENABLED_PROTOCOLS]
    versions = [VERSIONS[name] for name in enabled]
    context.minimum_version, context.maximum_version = min(versions), max(versions)
    # As for Kafka's clients, an empty text switches the check off.
    context.check_hostname = bool(config[ssl_keys.SSL_ENDPOINT_IDENTIFICATION_ALGORITHM])
    trusted = read_trust_store(config)
    if trusted:
        trust(context, trusted)
    else:
        context.load_default_certs()
    if config[ssl_keys.SSL_KEYSTORE_LOCATION] or config[ssl_keys.SSL_KEYSTORE_KEY]:
        load_key(context, read_key_store(config), config)
    return context


def _config(settings: Mapping[str, str]) -> ListenerConfig:
    """The values of the settings that clients and listeners have in common."""
    keys = [var for var in vars(ssl_keys).values() if isinstance(var, ConfigKey)]
    values: dict[ConfigKey[Any], Any] = {
        key: key.parse(settings[key.name]) if key.name in settings else key.default for key in keys
    }
    return ListenerConfig("client", values, {})
