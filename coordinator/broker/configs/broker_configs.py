"""What a change of the configs of brokers may be (ConfigAdminManager.java, DynamicBrokerConfig.java; KIP-226).

They are set for one broker by its node id, or for all of the cluster by the empty name.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from _wire.errors import ErrorCode
from coordinator.broker.configs.broker_config_keys import (
    LISTENER_LIMITS,
    LISTENER_SECURITY,
    THREAD_POOLS,
    BrokerConfigKey,
    broker_config_keys,
)
from coordinator.broker.configs.config_changes import (
    Operation,
    OperationType,
    changed,
    check_names,
    check_nothing_missing,
)
from coordinator.broker.configs.resource_config_key import (
    VALUE_LENGTH_MAX,
    ConfigType,
    InvalidResourceConfig,
    ResourceConfigKey,
)
from coordinator.broker.configs.topic_config_keys import RETENTION_BYTES, RETENTION_MS
from coordinator.broker.configs.topic_configs import origins
from coordinator.broker.topics import TopicError
from coordinator.config.cleaner_keys import LOG_CLEANER_THREADS
from coordinator.config.connection_overrides import parse_overrides
from coordinator.config.kafka_broker_configs import kafka_broker_configs
from coordinator.config.key import ConfigError, ConfigKey, Scope
from coordinator.config.log_keys import LOG_RETENTION_BYTES, LOG_RETENTION_MS
from coordinator.config.network_keys import MAX_CONNECTIONS_PER_IP, MAX_CONNECTIONS_PER_IP_OVERRIDES
from coordinator.config.settings import KEYS_BY_NAME, Config
from coordinator.config.source import ConfigSource

CLUSTER: Final = ""
"""The name of what is set for all brokers."""
OF_LISTENER: Final = re.compile(r"listener\.name\.[^.]*\.(.*)", re.DOTALL)
UNKNOWN_CONFIGS_MAX: Final = 50
"""Configs that no Kafka has, of one name. Kafka has no limit; it takes them for those of its plug-ins."""
NAME_LENGTH_MAX: Final = 249

BrokerConfigs = Mapping[str, Mapping[str, str]]
"""Node id, or CLUSTER → the configs that are set."""


def source_of(name: str) -> ConfigSource:
    """The source of what is set for a broker, or for all."""
    return ConfigSource.DYNAMIC_DEFAULT_BROKER if name == CLUSTER else ConfigSource.DYNAMIC_BROKER


def base_name(name: str) -> str:
    """The config that a name stands for: `listener.name.NAME.KEY` for `KEY`, which may begin with a SASL mechanism."""
    found = OF_LISTENER.fullmatch(name)
    return found[1] if found else name


def can_change(name: str) -> bool:
    """Whether it can be set while this server runs."""
    return name in broker_config_keys() and name not in LISTENER_SECURITY and not _is_read_at_start(name)


def setting_of_listener(name: str) -> ConfigKey[Any] | None:
    """The setting that `listener.name.NAME.KEY` gives to one listener; None: it gives none that this server reads."""
    rest = base_name(name)
    if rest == name:
        return None
    key = KEYS_BY_NAME.get(rest) or KEYS_BY_NAME.get(rest.partition(".")[2])
    return None if key is None or key.scope is Scope.BROKER else key


def effective(name: str, configs: BrokerConfigs, node_id: str, config: Config) -> tuple[str | None, ConfigSource]:
    """The value of a config that can change, and where it comes from; None if it has none."""
    for owner in (node_id, CLUSTER):
        if name in configs.get(owner, {}):
            return configs[owner][name], source_of(owner)
    setting = KEYS_BY_NAME.get(name)
    if setting is not None and config.is_given(setting):
        (*_, (source, value)) = config.origins(setting)
        if source is ConfigSource.STATIC_BROKER:
            return setting.format(value), source
    if name in config.unused:
        return config.unused[name], ConfigSource.STATIC_BROKER
    kafka = kafka_broker_configs().get(name)
    return None if kafka is None else kafka.default, ConfigSource.DEFAULT


def incremental_change(operations: Iterable[Operation], before: Mapping[str, str]) -> dict[str, str]:
    """What IncrementalAlterConfigs makes of the configs of a broker. The values are not checked.

    Raises:
        TopicError: a key occurs twice, a value is missing, or an operation does not exist or not for this key.
    """
    operations = list(operations)
    check_names([operation.name for operation in operations])
    check_nothing_missing(
        [
            operation.name
            for operation in operations
            if operation.value is None and operation.type != OperationType.DELETE
        ]
    )
    lists: dict[str, ResourceConfigKey] = {}
    for name, type_, _ in operations:
        if type_ not in set(OperationType):
            raise TopicError(ErrorCode.INVALID_REQUEST, f"Unknown operations type {type_}")
        if type_ in (OperationType.APPEND, OperationType.SUBTRACT):
            lists[name] = _list_key(name, OperationType(type_))
    return changed(before, operations, lists)


def _list_key(name: str, type_: OperationType) -> ResourceConfigKey:
    """The key of a list, which may be one that cannot change. Raises TopicError if it is none."""
    kafka = kafka_broker_configs().get(name)
    if kafka is None:
        raise TopicError(ErrorCode.INVALID_CONFIG, f"Unknown config name: {name}")
    if kafka.type != ConfigType.LIST:
        verb = type_.name.lower()
        raise TopicError(ErrorCode.INVALID_CONFIG, f"Config value {verb} is not allowed for config key: {name}")
    return ResourceConfigKey(name, ConfigType.LIST, kafka.default or "", "")


def check_broker_configs(
    name: str, after: Mapping[str, str], configs: BrokerConfigs, config: Config, node: str
) -> None:
    """Check all configs that a broker, or CLUSTER, is to have, in Kafka's order.

    `configs` are those of now. `config` are the settings of this server, whose node id is `node`.

    Raises:
        TopicError: one cannot change while a broker runs, or not here, or a value is not allowed.
    """
    if fixed := [key for key in after if _is_read_only(key)]:
        raise _invalid(f"Cannot update these configs dynamically: [{', '.join(fixed)}]")
    if unprefixed := [key for key in after if key in LISTENER_SECURITY]:
        raise _invalid(
            "These security configs can be dynamically updated only per-listener using the listener prefix: "
            f"[{', '.join(unprefixed)}]"
        )
    for key, text in after.items():
        _check_value(key, text)
    if name == CLUSTER and (of_one := [key for key in after if _is_per_broker(key)]):
        raise _invalid(
            f"Cannot update these configs at default cluster level, broker id must be specified: [{', '.join(of_one)}]"
        )
    before = configs.get(name, {})
    if at_start := [key for key in after if after[key] != before.get(key) and _is_read_at_start(key)]:
        raise _invalid(f"This server reads these configs when it starts: [{', '.join(at_start)}]. {WHAT_TO_DO}")
    _check_room(after)
    merged = {**configs, name: after}
    _check_thread_counts(configs, merged, config, node)
    _check_together(name, merged, config, node)


WHAT_TO_DO: Final = "Change its file of settings, and restart it"


def _is_read_only(name: str) -> bool:
    """Settings that only this server has, too."""
    keys = broker_config_keys()
    return name not in keys and (name in kafka_broker_configs() or name in KEYS_BY_NAME)


def _is_per_broker(name: str) -> bool:
    rest = base_name(name)
    if rest != name:
        return rest not in LISTENER_LIMITS
    key = broker_config_keys().get(name)
    return key is not None and key.is_per_broker


def _is_read_at_start(name: str) -> bool:
    """Whether Kafka can change it, and this server cannot."""
    key = broker_config_keys().get(name)
    is_of_broker = key is not None and key.setting is not None and key.is_per_broker
    return is_of_broker or name == "config.providers" or setting_of_listener(name) is not None


def _check_value(name: str, text: str) -> None:
    key = broker_config_keys().get(base_name(name))
    if key is not None:
        try:
            key.key.parse(text)
        except InvalidResourceConfig as problem:
            raise _invalid(str(problem)) from None
    elif len(text) > VALUE_LENGTH_MAX or len(name) > NAME_LENGTH_MAX:
        raise _invalid(
            f"A config that Kafka does not have may have {NAME_LENGTH_MAX} characters in its name and "
            f"{VALUE_LENGTH_MAX} in its value"
        )


def _check_room(after: Mapping[str, str]) -> None:
    unknown = sum(name not in broker_config_keys() for name in after)
    if unknown > UNKNOWN_CONFIGS_MAX:
        raise _invalid(f"No more than {UNKNOWN_CONFIGS_MAX} configs can be set that Kafka does not have")


def _check_thread_counts(before: BrokerConfigs, after: BrokerConfigs, config: Config, node: str) -> None:
    for name in (*sorted(THREAD_POOLS), LOG_CLEANER_THREADS.name):
        old, new = (int(effective(name, mapping, node, config)[0] or 0) for mapping in (before, after))
        if old // 2 <= new <= old * 2:
            continue
        if name == LOG_CLEANER_THREADS.name:
            how = "reduced to less than half" if new < old else "increased to more than double"
            raise _reconfiguration_failed(f"Log cleaner threads cannot be {how} the current value {old}")
        bound = "be at least half" if new < old else "not be greater than double"
        raise _reconfiguration_failed(
            f"Dynamic thread count update validation failed for {name}={new}, value should {bound} the current value "
            f"{old}"
        )


def _check_together(name: str, merged: BrokerConfigs, config: Config, node: str) -> None:
    """Check the settings as they would be."""
    own = merged[name]
    if int(own.get(LOG_RETENTION_MS.name, -1)) == 0:
        raise _required(f"{LOG_RETENTION_MS.name} must be unlimited (-1) or, greater than or equal to 1")
    if int(own.get("log.roll.jitter.ms", 0)) < 0:
        raise _required("log.roll.jitter.ms must be greater than or equal to 0")
    candidate = config.copy()
    try:
        parse_overrides(own.get(MAX_CONNECTIONS_PER_IP_OVERRIDES.name, ""), names_allowed=False)
        candidate.set_dynamic(source_of(name), values_of(own))
    except ConfigError as problem:
        raise _invalid(str(problem)) from None
    if candidate[MAX_CONNECTIONS_PER_IP] == 0 and not candidate[MAX_CONNECTIONS_PER_IP_OVERRIDES]:
        raise _required(
            f"{MAX_CONNECTIONS_PER_IP.name} can be set to zero only if "
            f"{MAX_CONNECTIONS_PER_IP_OVERRIDES.name} property is set."
        )
    _check_local_retention(merged, candidate, node)


def _check_local_retention(merged: BrokerConfigs, config: Config, node: str) -> None:
    for local_name, key, retention in (
        ("log.local.retention.ms", LOG_RETENTION_MS, RETENTION_MS),
        ("log.local.retention.bytes", LOG_RETENTION_BYTES, RETENTION_BYTES),
    ):
        local = int(effective(local_name, merged, node, config)[0] or -2)
        most = int(origins(retention, "", {}, config)[0].text)
        if most < 0 or local == -2 or 0 <= local <= most:
            continue
        why = (
            f"Value must not be -1 as {key.name} value is set as {most}."
            if local == -1
            else f"Value must not be more than {key.name} property value: {most}"
        )
        raise _reconfiguration_failed(f"Invalid value {local} for configuration {local_name}: {why}")


def values_of(configs: Mapping[str, str]) -> dict[ConfigKey[Any], Any]:
    """The settings of this server among them, parsed.

    Raises:
        ConfigError: a value is not allowed.
    """
    keys: Mapping[str, BrokerConfigKey] = broker_config_keys()
    found = {}
    for name, text in configs.items():
        setting = keys[name].setting if name in keys else None
        if setting is not None and not keys[name].is_per_broker:
            found[setting] = setting.parse(text)
    return found


def _invalid(message: str) -> TopicError:
    return TopicError(ErrorCode.INVALID_REQUEST, message)


def _required(message: str) -> TopicError:
    """Kafka's message where settings do not fit together."""
    return _invalid(f"requirement failed: {message}")


def _reconfiguration_failed(message: str) -> TopicError:
    """Kafka's message when a part of it does not accept its new settings."""
    return _invalid(
        f"Invalid value org.apache.kafka.common.config.ConfigException: {message} for configuration Invalid dynamic "
        "configuration"
    )
