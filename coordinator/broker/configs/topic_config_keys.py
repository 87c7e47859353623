"""The configs of topics, each declared here once (TopicConfig.java)."""

import re
from typing import Final

from coordinator.broker.configs.resource_config_key import (
    BrokerDefault,
    ConfigType,
    InvalidResourceConfig,
    ResourceConfigKey,
    split_list,
)
from coordinator.config.cleaner_keys import (
    LOG_CLEANER_DELETE_RETENTION_MS,
    LOG_CLEANER_MAX_COMPACTION_LAG_MS,
    LOG_CLEANER_MIN_CLEANABLE_RATIO,
    LOG_CLEANER_MIN_COMPACTION_LAG_MS,
)
from coordinator.config.key import INT64_MAX, SEGMENT_BYTES_MIN
from coordinator.config.log_keys import (
    COMPRESSION_GZIP_LEVEL,
    COMPRESSION_LZ4_LEVEL,
    COMPRESSION_TYPE,
    COMPRESSION_ZSTD_LEVEL,
    LOG_FLUSH_INTERVAL_MESSAGES,
    LOG_FLUSH_INTERVAL_MS,
    LOG_INDEX_INTERVAL_BYTES,
    LOG_INDEX_SIZE_MAX_BYTES,
    LOG_MESSAGE_TIMESTAMP_AFTER_MAX_MS,
    LOG_MESSAGE_TIMESTAMP_BEFORE_MAX_MS,
    LOG_MESSAGE_TIMESTAMP_TYPE,
    LOG_RETENTION_BYTES,
    LOG_RETENTION_HOURS,
    LOG_RETENTION_MINUTES,
    LOG_RETENTION_MS,
    LOG_ROLL_MS,
    LOG_SEGMENT_BYTES,
    LOG_SEGMENT_DELETE_DELAY_MS,
    MESSAGE_MAX_BYTES,
)

THROTTLED_REPLICAS: Final = re.compile(r"\*|([0-9]+:[0-9]+(,[0-9]+:[0-9]+)*)?")


def _no_tiered_storage(name: str, text: str) -> None:
    if text.lower() == "true":
        raise InvalidResourceConfig(
            "Tiered Storage functionality is disabled in the broker. "
            "Topic cannot be configured with remote log storage."
        )


def _throttled_replicas(name: str, text: str) -> None:
    if not THROTTLED_REPLICAS.fullmatch(text.replace(" ", "")):
        raise InvalidResourceConfig(
            f"Invalid value [{', '.join(split_list(text))}] for configuration {name}: {name} must be the literal '*' "
            "or a list of replicas in the following format: [partitionId]:[brokerId],[partitionId]:[brokerId],..."
        )


def gzip_level(name: str, text: str) -> None:
    """Raises InvalidResourceConfig for a level that gzip does not have."""
    if int(text) != -1 and not 1 <= int(text) <= 9:
        raise InvalidResourceConfig(
            f"Invalid value {int(text)} for configuration {name}: Value must be between 1 and 9 or equal to -1"
        )


BOOLEAN, STRING, INT, LONG = ConfigType.BOOLEAN, ConfigType.STRING, ConfigType.INT, ConfigType.LONG
DOUBLE_TYPE, LIST = ConfigType.DOUBLE, ConfigType.LIST
ONE_NODE: Final = " Without effect: there is one node."
NO_TIERS: Final = " Without effect: there is no tiered storage."

