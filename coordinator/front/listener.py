"""Listeners as the settings describe them, by Kafka's rules (SocketServerConfigs.listenerListToEndPoints)."""

import socket
from collections import Counter
from collections.abc import Mapping
from ipaddress import ip_address
from typing import Final

from coordinator.config.key import ConfigError
from coordinator.config.listener_keys import (
    ADVERTISED_LISTENERS,
    INTER_BROKER_LISTENER_NAME,
    LISTENER_SECURITY_PROTOCOL_MAP,
    LISTENERS,
    SECURITY_INTER_BROKER_PROTOCOL,
)
from coordinator.config.listener_overrides import ListenerConfig
from coordinator.config.metrics_keys import ADMIN_LISTENER, ADMIN_NAME, ADMIN_SECURITY_PROTOCOL
from coordinator.config.settings import Config
from coordinator.front.request_context import Endpoint
from coordinator.listen_address import Address, parse_addresses
from coordinator.security.protocols import SecurityProtocol

WILDCARDS: Final = ("", "0.0.0.0", "::")


class Listener:
    """A name, an address, and how clients are connected to it. `endpoint` is known when the address is bound."""

    def __init__(
        self, address: Address, advertised: Address | None, security_protocol: SecurityProtocol, config: ListenerConfig
    ) -> None:
        self.name: Final = address.name
        self.address: Final = address
        self.security_protocol: Final = security_protocol
        self.config: Final = config
        """The settings of this listener, those of the server where it has no own."""
        self.advertised = advertised
        self.endpoint: Endpoint | None = None
        """What clients are told to connect to."""

    def bound(self, port: int) -> None:
        """The address was bound to this port."""
        self.endpoint = self.endpoint_at(port)

    def endpoint_at(self, port: int) -> Endpoint:
        """What clients are told if the address is bound to this port."""
        if self.advertised is not None:
            return Endpoint(self.name, self.advertised.host, self.advertised.port or port)
        host = socket.gethostname() if self.address.host in WILDCARDS else self.address.host
        return Endpoint(self.name, host, port)


def parse_listeners(config: Config) -> list[Listener]:
    """The listeners of the settings.

    Raises:
        ConfigError: a name or a port is there twice, a listener has no security protocol, or there is none of the
            advertised name.
    """
    addresses = _addresses(LISTENERS.name, config[LISTENERS])
    if not addresses:
        raise ConfigError(f"{LISTENERS.name}: at least one listener is needed")
    _check_ports(config[LISTENERS], addresses)
    protocols = parse_protocols(config[LISTENER_SECURITY_PROTOCOL_MAP])
    advertised = {
        address.name: address for address in _addresses(ADVERTISED_LISTENERS.name, config[ADVERTISED_LISTENERS])
    }
    names = [address.name for address in addresses]
    if config[ADMIN_LISTENER] and ADMIN_NAME in names:
        raise ConfigError(f"{LISTENERS.name}={config[LISTENERS]}: {ADMIN_NAME} is the name of the admin port")
    for name, address in advertised.items():
        if name not in names:
            raise ConfigError(
                f"{ADVERTISED_LISTENERS.name}: there is no listener {name}; the listeners are {', '.join(names)}"
            )
        if address.host == "0.0.0.0":
            raise ConfigError(
                f"{ADVERTISED_LISTENERS.name}={config[ADVERTISED_LISTENERS]}: clients cannot connect to 0.0.0.0; "
                "write the address or the name of this host"
            )
    _check_inter_broker(config, names)
    return [
        Listener(
            address,
            advertised.get(address.name),
            _protocol_of(address.name, protocols),
            config.for_listener(address.name),
        )
        for address in addresses
    ]


def admin_listener(config: Config) -> Listener:
    """The admin port, as far as its TLS is concerned."""
    protocol = SecurityProtocol(config[ADMIN_SECURITY_PROTOCOL])
    return Listener(Address(ADMIN_NAME, "", 0), None, protocol, config.for_listener(ADMIN_NAME))


def parse_protocols(text: str) -> dict[str, SecurityProtocol]:
    """Parse the value of `listener.security.protocol.map`; the names in upper case.

    Raises:
        ConfigError: a part is not NAME:PROTOCOL, or a name is there twice.
    """
    setting = f"{LISTENER_SECURITY_PROTOCOL_MAP.name}={text}"
    protocols: dict[str, SecurityProtocol] = {}
    for part in text.split(","):
        name, colon, protocol = part.strip().rpartition(":")
        if not colon or not name:
            raise ConfigError(f"{setting}: {part.strip()!r} is not NAME:PROTOCOL")
        if protocol.strip().upper() not in SecurityProtocol.__members__:
            protocol_names = ", ".join(SecurityProtocol.__members__)
            raise ConfigError(f"{setting}: {protocol!r} is not one of {protocol_names}")
        name = name.strip().upper()
        if name in protocols:
            raise ConfigError(f"{setting}: {name} is named twice")
        protocols[name] = SecurityProtocol(protocol.strip().upper())
    return protocols


def _check_inter_broker(config: Config, names: list[str]) -> None:
    """Settings of the connections between brokers, which there are none of: a file of Kafka's has them."""
    name = config[INTER_BROKER_LISTENER_NAME]
    if not name:
        return
    setting = f"{INTER_BROKER_LISTENER_NAME.name}={name}"
    if config.is_given(SECURITY_INTER_BROKER_PROTOCOL):
        raise ConfigError(f"{setting}: only one of it and {SECURITY_INTER_BROKER_PROTOCOL.name} may be given")
    if name.upper() not in names:
        raise ConfigError(f"{setting}: there is no such listener; the listeners are {', '.join(names)}")


def _addresses(setting: str, text: str) -> list[Address]:
    """As Kafka's, names of listeners are in upper case, whatever they are written in."""
    addresses = [Address(name.upper(), host, port) for name, host, port in parse_addresses(setting, text)]
    for name, times in Counter(address.name for address in addresses).items():
        if times > 1:
            raise ConfigError(f"{setting}={text}: each listener must have a different name, {name} is there twice")
    return addresses


def _check_ports(text: str, addresses: list[Address]) -> None:
    """One IPv4 and one IPv6 address may have the same port."""
    by_port: dict[int, list[str]] = {}
    for address in addresses:
        if address.port:
            by_port.setdefault(address.port, []).append(address.host)
    for port, hosts in by_port.items():
        if len(hosts) > 1 and sorted(map(_ip_version, hosts)) != [4, 6]:
            raise ConfigError(
                f"{LISTENERS.name}={text}: each listener must have a different port, {port} is there twice; only one "
                "IPv4 and one IPv6 address may share it"
            )


def _ip_version(host: str) -> int:
    try:
        return ip_address(host).version
    except ValueError:
        return 0


def _protocol_of(name: str, protocols: Mapping[str, SecurityProtocol]) -> SecurityProtocol:
    protocol = protocols.get(name)
    if protocol is None:
        raise ConfigError(
            f"{LISTENERS.name}: the listener {name} has no security protocol; add {name}:PLAINTEXT (or SSL, "
            f"SASL_PLAINTEXT, SASL_SSL) to {LISTENER_SECURITY_PROTOCOL_MAP.name}"
        )
    return protocol
