"""The listeners with TLS: their contexts, loaded again when files have changed, and who their clients are."""

import asyncio
import os
import ssl
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any, Final

from coordinator.config import ssl_keys
from coordinator.config.key import ConfigError, ConfigKey
from coordinator.config.listener_overrides import listener_place
from coordinator.config.settings import Config
from coordinator.config.ssl_keys import (
    SSL_ALLOW_DN_CHANGES,
    SSL_ALLOW_SAN_CHANGES,
    SSL_KEYSTORE_LOCATION,
    SSL_PRINCIPAL_MAPPING_RULES,
    SSL_STORE_CHECK_INTERVAL_MS,
)
from coordinator.extras import needs
from coordinator.front.acceptor import ProtocolOf
from coordinator.front.connection import Connection
from coordinator.front.listener import Listener
from coordinator.front.tls_handshakes import TlsHandshakes
from coordinator.front.tls_transport import TlsTransport
from coordinator.logger import logger
from coordinator.security.principal import USER_TYPE, Principal

try:
    from coordinator.security.tls.contexts import LoadedContext, load_context
    from coordinator.security.tls.names import distinguished_name
    from coordinator.security.tls.principal_mapper import PrincipalMapper
    from coordinator.security.tls.stores import store_files
except ModuleNotFoundError as problem:
    raise ConfigError(needs("TLS", problem)) from None

STORE_KEYS: Final[dict[str, ConfigKey[Any]]] = {
    key.name: key
    for key in vars(ssl_keys).values()
    if isinstance(key, ConfigKey) and key.name.startswith(("ssl.keystore.", "ssl.truststore.", "ssl.key."))
}
"""The settings of key and trust stores, by name."""
Stamp = tuple[tuple[int, int, int] | None, ...]
"""What tells that files have changed: time, size and number of each; None: it cannot be read."""


class TlsListener:
    """One listener with TLS."""

    def __init__(self, config: Config, listener: Listener) -> None:
        """Raises ConfigError: the stores or the rules for principals cannot be used."""
        self.name: Final = listener.name
        self._config = listener.config
        self._allows_dn_changes = config[SSL_ALLOW_DN_CHANGES]
        self._allows_san_changes = config[SSL_ALLOW_SAN_CHANGES]
        self._files = store_files(listener.config)
        self._stamp = _stamp(self._files)
        self._loaded = load_context(listener.config)
        self._has_sasl = listener.security_protocol.has_sasl
        self._mapper = PrincipalMapper(
            listener.config[SSL_PRINCIPAL_MAPPING_RULES], listener.config.name_of(SSL_PRINCIPAL_MAPPING_RULES)
        )
        self.log("certificate loaded")

    @property
    def context(self) -> ssl.SSLContext:
        """For the next handshake."""
        return self._loaded.context

    def authenticate(self, connection: Connection, peer: ssl.SSLObject) -> None:
        """Give the connection the principal of the client's certificate; a SASL login gives it another one.

        Raises:
            ValueError: no rule says who the client is. The message is the reason to close the connection.
        """
        if not self._has_sasl:
            certificate = peer.getpeercert(binary_form=True)
            if certificate:
                name = self._mapper.name_of(distinguished_name(certificate))
                connection.principal = Principal(USER_TYPE, name)

    def load_changed(self, is_forced: bool = False) -> LoadedContext | None:
        """Load the stores again if their files have changed; None if not. Called in a thread: files may be slow.

        Raises:
            ConfigError: they cannot be used, or have another name than before. They are not looked at again until they
                change once more.
        """
        stamp = _stamp(self._files)
        if stamp == self._stamp and not is_forced:
            return None
        self._stamp = stamp
        loaded = load_context(self._config)
        old, new = self._loaded.key_store, loaded.key_store
        place = f"{self._config.name_of(SSL_KEYSTORE_LOCATION)}={self._config[SSL_KEYSTORE_LOCATION]}"
        if old.subject != new.subject and not self._allows_dn_changes:
            raise ConfigError(
                f"{place}: the certificate has another distinguished name than before; to use it, set "
                f"{SSL_ALLOW_DN_CHANGES.name}=true"
            )
        if not old.alternative_names <= new.alternative_names and not self._allows_san_changes:
            raise ConfigError(
                f"{place}: the certificate lacks an alternative name that it had before; to use it, set "
                f"{SSL_ALLOW_SAN_CHANGES.name}=true"
            )
        return loaded

    def has_store(self, name: str) -> bool:
        """Whether the name of a setting, in full, is that of one of the stores of this listener."""
        place = listener_place(self.name)
        return name.startswith(place) and name.removeprefix(place) in STORE_KEYS

    def has_value(self, name: str, value: str) -> bool:
        """Whether this is the value of a setting of the stores."""
        key = STORE_KEYS[name.removeprefix(listener_place(self.name))]
        try:
            return bool(key.parse(value) == self._config[key])
        except ConfigError:
            return False

    def use(self, loaded: LoadedContext) -> None:
        """Use it for new connections; those that are open go on."""
        self._loaded = loaded
        self.log("certificate loaded again")

    def log(self, event: str) -> None:
        certificate = self._loaded.key_store.chain[0]
        logger.info(
            event,
            listener=self.name,
            serial=f"{certificate.serial_number:x}",
            not_after=certificate.not_valid_after_utc.isoformat(),
        )


