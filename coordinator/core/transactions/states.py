"""The states of a transaction, and the one guard of their transitions (TransactionState.java)."""

from enum import IntEnum
from typing import Final


class TransactionState(IntEnum):
    """A state, by the number that `__transaction_state` stores."""

    EMPTY = 0
    """The transactional id has a producer, which has no transaction open.

    AddPartitionsToTxn opens one. EndTxn v5 may abort, which gives the producer a new epoch; it may not commit.
    """
    ONGOING = 1
    """Partitions belong to the transaction. EndTxn ends it, InitProducerId and the transaction timeout abort it."""
    PREPARE_COMMIT = 2
    """The transaction is committed: this is stored, and the markers are written to its partitions.

    AddPartitionsToTxn, EndTxn and InitProducerId are answered CONCURRENT_TRANSACTIONS until they are.
    """
    PREPARE_ABORT = 3
    """As PREPARE_COMMIT, for an abort."""
    COMPLETE_COMMIT = 4
    """All markers are written; otherwise as EMPTY. A repeated EndTxn is answered as the first one was."""
    COMPLETE_ABORT = 5
    """As COMPLETE_COMMIT, for an abort."""
    DEAD = 6
    """The transactional id is forgotten. It is never stored: a tombstone is."""
    PREPARE_EPOCH_FENCE = 7
    """Kafka is about to abort the transaction of a fenced producer. Here that is one step, so nobody is ever in it."""

    @property
    def kafka_name(self) -> str:
        """The name in DescribeTransactions and ListTransactions."""
        return "".join(word.capitalize() for word in self.name.split("_"))


# Reading a global takes a quarter of the time of an attribute of an enum class (CPython 3.11).
EMPTY: Final = TransactionState.EMPTY
ONGOING: Final = TransactionState.ONGOING
PREPARE_COMMIT: Final = TransactionState.PREPARE_COMMIT
PREPARE_ABORT: Final = TransactionState.PREPARE_ABORT
COMPLETE_COMMIT: Final = TransactionState.COMPLETE_COMMIT
COMPLETE_ABORT: Final = TransactionState.COMPLETE_ABORT

PREPARED: Final = frozenset({PREPARE_COMMIT, PREPARE_ABORT})
"""The markers are being written."""
IDLE: Final = frozenset({EMPTY, COMPLETE_COMMIT, COMPLETE_ABORT})
"""No transaction is open."""

VALID_PREVIOUS_STATES: Final = {
    EMPTY: frozenset({None, *IDLE}),
    ONGOING: frozenset({ONGOING, *IDLE}),
    PREPARE_COMMIT: frozenset({ONGOING}),
    PREPARE_ABORT: frozenset({ONGOING, *IDLE}),
    COMPLETE_COMMIT: frozenset({PREPARE_COMMIT}),
    COMPLETE_ABORT: frozenset({PREPARE_ABORT}),
}
"""State → the states before it; None: the transactional id was not known."""


def check_transition(before: TransactionState | None, after: TransactionState) -> None:
    """Check that a state may follow another.

    Raises:
        AssertionError: it may not, also under `python -O`.
    """
    if before not in VALID_PREVIOUS_STATES[after]:
        raise AssertionError(f"a transaction cannot go from {before and before.name} to {after.name}")
