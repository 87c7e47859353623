"""The records by which a node takes over a partition.

A fence is the first batch that a node writes to a partition. From there on the broker refuses batches of earlier epochs
of its producer id. An epoch means nothing to another producer id: where the log has batches of one, as after a
transactional id expired (`transactional.id.expiration.ms`), the node writes a fence with that id, too, one epoch
higher.
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

FENCE_KEY_TYPE: Final = 10_000
"""The type in the key of a fence: its first two bytes, as in all keys of Kafka's coordinators, whose types are lower."""
EPOCH_MAX: Final = (1 << 15) - 1
KEY_BYTES: Final = 10


class Fence(msgspec.Struct, frozen=True, kw_only=True):
    """The value of a fence: who wrote it."""

    node_id: int
    coordinator_epoch: int


def fence_key(producer_id: int) -> bytes:
    """One key for each producer id: compaction keeps the last fence of each."""
    return FENCE_KEY_TYPE.to_bytes(2, "big") + producer_id.to_bytes(8, "big")


def is_fence_key(key: bytes | None) -> bool:
    return key is not None and len(key) == KEY_BYTES and key[:2] == FENCE_KEY_TYPE.to_bytes(2, "big")


def fence_record(producer_id: int, fence: Fence) -> StoredRecord:
    return fence_key(producer_id), msgspec.json.encode(fence)


class SeenProducers:
    """The producer ids whose batches a replay comes across, to find those that have to be fenced, too."""

    def __init__(self, own: int) -> None:
        """`own` is the producer id of this node, whose earlier epochs are fenced already."""
        self._own = own
        self._last: dict[int, tuple[int, bool]] = {}
        """Producer id → epoch of its last batch, and whether that is a fence."""

    def watching(self, log: ClusterLog) -> ReplayedLog:
        """The log, whose batches are noted as they are read."""
        return _Watched(log, self)

    def note(self, data: bytes) -> None:
        """Note whole batches."""
        for header in batch_headers(data, check_crc=False):
            producer_id = header.producer_id
            if producer_id >= 0 and producer_id != self._own:
                is_fence = header.record_count == 1 and _is_fence(data, header.position)
                self._last[producer_id] = header.producer_epoch, is_fence

    def to_fence(self) -> list[ProducerIdentity]:
        """The producer ids whose last batch is no fence, each with the epoch that fences it."""
        return [
            ProducerIdentity(producer_id, min(epoch + 1, EPOCH_MAX))
            for producer_id, (epoch, is_fence) in self._last.items()
            if not is_fence
        ]


def _is_fence(data: bytes, position: int) -> bool:
    _, records = parse_batch(data, position)
    return is_fence_key(records[0].key)


class _Watched:
    """A log as it is replayed."""

    def __init__(self, log: ClusterLog, seen: SeenProducers) -> None:
        self._log = log
        self._seen = seen
        self.name = log.name

    @property
    def log_start_offset(self) -> int:
        return self._log.log_start_offset

    @property
    def log_end_offset(self) -> int:
        return self._log.log_end_offset

    def read_steps(self, offset: int, bytes_max: int) -> Steps[bytes]:
        data = yield from self._log.read_steps(offset, bytes_max)
        self._seen.note(data)
        return data
