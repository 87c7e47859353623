"""`kafka-configs --alter` of the key or trust store of a listener: its files are read again (KIP-226, KIP-1119).

Kafka takes another location, and stores it. Here listeners have the settings of the file alone, so that it says which
certificates a server has: a store is set to what it is.
"""

from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Protocol

from coordinator.broker.configs.config_changes import OperationType
from coordinator.runtime.slices import Steps, awaited

if TYPE_CHECKING:
    from coordinator.front.tls_listeners import TlsListener


class Stores(Protocol):
    """The listeners with TLS (TlsListeners)."""

    def with_store(self, name: str) -> "TlsListener | None":
        """The listener that has this setting of a store."""

    def load_again(self, listener: "TlsListener", done: Callable[[str], None]) -> None:
        """Load the stores of a listener; `done` is called with what is wrong with them, in one line."""


class CertificateReload:
    """Which alterations of the broker's configs are that, and their result."""

    def __init__(self, stores: Stores | None) -> None:
        """None: no listener has TLS."""
        self._stores: Final = stores

    def load(self, entries: Iterable[Any]) -> Steps[str | None]:
        """Load the stores that the entries of an IncrementalAlterConfigs name; return what is wrong with them.

        None: the entries are about something else, too.
        """
        stores = self._stores
        listeners: dict[str, TlsListener] = {}
        for entry in entries:
            is_set = entry.config_operation == OperationType.SET and entry.value is not None
            found = stores.with_store(entry.name) if stores is not None and is_set else None
            if found is None:
                return None
            if not found.has_value(entry.name, entry.value):
                return (
                    f"{entry.name}: only the value that it has can be set while the server runs, which loads the store "
                    "again; another one needs a change of the settings, and a restart"
                )
            listeners[found.name] = found
        if stores is None or not listeners:
            return None
        problems: list[str] = []
        for listener in listeners.values():
            problem = yield from awaited(partial(stores.load_again, listener))
            problems += [problem] if problem else []
        return "; ".join(problems)
