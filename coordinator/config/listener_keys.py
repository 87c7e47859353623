"""The keys of listeners (SocketServerConfigs)."""

from coordinator.config.key import ConfigKey

LISTENERS = ConfigKey(
    "listeners",
    "PLAINTEXT://127.0.0.1:9092",
    "The addresses to listen on: a comma-separated list of NAME://HOST:PORT. Port 0 binds a free port. A name is a "
    "security protocol, or has one in `listener.security.protocol.map`. Settings of one listener are written with "
    "`listener.name.` and its name in lower case before the name of the setting, where this page says so: "
    "`listener.name.external.ssl.keystore.location`.",
)
ADVERTISED_LISTENERS = ConfigKey(
    "advertised.listeners",
    "",
    "The address of each listener that is returned to its clients, in the form of `listeners`. "
    "If empty, the bound addresses are returned.",
)
LISTENER_SECURITY_PROTOCOL_MAP = ConfigKey(
    "listener.security.protocol.map",
    "SASL_SSL:SASL_SSL,PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT",
    "The security protocol of each listener: a comma-separated list of NAME:PROTOCOL, where a protocol is `PLAINTEXT`, "
    "`SSL`, `SASL_PLAINTEXT` or `SASL_SSL`. A listener that is not in it cannot be used; the default has the four "
    "protocols as names.",
)
INTER_BROKER_LISTENER_NAME = ConfigKey(
    "inter.broker.listener.name",
    "",
    "Accepted and ignored: there is one node. It has to be the name of a listener, and is not given together with "
    "`security.inter.broker.protocol`.",
)
SECURITY_INTER_BROKER_PROTOCOL = ConfigKey(
    "security.inter.broker.protocol",
    "PLAINTEXT",
    "Accepted and ignored: there is one node.",
    one_of=("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"),
)
