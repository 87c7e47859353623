"""Adds the partitions of a Produce to its transaction, and asks again while the transaction before it ends (KIP-890).

A client of KIP-890 goes on to its next transaction as soon as EndTxn is answered, perhaps before the last marker is
written. To reject its Produce would cost more than to wait (`ReplicaManager.handleProduceAppend`).
"""

from collections.abc import Callable
from functools import partial

from _wire.errors import ErrorCode
from coordinator.config.settings import Config
from coordinator.config.transaction_keys import (
    ADD_PARTITIONS_TO_TXN_RETRY_BACKOFF_MAX_MS,
    ADD_PARTITIONS_TO_TXN_RETRY_BACKOFF_MS,
)
from coordinator.core.transactions.partitions import PartitionErrors, PartitionsRequest
from coordinator.runtime.delays import Delays
from coordinator.runtime.slices import Steps, awaited

AddPartitions = Callable[[PartitionsRequest, Callable[[PartitionErrors], None]], None]
"""`TransactionCoordinator.add_partitions`."""


class PartitionAdder:
    """Asks the transaction coordinator, for `add.partitions.to.txn.retry.backoff.max.ms` at most."""

    def __init__(
        self, add_partitions: AddPartitions, delays: Delays, now_ms: Callable[[], int], config: Config
    ) -> None:
        self._add_partitions = add_partitions
        self._delays = delays
        self._now_ms = now_ms
        self._backoff_ms = config[ADD_PARTITIONS_TO_TXN_RETRY_BACKOFF_MS]
        self._backoff_max_ms = config[ADD_PARTITIONS_TO_TXN_RETRY_BACKOFF_MAX_MS]

    def add(self, request: PartitionsRequest) -> Steps[PartitionErrors]:
        until_ms = self._now_ms() + self._backoff_max_ms
        while True:
            errors: PartitionErrors = yield from awaited(partial(self._add_partitions, request))
            now_ms = self._now_ms()
            if ErrorCode.CONCURRENT_TRANSACTIONS not in errors.values() or now_ms >= until_ms:
                return errors
            yield from self._delays.until(now_ms + self._backoff_ms)
