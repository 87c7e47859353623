"""The log of a shard of the transaction coordinator: a partition of `__transaction_state`.

Counterpart in Kafka: the appends and the loading of `TransactionStateManager`.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from _wire.errors import MalformedMessage
from _wire.records import build_batch, parse_records
from coordinator.core.stored import Stored, StoredRecord
from coordinator.core.stored_batch import StoredBatch
from coordinator.log.errors import LogAppendError, RecordListTooLarge
from coordinator.log.partition_log import PartitionLog
from coordinator.log.segments.segment import PrebuiltBatch
from coordinator.runtime.interfaces import AuditRecord, StoreError
from coordinator.wall_time import ONE_CLOCK, WallTime

WhenDurable = Callable[[Callable[[None], None]], None]
"""Calls back when all that is appended is on stable storage."""


class TransactionStore:
    """Appends records one per batch, and calls `appended` with the log."""

    def __init__(
        self,
        log: PartitionLog,
        leader_epoch: int,
        appended: Callable[[PartitionLog], None],
        load_bytes: int,
        when_durable: WhenDurable | None = None,
        is_disk_failure: Callable[[PartitionLog, Exception], bool] = lambda log, problem: False,
        wall: WallTime = ONE_CLOCK,
    ) -> None:
        """A replay reads `load_bytes` at a time.

        `is_disk_failure` gets each append that failed, and says whether the log directory has failed.

        With `when_durable`, a batch counts when that calls back (`log.flush.policy`), else as soon as it is written.
        """
        self._when_durable = when_durable
        self._is_disk_failure = is_disk_failure
        self._wall = wall
        self._log = log
        self._leader_epoch = leader_epoch
        self._appended = appended
        self._load_bytes = load_bytes

    @property
    def batch_bytes_max(self) -> int:
        """`max.message.bytes` of `__transaction_state`, or the size of a segment if that is smaller."""
        return min(self._log.config.max_message_bytes, self._log.config.segment_bytes)

    def append(
        self,
        audit: list[AuditRecord],
        stored: Sequence[Stored],
        now_ms: int,
        completed: Callable[[StoreError | None], None],
    ) -> None:
        """Append at once: the log is on this node. Transactions have no audit."""
        problem: StoreError | None = None
        at_ms = now_ms + self._wall.step_ms
        built: list[PrebuiltBatch] = []
        offset = self._log.log_end_offset
        try:
            for each in stored:
                assert isinstance(each, StoredBatch), each
                for record in each.records:
                    built.append(PrebuiltBatch(self._build(record, offset, at_ms), offset))
                    offset += 1
            self._write(built, at_ms)
        except (LogAppendError, RecordListTooLarge) as error:
            problem = StoreError(str(error), is_told=self._is_disk_failure(self._log, error))
        if self._when_durable is None or problem is not None:
            completed(problem)
        else:
            self._when_durable(completed)

    def _build(self, record: tuple[bytes, bytes | None], offset: int, at_ms: int) -> bytes:
        return build_batch([record], base_offset=offset, timestamp_ms=at_ms, partition_leader_epoch=self._leader_epoch)

    def _write(self, batches: list[PrebuiltBatch], at_ms: int) -> None:
        """In as few pieces as fit into a segment."""
        first, size_bytes = 0, 0
        for position, batch in enumerate(batches):
            size_bytes += len(batch.data)
            if size_bytes > self._log.config.segment_bytes and position > first:
                self._log.append_prebuilt(batches[first:position], at_ms)
                first, size_bytes = position, len(batch.data)
        self._log.append_prebuilt(batches[first:], at_ms)
        self._appended(self._log)

    def replay(self, transactions: Any, from_offset: int = 0) -> Iterator[None]:
        """Apply the batches from an offset on to `transactions` (StoredTransactions), in order, in steps.

        Raises:
            StoreError: the log cannot be read.
        """
        log = self._log
        try:
            for header, data in log.batches(max(from_offset, log.log_start_offset), self._load_bytes):
                if not header.is_control:
                    records: list[StoredRecord] = [(record.key or b"", record.value) for record in parse_records(data)]
                    transactions.apply(StoredBatch(None, records))
                yield
        except (OSError, MalformedMessage) as problem:
            raise StoreError(f"{log.name}: {problem}") from problem

    @property
    def offsets_end_offset(self) -> int:
        return self._log.log_end_offset

    # There is no audit of transactions.

    def audit_replay_offsets(self) -> Sequence[int]:
        return ()

    def replay_audit(self, from_offset: int) -> Iterator[Sequence[AuditRecord]]:
        return iter(())

    @property
    def audit_end_offset(self) -> int:
        return 0

    @property
    def audit_retention_ms(self) -> int:
        return -1

    held_audit: Sequence[AuditRecord] = ()

    def write_held_audit(self, now_ms: int) -> None:
        return

    def drop_held_audit(self) -> None:
        return

    def note_audit_checkpoint(self, offset: int) -> bool:
        return False
