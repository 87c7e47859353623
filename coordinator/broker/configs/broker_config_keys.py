"""The configs of brokers that Kafka can change while it runs (DynamicBrokerConfig.java), and what each allows.

Those that are settings of this server have its bounds; the others have Kafka's: they are stored and shown, and have no
effect.
"""

from collections.abc import Callable, Mapping
from functools import cache
from types import MappingProxyType
from typing import Any, Final

import msgspec

from coordinator.broker.configs.resource_config_key import ConfigType, InvalidResourceConfig, ResourceConfigKey
from coordinator.broker.configs.topic_config_keys import gzip_level
from coordinator.config import ssl_keys
from coordinator.config.cleaner_keys import LOG_CLEANER_THREADS
from coordinator.config.kafka_broker_configs import PER_BROKER, READ_ONLY, KafkaBrokerConfig, kafka_broker_configs
from coordinator.config.key import ConfigKey
from coordinator.config.log_keys import COMPRESSION_GZIP_LEVEL, REPLICA_ALTER_LOG_DIRS_IO_MAX_BYTES_PER_SECOND
from coordinator.config.settings import KEYS_BY_NAME

REPLICATION_THROTTLES: Final = {
    "leader.replication.throttled.rate": "The bytes a second at which other brokers may copy what this one leads.",
    "follower.replication.throttled.rate": "The bytes a second at which this broker may copy from others.",
    REPLICA_ALTER_LOG_DIRS_IO_MAX_BYTES_PER_SECOND.name: REPLICA_ALTER_LOG_DIRS_IO_MAX_BYTES_PER_SECOND.doc,
}
"""Configs that Kafka's brokers only have while they are set (QuotaConfig.java)."""

LISTENER_SECURITY: Final = frozenset(
    {
        ssl_keys.SSL_KEYSTORE_TYPE.name,
        ssl_keys.SSL_KEYSTORE_LOCATION.name,
        ssl_keys.SSL_KEYSTORE_PASSWORD.name,
        ssl_keys.SSL_KEY_PASSWORD.name,
        ssl_keys.SSL_KEYSTORE_KEY.name,
        ssl_keys.SSL_KEYSTORE_CERTIFICATE_CHAIN.name,
        ssl_keys.SSL_TRUSTSTORE_TYPE.name,
        ssl_keys.SSL_TRUSTSTORE_LOCATION.name,
        ssl_keys.SSL_TRUSTSTORE_PASSWORD.name,
        ssl_keys.SSL_TRUSTSTORE_CERTIFICATES.name,
    }
)
"""Configs that can only be set for one listener (SslConfigs.RECONFIGURABLE_CONFIGS)."""
LISTENER_LIMITS: Final = frozenset({"max.connections", "max.connection.creation.rate", "num.network.threads"})
"""Configs of one listener that can be set for all brokers. They have no effect here: limits are of all listeners."""

THREAD_POOLS: Final = frozenset(
    {
        "background.threads",
        "num.io.threads",
        "num.network.threads",
        "num.recovery.threads.per.data.dir",
        "num.replica.fetchers",
        "remote.log.manager.copier.thread.pool.size",
        "remote.log.manager.expiration.thread.pool.size",
        "remote.log.manager.follower.thread.pool.size",
        "remote.log.reader.threads",
    }
)
"""Kafka changes these to no more than double, and no less than half of what they are (DynamicThreadPool)."""

WITHOUT_EFFECT: Final = frozenset({LOG_CLEANER_THREADS.name})
"""Settings of this server that it accepts and ignores."""

_LEAST: Final = {
    "group.coordinator.cached.buffer.max.bytes": 512 * 1024,
    "group.share.assignment.interval.ms": 0,
    "group.streams.assignment.interval.ms": 0,
    "log.cleaner.io.buffer.size": 0,
    "log.local.retention.bytes": -2,
    "log.local.retention.ms": -2,
    "min.insync.replicas": 1,
    "remote.fetch.max.wait.ms": 1,
    "remote.list.offsets.request.timeout.ms": 1,
    "remote.log.index.file.cache.total.size.bytes": 1,
    "remote.log.manager.copy.max.bytes.per.second": 1,
    "remote.log.manager.fetch.max.bytes.per.second": 1,
    "share.coordinator.cached.buffer.max.bytes": 512 * 1024,
} | dict.fromkeys(THREAD_POOLS, 1)
_ONE_OF: Final = {"log.cleanup.policy": ("compact", "delete")}
_CLASSES: Final = {
    "metric.reporters": "org.apache.kafka.common.metrics.JmxReporter",
    "principal.builder.class": "org.apache.kafka.common.security.authenticator.DefaultKafkaPrincipalBuilder",
    "ssl.engine.factory.class": "org.apache.kafka.common.security.ssl.DefaultSslEngineFactory",
}
"""The class that every Kafka has. Another one would be a plug-in of it, which this server cannot have."""


class BrokerConfigKey(msgspec.Struct, frozen=True, eq=False):
    """A config that can change while a broker runs."""

    key: ResourceConfigKey
    """Checks values with Kafka's messages."""
    setting: ConfigKey[Any] | None
    """The setting of this server; None: nothing here reads it."""
    is_per_broker: bool
    """Whether it cannot be set for all brokers together."""


@cache
def broker_config_keys() -> Mapping[str, BrokerConfigKey]:
    """The configs by name, in the order of their names."""
    keys = {
        name: BrokerConfigKey(_checked(name, kafka), _setting(name), kafka.update_mode == PER_BROKER)
        for name, kafka in kafka_broker_configs().items()
        if kafka.update_mode != READ_ONLY
    }
    for name, doc in REPLICATION_THROTTLES.items():
        unlimited = str(REPLICA_ALTER_LOG_DIRS_IO_MAX_BYTES_PER_SECOND.default)
        least = 1 if _setting(name) else 0
        key = ResourceConfigKey(name, ConfigType.LONG, unlimited, doc, least)
        keys[name] = BrokerConfigKey(key, _setting(name), is_per_broker=False)
    return MappingProxyType(dict(sorted(keys.items())))


def _setting(name: str) -> ConfigKey[Any] | None:
    return None if name in WITHOUT_EFFECT else KEYS_BY_NAME.get(name)


def _checked(name: str, kafka: KafkaBrokerConfig) -> ResourceConfigKey:
    setting = KEYS_BY_NAME.get(name)
    type_ = ConfigType(kafka.type)
    default = kafka.default or ""
    if setting is None:
        return ResourceConfigKey(
            name, type_, default, "", _LEAST.get(name), one_of=_ONE_OF.get(name, ()), check=_check_of(name)
        )
    bounds = (setting.at_least, setting.at_most)
    check = _check_of(name)
    if setting is COMPRESSION_GZIP_LEVEL:
        bounds, check = (None, None), gzip_level
    return ResourceConfigKey(name, type_, default, setting.doc, *bounds, setting.one_of, check=check)


def _check_of(name: str) -> Callable[[str, str], None]:
    return _existing_class if name in _CLASSES else lambda name, text: None


def _existing_class(name: str, text: str) -> None:
    for class_name in filter(None, (part.strip() for part in text.split(","))):
        if class_name != _CLASSES[name]:
            raise InvalidResourceConfig(
                f"Invalid value {class_name} for configuration {name}: Class {class_name} could not be found."
            )
