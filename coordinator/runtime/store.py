"""The log behind a shard: a partition of `__group_audit` and one of `__consumer_offsets`."""

from collections.abc import Callable, Iterator

from _wire.errors import MalformedMessage
from _wire.records import build_batch, parse_records
from coordinator.core.stored import StoredRecord
from coordinator.log.errors import LogAppendError, RecordListTooLarge
from coordinator.log.partition_log import PartitionLog
from coordinator.runtime.shard import AuditRecord, StoreError


class LogStore:
    """Appends each batch to both logs. `grown` is told of every log that has got longer."""

    def __init__(
        self, offsets: PartitionLog, audit: PartitionLog, leader_epoch: int, grown: Callable[[PartitionLog], None]
    ) -> None:
        self._offsets = offsets
        self._audit = audit
        self._leader_epoch = leader_epoch
        self._grown = grown

    def append(self, audit: list[AuditRecord], stored: list[StoredRecord], now_ms: int) -> None:
        """Audit first: events may be told of a batch that then fails (they are voided at load), never the reverse.

        Raises StoreError when either log refuses; nothing of the batch then counts.
        """
        try:
            if audit:
                self._append(self._audit, build_batch(audit, timestamp_ms=now_ms), now_ms)
            if stored:
                batch = build_batch([(key, value, ()) for key, value in stored], timestamp_ms=now_ms)
                self._append(self._offsets, batch, now_ms)
        except (LogAppendError, RecordListTooLarge) as problem:
            raise StoreError(str(problem)) from problem

    def replay(self) -> Iterator[StoredRecord]:
        """The records of `__consumer_offsets`, in order. Raises StoreError when they cannot be read."""
        for key, value, _ in self._records(self._offsets):
            yield key, value

    def replay_audit(self) -> Iterator[AuditRecord]:
        """The records of the audit topic, in order. Raises StoreError when they cannot be read."""
        for key, value, headers in self._records(self._audit):
            yield key, value or b"", headers

    def _append(self, log: PartitionLog, batch: bytes, now_ms: int) -> None:
        log.append(bytearray(batch), self._leader_epoch, now_ms, trusted=True)
        self._grown(log)

    def _records(self, log: PartitionLog) -> Iterator[tuple[bytes, bytes | None, tuple[tuple[str, bytes | None], ...]]]:
        try:
            for header, batch in log.batches(log.log_start_offset):
                if not header.is_control:
                    for record in parse_records(batch):
                        yield record.key or b"", record.value, record.headers
        except (OSError, MalformedMessage) as problem:
            raise StoreError(f"{log.name}: {problem}") from problem
