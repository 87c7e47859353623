"""What holds for the records of share groups, which may differ from group to group.

Counterpart in Kafka: `ShareGroupConfigProvider`.
"""

from collections.abc import Mapping
from typing import NamedTuple

from coordinator.broker.configs.group_config_keys import (
    BY_DURATION,
    SHARE_AUTO_OFFSET_RESET,
    SHARE_ISOLATION_LEVEL,
    SHARE_RECORDS,
    SHARE_RENEW_ACKNOWLEDGE_ENABLE,
    duration_ms,
)
from coordinator.broker.configs.group_configs import GROUPS_REMEMBERED_MAX, CurrentGroupSettings
from coordinator.broker.configs.resource_config_key import InvalidResourceConfig, ResourceConfigKey
from coordinator.config.settings import Config
from coordinator.metadata.image import MetadataImage

EARLIEST = "earliest"
LATEST = "latest"


class RecordSettings(NamedTuple):
    """What holds for the records of a group."""

    lock_duration_ms: int
    delivery_count_limit: int
    record_locks_max: int
    offset_reset: str | int
    """Where a partition is read from first: `EARLIEST`, `LATEST`, or at records as old as so many milliseconds."""
    is_committed: bool
    """Whether only records of committed transactions are delivered."""
    may_renew: bool
    """Whether members may renew the locks of records (KIP-1222)."""


class ShareRecordSettings:
    """The settings of each group, as they are now."""

    def __init__(self, config: Config, image: MetadataImage) -> None:
        self._numbers = CurrentGroupSettings(SHARE_RECORDS, config, image)
        self._image = image
        self._defaults = self._made("", {})
        self._own: dict[str, tuple[Mapping[str, str], RecordSettings]] = {}

    def is_enabled(self) -> bool:
        """Whether share groups are served: `share.version` is 1 at least."""
        return self._numbers.is_enabled()

    def of(self, group_id: str) -> RecordSettings:
        configs = self._image.group_configs.get(group_id)
        if configs is None:
            return self._defaults
        kept = self._own.get(group_id)
        if kept is None or kept[0] is not configs:  # a change makes others
            if len(self._own) >= GROUPS_REMEMBERED_MAX:
                self._own.clear()
            kept = self._own[group_id] = configs, self._made(group_id, configs)
        return kept[1]

    def _made(self, group_id: str, configs: Mapping[str, str]) -> RecordSettings:
        lock_duration_ms, delivery_count_limit, record_locks_max = self._numbers.of(group_id)
        reset = _text(SHARE_AUTO_OFFSET_RESET, configs)
        by_duration_ms = duration_ms(reset.removeprefix(BY_DURATION)) if reset.startswith(BY_DURATION) else None
        return RecordSettings(
            lock_duration_ms,
            delivery_count_limit,
            record_locks_max,
            reset if by_duration_ms is None else by_duration_ms,
            _text(SHARE_ISOLATION_LEVEL, configs) == "read_committed",
            _text(SHARE_RENEW_ACKNOWLEDGE_ENABLE, configs).lower() == "true",
        )


def _text(key: ResourceConfigKey, configs: Mapping[str, str]) -> str:
    """The value of a group, or the default if it has none, or one that was stored unchecked and is not valid."""
    text = configs.get(key.name, key.default)
    try:
        key.parse(text)
    except InvalidResourceConfig:
        return key.default
    return text.strip()
