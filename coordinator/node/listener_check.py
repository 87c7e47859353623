"""Makes all that listeners need, as a start does, without binding an address: for `coordinator config check`."""

from coordinator.config.cluster_keys import CLUSTER_BOOTSTRAP_SERVERS
from coordinator.config.key import ConfigError
from coordinator.config.settings import Config
from coordinator.config.ssl_keys import SSL_PRINCIPAL_MAPPING_RULES
from coordinator.extras import needs
from coordinator.front.listener import Listener, parse_listeners
from coordinator.node.sasl_mechanisms import SaslMechanisms


def make_listeners(config: Config) -> list[Listener]:
    """Read keys and certificates, and the users and the keys of logins.

    Raises:
        ConfigError: a start would fail with the same message.
    """
    listeners = parse_listeners(config)
    passes_logins_on = bool(config[CLUSTER_BOOTSTRAP_SERVERS])
    mechanisms = SaslMechanisms({}, lambda: 0)
    for listener in listeners:
        if listener.security_protocol.has_tls:
            _make_tls(listener)
        if listener.security_protocol.has_sasl and not passes_logins_on:
            mechanisms.of(listener.config)
    return listeners


def _make_tls(listener: Listener) -> None:
    try:
        from coordinator.security.tls.contexts import load_context
        from coordinator.security.tls.principal_mapper import PrincipalMapper
    except ModuleNotFoundError as problem:
        raise ConfigError(needs("TLS", problem)) from None
    config = listener.config
    load_context(config)
    PrincipalMapper(config[SSL_PRINCIPAL_MAPPING_RULES], config.name_of(SSL_PRINCIPAL_MAPPING_RULES))
