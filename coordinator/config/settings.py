"""All settings and their values."""

from collections.abc import Callable, Collection, Iterator, Mapping
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
    share_coordinator_keys,
    share_group_keys,
    ssl_keys,
    streams_group_keys,
    transaction_keys,
)
from coordinator.config.key import ConfigError, ConfigKey
from coordinator.config.listener_keys import LISTENERS
from coordinator.config.listener_overrides import PREFIX, ListenerConfig, find_override, listener_names, parse_override
from coordinator.config.metrics_keys import ADMIN_LISTENER, ADMIN_NAME
from coordinator.config.rules import check_settings_together
from coordinator.config.server_keys import LOG_DIRS
from coordinator.config.source import DYNAMIC_SOURCES, ConfigSource

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
    share_group_keys,
    streams_group_keys,
    share_coordinator_keys,
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


Values = Mapping[ConfigKey[Any], Any]


class Config:
    """The values of all settings. `config[KEY]` has the type of the key.

    Those given at the start may be overridden while the server runs (`set_dynamic`, KIP-226), or given again
    (`set_given`). Who has made something of a value that can change asks to be called then (`when_changed`).
    """

    def __init__(self, texts: Mapping[str, str] | None = None, *, unused: Mapping[str, str] | None = None) -> None:
        """Parse settings given as text, by name; the others get their defaults.

        `unused` are settings of Kafka that are not used, which DescribeConfigs shows.

        Raises:
            ConfigError: names are unknown (the message has all of them), a value is not allowed, or two contradict
                each other.
        """
        self.unused: Final[Mapping[str, str]] = unused or {}
        of_listeners = {name: text for name, text in (texts or {}).items() if name.startswith(PREFIX)}
        of_server = {name: text for name, text in (texts or {}).items() if name not in of_listeners}
        unknown = [name for name in of_server if name not in KEYS_BY_NAME]
        if len(unknown) > 1:
            raise ConfigError(_all_unknown(unknown))
        self._values: dict[ConfigKey[Any], Any] = {key: key.default for key in ALL_KEYS}
        self._given: Values = {key: key.parse(text) for key, text in _by_key(of_server)}
        self._values.update(self._given)
        self._dynamic: dict[ConfigSource, Values] = {source: {} for source in DYNAMIC_SOURCES}
        self._listeners: list[tuple[Collection[ConfigKey[Any]], Callable[[], None]]] = []
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
        for name, key, value in self.override_values():
            yield name, key, key.format(value)

    def override_values(self) -> Iterator[tuple[str, ConfigKey[Any], Any]]:
        """The same with the values."""
        for place, values in self._overrides.items():
            for key, value in values.items():
                yield place + key.name, key, value

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
        """Whether the value was given, at the start or since then, and is not the default."""
        return any(key in values for values in (self._given, *self._dynamic.values()))

    def origins(self, key: ConfigKey[Any]) -> list[tuple[ConfigSource, Any]]:
        """The values that were given, each with its source; the first one counts."""
        sources = [*self._dynamic.items(), (ConfigSource.STATIC_BROKER, self._given)]
        return [(source, values[key]) for source, values in sources if key in values]

    # ---------------------------------------------------------------------------------------------------------- changes

    def copy(self) -> "Config":
        """Return a copy, whose changes are its own."""
        config = Config.__new__(Config)
        vars(config).update(vars(self))
        config._values, config._dynamic, config._listeners = dict(self._values), dict(self._dynamic), []
        return config

    def when_changed(self, keys: Collection[ConfigKey[Any]], call: Callable[[], None]) -> None:
        """Call whenever one of the settings has another value."""
        self._listeners.append((keys, call))

    def set_dynamic(self, source: ConfigSource, values: Values) -> list[ConfigKey[Any]]:
        """Let these be all values of a source from now on; return the settings that have another value now.

        Raises:
            ConfigError: two settings would contradict each other; nothing has changed.
        """
        return self._change(self._given, {**self._dynamic, source: dict(values)})

    def given(self) -> dict[ConfigKey[Any], Any]:
        """The values that were given at the start, or later in their place."""
        return dict(self._given)

    def set_given(self, values: Values) -> list[ConfigKey[Any]]:
        """Let these be the values that were given at the start; return the settings that have another value now.

        Raises:
            ConfigError: two settings would contradict each other; nothing has changed.
        """
        return self._change(dict(values), self._dynamic)

    def _change(self, given: Values, dynamic: dict[ConfigSource, Values]) -> list[ConfigKey[Any]]:
        after = self.copy()
        after._given, after._dynamic = given, dynamic
        after._values = {key: key.default for key in ALL_KEYS} | dict(given)
        for dynamic_source in reversed(DYNAMIC_SOURCES):
            after._values |= dynamic[dynamic_source]
        check_settings_together(after)
        changed = [key for key in ALL_KEYS if after._values[key] != self._values[key]]
        self._given, self._dynamic = given, dynamic
        # In place: there are views of the values (`for_listener`).
        self._values.update(after._values)
        for keys, call in self._listeners:
            if any(key in keys for key in changed):
                call()
        return changed

    def text(self, key: ConfigKey[Any]) -> str:
        """The value as in a properties file. A secret is hidden."""
        return key.format(self._values[key])


def _by_key(texts: Mapping[str, str]) -> Iterator[tuple[ConfigKey[Any], str]]:
    """Raises ConfigError: there is no such key."""
    return ((find_key(name), text) for name, text in texts.items())


def _all_unknown(names: list[str]) -> str:
    """One line for all of them, as for the server.properties of a Kafka."""
    return f"unknown settings: {', '.join(map(hint, names))}"


def hint(name: str) -> str:
    """A name that is unknown, with the nearest one that is known, if one is near."""
    near = _nearest(name, CLOSE)
    return f"{name!r} (did you mean {near!r}?)" if near else repr(name)


def _nearest(name: str, at_least: float) -> str:
    """The known name that is most similar, from 0 to 1; empty if none is so similar."""
    import difflib  # only where there is something to complain about

    return next(iter(difflib.get_close_matches(name, KEYS_BY_NAME, n=1, cutoff=at_least)), "")


def find_key(name: str) -> ConfigKey[Any]:
    """Return the key with this name.

    Raises:
        ConfigError: there is none; the message suggests the nearest name.
    """
    if name in KEYS_BY_NAME:
        return KEYS_BY_NAME[name]
    raise ConfigError(f"unknown setting {name!r}; did you mean {_nearest(name, 0.0)!r}?")
