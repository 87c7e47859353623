"""What the settings leave open to others, for the log of a start and for `coordinator config check`."""

from collections.abc import Iterable, Iterator
from typing import Final

from coordinator.config.authorizer_keys import (
    ALLOW_EVERYONE_IF_NO_ACL_FOUND,
    AUTHORIZER_CLASS_NAME,
    STANDARD_AUTHORIZER,
    SUPER_USERS,
)
from coordinator.config.cluster_keys import CLUSTER_BOOTSTRAP_SERVERS
from coordinator.config.settings import Config
from coordinator.front.listener import Listener
from coordinator.http_guard import is_loopback
from coordinator.security.protocols import SecurityProtocol

STANDARD: Final = f"{AUTHORIZER_CLASS_NAME.name}={STANDARD_AUTHORIZER}"


def security_warnings(config: Config, listeners: Iterable[Listener]) -> Iterator[str]:
    """One line for each setting that lets others do what its user may not want."""
    listeners = list(listeners)
    for listener in listeners:
        problem = _clear_text(config, listener.security_protocol)
        if problem and not is_loopback(listener.address.host):
            address = f"{listener.address.host}:{listener.address.port}"
            yield f"the listener {listener.name} ({listener.security_protocol.value}, {address}) is {problem}"
    if not config[CLUSTER_BOOTSTRAP_SERVERS]:
        yield from _authorizer_warnings(config, listeners)


def _clear_text(config: Config, protocol: SecurityProtocol) -> str:
    """Who can do what because the listener has no TLS, and what to do about it; empty if it has."""
    if protocol is SecurityProtocol.SASL_PLAINTEXT:
        return (
            "in clear text: everybody on the way can read what is sent, passwords of PLAIN and tokens included; "
            "use SASL_SSL, or an address of loopback"
        )
    if protocol is SecurityProtocol.PLAINTEXT:
        has_acls = config[AUTHORIZER_CLASS_NAME] or config[CLUSTER_BOOTSTRAP_SERVERS]
        what = "what the ACLs allow User:ANONYMOUS" if has_acls else "everything"
        return (
            f"in clear text and without a login: everybody who can reach it may do {what}; use SASL_SSL or SSL, "
            "or an address of loopback"
        )
    return ""


def _authorizer_warnings(config: Config, listeners: Iterable[Listener]) -> Iterator[str]:
    protocols = {listener.security_protocol for listener in listeners}
    if not config[AUTHORIZER_CLASS_NAME]:
        if protocols != {SecurityProtocol.PLAINTEXT}:
            yield (f"clients prove who they are, but may all do everything; set {STANDARD}")
        return
    if not config[SUPER_USERS] and not config[ALLOW_EVERYONE_IF_NO_ACL_FOUND]:
        yield f"{SUPER_USERS.name} is empty: nobody can create the first ACL"
    elif protocols == {SecurityProtocol.PLAINTEXT}:
        yield "there are ACLs, but all clients are User:ANONYMOUS: no listener has SSL or SASL"
    if config[ALLOW_EVERYONE_IF_NO_ACL_FOUND]:
        yield (
            f"{ALLOW_EVERYONE_IF_NO_ACL_FOUND.name}=true: everybody who can log in may read and change whatever has "
            "no ACL"
        )
