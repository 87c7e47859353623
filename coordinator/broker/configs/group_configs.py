"""The configs of groups: their values, and what a change of them may be (GroupConfig.java, GroupConfigManager.java).

A group can have configs before it exists, and keeps them when it is gone. What it does not set itself comes from the
settings of the broker.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Final

from _wire.errors import ErrorCode
from coordinator.broker.configs.group_config_keys import (
    ALL_GROUP_KEYS,
    ALL_KINDS,
    GROUP_KEYS_BY_NAME,
    LONGER,
    RANGES,
    KindConfigs,
)
from coordinator.broker.configs.resource_config_key import ConfigType, InvalidResourceConfig, ResourceConfigKey
from coordinator.broker.configs.topic_configs import Origin
from coordinator.broker.topics import TopicError
from coordinator.config.consumer_group_keys import GROUP_CONFIGS_MAX
from coordinator.config.group_keys import GROUP_COORDINATOR_REBALANCE_PROTOCOLS
from coordinator.config.kafka_broker_configs import kafka_broker_configs
from coordinator.config.settings import KEYS_BY_NAME, Config
from coordinator.config.source import ConfigSource
from coordinator.metadata.features import level_of
from coordinator.metadata.image import MetadataImage

GROUPS_REMEMBERED_MAX: Final = 10_000
"""Groups with configs of their own whose values are kept as numbers."""


def group_origins(key: ResourceConfigKey, configs: Mapping[str, str], config: Config) -> list[Origin]:
    """All places that have a value for a config; the first one counts. `configs` are those of the group."""
    found = []
    if (own := _valid(key, configs)) is not None:
        found.append(Origin(key.name, ConfigSource.GROUP, own, own))
    for default in key.broker:
        for source, value in config.origins(default.key):
            found.append(Origin(default.key.name, source, default.text(value), default.text(value)))
    name = f"group.{key.name}"
    return [
        *found,
        Origin(name if name in kafka_broker_configs() else key.name, ConfigSource.DEFAULT, key.default, key.default),
    ]


def _valid(key: ResourceConfigKey, configs: Mapping[str, str]) -> str | None:
    """The value of a group as it is shown; None if there is none, or it was stored unchecked and is not valid."""
    if key.name not in configs:
        return None
    try:
        value = key.parse(configs[key.name])
    except InvalidResourceConfig:
        return None
    return str(value).lower() if key.type is ConfigType.BOOLEAN else str(value)


def validate_group_configs(configs: Mapping[str, str | None], config: Config) -> dict[str, str]:
    """Check all configs of a group together; return what is to be stored.

    Raises:
        InvalidResourceConfig: a config is unknown, or its value is not allowed, or two contradict each other.
    """
    texts = {name: (text or "").strip() for name, text in configs.items()}
    for name in texts:
        if name not in GROUP_KEYS_BY_NAME:
            raise InvalidResourceConfig(f"Unknown group config name: {name}")
    for key in ALL_GROUP_KEYS:
        if key.name in texts:
            key.parse(str(configs[key.name]))
    values = {key: int(group_origins(key, texts, config)[0].text) for key in RANGES}
    for key, (least, most) in RANGES.items():
        if least is not None and values[key] < _setting(least, config):
            raise InvalidResourceConfig(f"{key.name} must be greater than or equal to {least}")
        if values[key] > _setting(most, config):
            raise InvalidResourceConfig(f"{key.name} must be less than or equal to {most}")
    for longer, shorter in LONGER:
        if values[longer] <= values[shorter]:
            raise InvalidResourceConfig(f"{longer.name} must be greater than {shorter.name}")
    return texts


def _setting(name: str, config: Config) -> int:
    """A setting of the broker, also one that only Kafka has."""
    setting = KEYS_BY_NAME.get(name)
    if setting is not None:
        return int(config[setting])
    return int(kafka_broker_configs()[name].default or 0)


def current_group_settings(config: Config, image: MetadataImage) -> "dict[str, CurrentGroupSettings]":
    """Kind of group → what holds for its groups at any time."""
    return {kind.kind: CurrentGroupSettings(kind, config, image) for kind in ALL_KINDS}


class CurrentGroupSettings:
    """The settings of the groups of one kind as they are now (`GroupSettings` of the core)."""

    def __init__(self, kind: KindConfigs, config: Config, image: MetadataImage) -> None:
        self._kind = kind
        self._config = config
        self._image = image
        self._has_protocol = kind.protocol is None or kind.protocol in config[GROUP_COORDINATOR_REBALANCE_PROTOCOLS]
        self._defaults = self._values({})
        self._own: dict[str, tuple[Mapping[str, str], tuple[int, ...]]] = {}
        """Group id → its configs, and what they say: each heartbeat that changes something asks."""

    def is_enabled(self) -> bool:
        """Whether groups of the kind are served: their feature is in use, and their protocol is enabled."""
        return self._has_protocol and level_of(self._image, self._kind.feature) > 0

    def of(self, group_id: str) -> tuple[int, ...]:
        """The values of a group (`KindConfigs.values`)."""
        configs = self._image.group_configs.get(group_id)
        if configs is None:
            return self._defaults
        kept = self._own.get(group_id)
        if kept is None or kept[0] is not configs:  # a change makes others
            if len(self._own) >= GROUPS_REMEMBERED_MAX:
                self._own.clear()
            kept = self._own[group_id] = configs, self._values(configs)
        return kept[1]

    def _values(self, configs: Mapping[str, str]) -> tuple[int, ...]:
        return tuple(self._value(key, configs) for key in self._kind.values)

    def _value(self, key: ResourceConfigKey, configs: Mapping[str, str]) -> int:
        """A value that was stored when the bounds were others is moved to the nearest one that is allowed now."""
        own = _valid(key, configs)
        if own is None:
            return int(self._config[key.broker[0].key])
        if key not in RANGES:
            return int(own)
        least, most = RANGES[key]
        value = min(int(own), _setting(most, self._config))
        return value if least is None else max(value, _setting(least, self._config))


def group_config_change(
    configs: Mapping[str, Mapping[str, str]],
    group_id: str,
    change: Callable[[Mapping[str, str]], Mapping[str, str | None]],
    config: Config,
    pending: Iterable[str] = (),
) -> dict[str, str]:
    """Check a change of a group's configs; return all that it would have.

    `configs` are those of all groups, `change` gets those of this one. `pending` are groups that get configs with it.

    Raises:
        TopicError: the group id is empty, or a config is not allowed; `change` may raise it, too.
    """
    if not group_id:
        raise TopicError(ErrorCode.INVALID_REQUEST, "Default group resources are not allowed.")
    try:
        changed = validate_group_configs(change(configs.get(group_id, {})), config)
    except InvalidResourceConfig as problem:
        raise TopicError(ErrorCode.INVALID_CONFIG, str(problem)) from None
    most = config[GROUP_CONFIGS_MAX]
    if changed and group_id not in configs and len(configs) + sum(name not in configs for name in pending) >= most:
        raise TopicError(ErrorCode.POLICY_VIOLATION, f"No more than {most} groups can have configs.")
    return changed
