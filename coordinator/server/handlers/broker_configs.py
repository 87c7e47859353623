"""The configs of this broker in DescribeConfigs: those of Kafka, and the settings that only this server has."""

from collections.abc import Iterable, Sequence
from operator import itemgetter
from typing import Any, Final

from _wire.messages.describe_configs import DescribeConfigsResourceResult, DescribeConfigsSynonym
from coordinator.broker.resource_config_key import ConfigType
from coordinator.broker.topic_configs import ConfigSource
from coordinator.config.kafka_broker_configs import KafkaBrokerConfig, kafka_broker_configs
from coordinator.config.key import ConfigKey
from coordinator.config.password import Password
from coordinator.config.server_keys import LOG_DIRS, NODE_ID
from coordinator.config.settings import ALL_KEYS, Config

SETTINGS: Final = {key.name: key for key in ALL_KEYS} | {"broker.id": NODE_ID}
"""Name of a config → the setting that it shows. `broker.id` is the old name of `node.id`, and has its value."""

ALWAYS_SET: Final = (NODE_ID, LOG_DIRS)
"""Settings that have a default here, and none on Kafka."""

TYPES: Final = {bool: ConfigType.BOOLEAN, str: ConfigType.STRING, tuple: ConfigType.LIST, Password: ConfigType.PASSWORD}

UNUSED: Final = "Not used by this server. The value is the default of Kafka 4.3.1."


def broker_configs(config: Config) -> Iterable[DescribeConfigsResourceResult]:
    """All configs, in the order of their names, then those that were given for single listeners.

    All are read-only, also those that Kafka can change while it runs: a change of them is always refused here.
    """
    kafka = kafka_broker_configs()
    for name in sorted(kafka.keys() | SETTINGS.keys()):
        setting = SETTINGS.get(name)
        if setting is None:
            yield _described(name, kafka[name].type, kafka[name].is_sensitive, _unused(kafka[name]), UNUSED)
        else:
            values = _values(config, setting, kafka.get(name))
            yield _described(name, _type_of(setting), setting.is_secret, values, setting.doc)
    for name, setting, text in sorted(config.overrides(), key=itemgetter(0)):
        values = [(text, ConfigSource.STATIC_BROKER)]
        yield _described(name, _type_of(setting), setting.is_secret, values, setting.doc)


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
    name: str, type_number: int, is_sensitive: bool, values: Sequence[tuple[str | None, ConfigSource]], doc: str
) -> DescribeConfigsResourceResult:
    value, source = values[0] if values else (None, ConfigSource.DEFAULT)
    if is_sensitive:
        values = [(None, place) for _, place in values]
    return DescribeConfigsResourceResult(
        name=name,
        value=None if is_sensitive else value,
        read_only=True,
        is_default=source is ConfigSource.DEFAULT,
        config_source=source,
        is_sensitive=is_sensitive,
        synonyms=[DescribeConfigsSynonym(name=name, value=text, source=place) for text, place in values],
        config_type=type_number,
        documentation=doc,
    )


def _type_of(setting: ConfigKey[Any]) -> int:
    """The type of a config as Kafka has it, or that of a setting that Kafka does not have."""
    kafka = kafka_broker_configs().get(setting.name)
    if kafka is not None:
        return kafka.type
    return TYPES.get(type(setting.default), ConfigType.LONG)
