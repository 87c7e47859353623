"""The offsets from which a start has to read the audit topic, kept in a file of Kafka's checkpoint format."""

import structlog

from coordinator.internal_topics import AUDIT_TOPIC
from coordinator.log.checkpoints import CheckpointFile
from coordinator.log.errors import DataDirectoryError

log = structlog.get_logger()


class AuditCheckpoints:
    """Partition of the audit topic → offset of its last checkpoint, for all partitions in one file.

    The file is a hint. The topic itself says whether a checkpoint began at an offset and was completed
    (`checkpoint_offset` of `group.snapshot`), so a file that is missing, old or damaged costs a start time and no more.
    """

    def __init__(self, file: CheckpointFile) -> None:
        """Read the file; one that cannot be read is logged and taken as empty."""
        self._file = file
        self._offsets: dict[int, int] = {}
        self._is_written = True
        try:
            stored = file.read()
        except (DataDirectoryError, OSError) as problem:
            log.warning(
                "cannot read the audit checkpoint; reading the audit topic from its start", problem=str(problem)
            )
        else:
            self._offsets = {partition: offset for (topic, partition), offset in stored.items() if topic == AUDIT_TOPIC}

    def offset(self, partition: int) -> int | None:
        """Where the last checkpoint of a partition began; None when none is known."""
        return self._offsets.get(partition)

    def note(self, partition: int, offset: int) -> bool:
        """Remember a completed checkpoint until the next `write`; False if it is known already."""
        if self._offsets.get(partition) == offset:
            return False
        self._offsets[partition] = offset
        self._is_written = False
        return True

    def write(self) -> None:
        """Replace the file if an offset changed; a failure is logged, and the next call tries again."""
        if self._is_written:
            return
        try:
            self._file.write({(AUDIT_TOPIC, partition): offset for partition, offset in self._offsets.items()})
        except OSError as problem:
            log.warning("cannot write the audit checkpoint; the next start reads more", problem=str(problem))
        else:
            self._is_written = True
