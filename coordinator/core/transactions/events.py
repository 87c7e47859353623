"""The events of transactional ids. Nothing else changes them.

Counterpart in Kafka: `TxnTransitMetadata`, `TransactionMetadata.completeTransitionTo`.
"""

import msgspec

from coordinator.core.transactions.states import check_transition
from coordinator.core.transactions.transaction import Transaction

Transactions = dict[str, Transaction]
"""Transactional id → what is known of it."""


class TransactionChanged(msgspec.Struct, frozen=True):
    """A transactional id is now as `after` says. It was not known if `before` is None."""

    before: Transaction | None
    after: Transaction
    is_timed_out: bool = False
    """Whether the transaction is aborted because of its timeout."""
    client_host: str | None = None
    """The address of the client that used the transactional id first; None in all later changes."""

    @property
    def key(self) -> str:
        """The transactional id."""
        return self.after.transactional_id

    def apply(self, transactions: Transactions) -> None:
        """Change the transactional id.

        Raises:
            AssertionError: the transition is not valid, or the epoch goes back.
        """
        before, after = self.before, self.after
        if transactions.get(after.transactional_id) is not before:
            raise AssertionError(f"{after.transactional_id} was decided about in another state")
        check_transition(None if before is None else before.state, after.state)
        if before is not None and before.producer_id == after.producer_id and after.epoch < before.epoch:
            raise AssertionError(f"the epoch of {after.transactional_id} goes back: {before.epoch}, {after.epoch}")
        transactions[after.transactional_id] = after


class TransactionalIdRemoved(msgspec.Struct, frozen=True):
    """A transactional id was not used for `transactional.id.expiration.ms`."""

    transactional_id: str

    @property
    def key(self) -> str:
        """The transactional id."""
        return self.transactional_id

    def apply(self, transactions: Transactions) -> None:
        del transactions[self.transactional_id]


TransactionEvent = TransactionChanged | TransactionalIdRemoved
