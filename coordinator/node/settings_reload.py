"""The settings of a running server are read again: what can change has its new value, the rest needs a restart."""

from collections.abc import Iterator
from typing import Any

from coordinator.broker.configs.broker_config_keys import broker_config_keys
from coordinator.broker.configs.broker_configs import can_change
from coordinator.config.connection_overrides import parse_overrides
from coordinator.config.key import ConfigKey
from coordinator.config.network_keys import MAX_CONNECTIONS_PER_IP_OVERRIDES
from coordinator.config.settings import ALL_KEYS, Config
from coordinator.front.listener import parse_listeners
from coordinator.logger import logger


def reload_settings(config: Config, again: Config) -> None:
    """Give `config`, the settings of a running server, those of `again` that can change, and log what has changed.

    Raises:
        ConfigError: they contradict what was set while the server runs, or cannot be used now; nothing has changed.
    """
    parse_listeners(again)
    before, after = config.given(), again.given()
    changeable = {key for key in ALL_KEYS if _has_effect(key)}
    given = {key: value for key, value in before.items() if key not in changeable}
    given |= {key: value for key, value in after.items() if key in changeable}
    parse_overrides(str(given.get(MAX_CONNECTIONS_PER_IP_OVERRIDES, "")), names_allowed=False)
    differing = [key for key in ALL_KEYS if _value(key, before) != _value(key, after)]
    changed = config.set_given(given)
    for key in changed:
        logger.info("setting changed", setting=key.name, value=config.text(key))
    hidden = [key.name for key in differing if key in changeable and key not in changed]
    if hidden:
        logger.warning("settings were set while the server runs, which counts before its file", settings=_line(hidden))
    waiting = [key.name for key in differing if key not in changeable] + list(_of_listeners(config, again))
    if waiting:
        logger.warning("settings have changed that need a restart", settings=_line(waiting))
    if not changed and not hidden and not waiting:
        logger.info("settings read again: nothing has changed")


def _has_effect(key: ConfigKey[Any]) -> bool:
    return can_change(key.name) and broker_config_keys()[key.name].setting is not None


def _value(key: ConfigKey[Any], given: dict[ConfigKey[Any], Any]) -> Any:
    return given.get(key, key.default)


def _of_listeners(config: Config, again: Config) -> Iterator[str]:
    """The names of the settings of single listeners that differ."""
    before = {name: value for name, _, value in config.override_values()}
    after = {name: value for name, _, value in again.override_values()}
    yield from (name for name in before.keys() | after.keys() if before.get(name) != after.get(name))


def _line(names: list[str]) -> str:
    return ", ".join(sorted(names))
