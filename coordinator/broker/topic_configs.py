"""The configs of topics: name (Kafka's), type, default, bounds and documentation, each declared here once.

What a topic does not set itself comes from the settings of the broker (TopicConfig.java, LogConfig.java).
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, Final, NamedTuple

from coordinator.config.cleaner_keys import (
    LOG_CLEANER_DELETE_RETENTION_MS,
    LOG_CLEANER_MAX_COMPACTION_LAG_MS,
    LOG_CLEANER_MIN_CLEANABLE_RATIO,
    LOG_CLEANER_MIN_COMPACTION_LAG_MS,
)
from coordinator.config.group_keys import OFFSETS_TOPIC_SEGMENT_BYTES
from coordinator.config.key import INT32_MAX, INT64_MAX, SEGMENT_BYTES_MIN, ConfigKey
from coordinator.config.log_keys import (
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
from coordinator.config.settings import Config
from coordinator.config.transaction_keys import TRANSACTION_STATE_LOG_SEGMENT_BYTES
from coordinator.internal_topics import AUDIT_TOPIC, OFFSETS_TOPIC, TRANSACTIONS_TOPIC
from coordinator.log.config import LogConfig

VALUE_LENGTH_MAX: Final = 2048
"""The most characters of one value: the configs of 100 new topics have to fit into one batch of the metadata log."""

INTEGER: Final = re.compile(r"[+-]?[0-9]{1,40}")
DOUBLE: Final = re.compile(r"[+-]?([0-9]{1,40}(\.[0-9]{0,40})?|\.[0-9]{1,40})([eE][+-]?[0-9]{1,3})?")
THROTTLED_REPLICAS: Final = re.compile(r"\*|([0-9]+:[0-9]+(,[0-9]+:[0-9]+)*)?")


class ConfigType(IntEnum):
    """The types in DescribeConfigs (DescribeConfigsResponse.ConfigType)."""

    BOOLEAN = 1
    STRING = 2
    INT = 3
    LONG = 5
    DOUBLE = 6
    LIST = 7


class ConfigSource(IntEnum):
    """Where a value comes from (DescribeConfigsResponse.ConfigSource)."""

    TOPIC = 1
    STATIC_BROKER = 4
    DEFAULT = 5


class InvalidTopicConfig(ValueError):
    """A config is unknown, or its value is not allowed. The message is Kafka's, where Kafka has one."""


@dataclass(frozen=True, slots=True)
class BrokerDefault:
    """The setting of the broker that a config of topics falls back to, and how many of its units one of it is."""

    key: ConfigKey[Any]
    factor: int = 1

    def text(self, config: Config) -> str:
        value = config[self.key]
        return str(value * self.factor) if self.factor > 1 and value >= 0 else config.text(self.key)


@dataclass(frozen=True, eq=False, slots=True)
class TopicConfigKey:
    """One config of topics. `at_least` and `at_most` are inclusive; `check` raises InvalidTopicConfig for the rest."""

    name: str
    type: ConfigType
    default: str
    doc: str
    at_least: int | None = None
    at_most: int | None = None
    one_of: tuple[str, ...] = ()
    broker: tuple[BrokerDefault, ...] = ()
    """The first one that is set counts; the last one also when none is."""
    check: Callable[[str, str], None] = lambda name, text: None

    def parse(self, text: str) -> Any:
        """The value of a text: bool, int, float, str or a list of str.

        Raises:
            InvalidTopicConfig: the text is not a value of this type, or not allowed.
        """
        trimmed = text.strip()
        if len(trimmed) > VALUE_LENGTH_MAX:
            raise InvalidTopicConfig(
                f"The value of configuration {self.name} has more than {VALUE_LENGTH_MAX} characters"
            )
        value = self._typed(text, trimmed)
        for word in value if isinstance(value, list) else [value]:
            if self.one_of and word not in self.one_of:
                raise self._invalid(word, f"String must be one of: {', '.join(self.one_of)}")
        if self.at_least is not None and value < self.at_least:
            raise self._invalid(value, f"Value must be at least {self.at_least}")
        if self.at_most is not None and value > self.at_most:
            raise self._invalid(value, f"Value must be no more than {self.at_most}")
        self.check(self.name, trimmed)
        return value

    def _typed(self, text: str, trimmed: str) -> Any:
        match self.type:
            case ConfigType.BOOLEAN:
                if trimmed.lower() not in ("true", "false"):
                    raise self._invalid(text, "Expected value to be either true or false")
                return trimmed.lower() == "true"
            case ConfigType.INT | ConfigType.LONG:
                largest = INT32_MAX if self.type is ConfigType.INT else INT64_MAX
                if not INTEGER.fullmatch(trimmed) or not -largest - 1 <= int(trimmed) <= largest:
                    raise self._invalid(text, f"Not a number of type {self.type.name}")
                return int(trimmed)
            case ConfigType.DOUBLE:
                if not DOUBLE.fullmatch(trimmed):
                    raise self._invalid(text, "Not a number of type DOUBLE")
                return float(trimmed)
            case ConfigType.LIST:
                return split_list(trimmed)
        return trimmed

    def _invalid(self, value: object, why: str) -> InvalidTopicConfig:
        return InvalidTopicConfig(f"Invalid value {value} for configuration {self.name}: {why}")


