"""Transactions as records of `__transaction_state`, and as they are loaded."""

import pytest

from coordinator.core.topic_partition import TopicPartition
from coordinator.core.transactions.events import TransactionChanged
from coordinator.core.transactions.states import TransactionState
from coordinator.core.transactions.stored import StoredTransactions, records_of
from coordinator.core.transactions.transaction import NO_TIMESTAMP, Transaction

HOUR_MS = 3_600_000


def stored_and_loaded(transaction: Transaction, stored_step_ms: int, loaded_step_ms: int) -> Transaction:
    loaded = StoredTransactions(step_ms=loaded_step_ms)
    for batch in records_of([TransactionChanged(None, transaction)], stored_step_ms):
        loaded.apply(batch)
    return loaded.transactions[transaction.transactional_id]


@pytest.mark.parametrize("step_ms", [0, HOUR_MS, -HOUR_MS])
def test_records_have_the_time_of_the_wall_clock(step_ms):
    orders = TopicPartition("orders", 0)
    transaction = Transaction("t", 7, 0, 60_000, TransactionState.ONGOING, frozenset({orders}), 2_000_000, 1_000_000)
    assert stored_and_loaded(transaction, step_ms, step_ms) == transaction
    after_a_restart = stored_and_loaded(transaction, step_ms, 0)
    assert (after_a_restart.updated_ms, after_a_restart.started_ms) == (2_000_000 + step_ms, 1_000_000 + step_ms)


def test_no_timestamp_stays_none():
    transaction = Transaction("t", 7, 0, 60_000, TransactionState.EMPTY, updated_ms=HOUR_MS)
    assert stored_and_loaded(transaction, 5, 0).started_ms == NO_TIMESTAMP
