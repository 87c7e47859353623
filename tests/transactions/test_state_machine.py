"""When the markers of a transaction may be written."""

import msgspec

from coordinator.core.decision import Decision
from coordinator.core.topic_partition import TopicPartition
from coordinator.core.transactions.events import TransactionChanged
from coordinator.core.transactions.states import TransactionState
from coordinator.core.transactions.transaction import Transaction
from coordinator.transactions.state_machine import TransactionStateMachine


def test_the_markers_of_a_transaction_wait_until_its_outcome_is_stored():
    """An append may complete later, or never: a marker that was written before it could not be taken back."""
    machine = TransactionStateMachine()
    empty = Transaction("id", 5, 1, 60_000, TransactionState.EMPTY)
    ongoing = msgspec.structs.replace(
        empty, state=TransactionState.ONGOING, partitions=frozenset({TopicPartition("t", 0)}), started_ms=1
    )
    prepared = msgspec.structs.replace(ongoing, state=TransactionState.PREPARE_COMMIT)
    for before, after in ((None, empty), (empty, ongoing), (ongoing, prepared)):
        machine.apply("id", Decision((TransactionChanged(before, after),)), 1)
    assert machine.to_complete == []
    machine.stored()
    assert machine.to_complete == [prepared]
