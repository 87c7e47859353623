"""The settings of one log, with the names of Kafka's topic configs."""

from typing import Final, NamedTuple

import msgspec

from coordinator.config.key import INT64_MAX


class TargetCompression(NamedTuple):
    """The compression that a topic has for its batches: `compression.type`, and the `compression.*.level` of it."""

    compression: str
    """One of `_wire.compression.COMPRESSIONS`."""
    level: int
    """0 where the compression has no levels."""


class LogConfig(msgspec.Struct, frozen=True):
    """The defaults are Kafka's (org.apache.kafka.common.config.TopicConfig)."""

    segment_bytes: int = 1 << 30  # segment.bytes
    segment_ms: int = 7 * 24 * 3_600_000  # segment.ms
    segment_index_bytes: int = 10 << 20  # segment.index.bytes
    index_interval_bytes: int = 4_096  # index.interval.bytes
    max_message_bytes: int = 1_048_588  # max.message.bytes: of a batch after compression
    compression: TargetCompression | None = None  # compression.type; None: `producer`, batches stay as they came
    message_timestamp_type: str = "CreateTime"  # message.timestamp.type: or LogAppendTime
    timestamp_before_max_ms: int = INT64_MAX  # message.timestamp.before.max.ms
    timestamp_after_max_ms: int = 3_600_000  # message.timestamp.after.max.ms
    retention_ms: int = 7 * 24 * 3_600_000  # retention.ms: negative: no limit
    retention_bytes: int = -1  # retention.bytes: negative: no limit
    flush_messages: int = INT64_MAX  # flush.messages
    flush_ms: int = INT64_MAX  # flush.ms
    file_delete_delay_ms: int = 60_000  # file.delete.delay.ms
    cleanup_policy: frozenset[str] = frozenset({"delete"})  # cleanup.policy: of delete and compact
    min_cleanable_dirty_ratio: float = 0.5  # min.cleanable.dirty.ratio
    min_compaction_lag_ms: int = 0  # min.compaction.lag.ms
    max_compaction_lag_ms: int = INT64_MAX  # max.compaction.lag.ms
    delete_retention_ms: int = 24 * 3_600_000  # delete.retention.ms: of tombstones


METADATA_LOG_CONFIG: Final = LogConfig(max_message_bytes=8 << 20)
"""That of the metadata log. Its batches may be as large as Kafka's (`KafkaRaftClient.MAX_BATCH_SIZE_BYTES`)."""
