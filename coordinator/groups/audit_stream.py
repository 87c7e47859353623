"""The log of the audit of a shard: a partition of `__group_audit`."""

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from _wire.errors import MalformedMessage
from _wire.records import build_batch, parse_records
from coordinator.audit.chain import FIRST, chained, record_hash
from coordinator.audit.schema import Record
from coordinator.groups.audit_checkpoints import AuditCheckpoints
from coordinator.log.partition.partition_log import PartitionLog
from coordinator.log.partition.readable_log import REPLAY_BYTES
from coordinator.log.segments.segment_file import PrebuiltBatch
from coordinator.runtime.interfaces import StoreError
from coordinator.runtime.slices import Steps

COMPRESSED_BYTES_MIN: Final = 1024
"""A single event below it is not compressed: that saves a fifth of it. Two events have most of it in common."""


class AuditStream:
    """Makes batches of audit events, and reads them again."""

    def __init__(
        self,
        log: PartitionLog,
        leader_epoch: int,
        *,
        compression: str = "none",
        has_chain: bool = False,
        is_lingering: bool = False,
        load_bytes: int = REPLAY_BYTES,
        checkpoints: AuditCheckpoints | None = None,
    ) -> None:
        """`compression` is the name of a codec in `_wire/compression.py`.

        With `has_chain` each record carries the hash of the one before it. With `is_lingering`, events that come with
        nothing to store are held back. A replay reads `load_bytes` at a time, and without `checkpoints` the whole log.
        """
        self.log = log
        self.is_lingering = is_lingering
        self._leader_epoch = leader_epoch
        self._compression = compression
        self._has_chain = has_chain
        self._load_bytes = load_bytes
        self._checkpoints = checkpoints
        self._last_hash: bytes | None = None
        """Of the last record of the log; None: it has to be read from there."""

    # ---- appends

    def build(self, records: Sequence[Record], at_ms: int) -> list[PrebuiltBatch]:
        if self._has_chain:
            records = self._chained(records)
        return self._build(records, self.log.log_end_offset, at_ms)

    def append_failed(self) -> None:
        self._last_hash = None

    def _build(self, records: Sequence[Record], base_offset: int, at_ms: int) -> list[PrebuiltBatch]:
        """Build one record batch, or several by halving until each fits into a segment."""
        is_small = len(records) == 1 and len(records[0][1]) < COMPRESSED_BYTES_MIN
        data = build_batch(
            records,
            base_offset=base_offset,
            timestamp_ms=at_ms,
            compression="none" if is_small else self._compression,
            partition_leader_epoch=self._leader_epoch,
        )
        if len(data) <= self.log.config.segment_bytes or len(records) == 1:
            return [PrebuiltBatch(data, base_offset + len(records) - 1)]
        half = len(records) // 2
        first = self._build(records[:half], base_offset, at_ms)
        return first + self._build(records[half:], base_offset + half, at_ms)

    def _chained(self, records: Sequence[Record]) -> list[Record]:
        """The records with the hash of the one before each."""
        if self._last_hash is None:
            self._last_hash = self._hash_at_the_end()
        linked, self._last_hash = chained(records, self._last_hash)
        return linked

    def _hash_at_the_end(self) -> bytes:
        if self.log.log_end_offset <= self.log.log_start_offset:
            return FIRST
        last = [record for batch in self.replay(self.log.log_end_offset - 1) for record in batch]
        return record_hash(last[-1])

    # ---- replay

    def replay_offsets(self) -> list[int]:
        """Where to start to read: first a checkpoint if one is known, last the start of the log.

        A checkpoint outside of the log is ignored: a power loss truncated the log, or old segments were deleted.
        """
        start = self.log.log_start_offset
        checkpoint = self._checkpoints.offset(self.log.partition) if self._checkpoints is not None else None
        if checkpoint is None or not start < checkpoint <= self.log.log_end_offset:
            return [start]
        return [checkpoint, start]

    def replay(self, from_offset: int) -> Iterator[list[Record]]:
        """Read the batches in order, each as a list of records.

        Raises:
            StoreError: the log cannot be read.
        """
        try:
            for header, batch in self.log.batches(from_offset, self._load_bytes):
                if not header.is_control:
                    yield [(record.key, record.value or b"", record.headers) for record in parse_records(batch)]
        except (OSError, MalformedMessage) as problem:
            raise StoreError(f"{self.log.name}: {problem}") from problem

    def replay_to(self, apply: Callable[[list[Record]], Steps[None]], from_offset: int) -> Steps[None]:
        """Have each batch applied, in order. Raises as `replay`."""
        for records in self.replay(from_offset):
            yield from apply(records)
            yield

    def note_checkpoint(self, offset: int) -> bool:
        """Let later starts read from `offset` on; return False if they do already."""
        if self._checkpoints is None or offset <= self.log.log_start_offset:
            return False
        return self._checkpoints.note(self.log.partition, offset)
