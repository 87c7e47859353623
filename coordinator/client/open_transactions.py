"""Which open transactions have a partition: whose they are, and how long they may stay open (KIP-664)."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from _wire.errors import ErrorCode
from _wire.messages.describe_transactions import DescribeTransactionsRequest
from _wire.messages.list_transactions import ListTransactionsRequest
from coordinator.client.cluster import Cluster, Partition
from coordinator.client.wire import WireConnection

OPEN_STATES: Final = ("Ongoing", "PrepareCommit", "PrepareAbort", "PrepareEpochFence")
"""The records of a transaction in these states are not read by read_committed (TransactionState)."""
DESCRIBED_MAX: Final = 200
"""Open transactions of each broker that are looked at."""


@dataclass(frozen=True, slots=True)
class OpenTransaction:
    """A transaction that is open. Times are wall-clock ms since the epoch; None: its coordinator does not tell it."""

    transactional_id: str
    started_ms: int | None
    timeout_ms: int

    @property
    def until_ms(self) -> int | None:
        """When its coordinator aborts it, unless it ends before."""
        return None if self.started_ms is None else self.started_ms + self.timeout_ms


def open_transactions(cluster: Cluster, requested: Iterable[Partition]) -> dict[Partition, OpenTransaction]:
    """The transaction that has been open for the longest time in each of these partitions, as far as one is known.

    Raises:
        ClientError: a broker cannot be reached or does not answer.
    """
    partitions = set(requested)
    found: dict[Partition, OpenTransaction] = {}
    if not partitions:
        return found
    for broker in cluster.brokers():
        for transaction, touched in _of_broker(broker):
            for tp in touched & partitions:
                other = found.get(tp)
                if other is None or (transaction.started_ms or 0) < (other.started_ms or 0):
                    found[tp] = transaction
    return found


def _of_broker(broker: WireConnection) -> list[tuple[OpenTransaction, set[Partition]]]:
    """Those that a broker coordinates, with their partitions; none where it does not tell them, or only to others."""
    if not (broker.supports(ListTransactionsRequest.API_KEY) and broker.supports(DescribeTransactionsRequest.API_KEY)):
        return []
    listed = broker.send_latest(ListTransactionsRequest(state_filters=list(OPEN_STATES)))
    ids = [transaction_state.transactional_id for transaction_state in listed.transaction_states][:DESCRIBED_MAX]
    if listed.error_code != ErrorCode.NONE or not ids:
        return []
    described = broker.send_latest(DescribeTransactionsRequest(transactional_ids=ids))
    return [
        (
            OpenTransaction(
                transaction_state.transactional_id,
                transaction_state.transaction_start_time_ms
                if transaction_state.transaction_start_time_ms >= 0
                else None,
                transaction_state.transaction_timeout_ms,
            ),
            {(topic.topic, partition) for topic in transaction_state.topics for partition in topic.partitions},
        )
        for transaction_state in described.transaction_states
        if transaction_state.error_code == ErrorCode.NONE and transaction_state.transaction_state in OPEN_STATES
    ]
