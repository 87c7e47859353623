"""All settings and their values."""

import difflib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, TypeVar

from coordinator.config import (
    audit_keys,
    authorizer_keys,
    cleaner_keys,
    cluster_keys,
    consumer_group_keys,
    group_keys,
    listener_keys,
    log_keys,
    metrics_keys,
    network_keys,
    quota_keys,
    sasl_keys,
    server_keys,
    ssl_keys,
    transaction_keys,
)
from coordinator.config.key import ConfigError, ConfigKey
from coordinator.config.listener_keys import LISTENERS
from coordinator.config.listener_overrides import PREFIX, ListenerConfig, find_override, listener_names, parse_override
from coordinator.config.metrics_keys import ADMIN_LISTENER, ADMIN_NAME
from coordinator.config.rules import check_settings_together
from coordinator.config.server_keys import LOG_DIRS

T = TypeVar("T")

KEY_MODULES: Final = (
    server_keys,
    listener_keys,
    ssl_keys,
    network_keys,
    authorizer_keys,
    quota_keys,
    sasl_keys,
    log_keys,
    cleaner_keys,
    group_keys,
    consumer_group_keys,
    transaction_keys,
    audit_keys,
    metrics_keys,
    cluster_keys,
)
ALL_KEYS: Final[tuple[ConfigKey[Any], ...]] = tuple(
    value for module in KEY_MODULES for value in vars(module).values() if isinstance(value, ConfigKey)
)
KEYS_BY_NAME: Final = {key.name: key for key in ALL_KEYS}
CLOSE: Final = 0.85
"""How much of a name a key must have in common with it to be suggested beside others."""


class Config:
    """The values of all settings. `config[KEY]` has the type of the key."""

    def __init__(self, texts: Mapping[str, str] | None = None) -> None:
        """Parse settings given as text, by name; the others get their defaults.

        Raises:
            ConfigError: names are unknown (the message has all of them), a value is not allowed, or two contradict
                each other.
        """
        of_listeners = {name: text for name, text in (texts or {}).items() if name.startswith(PREFIX)}
        of_server = {name: text for name, text in (texts or {}).items() if name not in of_listeners}
        unknown = [name for name in of_server if name not in KEYS_BY_NAME]
        if len(unknown) > 1:
            raise ConfigError(_all_unknown(unknown))
        self._values: dict[ConfigKey[Any], Any] = {key: key.default for key in ALL_KEYS}
        self._given: set[ConfigKey[Any]] = set()
        for name, text in of_server.items():
            key = find_key(name)
            self._values[key] = key.parse(text)
            self._given.add(key)
        self._overrides: dict[str, dict[ConfigKey[Any], Any]] = {}
        names = [*listener_names(self[LISTENERS]), *([ADMIN_NAME] if self[ADMIN_LISTENER] else [])]
        for name, text in of_listeners.items():
            override = find_override(name, names, KEYS_BY_NAME)
            self._overrides.setdefault(override.place, {})[override.key] = parse_override(override, text)
        self.log_directories()
        check_settings_together(self)

    def __getitem__(self, key: ConfigKey[T]) -> T:
        value: T = self._values[key]
        return value

    def for_listener(self, name: str) -> ListenerConfig:
        """The settings of a listener: its own (`listener.name.NAME.KEY`), else those of the server."""
        return ListenerConfig(name, self._values, self._overrides)

    def overrides(self) -> Iterator[tuple[str, ConfigKey[Any], str]]:
        """What was given for single listeners: the whole name, the key, and the value as by `text`."""
        for place, values in self._overrides.items():
            for key, value in values.items():
                yield place + key.name, key, key.format(value)

    def log_directories(self) -> list[Path]:
        """The directories of `log.dirs` as absolute paths, none of them twice.

        Raises:
            ConfigError: an entry of the list is empty, or a directory is named twice.
        """
        text = self[LOG_DIRS]
        names = [name.strip() for name in text.split(",")]
        if not all(names):
            raise ConfigError(f"{LOG_DIRS.name}={text}: the name of a directory is empty")
        paths = [Path(name).absolute() for name in names]
        for number, path in enumerate(paths):
            if path.resolve() in [other.resolve() for other in paths[:number]]:
                raise ConfigError(f"{LOG_DIRS.name}={text}: {path} is named twice")
        return paths

    def is_given(self, key: ConfigKey[Any]) -> bool:
        """Whether the value was given, and is not the default."""
        return key in self._given

    def text(self, key: ConfigKey[Any]) -> str:
        """The value as in a properties file. A secret is hidden."""
        return key.format(self._values[key])


def _all_unknown(names: list[str]) -> str:
    """One line for all of them, as for the server.properties of a Kafka."""
    told = []
    for name in names:
        near = difflib.get_close_matches(name, KEYS_BY_NAME, n=1, cutoff=CLOSE)
        told.append(f"{name!r} (did you mean {near[0]!r}?)" if near else repr(name))
    return f"unknown settings: {', '.join(told)}"


def find_key(name: str) -> ConfigKey[Any]:
    """Return the key with this name.

    Raises:
        ConfigError: there is none; the message suggests the nearest name.
    """
    if name in KEYS_BY_NAME:
        return KEYS_BY_NAME[name]
    near = difflib.get_close_matches(name, KEYS_BY_NAME, n=1, cutoff=0.0)
    raise ConfigError(f"unknown setting {name!r}; did you mean {near[0]!r}?")
