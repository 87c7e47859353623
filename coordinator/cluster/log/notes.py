"""What nodes leave for each other in the log of the groups, beside the records of the groups.

A fence is the first batch that a node writes to a partition. From there on the broker refuses batches of earlier epochs
of its producer id. An epoch means nothing to another producer id: where the log has batches of one, as after a
transactional id expired (`transactional.id.expiration.ms`), the node writes a fence with that id, too, one epoch
higher.

An audit checkpoint is the offset of the audit from which a load has to read to know all groups. It is only a hint: the
audit itself shows whether a completed checkpoint begins there.
"""

from typing import Final

import msgspec

from _wire.batch_reader import parse_batch
from _wire.batches import batch_headers
from coordinator.cluster.log.access import ProducerIdentity
from coordinator.cluster.log.cluster_log import ClusterLog
from coordinator.core.stored import StoredRecord
from coordinator.runtime.interfaces import ReplayedLog
from coordinator.runtime.slices import Steps

FENCE_KEY: Final = (10_000).to_bytes(2, "big") + b"fence"
AUDIT_CHECKPOINT_KEY: Final = (10_001).to_bytes(2, "big") + b"audit checkpoint"
"""Keys begin with a type of two bytes, as in all logs of Kafka's coordinators, whose types are below 100."""
EPOCH_MAX: Final = (1 << 15) - 1


class Owner(msgspec.Struct, frozen=True, kw_only=True):
    """The node that wrote a fence."""

    node_id: int
    coordinator_epoch: int


class AuditCheckpoint(msgspec.Struct, frozen=True, kw_only=True):
    """Where a load may begin to read the audit."""

    offset: int


encode = msgspec.json.Encoder().encode
decode_checkpoint = msgspec.json.Decoder(AuditCheckpoint).decode


def fence_record(producer_id: int, owner: Owner) -> StoredRecord:
    """One key for each producer id: compaction keeps the last fence of each."""
    return FENCE_KEY + producer_id.to_bytes(8, "big"), encode(owner)


def checkpoint_record(offset: int) -> StoredRecord:
    """Written in a batch of its own, which is how `Notes` finds it."""
    return AUDIT_CHECKPOINT_KEY, encode(AuditCheckpoint(offset=offset))


class Notes:
    """What a replay comes across: the producer ids that have to be fenced, too, and the audit checkpoint."""

    def __init__(self, own: int) -> None:
        """`own` is the producer id of this node, whose earlier epochs are fenced already."""
        self._own = own
        self._last: dict[int, tuple[int, bool]] = {}
        """Producer id → epoch of its last batch, and whether that is a fence."""
        self.audit_checkpoint: int | None = None

    def watching(self, log: ClusterLog) -> ReplayedLog:
        """The log, whose batches are noted as they are read."""
        return _Watched(log, self)

    def note(self, data: bytes) -> None:
        """Note whole batches."""
        for header in batch_headers(data, check_crc=False):
            is_foreign = header.producer_id >= 0 and header.producer_id != self._own
            key, value = None, None
            if header.record_count == 1 and (
                is_foreign or self._may_be_checkpoint(data, header.position, header.size_in_bytes)
            ):
                _, (record,) = parse_batch(data, header.position)
                key, value = record.key or b"", record.value
            if is_foreign:
                self._last[header.producer_id] = header.producer_epoch, key is not None and key.startswith(FENCE_KEY)
            if key == AUDIT_CHECKPOINT_KEY and value is not None:
                self.audit_checkpoint = _offset(value)

    @staticmethod
    def _may_be_checkpoint(data: bytes, position: int, size: int) -> bool:
        return data.find(AUDIT_CHECKPOINT_KEY, position, position + size) >= 0

    def to_fence(self) -> list[ProducerIdentity]:
        """The producer ids whose last batch is no fence, each with the epoch that fences it."""
        return [
            ProducerIdentity(producer_id, min(epoch + 1, EPOCH_MAX))
            for producer_id, (epoch, is_fence) in self._last.items()
            if not is_fence
        ]


def _offset(value: bytes) -> int | None:
    """None if the value is damaged: then the audit is read from its start."""
    try:
        return decode_checkpoint(value).offset
    except msgspec.DecodeError:
        return None


class _Watched:
    """A log as it is replayed."""

    def __init__(self, log: ClusterLog, notes: Notes) -> None:
        self._log = log
        self._notes = notes
        self.name = log.name

    @property
    def log_start_offset(self) -> int:
        return self._log.log_start_offset

    @property
    def log_end_offset(self) -> int:
        return self._log.log_end_offset

    def read_steps(self, offset: int, bytes_max: int) -> Steps[bytes]:
        data = yield from self._log.read_steps(offset, bytes_max)
        self._notes.note(data)
        return data
