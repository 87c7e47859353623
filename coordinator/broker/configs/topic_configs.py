"""The values of the configs of topics.

What a topic does not set itself comes from the settings of the broker (LogConfig.java).
"""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from coordinator.broker.configs.internal_topic_configs import FIXED, check_internal
from coordinator.broker.configs.resource_config_key import BrokerDefault, InvalidResourceConfig, ResourceConfigKey
from coordinator.broker.configs.topic_config_keys import (
    ALL_KEYS,
    CLEANUP_POLICY,
    DELETE_RETENTION_MS,
    FILE_DELETE_DELAY_MS,
    FLUSH_MESSAGES,
    FLUSH_MS,
    INDEX_INTERVAL_BYTES,
    KEYS_BY_NAME,
    MAX_COMPACTION_LAG_MS,
    MAX_MESSAGE_BYTES,
    MESSAGE_TIMESTAMP_AFTER_MAX_MS,
    MESSAGE_TIMESTAMP_BEFORE_MAX_MS,
    MESSAGE_TIMESTAMP_TYPE,
    MIN_CLEANABLE_DIRTY_RATIO,
    MIN_COMPACTION_LAG_MS,
    RETENTION_BYTES,
    RETENTION_MS,
    SEGMENT_BYTES,
    SEGMENT_INDEX_BYTES,
    SEGMENT_MS,
    TOPIC_COMPRESSION_TYPE,
    TOPIC_GZIP_LEVEL,
    TOPIC_LZ4_LEVEL,
    TOPIC_ZSTD_LEVEL,
)
from coordinator.config.group_keys import OFFSETS_TOPIC_SEGMENT_BYTES
from coordinator.config.key import INT64_MAX
from coordinator.config.settings import Config
from coordinator.config.share_coordinator_keys import SHARE_COORDINATOR_STATE_TOPIC_SEGMENT_BYTES
from coordinator.config.source import ConfigSource
from coordinator.config.transaction_keys import TRANSACTION_STATE_LOG_SEGMENT_BYTES
from coordinator.internal_topics import OFFSETS_TOPIC, SHARE_STATE_TOPIC, TRANSACTIONS_TOPIC
from coordinator.log.config import LogConfig, TargetCompression


def validate(configs: Mapping[str, str | None], topic: str = "") -> dict[str, str]:
    """Check all configs of a topic together; return what is to be stored.

    Raises:
        InvalidResourceConfig: a config is unknown, null, or its value is not allowed, or two contradict each other.
    """
    if missing := [name for name, text in configs.items() if text is None]:
        raise InvalidResourceConfig(f"Null value not supported for topic configs: {','.join(missing)}")
    texts = {name: text.strip() for name, text in configs.items() if text is not None}
    for name in texts:
        if name not in KEYS_BY_NAME:
            raise InvalidResourceConfig(f"Unknown topic config name: {name}")
    for key in ALL_KEYS:
        if key.name in texts:
            key.parse(str(configs[key.name]))
    least, most = (
        key.parse(texts.get(key.name, key.default)) for key in (MIN_COMPACTION_LAG_MS, MAX_COMPACTION_LAG_MS)
    )
    if least > most:
        raise InvalidResourceConfig(
            f"conflict topic config setting {MIN_COMPACTION_LAG_MS.name} ({least}) > "
            f"{MAX_COMPACTION_LAG_MS.name} ({most})"
        )
    check_internal(topic, texts)
    return texts


def valid_configs(configs: Mapping[str, str], topic: str = "") -> dict[str, str]:
    """Leave out what `validate` would not accept: a metadata log may hold configs that were stored unchecked."""
    valid: dict[str, str] = {}
    for name, text in configs.items():
        try:
            valid |= validate({name: text}, topic)
        except InvalidResourceConfig:
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


def origins(key: ResourceConfigKey, topic: str, configs: Mapping[str, str], config: Config) -> list[Origin]:
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
    if key is SEGMENT_BYTES and topic == SHARE_STATE_TOPIC:
        fallbacks = (BrokerDefault(SHARE_COORDINATOR_STATE_TOPIC_SEGMENT_BYTES),)
    for fallback in fallbacks:
        for source, value in config.origins(fallback.key):
            found.append(Origin(fallback.key.name, source, fallback.text(value), fallback.key.format(value)))
    if not fallbacks:
        return [*found, Origin(key.name, ConfigSource.DEFAULT, key.default, key.default)]
    last = fallbacks[-1]
    default = last.key.default
    return [*found, Origin(last.key.name, ConfigSource.DEFAULT, last.text(default), last.key.format(default))]


BROKER_SETTINGS: Final = frozenset(default.key for key in ALL_KEYS for default in key.broker)
"""The settings that topics fall back to."""
LEVELS: Final = {"gzip": TOPIC_GZIP_LEVEL, "lz4": TOPIC_LZ4_LEVEL, "zstd": TOPIC_ZSTD_LEVEL}
"""compression.type → the config with its level."""


def log_config(topic: str, configs: Mapping[str, str], config: Config) -> LogConfig:
    """The settings of the logs of a topic. Configs that are not valid count as not set."""
    own = valid_configs(configs, topic)

    def value(key: ResourceConfigKey) -> Any:
        return key.parse(origins(key, topic, own, config)[0].text)

    policy = frozenset(value(CLEANUP_POLICY))
    # What is not finished cannot be compacted (LogConfig.maxSegmentMs).
    segment_ms_max = value(MAX_COMPACTION_LAG_MS) if "compact" in policy else INT64_MAX
    compression_type, compression = value(TOPIC_COMPRESSION_TYPE), None
    if compression_type != "producer":
        name = "none" if compression_type == "uncompressed" else compression_type
        level = value(LEVELS[name]) if name in LEVELS else 0
        compression = TargetCompression(name, level)
    return LogConfig(
        segment_bytes=value(SEGMENT_BYTES),
        segment_ms=min(value(SEGMENT_MS), segment_ms_max),
        segment_index_bytes=value(SEGMENT_INDEX_BYTES),
        index_interval_bytes=value(INDEX_INTERVAL_BYTES),
        max_message_bytes=value(MAX_MESSAGE_BYTES),
        compression=compression,
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
