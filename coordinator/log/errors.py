"""The exceptions of the log package."""

import errno
from typing import Final

OUT_OF_DESCRIPTORS: Final = (errno.EMFILE, errno.ENFILE)
"""What an OSError has when the process, or the system, has no file descriptor left."""


class LogError(Exception):
    """The base class of the exceptions below."""


class InvalidTopicName(LogError, ValueError):
    """A topic name that Kafka rejects (org.apache.kafka.common.internals.Topic)."""


class ReservedTopicName(InvalidTopicName):
    """A name that no topic may have because the server's own metadata log has it."""


class DataDirectoryError(LogError):
    """The data directory cannot be used. The message is one line for the operator."""


class UnusableDirectory(DataDirectoryError):
    """The disk of a log directory fails, or its path is none: the other directories can be used without it."""


class OfflineDirectory(OSError):
    """The log of a partition lies in a log directory that cannot be used (KAFKA_STORAGE_ERROR)."""


class LogDirectoryFailed(LogError):
    """A log directory without which nothing can be served is gone. The process must stop. The message is one line."""


class OffsetOutOfRange(LogError):
    """A read before the start offset or after the end offset of a log."""

    def __init__(self, log: str, offset: int, log_start_offset: int, log_end_offset: int) -> None:
        super().__init__(f"{log}: offset {offset} is out of range ({log_start_offset} to {log_end_offset})")


class RecordBatchTooLarge(LogError):
    """A batch is larger than max.message.bytes. Nothing was appended."""


class RecordListTooLarge(LogError):
    """The batches of one append are together larger than segment.bytes. Nothing was appended."""


class LogAppendError(LogError):
    """A write failed. The log is unchanged and the append may be retried."""


class LogStopError(LogError):
    """A stop could not write all that the next start would trust; it recovers the logs. The message is one line."""


class LogFlushError(LogError):
    """An fsync failed: acknowledged data may be lost, even if a later fsync succeeds. The process must stop."""
