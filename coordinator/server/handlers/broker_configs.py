"""The configs of this broker in DescribeConfigs: those of Kafka, and the settings that only this server has."""

from collections.abc import Iterable
from typing import Any, Final

from _wire.messages.describe_configs import DescribeConfigsResourceResult, DescribeConfigsSynonym
from coordinator.broker.resource_config_key import ConfigType
from coordinator.broker.topic_configs import ConfigSource
from coordinator.config.kafka_broker_configs import KafkaBrokerConfig, kafka_broker_configs
from coordinator.config.key import ConfigKey
from coordinator.config.server_keys import LOG_DIRS, NODE_ID
from coordinator.config.settings import ALL_KEYS, Config

SETTINGS: Final = {key.name: key for key in ALL_KEYS} | {"broker.id": NODE_ID}
"""Name of a config → the setting that it shows. `broker.id` is the old name of `node.id`, and has its value."""

ALWAYS_SET: Final = (NODE_ID, LOG_DIRS)
"""Settings that have a default here, and none on Kafka."""

UNUSED: Final = "Not used by this server. The value is the default of Kafka 4.3.1."


def broker_configs(config: Config) -> Iterable[DescribeConfigsResourceResult]:
    """All configs, in the order of their names.

    All are read-only, also those that Kafka can change while it runs: a change of them is always refused here.
    """
    kafka = kafka_broker_configs()
    for name in sorted(kafka.keys() | SETTINGS.keys()):
        setting = SETTINGS.get(name)
        if setting is None:
            yield _described(name, kafka[name].type, kafka[name].is_sensitive, _unused(kafka[name]), UNUSED)
        else:
            type_number = kafka[name].type if name in kafka else _type_of(setting.default)
            yield _described(name, type_number, False, _values(config, setting, kafka.get(name)), setting.doc)


def _unused(config: KafkaBrokerConfig) -> list[tuple[str, ConfigSource]]:
    return [] if config.default is None else [(config.default, ConfigSource.DEFAULT)]


def _values(config: Config, setting: ConfigKey[Any], kafka: KafkaBrokerConfig | None) -> list[tuple[str, ConfigSource]]:
    """The values of a setting and where they come from; the first one counts.

    As on Kafka, a setting has no default if another one decides while it is not set: `log.retention.ms`, for example.
    """
    has_default = kafka is None or kafka.default is not None or setting in ALWAYS_SET
    given = [(config.text(setting), ConfigSource.STATIC_BROKER)] if config.is_given(setting) else []
    return given + ([(setting.format(setting.default), ConfigSource.DEFAULT)] if has_default else [])


def _described(
    name: str, type_number: int, is_sensitive: bool, values: list[tuple[str, ConfigSource]], doc: str
) -> DescribeConfigsResourceResult:
    value, source = values[0] if values else (None, ConfigSource.DEFAULT)
    return DescribeConfigsResourceResult(
        name=name,
        value=value,
        read_only=True,
        is_default=source is ConfigSource.DEFAULT,
        config_source=source,
        is_sensitive=is_sensitive,
        synonyms=[DescribeConfigsSynonym(name=name, value=text, source=place) for text, place in values],
        config_type=type_number,
        documentation=doc,
    )


def _type_of(value: object) -> ConfigType:
    """The type of a setting that Kafka does not have."""
    if isinstance(value, bool):
        return ConfigType.BOOLEAN
    if isinstance(value, str):
        return ConfigType.STRING
    return ConfigType.LONG