class TlsListeners:
    """All listeners with TLS."""

    def __init__(
        self,
        config: Config,
        listeners: Iterable[Listener],
        handshakes: TlsHandshakes,
    ) -> None:
        """Raises ConfigError: a key, a certificate or another setting cannot be used."""
        self._by_name = {listener.name: TlsListener(config, listener) for listener in listeners}
        self.handshakes: Final = handshakes
        self._interval_ms = config[SSL_STORE_CHECK_INTERVAL_MS]
        self._checking: asyncio.Task[None] | None = None
        self._loading: set[asyncio.Task[str]] = set()

    def protocol_of(self, name: str) -> ProtocolOf | None:
        """What makes the TLS of a new connection of a listener; None if it has none."""
        tls = self._by_name.get(name)
        return None if tls is None else partial(self._make_transport, tls)

    def _make_transport(self, listener: TlsListener, connection: Connection, address: str) -> TlsTransport:
        return TlsTransport(connection, address, listener.context, self.handshakes, listener.authenticate)

    def start(self) -> None:
        """Begin to look for changes of the files."""
        if self._interval_ms >= 0:
            self._checking = asyncio.create_task(self._check_repeatedly())

    def close(self) -> None:
        """End the handshakes, and look for changes no more."""
        for task in (self._checking, *self._loading):
            if task is not None:
                task.cancel()
        self.handshakes.close()

    async def _check_repeatedly(self) -> None:
        while True:
            await asyncio.sleep(max(self._interval_ms, 100) / 1000)
            for listener in self._by_name.values():
                await self.load_changed(listener)

    def with_store(self, name: str) -> TlsListener | None:
        """The listener that has this setting of a store."""
        return next((listener for listener in self._by_name.values() if listener.has_store(name)), None)

    def load_again(self, listener: TlsListener, done: Callable[[str], None]) -> None:
        """Load the stores of a listener; `done` is called with what is wrong with them, in one line."""
        loading = asyncio.create_task(self.load_changed(listener, is_forced=True))
        self._loading.add(loading)
        loading.add_done_callback(self._loading.discard)
        loading.add_done_callback(lambda ended: None if ended.cancelled() else done(ended.result()))

    async def load_changed(self, listener: TlsListener, is_forced: bool = False) -> str:
        """Load the stores of a listener again if they have changed; return what is wrong with them, in one line."""
        try:
            loaded = await asyncio.get_running_loop().run_in_executor(None, listener.load_changed, is_forced)
        except ConfigError as problem:
            logger.warning("certificate reload failed; keeping the current one", problem=str(problem))
            return str(problem)
        if loaded is not None:
            listener.use(loaded)
        return ""


def _stamp(files: Iterable[Path]) -> Stamp:
    return tuple(_stamp_of(file) for file in files)


def _stamp_of(file: Path) -> Any:
    try:
        status = os.stat(file)
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino
