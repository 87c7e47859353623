"""The producers of a log: each batch is appended once and in order, transactions are open until their marker (KIP-98).

Counterpart in Kafka: `ProducerStateManager`, `ProducerAppendInfo`, `VerificationStateEntry`.
"""

from collections.abc import Iterable, Iterator
from typing import Final

import msgspec

from _wire.errors import ErrorCode
from _wire.records import BatchHeader
from coordinator.broker.data.producer_shares import ProducerShares
from coordinator.config.settings import Config
from coordinator.config.transaction_keys import PRODUCER_ID_EXPIRATION_MS, PRODUCER_IDS_PER_PARTITION_MAX
from coordinator.log.segments.producer_snapshot import SnapshotEntry
from coordinator.log.segments.transaction_index import AbortedTransaction

NO_PRODUCER_ID: Final = -1
NO_PRODUCER_EPOCH: Final = -1
NO_OFFSET: Final = -1
NO_SEQUENCE: Final = -1
NO_COORDINATOR_EPOCH: Final = -1
SEQUENCE_MASK: Final = 0x7FFFFFFF
REFUSED_REMEMBERED: Final = 100
"""Producers per partition whose last batch was refused because it is in no transaction."""
BATCHES_REMEMBERED: Final = 5
"""A producer has at most five requests in flight, so it never retries an older batch (KIP-98)."""
EPOCH_BUMP_VERSION: Final = 2
"""From this transaction version on, each transaction has an epoch of its own (KIP-890)."""


def has_producer_id(batch: BatchHeader) -> bool:
    """Whether an idempotent producer wrote the batch. As in Kafka, no negative id is one."""
    return batch.producer_id > NO_PRODUCER_ID


class ProducerLimits(msgspec.Struct):
    """How many producers one partition remembers, and how long in ms after the last timestamp of their batches."""

    expiration_ms: int
    producers_max: int

    @classmethod
    def of(cls, config: Config) -> "ProducerLimits":
        return cls(config[PRODUCER_ID_EXPIRATION_MS], config[PRODUCER_IDS_PER_PARTITION_MAX])


class AppendedBatch(msgspec.Struct):
    """A batch that is in the log. Nothing changes it."""

    base_sequence: int
    last_sequence: int
    base_offset: int

    @property
    def last_offset(self) -> int:
        """Each offset has its sequence, which wraps from 2^31 - 1 to 0."""
        return self.base_offset + ((self.last_sequence - self.base_sequence) & SEQUENCE_MASK)


class ProducerState(msgspec.Struct):
    """The epoch of one producer, the greatest timestamp of its last batch, and its last batches, oldest first.

    It has no batches if a marker has raised its epoch since the last one. `first_offset` is where its open transaction
    begins. `coordinator_epoch` is that of its last marker, -1 without any.

    Nothing changes it, so that a snapshot may be encoded while the producers go on.
    """

    epoch: int
    last_timestamp_ms: int
    batches: tuple[AppendedBatch, ...]
    first_offset: int | None = None
    coordinator_epoch: int = NO_COORDINATOR_EPOCH


class Marker(msgspec.Struct, frozen=True):
    """The end of a transaction, as it is to be written to a partition (WriteTxnMarkers)."""

    producer_id: int
    producer_epoch: int
    committed: bool
    coordinator_epoch: int
    transaction_version: int

    @property
    def is_of_producer(self) -> bool:
        """Whether the producer id and epoch may be those of a producer.

        Kafka fails to build another marker (`MemoryRecords.withEndTransactionMarker`): UNKNOWN_SERVER_ERROR.
        """
        return self.producer_id >= 0 and self.producer_epoch >= 0


class Verification:
    """The transaction coordinator was asked whether a partition is part of a transaction.

    It is good for one transaction: the marker of this transaction makes it void, even if the answer was yes. A producer
    of KIP-890 may ask before the marker of its last transaction is written; Kafka takes that one for its marker too.
    """

    __slots__ = ("epoch", "lowest_sequence", "starts_at_zero", "waiting")

    def __init__(self, batch: BatchHeader, starts_at_zero: bool) -> None:
        """`starts_at_zero`: a producer that the partition does not know has to begin with sequence 0 (KIP-890)."""
        self.epoch = batch.producer_epoch
        self.lowest_sequence = batch.base_sequence
        """Of the batches of that epoch that were asked about: no later one may be the first that is appended."""
        self.starts_at_zero = starts_at_zero
        self.waiting = 0
        """How many batches wait for the answer."""

    def add(self, batch: BatchHeader) -> None:
        """Another batch waits for the answer (`VerificationStateEntry.maybeUpdateLowestSequenceAndEpoch`)."""
        self.waiting += 1
        if batch.producer_epoch > self.epoch:
            self.epoch, self.lowest_sequence = batch.producer_epoch, batch.base_sequence
        elif batch.producer_epoch == self.epoch:
            self.lowest_sequence = min(self.lowest_sequence, batch.base_sequence)


class OpenTransaction(msgspec.Struct, frozen=True):
    """Where an open transaction begins, and how many bytes had been appended to the log before it."""

    first_offset: int
    appended_bytes: int


class ProducerStates:
    """The states of the producers of one partition."""

    def __init__(self, limits: ProducerLimits) -> None:
        self._limits = limits
        self._producers: dict[int, ProducerState] = {}
        self._shares = ProducerShares()
        self.open: dict[int, OpenTransaction] = {}
        """Producer id → its open transaction, in the order of their first offsets."""
        self._verifications: dict[int, Verification] = {}
        self._refused: dict[int, None] = {}
        """The producers of `_verifications` that no batch waits for and whose last answer was no, oldest first."""
        self.next_offset = 0
        """The offset of the log up to which the states are known."""

    def __len__(self) -> int:
        return len(self._producers)

    @property
    def first_unstable_offset(self) -> int | None:
        """Where the first open transaction begins; None: none is open."""
        return next(iter(self.open.values())).first_offset if self.open else None

    @property
    def oldest_transaction_ms(self) -> int | None:
        """The timestamp of the last batch of the transaction that has been open for longest; None: none is open.

        As Kafka's `ProducerStateManager.hasLateTransaction` looks at it.
        """
        return self._producers[next(iter(self.open))].last_timestamp_ms if self.open else None

    # ---------------------------------------------------------------------------------------------------- data batches

    def check(self, batch: BatchHeader, verification: Verification | None = None) -> ErrorCode | AppendedBatch:
        """Check the producer epoch and the sequence numbers of a batch before it is appended.

        Of a producer that is not known any sequence is accepted: its state may have expired. The first batch of a
        transaction needs the `verification` that was begun for it (KIP-890).

        Returns:
            NONE if the batch may be appended; the appended batch if this one is a duplicate of it;
            INVALID_PRODUCER_EPOCH for a fenced producer; OUT_OF_ORDER_SEQUENCE_NUMBER if a batch is missing before it;
            INVALID_TXN_STATE if it is in no open transaction, or not transactional while there is one.
        """
        producer_id = batch.producer_id
        producer = self._producers.get(producer_id)
        epoch = NO_PRODUCER_EPOCH if producer is None else producer.epoch
        if batch.producer_epoch < epoch:
            return ErrorCode.INVALID_PRODUCER_EPOCH
        if producer is not None and batch.producer_epoch == epoch:
            base_sequence = batch.base_sequence
            for appended in producer.batches:
                if appended.base_sequence == base_sequence and appended.last_sequence == batch.last_sequence:
                    return appended
        if batch.is_transactional and not self.is_open(producer_id, batch.producer_epoch):
            begun = self._verifications.get(producer_id)
            if begun is None or begun is not verification:
                return ErrorCode.INVALID_TXN_STATE
        if (begun := self._verifications.get(producer_id)) is not None:
            is_unknown = producer is None and begun.starts_at_zero and batch.base_sequence != 0
            # As `ProducerAppendInfo.checkSequence`, also for a batch that is not transactional.
            if is_unknown or batch.base_sequence > begun.lowest_sequence:
                return ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
        if producer is None:
            return ErrorCode.NONE
        if batch.producer_epoch > epoch:
            if batch.base_sequence != 0 and epoch != NO_PRODUCER_EPOCH:
                return ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
        else:
            last = producer.batches[-1].last_sequence if producer.batches else NO_SEQUENCE
            if batch.base_sequence != (last + 1) & SEQUENCE_MASK:
                return ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
        if producer.first_offset is not None and not batch.is_transactional:
            return ErrorCode.INVALID_TXN_STATE
        return ErrorCode.NONE

    def update(self, batch: BatchHeader, appended_bytes: int = 0, address: str = "") -> None:
        """Update the state of the producer after its batch was appended.

        `appended_bytes` had been appended to the log before; `address` is that of the client. If there are more
        producers than are allowed, forget one that has no transaction open (`ProducerShares`).
        """
        self.next_offset = batch.last_offset + 1
        producer_id, base_offset = batch.producer_id, batch.base_offset
        if producer_id <= NO_PRODUCER_ID or batch.is_control:
            return
        appended = AppendedBatch(batch.base_sequence, batch.last_sequence, base_offset)
        producer = self._producers.get(producer_id)
        first_offset = None if producer is None else producer.first_offset
        # A batch whose records compaction has removed is in a transaction that has ended: its marker may be gone, too.
        if batch.is_transactional and first_offset is None and batch.record_count:
            first_offset = base_offset
            self.open[producer_id] = OpenTransaction(base_offset, appended_bytes)
            self._forget_verification(producer_id)
        batches: tuple[AppendedBatch, ...] = (appended,)
        coordinator_epoch = NO_COORDINATOR_EPOCH
        if producer is not None:
            coordinator_epoch = producer.coordinator_epoch
            if producer.epoch == batch.producer_epoch:
                batches = (*producer.batches[1 - BATCHES_REMEMBERED :], appended)
        state = ProducerState(batch.producer_epoch, batch.max_timestamp_ms, batches, first_offset, coordinator_epoch)
        self._put(producer_id, state, address)

    def _put(self, producer_id: int, state: ProducerState, address: str = "") -> None:
        is_present = producer_id in self._producers
        self._producers[producer_id] = state
        if is_present:
            self._shares.wrote(producer_id)
            return
        self._shares.add(producer_id, address)
        if len(self._producers) > self._limits.producers_max:
            forgotten = self._shares.first_to_forget(producer_id, self.open)
            if forgotten is not None:
                self._remove(forgotten)

    def _remove(self, producer_id: int) -> None:
        del self._producers[producer_id]
        self._shares.remove(producer_id)

    # ---------------------------------------------------------------------------------------------------- transactions

    def is_open(self, producer_id: int, producer_epoch: int) -> bool:
        """Whether the producer has a transaction open in this partition at that epoch."""
        return producer_id in self.open and self._producers[producer_id].epoch == producer_epoch

    def is_fenced(self, batch: BatchHeader) -> bool:
        """Whether the partition knows a newer epoch of the producer."""
        producer = self._producers.get(batch.producer_id)
        return producer is not None and batch.producer_epoch < producer.epoch

    def begin_verification(self, batch: BatchHeader, starts_at_zero: bool) -> Verification:
        """Remember that the transaction coordinator is being asked about a batch; `end_verification` has to follow."""
        begun = self._verifications.get(batch.producer_id)
        if begun is None:
            begun = self._verifications[batch.producer_id] = Verification(batch, starts_at_zero)
        begun.add(batch)
        self._refused.pop(batch.producer_id, None)
        return begun

    def end_verification(self, producer_id: int, verification: Verification, *, is_verified: bool) -> None:
        """The answer is there. Of what was refused, only the newest is remembered: anybody may ask for any producer id.

        It is remembered so that the transaction does not begin with a batch that was sent after the refused one.
        """
        verification.waiting -= 1
        is_unused = not is_verified and verification.waiting == 0
        if is_unused and self._verifications.get(producer_id) is verification:
            self._refused[producer_id] = None
            if len(self._refused) > REFUSED_REMEMBERED:
                self._forget_verification(next(iter(self._refused)))

    def _forget_verification(self, producer_id: int) -> None:
        self._verifications.pop(producer_id, None)
        self._refused.pop(producer_id, None)

    def check_own_marker(self, marker: Marker) -> ErrorCode:
        """Check a marker of the transaction coordinator of this node before it is written.

        This coordinator knows the epoch of the producer: what anybody else noted in the partition is no reason to leave
        records without their marker.

        Returns:
            INVALID_PRODUCER_EPOCH if a later transaction of the producer is open, so this one has ended; else NONE.
        """
        producer = self._producers.get(marker.producer_id)
        if producer is None or producer.first_offset is None:
            return ErrorCode.NONE
        has_epoch_of_its_own = marker.transaction_version >= EPOCH_BUMP_VERSION
        first_later_epoch = marker.producer_epoch + (0 if has_epoch_of_its_own else 1)
        return ErrorCode.INVALID_PRODUCER_EPOCH if producer.epoch >= first_later_epoch else ErrorCode.NONE

    def check_marker(self, marker: Marker) -> ErrorCode:
        """Check a marker that a client sent, before it is written.

        Returns:
            INVALID_PRODUCER_EPOCH if it is of an older transaction than the producer's last one;
            TRANSACTION_COORDINATOR_FENCED if an older coordinator sent it; else NONE.
        """
        producer = self._producers.get(marker.producer_id)
        if producer is None:
            return ErrorCode.NONE
        if marker.producer_epoch < producer.epoch:
            return ErrorCode.INVALID_PRODUCER_EPOCH
        is_repeated = marker.producer_epoch == producer.epoch
        if marker.transaction_version >= EPOCH_BUMP_VERSION and is_repeated and producer.first_offset is not None:
            # The epoch of the transaction that is open: the marker ends the one before.
            return ErrorCode.INVALID_PRODUCER_EPOCH
        if marker.coordinator_epoch < producer.coordinator_epoch:
            return ErrorCode.TRANSACTION_COORDINATOR_FENCED
        return ErrorCode.NONE

    def void_verification(self, marker: Marker) -> None:
        """A marker is written: what was asked before about its transaction does not count any more.

        From transaction version 2 on the epoch of a marker is that of the producer's next transaction.
        """
        begun = self._verifications.get(marker.producer_id)
        is_of_next = begun is not None and begun.epoch >= marker.producer_epoch
        if marker.transaction_version < EPOCH_BUMP_VERSION or not is_of_next:
            self._forget_verification(marker.producer_id)

    def end_transaction(
        self, producer_id: int, producer_epoch: int, committed: bool, coordinator_epoch: int, offset: int, at_ms: int
    ) -> AbortedTransaction | None:
        """Update the state after a marker was appended at `offset`; return the transaction if it was aborted.

        A marker without a transaction leaves a trace only in the epochs.
        """
        self.next_offset = offset + 1
        producer = self._producers.get(producer_id)
        batches = producer.batches if producer is not None and producer.epoch == producer_epoch else ()
        was_open = self.open.pop(producer_id, None)
        self._put(producer_id, ProducerState(producer_epoch, at_ms, batches, None, coordinator_epoch))
        if was_open is None or committed:
            return None
        first_unstable = self.first_unstable_offset
        stable = offset + 1 if first_unstable is None else first_unstable
        return AbortedTransaction(producer_id, was_open.first_offset, offset, stable)

    def stable_bytes(self, appended_bytes: int) -> int:
        """How many of the bytes appended to the log lie before the last stable offset."""
        return next(iter(self.open.values())).appended_bytes if self.open else appended_bytes

    # ------------------------------------------------------------------------------------------------- time, snapshots

    def remove_expired(self, now_ms: int) -> None:
        """Forget the producers whose last batch has a timestamp of `expiration_ms` ago or earlier.

        One with an open transaction stays.
        """
        latest_ms = now_ms - self._limits.expiration_ms
        for producer_id in [
            producer_id
            for producer_id, state in self._producers.items()
            if state.last_timestamp_ms <= latest_ms and state.first_offset is None
        ]:
            self._remove(producer_id)
            self._forget_verification(producer_id)

    def snapshot(self) -> list[tuple[int, ProducerState]]:
        """The producers as they are now; to be encoded by `snapshot_entries`."""
        return list(self._producers.items())

    def restore(self, entries: Iterable[SnapshotEntry], offset: int, now_ms: int) -> None:
        """Begin with a snapshot of the state before `offset`. Expired producers are left out."""
        self.next_offset = offset
        latest_ms = now_ms - self._limits.expiration_ms
        open_at: list[tuple[int, int]] = []
        for entry in sorted(entries, key=lambda entry: entry.timestamp_ms):
            is_open = entry.first_offset >= 0
            if not is_open and entry.timestamp_ms <= latest_ms:
                continue
            batches: tuple[AppendedBatch, ...] = ()
            if entry.last_sequence >= 0:
                first_sequence = (entry.last_sequence - entry.offset_delta) & SEQUENCE_MASK
                first = entry.last_offset - entry.offset_delta
                batches = (AppendedBatch(first_sequence, entry.last_sequence, first),)
            first_offset = entry.first_offset if is_open else None
            state = ProducerState(entry.epoch, entry.timestamp_ms, batches, first_offset, entry.coordinator_epoch)
            self._put(entry.producer_id, state)
            if is_open:
                open_at.append((entry.first_offset, entry.producer_id))
        for first_offset, producer_id in sorted(open_at):
            self.open[producer_id] = OpenTransaction(first_offset, 0)

    def remember(self, batch: BatchHeader) -> None:
        """Add one of the last batches of a producer to those that `restore` knows; called in the order of the log."""
        producer = self._producers.get(batch.producer_id)
        if producer is None or not producer.batches or producer.epoch != batch.producer_epoch or batch.is_control:
            return
        *earlier, last = producer.batches
        if batch.base_offset < last.base_offset:
            appended = AppendedBatch(batch.base_sequence, batch.last_sequence, batch.base_offset)
            batches = (*earlier[2 - BATCHES_REMEMBERED :], appended, last)
            self._producers[batch.producer_id] = msgspec.structs.replace(producer, batches=batches)


def snapshot_entries(producers: Iterable[tuple[int, ProducerState]]) -> Iterator[SnapshotEntry]:
    """What a snapshot stores of producers: of their batches the last one only."""
    for producer_id, state in producers:
        last = state.batches[-1] if state.batches else None
        yield SnapshotEntry(
            producer_id,
            state.epoch,
            NO_SEQUENCE if last is None else last.last_sequence,
            NO_OFFSET if last is None else last.last_offset,
            0 if last is None else last.last_offset - last.base_offset,
            state.last_timestamp_ms,
            state.coordinator_epoch,
            NO_OFFSET if state.first_offset is None else state.first_offset,
        )
