"""The transactional ids of one partition of `__transaction_state`. Counterpart in Kafka: `TransactionStateManager`."""

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from typing import Any, Final, NamedTuple, cast

from coordinator.config.key import INT32_MAX
from coordinator.core.address_limits import Creations
from coordinator.core.causes import Cause
from coordinator.core.decision import NOTHING, Decision, OperationContext
from coordinator.core.producer_ids import NO_PRODUCER_IDS, ProducerIds
from coordinator.core.stored_batch import StoredBatch
from coordinator.core.transactions.events import TransactionChanged, TransactionEvent
from coordinator.core.transactions.states import ONGOING, PREPARED
from coordinator.core.transactions.stored import StoredTransactions, records_of
from coordinator.core.transactions.transaction import Transaction
from coordinator.runtime.batch import AuditWrite, Batch, QueuedOperation, RecordsTooLarge
from coordinator.runtime.interfaces import AuditRecord, Store
from coordinator.timers.wheel import TimerWheel
from coordinator.wall_time import ONE_CLOCK, WallTime

BYTES_TO_END: Final = 64
"""The record of a prepared transaction is larger than that of the open one: it may name two more producer ids."""


class WakeKey(NamedTuple):
    """The key of the timer at which a transactional id that failed is read again."""

    transactional_id: str


class TransactionStateMachine:
    """Transactions by transactional id."""

    def __init__(
        self,
        wheel: TimerWheel,
        created: Creations | None = None,
        batch_bytes_max: Callable[[], int] = lambda: INT32_MAX,
        wall: WallTime = ONE_CLOCK,
        producer_ids: ProducerIds = NO_PRODUCER_IDS,
    ) -> None:
        """`created` gets to know which transactional ids the clients of each address create.

        `batch_bytes_max` says how large a record batch of the log may be now.
        """
        self._batch_bytes_max = batch_bytes_max
        self._wall = wall
        self._producer_ids = producer_ids
        self._created = created
        self.transactions: dict[str, Transaction] = {}
        self.to_complete: list[Transaction] = []
        """Prepared transactions that are stored: their markers are to be written."""
        self.timed_out = 0
        """How many transactions were aborted because of their timeout, since the start of the node."""
        self.open: dict[str, None] = {}
        """The transactional ids whose transaction is open."""
        self._prepared: dict[str, Transaction] = {}
        """Prepared by operations of the batch that is not stored yet."""
        self._wheel = wheel
        self._wakes: dict[str, int] = {}
        self._loading = StoredTransactions()
        self._rebuild: StoredTransactions | None = None

    # ------------------------------------------------------------------------------------------------------- operations

    @property
    def key_count(self) -> int:
        return len(self.transactions)

    def decide(self, queued: QueuedOperation) -> Decision:
        key = queued.key
        target = self.transactions if key is None else self.transactions.get(key)
        return queued.operation.decide(target, queued.request, queued.context)

    def decide_too_large(self, queued: QueuedOperation) -> Decision | None:
        return None

    def records(self, key: str, decision: Decision) -> list[StoredBatch]:
        events = cast("tuple[TransactionEvent, ...]", decision.events)
        records = records_of(events, self._wall.step_ms)
        open_bytes_max = self._batch_bytes_max() - BYTES_TO_END
        for event, batch in zip(events, records, strict=True):
            is_open = isinstance(event, TransactionChanged) and event.after.state is ONGOING
            if is_open and batch.size_bytes > open_bytes_max:
                raise RecordsTooLarge(
                    f"a transaction of {batch.size_bytes} bytes, at most {open_bytes_max} leave room for its end"
                )
        return records

    def apply(self, key: str, decision: Decision, now_ms: int, batch: Batch) -> None:
        for event in cast("tuple[TransactionEvent, ...]", decision.events):
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
        batch.replies.extend(decision.replies)

    def _note_open(self, transaction: Transaction) -> None:
        if transaction.state is ONGOING:
            self.open[transaction.transactional_id] = None
        else:
            self.open.pop(transaction.transactional_id, None)

    def advance(self, key: str, context: OperationContext) -> Decision:
        return NOTHING

    def settled(self, key: str) -> None:
        """A transactional id has no timer of its own: timeouts are looked for from time to time."""

    def stored(self, batch: Batch) -> None:
        self.to_complete.extend(self._prepared.values())
        self._prepared.clear()

    # ---------------------------------------------------------------------------------------------------------- loading

    def start_loading(self) -> None:
        self._loading = StoredTransactions(step_ms=self._wall.step_ms)

    def load(self, store: Store) -> Iterator[None]:
        yield from store.replay(cast("Any", self._loading))

    def finish_loading(
        self, now_ms: int, store: Store, cause: Cause | None
    ) -> Generator[None, None, list[AuditRecord]]:
        yield
        return []

    def write_audit(self, audit_write: AuditWrite, now_ms: int) -> list[AuditRecord]:
        return []

    def activate(self, now_ms: int) -> Iterator[None]:
        yield
        self.transactions, self._loading = self._loading.transactions, StoredTransactions()
        self.open = {key: None for key, each in self.transactions.items() if each.state is ONGOING}
        self.to_complete = [each for each in self.transactions.values() if each.state in PREPARED]

    def discard(self, key: str, batch: Batch, audited: int) -> Iterable[int]:
        self.transactions.pop(key, None)
        self.open.pop(key, None)
        # What was decided before is stored with the batch: it is sent again when the id was rebuilt.
        self._prepared.pop(key, None)
        return ()

    def wake(self, key: str, at_ms: int | None) -> None:
        timer = self._wakes.pop(key, None)
        if timer is not None:
            self._wheel.cancel(timer)
        if at_ms is not None:
            self._wakes[key] = self._wheel.start(WakeKey(key), at_ms)

    def rebuild(self, keys: Sequence[str], store: Store) -> Iterator[None]:
        self._rebuild = StoredTransactions(frozenset(keys), self._wall.step_ms)
        yield from store.replay(cast("Any", self._rebuild))

    def serve(self, key: str, now_ms: int, batch: Batch) -> None:
        assert self._rebuild is not None, key
        transaction = self._rebuild.transactions.get(key)
        if transaction is not None:
            self.transactions[key] = transaction
            self._note_open(transaction)
            if transaction.state in PREPARED:
                self._prepared[key] = transaction

    def end_rebuild(self) -> None:
        self._rebuild = None

    def unload(self) -> Iterable[int]:
        for key in list(self._wakes):
            self.wake(key, None)
        self.transactions, self._loading, self._rebuild = {}, StoredTransactions(), None
        self.to_complete, self._prepared, self.open = [], {}, {}
        return ()
