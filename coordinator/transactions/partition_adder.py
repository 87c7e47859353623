"""Adds the partitions of a Produce to its transaction, and asks again while the transaction before it ends (KIP-890).

A client of KIP-890 goes on to its next transaction as soon as EndTxn is answered, perhaps before the last marker is
written. To reject its Produce would cost more than to wait (`ReplicaManager.handleProduceAppend`).
"""

from collections.abc import Callable
from typing import NamedTuple, Protocol

from _wire.errors import ErrorCode
from coordinator.config.settings import Config
from coordinator.config.transaction_keys import (
    ADD_PARTITIONS_TO_TXN_RETRY_BACKOFF_MAX_MS,
    ADD_PARTITIONS_TO_TXN_RETRY_BACKOFF_MS,
)
from coordinator.core.operation import Operation
from coordinator.core.transactions import operations
from coordinator.core.transactions.partitions import PartitionErrors, PartitionsRequest


class Timers(Protocol):
    """Timers of the event loop."""

    def start(self, key: object, deadline_ms: int) -> int: ...


Ask = Callable[[Operation, str, PartitionsRequest, Callable[[PartitionErrors], None]], None]
"""`TransactionCoordinator.ask`."""


class Addition(NamedTuple):
    """Partitions that are to be added; after `until_ms` nobody asks again."""

    request: PartitionsRequest
    until_ms: int
    is_awaited: Callable[[], bool]
    """False when the client has disconnected."""
    reply: Callable[[PartitionErrors], None]


class AddAgainKey(NamedTuple):
    """The key of the timer at which the coordinator is asked again."""

    addition: Addition
    errors: PartitionErrors
    """The last answer."""


class PartitionAdder:
    """Asks the transaction coordinator, for `add.partitions.to.txn.retry.backoff.max.ms` at most."""

    def __init__(self, ask: Ask, timers: Timers, now_ms: Callable[[], int], config: Config) -> None:
        self._ask = ask
        self._timers = timers
        self._now_ms = now_ms
        self._backoff_ms = config[ADD_PARTITIONS_TO_TXN_RETRY_BACKOFF_MS]
        self._backoff_max_ms = config[ADD_PARTITIONS_TO_TXN_RETRY_BACKOFF_MAX_MS]

    def add(
        self, request: PartitionsRequest, is_awaited: Callable[[], bool], reply: Callable[[PartitionErrors], None]
    ) -> None:
        """Add the partitions; `reply` is called once, perhaps at once."""
        self._add(Addition(request, self._now_ms() + self._backoff_max_ms, is_awaited, reply))

    def due(self, key: object, now_ms: int) -> None:
        """A timer is due."""
        if isinstance(key, AddAgainKey):
            if key.addition.is_awaited():
                self._add(key.addition)
            else:
                key.addition.reply(key.errors)

    def _add(self, addition: Addition) -> None:
        def replied(errors: PartitionErrors) -> None:
            now_ms = self._now_ms()
            if ErrorCode.CONCURRENT_TRANSACTIONS in errors.values() and now_ms < addition.until_ms:
                self._timers.start(AddAgainKey(addition, errors), now_ms + self._backoff_ms)
            else:
                addition.reply(errors)

        request = addition.request
        self._ask(operations.ADD_PARTITIONS, request.transactional_id, request, replied)
