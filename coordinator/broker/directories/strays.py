"""Directories of partitions that no topic has (LogManager.isStrayReplica)."""

from coordinator.log.data_dirs.directory import LogDirectory
from coordinator.logger import logger
from coordinator.metadata.image import MetadataImage


def set_aside_if_stray(image: MetadataImage, directory: LogDirectory, topic: str, partition: int) -> bool:
    """Rename the directory of a partition that no topic has, so that a later topic of this name is empty.

    It is left over when the process is killed while it deletes a topic, which may exist again since. To be called
    before any log is opened. Returns whether it was renamed.

    Raises:
        OSError: the directory cannot be renamed.
    """
    existing = image.topics.get(topic) if image.has_partition(topic, partition) else None
    if existing is not None and directory.belongs_to(topic, partition, existing.topic_id):
        return False
    aside = directory.set_aside(topic, partition)
    logger.warning("set aside a partition that no topic has; delete it if it is not needed", path=str(aside))
    return True
