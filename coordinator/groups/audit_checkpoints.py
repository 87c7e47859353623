"""The offsets from which a start has to read the audit topic, in a file with Kafka's checkpoint format."""

from coordinator.internal_topics import AUDIT_TOPIC
from coordinator.log.data_dirs.checkpoints import CheckpointFile
from coordinator.log.errors import DataDirectoryError
from coordinator.logger import logger


class AuditCheckpoints:
    """Partition of the audit topic → offset of its last checkpoint, for all partitions in one file.

    The file is only a hint. The topic itself shows whether a completed checkpoint begins at an offset
    (`checkpoint_offset` of `group.snapshot`). A missing, old or damaged file only makes the start slower.
    """

    def __init__(self, file: CheckpointFile) -> None:
        """Read the file. If it cannot be read, this is logged, and there are no checkpoints."""
        self._file = file
        self._offsets: dict[int, int] = {}
        self._is_written = True
        try:
            stored = file.read()
        except (DataDirectoryError, OSError) as problem:
            logger.warning(
                "cannot read the audit checkpoint; reading the audit topic from its start", problem=str(problem)
            )
        else:
            self._offsets = {partition: offset for (topic, partition), offset in stored.items() if topic == AUDIT_TOPIC}

    def offset(self, partition: int) -> int | None:
        """The offset at which the last checkpoint of a partition begins; None if there is none."""
        return self._offsets.get(partition)

    def note(self, partition: int, offset: int) -> bool:
        """Record a completed checkpoint for the next `write`; return False if it is recorded already."""
        if self._offsets.get(partition) == offset:
            return False
        self._offsets[partition] = offset
        self._is_written = False
        return True

    def write(self) -> None:
        """Replace the file if an offset changed. A failure is logged, and the next call tries again."""
        if self._is_written:
            return
        try:
            self._file.write({(AUDIT_TOPIC, partition): offset for partition, offset in self._offsets.items()})
        except OSError as problem:
            logger.warning(
                "cannot write the audit checkpoint; the next start reads more of the audit topic", problem=str(problem)
            )
        else:
            self._is_written = True