CLEANUP_POLICY = ResourceConfigKey(
    "cleanup.policy",
    LIST,
    "delete",
    "What happens to old segments: `delete` removes them by age and size; `compact` keeps the last record of each key, "
    "and requires that each record has one. An empty list keeps everything.",
    one_of=("compact", "delete"),
)
RETENTION_MS = ResourceConfigKey(
    "retention.ms",
    LONG,
    "604800000",
    "The time in ms to keep records before their segment is deleted; -1: no limit.",
    -1,
    broker=(
        BrokerDefault(LOG_RETENTION_MS),
        BrokerDefault(LOG_RETENTION_MINUTES, 60_000),
        BrokerDefault(LOG_RETENTION_HOURS, 3_600_000),
    ),
)
RETENTION_BYTES = ResourceConfigKey(
    "retention.bytes",
    LONG,
    "-1",
    "The size in bytes that a partition may have before its oldest segments are deleted; negative: no limit.",
    broker=(BrokerDefault(LOG_RETENTION_BYTES),),
)
SEGMENT_BYTES = ResourceConfigKey(
    "segment.bytes",
    INT,
    "1073741824",
    "The maximum size of a segment in bytes. Only whole segments are deleted.",
    SEGMENT_BYTES_MIN,
    broker=(BrokerDefault(LOG_SEGMENT_BYTES),),
)
SEGMENT_MS = ResourceConfigKey(
    "segment.ms",
    LONG,
    "604800000",
    "The maximum time in ms between the first and the last timestamp of a segment, before a new segment is rolled.",
    1,
    broker=(BrokerDefault(LOG_ROLL_MS),),
)
SEGMENT_INDEX_BYTES = ResourceConfigKey(
    "segment.index.bytes",
    INT,
    "10485760",
    "The maximum size of an offset index in bytes. A segment whose index is full is rolled.",
    4,
    broker=(BrokerDefault(LOG_INDEX_SIZE_MAX_BYTES),),
)
INDEX_INTERVAL_BYTES = ResourceConfigKey(
    "index.interval.bytes",
    INT,
    "4096",
    "The interval in bytes at which an entry is added to the indexes.",
    0,
    broker=(BrokerDefault(LOG_INDEX_INTERVAL_BYTES),),
)
MAX_MESSAGE_BYTES = ResourceConfigKey(
    "max.message.bytes",
    INT,
    "1048588",
    "The maximum size of a record batch in bytes, after compression.",
    0,
    broker=(BrokerDefault(MESSAGE_MAX_BYTES),),
)
MESSAGE_TIMESTAMP_TYPE = ResourceConfigKey(
    "message.timestamp.type",
    STRING,
    "CreateTime",
    "Whether the timestamp of a record is the one of the producer or the time of the append.",
    one_of=("CreateTime", "LogAppendTime"),
    broker=(BrokerDefault(LOG_MESSAGE_TIMESTAMP_TYPE),),
)
MESSAGE_TIMESTAMP_BEFORE_MAX_MS = ResourceConfigKey(
    "message.timestamp.before.max.ms",
    LONG,
    str(INT64_MAX),
    "The most ms that the timestamp of a record may lie before the time of its arrival, with CreateTime.",
    0,
    broker=(BrokerDefault(LOG_MESSAGE_TIMESTAMP_BEFORE_MAX_MS),),
)
MESSAGE_TIMESTAMP_AFTER_MAX_MS = ResourceConfigKey(
    "message.timestamp.after.max.ms",
    LONG,
    "3600000",
    "The most ms that the timestamp of a record may lie after the time of its arrival, with CreateTime.",
    0,
    broker=(BrokerDefault(LOG_MESSAGE_TIMESTAMP_AFTER_MAX_MS),),
)
TOPIC_COMPRESSION_TYPE = ResourceConfigKey(
    "compression.type",
    STRING,
    "producer",
    "The compression of the batches. `producer` keeps that of the producer; with any other value, batches of another "
    "compression are compressed again before they are stored.",
    one_of=COMPRESSION_TYPE.one_of,
    broker=(BrokerDefault(COMPRESSION_TYPE),),
)
TOPIC_GZIP_LEVEL = ResourceConfigKey(
    "compression.gzip.level",
    INT,
    "-1",
    "The level of gzip, if that is the `compression.type`: 1 to 9, or -1 for its default.",
    broker=(BrokerDefault(COMPRESSION_GZIP_LEVEL),),
    check=gzip_level,
)
TOPIC_LZ4_LEVEL = ResourceConfigKey(
    "compression.lz4.level",
    INT,
    "9",
    "The level of LZ4, if that is the `compression.type`. As on Kafka, 9 is the fast compressor and any other value "
    "one of high compression.",
    1,
    17,
    broker=(BrokerDefault(COMPRESSION_LZ4_LEVEL),),
)
TOPIC_ZSTD_LEVEL = ResourceConfigKey(
    "compression.zstd.level",
    INT,
    "3",
    "The level of zstd, if that is the `compression.type`.",
    -131072,
    22,
    broker=(BrokerDefault(COMPRESSION_ZSTD_LEVEL),),
)
FILE_DELETE_DELAY_MS = ResourceConfigKey(
    "file.delete.delay.ms",
    LONG,
    "60000",
    "The time in ms after which the files of a deleted segment are removed. Until then they are renamed.",
    0,
    broker=(BrokerDefault(LOG_SEGMENT_DELETE_DELAY_MS),),
)
FLUSH_MESSAGES = ResourceConfigKey(
    "flush.messages",
    LONG,
    str(INT64_MAX),
    "After how many records the log is flushed, in the background.",
    1,
    broker=(BrokerDefault(LOG_FLUSH_INTERVAL_MESSAGES),),
)
FLUSH_MS = ResourceConfigKey(
    "flush.ms",
    LONG,
    str(INT64_MAX),
    "The time in ms after which an appended record is flushed at the latest, in the background.",
    0,
    broker=(BrokerDefault(LOG_FLUSH_INTERVAL_MS),),
)
MIN_COMPACTION_LAG_MS = ResourceConfigKey(
    "min.compaction.lag.ms",
    LONG,
    "0",
    "The least time in ms before a record is compacted.",
    0,
    broker=(BrokerDefault(LOG_CLEANER_MIN_COMPACTION_LAG_MS),),
)
MAX_COMPACTION_LAG_MS = ResourceConfigKey(
    "max.compaction.lag.ms",
    LONG,
    str(INT64_MAX),
    "The most time in ms before a record is compacted, once its segment is finished; segments are rolled at this age.",
    1,
    broker=(BrokerDefault(LOG_CLEANER_MAX_COMPACTION_LAG_MS),),
)
DELETE_RETENTION_MS = ResourceConfigKey(
    "delete.retention.ms",
    LONG,
    "86400000",
    "The time in ms to keep tombstones and markers of transactions, from the first compaction that meets them on.",
    0,
    broker=(BrokerDefault(LOG_CLEANER_DELETE_RETENTION_MS),),
)
MIN_CLEANABLE_DIRTY_RATIO = ResourceConfigKey(
    "min.cleanable.dirty.ratio",
    DOUBLE_TYPE,
    "0.5",
    "A log is compacted when more than this part of its bytes was not compacted before.",
    0,
    1,
    broker=(BrokerDefault(LOG_CLEANER_MIN_CLEANABLE_RATIO),),
)

