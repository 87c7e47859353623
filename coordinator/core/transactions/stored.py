"""Events → records of `__transaction_state`, and records → transactions. The records are Kafka's own (TransactionLog).

A record holds all that is known of a transactional id, so compaction may remove all but its last one.
"""

from collections.abc import Container, Iterable
from typing import Final

from _wire.embedded import decode_versioned, encode_versioned, prefix_of
from _wire.errors import MalformedMessage
from _wire.messages.transaction_log_record import PartitionsSchema, TransactionLogKey, TransactionLogValue
from coordinator.core.event import Event
from coordinator.core.stored_batch import StoredBatch
from coordinator.core.topic_partition import TopicPartition
from coordinator.core.transactions.events import TransactionChanged
from coordinator.core.transactions.states import EMPTY, TransactionState
from coordinator.core.transactions.transaction import NO_TIMESTAMP, Transaction

KEY_TYPE: Final = 0
VALUE_VERSION: Final = 1
"""The flexible one, which Kafka writes with `transaction.version` 1 and later."""
STORED_STATES: Final = range(6)


def records_of(events: Iterable[Event], step_ms: int = 0) -> list[StoredBatch]:
    """What to store for the events of a decision: a batch each, as on Kafka.

    Transactions have the time of deadlines; `step_ms` is added to make it that of the wall clock.
    """
    return [StoredBatch(None, [(_key(event.key), _value(event, step_ms))]) for event in events]


def moved_by(timestamp_ms: int, step_ms: int) -> int:
    """A timestamp in the time of the other clock; there may be none."""
    return timestamp_ms if timestamp_ms == NO_TIMESTAMP else timestamp_ms + step_ms


def _key(transactional_id: str) -> bytes:
    return encode_versioned(TransactionLogKey(transactional_id=transactional_id), KEY_TYPE)


def _value(event: Event, step_ms: int) -> bytes | None:
    if not isinstance(event, TransactionChanged):
        return None
    transaction = event.after
    by_topic: dict[str, list[int]] = {}
    for topic, partition in sorted(transaction.partitions):
        by_topic.setdefault(topic, []).append(partition)
    partitions = [PartitionsSchema(topic=topic, partition_ids=ids) for topic, ids in by_topic.items()]
    value = TransactionLogValue(
        producer_id=transaction.producer_id,
        previous_producer_id=transaction.previous_producer_id,
        next_producer_id=transaction.next_producer_id,
        client_transaction_version=transaction.client_version,
        producer_epoch=transaction.epoch,
        transaction_timeout_ms=transaction.timeout_ms,
        transaction_status=transaction.state,
        transaction_partitions=None if transaction.state is EMPTY else partitions,
        transaction_last_update_timestamp_ms=moved_by(transaction.updated_ms, step_ms),
        transaction_start_timestamp_ms=moved_by(transaction.started_ms, step_ms),
    )
    return encode_versioned(value, VALUE_VERSION)


class StoredTransactions:
    """The transactions of one partition of `__transaction_state`, as its records describe them."""

    def __init__(self, only: Container[str] | None = None, step_ms: int = 0) -> None:
        """`only` are the transactional ids whose records count; None: all. `step_ms` is that of `records_of`."""
        self._step_ms = step_ms
        self.transactions: dict[str, Transaction] = {}
        self._only = only

    def apply(self, stored: StoredBatch) -> None:
        """Apply what was appended next. Keys of types that this coordinator does not know are skipped, as on Kafka.

        Raises:
            MalformedMessage: a record of a known type cannot be read.
        """
        for key, value in stored.records:
            if prefix_of(key) != KEY_TYPE:
                continue
            transactional_id = decode_versioned(TransactionLogKey, key).transactional_id
            if self._only is not None and transactional_id not in self._only:
                continue
            if value is None:
                self.transactions.pop(transactional_id, None)
            else:
                read = decode_versioned(TransactionLogValue, value)
                self.transactions[transactional_id] = load_transaction(transactional_id, read, self._step_ms)


def load_transaction(transactional_id: str, value: TransactionLogValue, step_ms: int = 0) -> Transaction:
    """The transactional id that a record describes. `step_ms` is that of `records_of`.

    Raises:
        MalformedMessage: its state is none that is stored.
    """
    if value.transaction_status not in STORED_STATES:
        why = f"state {value.transaction_status} of {transactional_id!r} is never stored"
        raise MalformedMessage("TransactionLogValue", VALUE_VERSION, "transaction_status", 0, why)
    return Transaction(
        transactional_id,
        value.producer_id,
        value.producer_epoch,
        value.transaction_timeout_ms,
        TransactionState(value.transaction_status),
        frozenset(
            TopicPartition(transaction_partition.topic, partition)
            for transaction_partition in value.transaction_partitions or ()
            for partition in transaction_partition.partition_ids
        ),
        moved_by(value.transaction_last_update_timestamp_ms, -step_ms),
        moved_by(value.transaction_start_timestamp_ms, -step_ms),
        previous_producer_id=value.previous_producer_id,
        next_producer_id=value.next_producer_id,
        client_version=value.client_transaction_version,
    )
