from collections.abc import Sequence

from coordinator.core.stored import Stored
from coordinator.log.partition.partition_log import PartitionLog
from coordinator.log.segments.segment_file import PrebuiltBatch
from coordinator.share_state.snapshot_offsets import SnapshotOffsets

class ShareStateStream:
    """Makes batches of the records of states, and knows where the snapshots lie.

    Counterpart in Kafka: the appends of `CoordinatorRuntime`.
    """

    @property
    def log(self) -> PartitionLog: ...
    @property
    def snapshots(self) -> SnapshotOffsets: ...
    def __init__(self, log: PartitionLog, leader_epoch: int) -> None: ...
    def build(self, records: Sequence[Stored], at_ms: int) -> list[PrebuiltBatch]:
        """A batch for each of the stored."""