HONOURED: Final = (
    CLEANUP_POLICY,
    RETENTION_MS,
    RETENTION_BYTES,
    SEGMENT_BYTES,
    SEGMENT_MS,
    SEGMENT_INDEX_BYTES,
    FLUSH_MESSAGES,
    FLUSH_MS,
    INDEX_INTERVAL_BYTES,
    MAX_MESSAGE_BYTES,
    TOPIC_COMPRESSION_TYPE,
    TOPIC_GZIP_LEVEL,
    TOPIC_LZ4_LEVEL,
    TOPIC_ZSTD_LEVEL,
    MESSAGE_TIMESTAMP_TYPE,
    MESSAGE_TIMESTAMP_BEFORE_MAX_MS,
    MESSAGE_TIMESTAMP_AFTER_MAX_MS,
    FILE_DELETE_DELAY_MS,
    MIN_COMPACTION_LAG_MS,
    MAX_COMPACTION_LAG_MS,
    DELETE_RETENTION_MS,
    MIN_CLEANABLE_DIRTY_RATIO,
)
"""Logs and producers notice these."""

WITHOUT_EFFECT: Final = (
    ResourceConfigKey(
        "segment.jitter.ms",
        LONG,
        "0",
        "The most ms by which segments are rolled earlier, at random. Without effect: they wait for segment.ms.",
        0,
    ),
    ResourceConfigKey(
        "preallocate", BOOLEAN, "false", "Whether to allocate the file of a segment at once. Without effect."
    ),
    ResourceConfigKey(
        "min.insync.replicas",
        INT,
        "1",
        "How many replicas must have a record that is produced with acks=all; not more than there are." + ONE_NODE,
        1,
    ),
    ResourceConfigKey(
        "unclean.leader.election.enable",
        BOOLEAN,
        "false",
        "Whether a replica that is not in sync may become leader." + ONE_NODE,
    ),
    ResourceConfigKey(
        "leader.replication.throttled.replicas",
        LIST,
        "",
        "Replicas whose replication is throttled on the leader." + ONE_NODE,
        check=_throttled_replicas,
    ),
    ResourceConfigKey(
        "follower.replication.throttled.replicas",
        LIST,
        "",
        "Replicas whose replication is throttled on the follower." + ONE_NODE,
        check=_throttled_replicas,
    ),
    ResourceConfigKey(
        "remote.storage.enable",
        BOOLEAN,
        "false",
        "Whether old segments move to tiered storage. Only false is possible: there is none.",
        check=_no_tiered_storage,
    ),
    ResourceConfigKey("remote.log.copy.disable", BOOLEAN, "false", "Whether no more segments move there." + NO_TIERS),
    ResourceConfigKey(
        "remote.log.delete.on.disable", BOOLEAN, "false", "Whether they are deleted when it is disabled." + NO_TIERS
    ),
    ResourceConfigKey("local.retention.ms", LONG, "-2", "The time in ms to keep local segments." + NO_TIERS, -2),
    ResourceConfigKey("local.retention.bytes", LONG, "-2", "The bytes of local segments to keep." + NO_TIERS, -2),
)
"""Kafka has these. A value is accepted if nobody can notice that it has no effect here."""

ALL_KEYS: Final = tuple(sorted(HONOURED + WITHOUT_EFFECT, key=lambda key: key.name))
KEYS_BY_NAME: Final = {key.name: key for key in ALL_KEYS}
