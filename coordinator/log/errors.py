"""What can go wrong with a log."""


class LogError(Exception):
    """Anything below."""


class InvalidTopicName(LogError, ValueError):
    """A topic that Kafka would not take (org.apache.kafka.common.internals.Topic)."""


class ReservedTopicName(InvalidTopicName):
    """A name that no topic may have, as the server's own metadata log has it."""


class DataDirectoryError(LogError):
    """The data directory cannot be used; the message is one line for whoever started the server."""


class OffsetOutOfRange(LogError):
    """A read before the first or after the next offset of a log."""

    def __init__(self, log: str, offset: int, log_start_offset: int, log_end_offset: int) -> None:
        super().__init__(f"{log}: offset {offset} lies outside of {log_start_offset} to {log_end_offset}")


class RecordBatchTooLarge(LogError):
    """A batch of more than max.message.bytes; nothing was appended."""


class RecordListTooLarge(LogError):
    """Batches that together outgrow segment.bytes; nothing was appended."""


class LogAppendError(LogError):
    """The disk refused a write; the log is as it was before, and the append may be tried again."""


class LogFlushError(LogError):
    """An fsync failed: what was written may be lost, whatever a later fsync says. The process must stop."""