def split_list(text: str) -> list[str]:
    """The elements of a value of type LIST."""
    return [part.strip() for part in text.split(",")] if text.strip() else []


def _only(allowed: str, why: str) -> Callable[[str, str], None]:
    """A check for a config that is known to Kafka, and of which only one value can be honoured here."""

    def check(name: str, text: str) -> None:
        if text != allowed:
            raise InvalidTopicConfig(f"Invalid value {text} for configuration {name}: {why}")

    return check


def _no_tiered_storage(name: str, text: str) -> None:
    if text.lower() == "true":
        raise InvalidTopicConfig(
            "Tiered Storage functionality is disabled in the broker. "
            "Topic cannot be configured with remote log storage."
        )


def _throttled_replicas(name: str, text: str) -> None:
    if not THROTTLED_REPLICAS.fullmatch(text.replace(" ", "")):
        raise InvalidTopicConfig(
            f"Invalid value [{', '.join(split_list(text))}] for configuration {name}: {name} must be the literal '*' "
            "or a list of replicas in the following format: [partitionId]:[brokerId],[partitionId]:[brokerId],..."
        )


def _gzip_level(name: str, text: str) -> None:
    if int(text) != -1 and not 1 <= int(text) <= 9:
        raise InvalidTopicConfig(
            f"Invalid value {int(text)} for configuration {name}: Value must be between 1 and 9 or equal to -1"
        )


BOOLEAN, STRING, INT, LONG, DOUBLE_TYPE, LIST = ConfigType
ONE_NODE: Final = " Without effect: there is one node."
NO_RECOMPRESSION: Final = " Without effect: batches are stored as the producer compressed them."
NO_TIERS: Final = " Without effect: there is no tiered storage."

