"""The configs of this broker in DescribeConfigs: those of Kafka, and the settings that only this server has."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import dropwhile
from operator import itemgetter
from typing import Any, Final

from _wire.messages.describe_configs import DescribeConfigsResourceResult, DescribeConfigsSynonym
from coordinator.broker.configs.broker_config_keys import broker_config_keys
from coordinator.broker.configs.broker_configs import (
    CLUSTER,
    BrokerConfigs,
    base_name,
    can_change,
    setting_of_listener,
    source_of,
)
from coordinator.broker.configs.resource_config_key import ConfigType, split_list
from coordinator.config.kafka_broker_configs import kafka_broker_configs
from coordinator.config.key import ConfigKey
from coordinator.config.log_keys import (
    LOG_FLUSH_INTERVAL_MS,
    LOG_RETENTION_HOURS,
    LOG_RETENTION_MINUTES,
    LOG_RETENTION_MS,
    LOG_ROLL_MS,
)
from coordinator.config.password import Password
from coordinator.config.server_keys import LOG_DIRS, NODE_ID
from coordinator.config.settings import ALL_KEYS, Config
from coordinator.config.source import ConfigSource

SETTINGS: Final = {key.name: key for key in ALL_KEYS} | {"broker.id": NODE_ID}
"""Name of a config → the setting that it shows. `broker.id` is the old name of `node.id`, and has its value."""

ALWAYS_SET: Final = (NODE_ID, LOG_DIRS)
"""Settings that have a default here, and none on Kafka."""

TYPES: Final = {bool: ConfigType.BOOLEAN, str: ConfigType.STRING, tuple: ConfigType.LIST, Password: ConfigType.PASSWORD}
UNKNOWN_TYPE: Final = 0
RETENTION: Final = (LOG_RETENTION_MS.name, LOG_RETENTION_MINUTES.name, LOG_RETENTION_HOURS.name)
ROLL: Final = (LOG_ROLL_MS.name, "log.roll.hours")
ROLL_JITTER: Final = ("log.roll.jitter.ms", "log.roll.jitter.hours")
SYNONYMS: Final = {
    **dict.fromkeys(RETENTION, RETENTION),
    **dict.fromkeys(ROLL, ROLL),
    **dict.fromkeys(ROLL_JITTER, ROLL_JITTER),
    LOG_FLUSH_INTERVAL_MS.name: (LOG_FLUSH_INTERVAL_MS.name, "log.flush.scheduler.interval.ms"),
}
"""Configs of which one decides while another one is not set."""

UNUSED: Final = "Not used by this server. The default is that of Kafka 4.3.1."

Place = tuple[str, str | None, ConfigSource]
"""A name, the value at it, and its source."""


def broker_configs(config: Config, stored: BrokerConfigs) -> Iterable[DescribeConfigsResourceResult]:
    """All configs in the order of their names. `stored` are those that were set while brokers ran."""
    node = str(config[NODE_ID])
    dynamic = {name: stored.get(name, {}) for name in (node, CLUSTER)}
    names = kafka_broker_configs().keys() | SETTINGS.keys() | dynamic[node].keys() | dynamic[CLUSTER].keys()
    names |= config.unused.keys()
    overrides = {name: text for name, _, text in config.overrides()}
    for name in sorted(names | overrides.keys()):
        synonyms = _synonyms(name)
        places: list[Place] = [
            (synonym, configs[synonym], source_of(broker))
            for broker, configs in dynamic.items()
            for synonym in synonyms
            if synonym in configs
        ]
        places += [
            (synonym, overrides[synonym], ConfigSource.STATIC_BROKER) for synonym in synonyms if synonym in overrides
        ]
        places += sorted((place for synonym in synonyms for place in _static(synonym, config)), key=itemgetter(2))
        yield _described(name, *_type_and_secrecy(name), list(_from_own(name, places)), _doc(name))


def cluster_configs(stored: Mapping[str, str]) -> Iterable[DescribeConfigsResourceResult]:
    """The configs that are set for all brokers."""
    for name, text in sorted(stored.items(), key=itemgetter(0)):
        yield _described(name, *_type_and_secrecy(name), [(name, text, source_of(CLUSTER))], _doc(name))


def _synonyms(name: str) -> tuple[str, ...]:
    """The configs that decide about a value, the first one that is set (brokerConfigSynonyms)."""
    if name in SYNONYMS:
        return SYNONYMS[name]
    base = _base(name)
    return (name,) if base == name else (name, base)


def _base(name: str) -> str:
    """The config that `listener.name.NAME.KEY` or `listener.name.NAME.MECHANISM.KEY` is; any other name is its own."""
    setting = setting_of_listener(name)
    return base_name(name) if setting is None else setting.name


def _from_own(name: str, places: Iterable[Place]) -> Iterator[Place]:
    """As on Kafka, what comes before the first value of the config itself is left out."""
    return dropwhile(lambda place: place[0] != name, places)


def _static(name: str, config: Config) -> list[Place]:
    """What was given at the start, and the default.

    As on Kafka, a setting has no default if another one decides while it is not set: `log.retention.ms`, for example.
    """
    setting, kafka = SETTINGS.get(name), kafka_broker_configs().get(name)
    places: list[Place] = []
    if setting is None:
        if name in config.unused:
            places.append((name, config.unused[name], ConfigSource.STATIC_BROKER))
        if kafka is not None and kafka.default is not None:
            places.append((name, kafka.default, ConfigSource.DEFAULT))
        return places
    given = [value for source, value in config.origins(setting) if source is ConfigSource.STATIC_BROKER]
    places += [(name, setting.format(value), ConfigSource.STATIC_BROKER) for value in given]
    if kafka is None or kafka.default is not None or setting in ALWAYS_SET:
        places.append((name, setting.format(setting.default), ConfigSource.DEFAULT))
    return places


def _described(
    name: str, type_number: int, is_sensitive: bool, places: Sequence[Place], doc: str | None
) -> DescribeConfigsResourceResult:
    _, value, source = places[0] if places else (name, None, ConfigSource.DEFAULT)
    return DescribeConfigsResourceResult(
        name=name,
        value=None if is_sensitive or value is None else _shown(value, type_number),
        read_only=not can_change(name),
        is_default=source is ConfigSource.DEFAULT,
        config_source=source,
        is_sensitive=is_sensitive,
        synonyms=[
            DescribeConfigsSynonym(name=place, value=None if is_sensitive else text, source=config_source)
            for place, text, config_source in places
        ],
        config_type=type_number,
        documentation=doc,
    )


def _shown(text: str, type_number: int) -> str:
    """A value as Kafka writes it, whatever it was set as."""
    match type_number:
        case ConfigType.BOOLEAN:
            return text.strip().lower()
        case ConfigType.INT | ConfigType.LONG | ConfigType.SHORT:
            return str(int(text))
        case ConfigType.LIST:
            return ",".join(split_list(text))
    return text.strip()


def _doc(name: str) -> str | None:
    setting, key = SETTINGS.get(_base(name)), broker_config_keys().get(_base(name))
    if setting is not None:
        return setting.doc
    if key is not None and key.key.doc:
        return f"{key.key.doc} {UNUSED}"
    return UNUSED if _base(name) in kafka_broker_configs() else None


def _type_and_secrecy(name: str) -> tuple[int, bool]:
    """As on Kafka, what is not known is kept secret."""
    base = _base(name)
    setting, kafka = SETTINGS.get(base), kafka_broker_configs().get(base)
    if setting is not None:
        return _type_of(base, setting), setting.is_secret
    if kafka is not None:
        return kafka.type, kafka.is_sensitive
    key = broker_config_keys().get(base)
    return (UNKNOWN_TYPE, True) if key is None else (key.key.type, False)


def _type_of(name: str, setting: ConfigKey[Any]) -> int:
    """The type of a config as Kafka has it, or that of a setting that Kafka does not have."""
    kafka = kafka_broker_configs().get(_base(name)) or kafka_broker_configs().get(setting.name)
    if kafka is not None:
        return kafka.type
    return TYPES.get(type(setting.default), ConfigType.LONG)
