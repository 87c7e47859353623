from coordinator.core.stored import Stored
from coordinator.log.partition.partition_log import PartitionLog
from coordinator.log.segments.segment_file import PrebuiltBatch

class OffsetsStream:
    """Makes batches of the records of groups and of the markers of transactions."""

    @property
    def log(self) -> PartitionLog: ...
    def __init__(self, log: PartitionLog, leader_epoch: int, compression: str = "none") -> None:
        """`compression` is the name of a codec in `_wire/compression.py`."""

    def build(self, records: list[Stored], at_ms: int) -> list[PrebuiltBatch]:
        """A batch for each of the stored; a transactional one has no sequence numbers, as on Kafka."""
