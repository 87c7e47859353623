"""The logs of a shard: a partition of `__group_audit` and one of `__consumer_offsets`.

Counterpart in Kafka: `PartitionWriter` and `CoordinatorLoaderImpl`.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from _wire.control_records import EndTxnMarker
from _wire.errors import MalformedMessage
from _wire.records import BatchHeader, Record, build_batch, parse_records
from coordinator.audit.chain import FIRST, chained, record_hash
from coordinator.core.groups.batch_replay import BatchReplay
from coordinator.core.groups.stored import StoredGroups
from coordinator.core.stored import Producer, Stored, StoredRecord, TransactionMarker
from coordinator.groups.audit_checkpoints import AuditCheckpoints
from coordinator.log.errors import LogAppendError, RecordListTooLarge
from coordinator.log.partition_log import REPLAY_BYTES, PartitionLog
from coordinator.log.segments.segment import PrebuiltBatch
from coordinator.runtime.interfaces import AppendMeter, AuditRecord, StoreError
from coordinator.wall_time import ONE_CLOCK, WallTime

NO_PRODUCER: Final = Producer(-1, -1)

REPLAYED_AT_ONCE: Final = 500
"""Records of `__consumer_offsets` in one step of a replay: 0.2 ms if they are committed offsets."""
HELD_MAX: Final = 100
"""Fewer audit records than this may be held back. As many compress well without others."""
COMPRESSED_BYTES_MIN: Final = 1024
"""A single audit event below it is not compressed: that saves a fifth of it. Two events have most of it in common."""


class LogStore:
    """Appends each batch to both logs, and calls `appended` with each log that it appended to."""

    def __init__(
        self,
        offsets: PartitionLog,
        audit: PartitionLog,
        leader_epoch: int,
        appended: Callable[[PartitionLog], None],
        compression: str = "none",
        load_bytes: int = REPLAY_BYTES,
        checkpoints: AuditCheckpoints | None = None,
        audit_compression: str = "none",
        audit_chain: bool = False,
        is_lingering: bool = False,
        meter: AppendMeter | None = None,
        when_durable: Callable[[Callable[[None], None]], None] | None = None,
        is_disk_failure: Callable[[PartitionLog, Exception], bool] = lambda log, problem: False,
        wall: WallTime = ONE_CLOCK,
    ) -> None:
        """`compression` is the codec for `__consumer_offsets`, by its name in `_wire/compression.py`.

        `audit_compression` is that for `__group_audit`. With `audit_chain` each of its records carries the hash of the
        one before it. With `is_lingering`, audit records that come with nothing to store are held back.

        With `when_durable`, a batch counts when that calls back (`log.flush.policy`), else as soon as it is written.

        `is_disk_failure` gets each append that failed, and says whether the log directory has failed.

        A replay reads `load_bytes` at a time. Without `checkpoints` it reads the whole audit topic. A `meter` measures
        the appends.
        """
        self._offsets = offsets
        self._audit = audit
        self._leader_epoch = leader_epoch
        self._appended = appended
        self._compression = compression
        self._load_bytes = load_bytes
        self._checkpoints = checkpoints
        self._audit_compression = audit_compression
        self._audit_chain = audit_chain
        self._is_lingering = is_lingering
        self.held_audit: list[AuditRecord] = []
        """Audit records that are not appended yet. A kill loses them, and what they report of the groups with them."""
        self._meter = meter
        self._when_durable = when_durable
        self._is_disk_failure = is_disk_failure
        self._wall = wall
        self._writing = offsets
        """The log that was written last, or could not be."""
        self._last_hash: bytes | None = None
        """Of the last record of the audit log; None: it has to be read from there."""

    @property
    def batch_bytes_max(self) -> int:
        """`max.message.bytes` of `__consumer_offsets`, or the size of a segment if that is smaller."""
        config = self._offsets.config
        message, segment = config.max_message_bytes, config.segment_bytes
        return message if message < segment else segment

    def append(
        self,
        audit: list[AuditRecord],
        stored: Sequence[Stored],
        now_ms: int,
        completed: Callable[[StoreError | None], None],
    ) -> None:
        """Append at once: the logs are on this node. With `when_durable` it completes later.

        The audit comes first. So the audit may have events of a batch that then fails (a load voids them), but it never
        lacks events that are stored.
        """
        if self.held_audit or (self._is_lingering and not stored):
            self.held_audit += audit
            if not stored and len(self.held_audit) < HELD_MAX:
                completed(None)
                return
            audit, self.held_audit = self.held_audit, []
        problem = self._append(audit, stored, now_ms)
        if self._when_durable is None or problem is not None:
            completed(problem)
        else:
            self._when_durable(completed)

    def write_held_audit(self, now_ms: int) -> None:
        audit, self.held_audit = self.held_audit, []
        if audit and (problem := self._append(audit, (), now_ms)) is not None:
            raise problem

    def drop_held_audit(self) -> None:
        self.held_audit = []

    def _append(self, audit: list[AuditRecord], stored: Sequence[Stored], now_ms: int) -> StoreError | None:
        """Write to both logs; return what failed."""
        problem: StoreError | None = None
        at_ms = now_ms + self._wall.step_ms
        if self._meter is not None:
            self._meter.begin()
        try:
            if audit and self._audit_chain:
                audit = self._chained(audit)
            if audit:
                self._write(self._audit, self._build_audit(audit, self._audit.log_end_offset, at_ms), at_ms)
            if stored:
                self._write(self._offsets, self._build_all(stored, at_ms), at_ms)
        except (LogAppendError, RecordListTooLarge) as error:
            problem = StoreError(str(error), is_told=self._is_disk_failure(self._writing, error))
            self._last_hash = None
        if self._meter is not None:
            self._meter.end(len(audit), problem is not None)
        return problem

    def _chained(self, audit: list[AuditRecord]) -> list[AuditRecord]:
        """The records with the hash of the one before each. An append that fails forgets the last hash."""
        if self._last_hash is None:
            self._last_hash = self._hash_at_the_end()
        records, self._last_hash = chained(audit, self._last_hash)
        return records

    def _hash_at_the_end(self) -> bytes:
        if self._audit.log_end_offset <= self._audit.log_start_offset:
            return FIRST
        last = [record for batch in self.replay_audit(self._audit.log_end_offset - 1) for record in batch]
        return record_hash(last[-1])

    def replay(self, groups: StoredGroups, from_offset: int = 0) -> Iterator[None]:
        """Read the batches and markers of `__consumer_offsets` from an offset on, in order.

        A step is some hundred records, the read of `load_bytes`, or the metadata of a group.

        Raises:
            StoreError: the log cannot be read.
        """
        log = self._offsets
        offset = max(from_offset, log.log_start_offset)
        replay = BatchReplay(groups)
        try:
            while offset < log.log_end_offset:
                data = log.read(offset, self._load_bytes, before_offset=log.log_end_offset)
                replay.open(data, log.log_end_offset)
                yield
                while replay.step(REPLAYED_AT_ONCE):
                    yield
                if replay.next_offset <= offset:
                    raise StoreError("there is no batch")
                offset = replay.next_offset
            yield from groups.decode_groups()
        except (OSError, MalformedMessage) as problem:
            raise StoreError(f"{log.name}, records from offset {replay.next_offset} on: {problem}") from problem

    def audit_replay_offsets(self) -> list[int]:
        """A checkpoint outside of the log is ignored: a power loss truncated the log, or old segments were deleted."""
        start = self._audit.log_start_offset
        checkpoint = self._checkpoints.offset(self._audit.partition) if self._checkpoints is not None else None
        if checkpoint is None or not start < checkpoint <= self._audit.log_end_offset:
            return [start]
        return [checkpoint, start]

    def replay_audit(self, from_offset: int) -> Iterator[list[AuditRecord]]:
        """Read the batches of the audit topic in order, each as a list of records.

        Raises:
            StoreError: the log cannot be read.
        """
        for header, records in self._batches(self._audit, from_offset):
            if not header.is_control:
                yield [(record.key, record.value or b"", record.headers) for record in records]

    @property
    def audit_end_offset(self) -> int:
        return self._audit.log_end_offset

    @property
    def offsets_end_offset(self) -> int:
        return self._offsets.log_end_offset

    @property
    def audit_retention_ms(self) -> int:
        return self._audit.config.retention_ms

    def note_audit_checkpoint(self, offset: int) -> bool:
        """Let later starts read the audit topic from `offset` on; return False if they do already."""
        if self._checkpoints is None or offset <= self._audit.log_start_offset:
            return False
        return self._checkpoints.note(self._audit.partition, offset)

    def _build_all(self, stored: Sequence[Stored], at_ms: int) -> list[PrebuiltBatch]:
        built: list[PrebuiltBatch] = []
        for each in stored:
            base_offset = built[-1].last_offset + 1 if built else self._offsets.log_end_offset
            if isinstance(each, TransactionMarker):
                end = EndTxnMarker(each.committed, each.coordinator_epoch)
                built.append(self._build([end.as_record()], base_offset, each.producer, at_ms, is_control=True))
            else:
                built.append(self._build(each.records, base_offset, each.producer, at_ms, self._compression))
        return built

    def _build_audit(self, audit: Sequence[AuditRecord], base_offset: int, at_ms: int) -> list[PrebuiltBatch]:
        """Build one record batch, or several by halving until each fits into a segment."""
        is_small = len(audit) == 1 and len(audit[0][1]) < COMPRESSED_BYTES_MIN
        built = self._build(audit, base_offset, None, at_ms, "none" if is_small else self._audit_compression)
        if len(built.data) <= self._audit.config.segment_bytes or len(audit) == 1:
            return [built]
        half = len(audit) // 2
        first = self._build_audit(audit[:half], base_offset, at_ms)
        return first + self._build_audit(audit[half:], base_offset + half, at_ms)

    def _build(
        self,
        records: Sequence[StoredRecord] | Sequence[AuditRecord],
        base_offset: int,
        producer: Producer | None,
        at_ms: int,
        compression: str = "none",
        is_control: bool = False,
    ) -> PrebuiltBatch:
        """Build one batch. A transactional one has no sequence numbers, as on Kafka: the log defines the order."""
        producer_id, producer_epoch = NO_PRODUCER if producer is None else producer
        batch = build_batch(
            records,
            base_offset=base_offset,
            timestamp_ms=at_ms,
            compression=compression,
            producer_id=producer_id,
            producer_epoch=producer_epoch,
            is_transactional=producer is not None,
            is_control=is_control,
            partition_leader_epoch=self._leader_epoch,
        )
        return PrebuiltBatch(batch, base_offset + len(records) - 1)

    def _write(self, log: PartitionLog, batches: list[PrebuiltBatch], at_ms: int) -> None:
        """In one piece as far as it fits into a segment: a disk that fails leaves all of a piece or nothing."""
        self._writing = log
        if len(batches) == 1:
            log.append_prebuilt(batches, at_ms)
        else:
            for piece in _pieces(batches, log.config.segment_bytes):
                log.append_prebuilt(piece, at_ms)
        self._appended(log)

    def _batches(self, log: PartitionLog, from_offset: int) -> Iterator[tuple[BatchHeader, list[Record]]]:
        try:
            for header, batch in log.batches(from_offset, self._load_bytes):
                yield header, parse_records(batch)
        except (OSError, MalformedMessage) as problem:
            raise StoreError(f"{log.name}: {problem}") from problem


def _pieces(batches: list[PrebuiltBatch], bytes_max: int) -> Iterator[list[PrebuiltBatch]]:
    """Split batches, in their order, into as few pieces as fit."""
    piece: list[PrebuiltBatch] = []
    piece_bytes = 0
    for batch in batches:
        if piece and piece_bytes + len(batch.data) > bytes_max:
            yield piece
            piece, piece_bytes = [], 0
        piece.append(batch)
        piece_bytes += len(batch.data)
    yield piece