CLEANUP_POLICY = TopicConfigKey(
    "cleanup.policy",
    LIST,
    "delete",
    "What happens to old segments: `delete` removes them by age and size; `compact` keeps the last record of each key, "
    "and requires that each record has one. An empty list keeps everything.",
    one_of=("compact", "delete"),
)
RETENTION_MS = TopicConfigKey(
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
RETENTION_BYTES = TopicConfigKey(
    "retention.bytes",
    LONG,
    "-1",
    "The size in bytes that a partition may have before its oldest segments are deleted; negative: no limit.",
    broker=(BrokerDefault(LOG_RETENTION_BYTES),),
)
SEGMENT_BYTES = TopicConfigKey(
    "segment.bytes",
    INT,
    "1073741824",
    "The maximum size of a segment in bytes. Only whole segments are deleted.",
    SEGMENT_BYTES_MIN,
    broker=(BrokerDefault(LOG_SEGMENT_BYTES),),
)
SEGMENT_MS = TopicConfigKey(
    "segment.ms",
    LONG,
    "604800000",
    "The maximum time in ms between the first and the last timestamp of a segment, before a new segment is rolled.",
    1,
    broker=(BrokerDefault(LOG_ROLL_MS),),
)
SEGMENT_INDEX_BYTES = TopicConfigKey(
    "segment.index.bytes",
    INT,
    "10485760",
    "The maximum size of an offset index in bytes. A segment whose index is full is rolled.",
    4,
    broker=(BrokerDefault(LOG_INDEX_SIZE_MAX_BYTES),),
)
INDEX_INTERVAL_BYTES = TopicConfigKey(
    "index.interval.bytes",
    INT,
    "4096",
    "The interval in bytes at which an entry is added to the indexes.",
    0,
    broker=(BrokerDefault(LOG_INDEX_INTERVAL_BYTES),),
)
MAX_MESSAGE_BYTES = TopicConfigKey(
    "max.message.bytes",
    INT,
    "1048588",
    "The maximum size of a record batch in bytes, after compression.",
    0,
    broker=(BrokerDefault(MESSAGE_MAX_BYTES),),
)
MESSAGE_TIMESTAMP_TYPE = TopicConfigKey(
    "message.timestamp.type",
    STRING,
    "CreateTime",
    "Whether the timestamp of a record is the one of the producer or the time of the append.",
    one_of=("CreateTime", "LogAppendTime"),
    broker=(BrokerDefault(LOG_MESSAGE_TIMESTAMP_TYPE),),
)
MESSAGE_TIMESTAMP_BEFORE_MAX_MS = TopicConfigKey(
    "message.timestamp.before.max.ms",
    LONG,
    str(INT64_MAX),
    "The most ms that the timestamp of a record may lie before the time of its arrival, with CreateTime.",
    0,
    broker=(BrokerDefault(LOG_MESSAGE_TIMESTAMP_BEFORE_MAX_MS),),
)
MESSAGE_TIMESTAMP_AFTER_MAX_MS = TopicConfigKey(
    "message.timestamp.after.max.ms",
    LONG,
    "3600000",
    "The most ms that the timestamp of a record may lie after the time of its arrival, with CreateTime.",
    0,
    broker=(BrokerDefault(LOG_MESSAGE_TIMESTAMP_AFTER_MAX_MS),),
)
FILE_DELETE_DELAY_MS = TopicConfigKey(
    "file.delete.delay.ms",
    LONG,
    "60000",
    "The time in ms after which the files of a deleted segment are removed. Until then they are renamed.",
    0,
    broker=(BrokerDefault(LOG_SEGMENT_DELETE_DELAY_MS),),
)
FLUSH_MESSAGES = TopicConfigKey(
    "flush.messages",
    LONG,
    str(INT64_MAX),
    "After how many records the log is flushed, in the background.",
    1,
    broker=(BrokerDefault(LOG_FLUSH_INTERVAL_MESSAGES),),
)
FLUSH_MS = TopicConfigKey(
    "flush.ms",
    LONG,
    str(INT64_MAX),
    "The time in ms after which an appended record is flushed at the latest, in the background.",
    0,
    broker=(BrokerDefault(LOG_FLUSH_INTERVAL_MS),),
)
MIN_COMPACTION_LAG_MS = TopicConfigKey(
    "min.compaction.lag.ms",
    LONG,
    "0",
    "The least time in ms before a record is compacted.",
    0,
    broker=(BrokerDefault(LOG_CLEANER_MIN_COMPACTION_LAG_MS),),
)
MAX_COMPACTION_LAG_MS = TopicConfigKey(
    "max.compaction.lag.ms",
    LONG,
    str(INT64_MAX),
    "The most time in ms before a record is compacted, once its segment is finished; segments are rolled at this age.",
    1,
    broker=(BrokerDefault(LOG_CLEANER_MAX_COMPACTION_LAG_MS),),
)
DELETE_RETENTION_MS = TopicConfigKey(
    "delete.retention.ms",
    LONG,
    "86400000",
    "The time in ms to keep tombstones and markers of transactions, from the first compaction that meets them on.",
    0,
    broker=(BrokerDefault(LOG_CLEANER_DELETE_RETENTION_MS),),
)
MIN_CLEANABLE_DIRTY_RATIO = TopicConfigKey(
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
    TopicConfigKey(
        "compression.type",
        STRING,
        "producer",
        "The compression of the batches. Only `producer` is possible: they are stored as the producer compressed them.",
        one_of=("uncompressed", "zstd", "lz4", "snappy", "gzip", "producer"),
        check=_only(
            "producer", "this server stores batches as the producer compressed them; only 'producer' is possible"
        ),
    ),
    TopicConfigKey("compression.gzip.level", INT, "-1", "The level of gzip." + NO_RECOMPRESSION, check=_gzip_level),
    TopicConfigKey("compression.lz4.level", INT, "9", "The level of lz4." + NO_RECOMPRESSION, 1, 17),
    TopicConfigKey("compression.zstd.level", INT, "3", "The level of zstd." + NO_RECOMPRESSION, -131072, 22),
    TopicConfigKey(
        "segment.jitter.ms",
        LONG,
        "0",
        "The most ms by which segments are rolled earlier, at random. Without effect: they wait for segment.ms.",
        0,
    ),
    TopicConfigKey(
        "preallocate", BOOLEAN, "false", "Whether to allocate the file of a segment at once. Without effect."
    ),
    TopicConfigKey(
        "min.insync.replicas",
        INT,
        "1",
        "How many replicas must have a record that is produced with acks=all; not more than there are." + ONE_NODE,
        1,
    ),
    TopicConfigKey(
        "unclean.leader.election.enable",
        BOOLEAN,
        "false",
        "Whether a replica that is not in sync may become leader." + ONE_NODE,
    ),
    TopicConfigKey(
        "leader.replication.throttled.replicas",
        LIST,
        "",
        "Replicas whose replication is throttled on the leader." + ONE_NODE,
        check=_throttled_replicas,
    ),
    TopicConfigKey(
        "follower.replication.throttled.replicas",
        LIST,
        "",
        "Replicas whose replication is throttled on the follower." + ONE_NODE,
        check=_throttled_replicas,
    ),
    TopicConfigKey(
        "remote.storage.enable",
        BOOLEAN,
        "false",
        "Whether old segments move to tiered storage. Only false is possible: there is none.",
        check=_no_tiered_storage,
    ),
    TopicConfigKey("remote.log.copy.disable", BOOLEAN, "false", "Whether no more segments move there." + NO_TIERS),
    TopicConfigKey(
        "remote.log.delete.on.disable", BOOLEAN, "false", "Whether they are deleted when it is disabled." + NO_TIERS
    ),
    TopicConfigKey("local.retention.ms", LONG, "-2", "The time in ms to keep local segments." + NO_TIERS, -2),
    TopicConfigKey("local.retention.bytes", LONG, "-2", "The bytes of local segments to keep." + NO_TIERS, -2),
)
"""Kafka has these. A value is accepted if nobody can notice that it has no effect here."""

ALL_KEYS: Final = tuple(sorted(HONOURED + WITHOUT_EFFECT, key=lambda key: key.name))
KEYS_BY_NAME: Final = {key.name: key for key in ALL_KEYS}

FIXED: Final[dict[str, dict[str, str]]] = {
    OFFSETS_TOPIC: {CLEANUP_POLICY.name: "compact"},
    TRANSACTIONS_TOPIC: {CLEANUP_POLICY.name: "compact"},
    AUDIT_TOPIC: {CLEANUP_POLICY.name: "delete"},
}
"""Configs of internal topics that nobody can change."""


def validate(configs: Mapping[str, str | None], topic: str = "") -> dict[str, str]:
    """Check all configs of a topic together; return what is to be stored.

    Raises:
        InvalidTopicConfig: a config is unknown, null, or its value is not allowed, or two contradict each other.
    """
    if missing := [name for name, text in configs.items() if text is None]:
        raise InvalidTopicConfig(f"Null value not supported for topic configs: {','.join(missing)}")
    texts = {name: text.strip() for name, text in configs.items() if text is not None}
    for name in texts:
        if name not in KEYS_BY_NAME:
            raise InvalidTopicConfig(f"Unknown topic config name: {name}")
    for key in ALL_KEYS:
        if key.name in texts:
            key.parse(str(configs[key.name]))
    least, most = (
        key.parse(texts.get(key.name, key.default)) for key in (MIN_COMPACTION_LAG_MS, MAX_COMPACTION_LAG_MS)
    )
    if least > most:
        raise InvalidTopicConfig(
            f"conflict topic config setting {MIN_COMPACTION_LAG_MS.name} ({least}) > "
            f"{MAX_COMPACTION_LAG_MS.name} ({most})"
        )
    for name, text in FIXED.get(topic, {}).items():
        if texts.get(name, text) != text:
            raise InvalidTopicConfig(f"Topic {topic} is internal: its {name} is always {text}")
    return texts


def valid_configs(configs: Mapping[str, str]) -> dict[str, str]:
    """Leave out what `validate` would not accept: a metadata log may hold configs that were stored unchecked."""
    valid: dict[str, str] = {}
    for name, text in configs.items():
        try:
            valid |= validate({name: text})
        except InvalidTopicConfig:
            continue
    return valid


class Origin(NamedTuple):
    """A place where the value of a config can come from."""

    name: str
    source: ConfigSource
    text: str
    """The value, in the unit of the config."""
    shown: str
    """The value as it stands in that place: log.retention.hours is not in ms."""


def origins(key: TopicConfigKey, topic: str, configs: Mapping[str, str], config: Config) -> list[Origin]:
    """All places that have a value for a config; the first one counts. `configs` are the topic's own, and valid."""
    found = []
    own = FIXED.get(topic, {}).get(key.name) or configs.get(key.name)
    if own is not None:
        found.append(Origin(key.name, ConfigSource.TOPIC, own, own))
    fallbacks = key.broker
    if key is SEGMENT_BYTES and topic == OFFSETS_TOPIC:
        fallbacks = (BrokerDefault(OFFSETS_TOPIC_SEGMENT_BYTES),)
    if key is SEGMENT_BYTES and topic == TRANSACTIONS_TOPIC:
        fallbacks = (BrokerDefault(TRANSACTION_STATE_LOG_SEGMENT_BYTES),)
    for each in fallbacks:
        if config.is_given(each.key):
            shown = config.text(each.key)
            found.append(Origin(each.key.name, ConfigSource.STATIC_BROKER, each.text(config), shown))
    if not fallbacks:
        return [*found, Origin(key.name, ConfigSource.DEFAULT, key.default, key.default)]
    last = fallbacks[-1]
    default = last.key.format(last.key.default)
    text = default if last.factor == 1 else str(last.key.default * last.factor)
    return [*found, Origin(last.key.name, ConfigSource.DEFAULT, text, default)]


def log_config(topic: str, configs: Mapping[str, str], config: Config) -> LogConfig:
    """The settings of the logs of a topic. Configs that are not valid count as not set."""
    own = valid_configs(configs)

    def value(key: TopicConfigKey) -> Any:
        return key.parse(origins(key, topic, own, config)[0].text)

    policy = frozenset(value(CLEANUP_POLICY))
    # What is not finished cannot be compacted (LogConfig.maxSegmentMs).
    segment_ms_max = value(MAX_COMPACTION_LAG_MS) if "compact" in policy else INT64_MAX
    return LogConfig(
        segment_bytes=value(SEGMENT_BYTES),
        segment_ms=min(value(SEGMENT_MS), segment_ms_max),
        segment_index_bytes=value(SEGMENT_INDEX_BYTES),
        index_interval_bytes=value(INDEX_INTERVAL_BYTES),
        max_message_bytes=value(MAX_MESSAGE_BYTES),
        message_timestamp_type=value(MESSAGE_TIMESTAMP_TYPE),
        timestamp_before_max_ms=value(MESSAGE_TIMESTAMP_BEFORE_MAX_MS),
        timestamp_after_max_ms=value(MESSAGE_TIMESTAMP_AFTER_MAX_MS),
        retention_ms=value(RETENTION_MS),
        retention_bytes=value(RETENTION_BYTES),
        file_delete_delay_ms=value(FILE_DELETE_DELAY_MS),
        cleanup_policy=policy,
        min_cleanable_dirty_ratio=value(MIN_CLEANABLE_DIRTY_RATIO),
        min_compaction_lag_ms=value(MIN_COMPACTION_LAG_MS),
        max_compaction_lag_ms=value(MAX_COMPACTION_LAG_MS),
        delete_retention_ms=value(DELETE_RETENTION_MS),
        flush_messages=value(FLUSH_MESSAGES),
        flush_ms=value(FLUSH_MS),
    )
