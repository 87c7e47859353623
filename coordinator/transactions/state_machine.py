"""The transactional ids of one partition of `__transaction_state`. Counterpart in Kafka: `TransactionStateManager`."""

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from typing import Final

from coordinator.config.key import INT32_MAX
from coordinator.core.address_limits import Creations
from coordinator.core.decision import NOTHING, Decision, OperationContext
from coordinator.core.producer_ids import NO_PRODUCER_IDS, ProducerIds
from coordinator.core.stored_batch import StoredBatch
from coordinator.core.transactions.events import TransactionChanged
from coordinator.core.transactions.states import ONGOING, PREPARED
from coordinator.core.transactions.stored import StoredTransactions, records_of
from coordinator.core.transactions.transaction import Transaction
from coordinator.runtime.batch import QueuedOperation, RecordsTooLarge
from coordinator.runtime.interfaces import Store
from coordinator.runtime.slices import Steps
from coordinator.transactions.stream import TransactionReplay
from coordinator.wall_time import ONE_CLOCK, WallTime

BYTES_TO_END: Final = 64
"""The record of a prepared transaction is larger than that of the open one: it may name two more producer ids."""


class TransactionStateMachine:
    """Transactions by transactional id."""

    def __init__(
        self,
        producer_ids: ProducerIds = NO_PRODUCER_IDS,
        created: Creations | None = None,
        batch_bytes_max: Callable[[], int] = lambda: INT32_MAX,
        wall: WallTime = ONE_CLOCK,
    ) -> None:
        """`created` gets to know which transactional ids the clients of each address create.

        `batch_bytes_max` says how large a record batch of the log may be now.
        """
        self._producer_ids = producer_ids
        self._created = created
        self._batch_bytes_max = batch_bytes_max
        self._wall = wall
        self.transactions: dict[str, Transaction] = {}
        self.to_complete: list[Transaction] = []
        """Prepared transactions that are stored: their markers are to be written."""
        self.timed_out = 0
        """How many transactions were aborted because of their timeout, since the start of the node."""
        self.open: dict[str, None] = {}
        """The transactional ids whose transaction is open."""
        self._prepared: dict[str, Transaction] = {}
        """Prepared by operations of the batch that is not stored yet."""
        self._loading = StoredTransactions()
        self._rebuilding = StoredTransactions()

    # ------------------------------------------------------------------------------------------------------- operations

    @property
    def states(self) -> Mapping[str, Transaction]:
        return self.transactions

    def decide(self, queued: QueuedOperation) -> Decision:
        key = queued.key
        target = self.transactions if key is None else self.transactions.get(key)
        return queued.operation.decide(target, queued.request, queued.context)

    def decide_failed(self, queued: QueuedOperation, problem: Exception) -> Decision | None:
        return None

    def records(self, key: str, decision: Decision) -> list[StoredBatch]:
        records = records_of(decision.events, self._wall.step_ms)
        open_bytes_max = self._batch_bytes_max() - BYTES_TO_END
        for event, batch in zip(decision.events, records, strict=True):
            is_open = isinstance(event, TransactionChanged) and event.after.state is ONGOING
            if is_open and batch.size_bytes > open_bytes_max:
                raise RecordsTooLarge(
                    f"a transaction of {batch.size_bytes} bytes, at most {open_bytes_max} leave room for its end"
                )
        return records

    def apply(self, key: str, decision: Decision, now_ms: int) -> None:
        for event in decision.events:
            event.apply(self.transactions)
            if isinstance(event, TransactionChanged):
                self._note_open(event.after)
                if self._created is not None and event.client_host is not None:
                    self._created.add(key, event.client_host)
                if event.after.state in PREPARED:
                    self._prepared[key] = event.after
                self.timed_out += event.is_timed_out
            elif self._created is not None:
                self._created.remove(key)
        for effect in decision.effects:
            effect.apply(self._producer_ids, key, now_ms)

    def apply_in_steps(self, key: str, decision: Decision, now_ms: int) -> Generator[int, None, None]:
        """No decision about a transaction has much to apply."""
        yield 1
        self.apply(key, decision, now_ms)

    def _note_open(self, transaction: Transaction) -> None:
        if transaction.state is ONGOING:
            self.open[transaction.transactional_id] = None
        else:
            self.open.pop(transaction.transactional_id, None)

    def advance(self, key: str, context: OperationContext) -> Decision:
        return NOTHING

    def deadline_ms(self, key: str) -> int | None:
        """None: a transactional id has no timer of its own, timeouts are looked for from time to time."""
        return None

    def stored(self) -> None:
        self.to_complete.extend(self._prepared.values())
        self._prepared.clear()

    # ---------------------------------------------------------------------------------------------------------- loading

    def load(self, store: Store) -> Steps[None]:
        self._loading = StoredTransactions(step_ms=self._wall.step_ms)
        yield from store.replay(TransactionReplay(self._loading))

    @property
    def loaded(self) -> Mapping[str, Transaction]:
        return self._loading.transactions

    def activate(self, now_ms: int) -> Steps[None]:
        yield
        self.transactions, self._loading = self._loading.transactions, StoredTransactions()
        self.open = {key: None for key, transaction in self.transactions.items() if transaction.state is ONGOING}
        self.to_complete = [transaction for transaction in self.transactions.values() if transaction.state in PREPARED]

    def discard(self, key: str) -> Iterable[int]:
        self.transactions.pop(key, None)
        self.open.pop(key, None)
        # What was decided before is stored with the batch: it is sent again when the id was rebuilt.
        self._prepared.pop(key, None)
        return ()

    def start_rebuild(self, keys: Sequence[str]) -> None:
        self._rebuilding = StoredTransactions(frozenset(keys), self._wall.step_ms)

    def read_again(self, store: Store, from_offset: int) -> Steps[None]:
        return store.replay(TransactionReplay(self._rebuilding), from_offset)

    @property
    def rebuilt(self) -> Mapping[str, Transaction]:
        return self._rebuilding.transactions

    def serve(self, key: str, now_ms: int) -> None:
        transaction = self._rebuilding.transactions.get(key)
        if transaction is not None:
            self.transactions[key] = transaction
            self._note_open(transaction)
            if transaction.state in PREPARED:
                self._prepared[key] = transaction

    def end_rebuild(self) -> None:
        self._rebuilding = StoredTransactions()

    def unload(self) -> Iterable[int]:
        self.transactions, self._loading, self._rebuilding = {}, StoredTransactions(), StoredTransactions()
        self.to_complete, self._prepared, self.open = [], {}, {}
        return ()
