"""Which configs of internal topics may be set, and in which bounds: the coordinator itself depends on these topics.

Kafka accepts any. There, `max.message.bytes=1` on `__consumer_offsets` makes every commit fail, and `segment.ms=1`
gives each commit a segment of its own.
"""

from collections.abc import Mapping
from typing import Final

from coordinator.broker.configs.resource_config_key import InvalidResourceConfig
from coordinator.broker.configs.topic_config_keys import (
    CLEANUP_POLICY,
    DELETE_RETENTION_MS,
    KEYS_BY_NAME,
    MAX_COMPACTION_LAG_MS,
    MAX_MESSAGE_BYTES,
    MIN_CLEANABLE_DIRTY_RATIO,
    MIN_COMPACTION_LAG_MS,
    RETENTION_BYTES,
    RETENTION_MS,
    SEGMENT_BYTES,
    SEGMENT_MS,
    TOPIC_COMPRESSION_TYPE,
)
from coordinator.config.key import SEGMENT_BYTES_MIN
from coordinator.internal_topics import AUDIT_TOPIC, OFFSETS_TOPIC, SHARE_STATE_TOPIC, TRANSACTIONS_TOPIC

FIXED: Final[dict[str, dict[str, str]]] = {
    OFFSETS_TOPIC: {CLEANUP_POLICY.name: "compact", TOPIC_COMPRESSION_TYPE.name: "producer"},
    TRANSACTIONS_TOPIC: {CLEANUP_POLICY.name: "compact", TOPIC_COMPRESSION_TYPE.name: "uncompressed"},
    SHARE_STATE_TOPIC: {
        CLEANUP_POLICY.name: "delete",
        TOPIC_COMPRESSION_TYPE.name: "producer",
        RETENTION_MS.name: "-1",
        RETENTION_BYTES.name: "-1",
    },
    AUDIT_TOPIC: {CLEANUP_POLICY.name: "delete", TOPIC_COMPRESSION_TYPE.name: "producer"},
}
"""Configs of internal topics that have one value only."""

SEGMENT_MS_MIN: Final = 60_000
"""A segment has up to four files. Topics of clients may have shorter ones, which cost nobody else."""
MESSAGE_BYTES_MIN: Final = int(MAX_MESSAGE_BYTES.default)
"""Kafka's default. Groups and commits that were accepted must fit into a batch, also after a change."""

_SEGMENTS: Final = {SEGMENT_BYTES.name: SEGMENT_BYTES_MIN, SEGMENT_MS.name: SEGMENT_MS_MIN}
_BATCHES: Final = {MAX_MESSAGE_BYTES.name: MESSAGE_BYTES_MIN}
_COMPACTION: Final = {
    MIN_CLEANABLE_DIRTY_RATIO.name: 0,
    MIN_COMPACTION_LAG_MS.name: 0,
    MAX_COMPACTION_LAG_MS.name: SEGMENT_MS_MIN,
    DELETE_RETENTION_MS.name: 0,
}
_RETENTION: Final = {RETENTION_MS.name: -1, RETENTION_BYTES.name: -1}

LEAST: Final[dict[str, dict[str, int]]] = {
    OFFSETS_TOPIC: {**_SEGMENTS, **_BATCHES, **_COMPACTION},
    TRANSACTIONS_TOPIC: {**_SEGMENTS, **_BATCHES, **_COMPACTION},
    SHARE_STATE_TOPIC: {**_SEGMENTS, **_BATCHES},
    AUDIT_TOPIC: {**_SEGMENTS, **_BATCHES, **_RETENTION},
}
"""Internal topic → the configs that may be set, and the least value of each. A segment that is aged by
`max.compaction.lag.ms` is rolled, so that has the bound of `segment.ms`."""


def check_internal(topic: str, configs: Mapping[str, str]) -> None:
    """Check the configs of a topic that are each valid. Topics of clients may have any.

    Raises:
        InvalidResourceConfig: an internal topic may not have one of them, or not this value.
    """
    if topic not in LEAST:
        return
    fixed, least = FIXED[topic], LEAST[topic]
    for name, text in configs.items():
        if name in fixed:
            if text != fixed[name]:
                raise InvalidResourceConfig(f"Topic {topic} is internal: its {name} is always {fixed[name]}")
        elif name not in least:
            allowed = ", ".join(sorted(least))
            raise InvalidResourceConfig(f"Topic {topic} is internal: {name} cannot be set, only {allowed}")
        elif KEYS_BY_NAME[name].parse(text) < least[name]:
            raise InvalidResourceConfig(
                f"Invalid value {text} for configuration {name}: "
                f"Value must be at least {least[name]} for the internal topic {topic}"
            )
