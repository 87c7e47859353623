"""The log of the audit of a shard, in the cluster."""

from collections.abc import Callable
from typing import Final

from _wire.batch_reader import parse_records
from _wire.batches import batch_headers
from _wire.errors import MalformedMessage
from coordinator.audit.schema import Record
from coordinator.cluster.log.cluster_log import ClusterLog
from coordinator.cluster.log.store import ClusterStore
from coordinator.runtime.interfaces import StoreError
from coordinator.runtime.slices import Steps


class ClusterAuditStream:
    """Reads the audit of a partition; `ClusterStore` appends to it. A checkpoint is kept in the log of the groups."""

    def __init__(self, log: ClusterLog, store: ClusterStore, load_bytes: int) -> None:
        self.log: Final = log
        self._store = store
        self._load_bytes = load_bytes

    def replay_offsets(self) -> list[int]:
        """A checkpoint outside of the log is ignored: its retention has deleted what was there."""
        start, checkpoint = self.log.log_start_offset, self._store.notes.audit_checkpoint
        if checkpoint is None or not start < checkpoint <= self.log.log_end_offset:
            return [start]
        return [checkpoint, start]

    def replay_to(self, apply: Callable[[list[Record]], Steps[None]], from_offset: int) -> Steps[None]:
        offset = from_offset
        while offset < self.log.log_end_offset:
            data = yield from self.log.read_steps(offset, self._load_bytes)
            try:
                headers = batch_headers(data)
                if not headers:
                    raise StoreError(f"{self.log.name}: there is no batch at offset {offset}")
                for header in headers:
                    batch = data[header.position : header.position + header.size_in_bytes]
                    if not header.is_control:
                        records = parse_records(batch)
                        yield from apply([(record.key, record.value or b"", record.headers) for record in records])
                    yield
                    offset = header.next_offset
            except MalformedMessage as problem:
                raise StoreError(f"{self.log.name}: {problem}") from problem

    def note_checkpoint(self, offset: int) -> bool:
        """It is appended at once, so there is never anything to be written later."""
        if offset > self.log.log_start_offset and offset != self._store.notes.audit_checkpoint:
            self._store.note_audit_checkpoint(offset)
        return False
