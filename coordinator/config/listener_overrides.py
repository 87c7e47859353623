"""Settings of one listener, or of one SASL mechanism of it: `listener.name.NAME.KEY`, `….NAME.MECHANISM.KEY`.

Names of listeners and mechanisms are written in lower case there, as on Kafka (ListenerName.configPrefix).
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, TypeVar

import msgspec

from coordinator.config.key import ConfigError, ConfigKey, Scope

T = TypeVar("T")

PREFIX: Final = "listener.name."

Overrides = Mapping[str, Mapping[ConfigKey[Any], Any]]
"""What the settings have in place of the key → the key → its value. In its place: the name up to that of the key."""


class Override(msgspec.Struct, frozen=True):
    """A setting of one listener."""

    place: str
    """Where it holds: `listener.name.NAME.` or `listener.name.NAME.MECHANISM.`."""
    key: ConfigKey[Any]


def listener_place(listener: str) -> str:
    return f"{PREFIX}{listener.lower()}."


def mechanism_place(listener: str, mechanism: str) -> str:
    return f"{listener_place(listener)}{mechanism.lower()}."


def listener_names(listeners: str) -> list[str]:
    """The names in the value of `listeners`, whose form is checked elsewhere."""
    return [name.strip() for name, found, _ in (part.partition("://") for part in listeners.split(",")) if found]


def find_override(name: str, listeners: Iterable[str], keys: Mapping[str, ConfigKey[Any]]) -> Override:
    """Find the listener, the mechanism and the key of a setting that begins with `listener.name.`.

    A listener's name may have dots, so the longest one that fits counts.

    Raises:
        ConfigError: there is no such listener, or no such key, or it cannot be set per listener or mechanism.
    """
    places = [place for place in map(listener_place, listeners) if name.startswith(place)]
    if not places:
        listener_names = ", ".join(sorted({listener.lower() for listener in listeners}))
        raise ConfigError(f"{name}: there is no such listener; the listeners are {listener_names} (in lower case here)")
    place = max(places, key=len)
    rest = name.removeprefix(place)
    if rest in keys:
        if keys[rest].scope is Scope.BROKER:
            raise ConfigError(f"{name}: {rest} cannot be set for one listener")
        return Override(place, keys[rest])
    mechanism, _, key_name = rest.partition(".")
    key = keys.get(key_name)
    if key is None:
        raise ConfigError(f"{name}: unknown setting {rest!r} of a listener")
    if key.scope is not Scope.MECHANISM:
        raise ConfigError(f"{name}: {key_name} cannot be set for one SASL mechanism")
    if mechanism != mechanism.lower():
        raise ConfigError(f"{name}: write the mechanism in lower case: {mechanism.lower()}")
    return Override(f"{place}{mechanism}.", key)


def parse_override(override: Override, text: str) -> Any:
    """Parse the value as that of the key. Raises ConfigError, with the whole name of the setting."""
    return msgspec.structs.replace(override.key, name=override.place + override.key.name).parse(text)


class ListenerConfig:
    """The settings of one listener, perhaps of one mechanism of it: `view[KEY]` has the type of the key."""

    def __init__(self, name: str, values: Mapping[ConfigKey[Any], Any], overrides: Overrides) -> None:
        self.name: Final = name
        """The name of the listener."""
        self._values = values
        self._overrides = overrides
        self._places: tuple[str, ...] = (listener_place(name),)

    def for_mechanism(self, mechanism: str) -> "ListenerConfig":
        """The settings of a SASL mechanism: its own, else those of the listener, else those of the server."""
        view = ListenerConfig(self.name, self._values, self._overrides)
        view._places = (mechanism_place(self.name, mechanism), *view._places)
        return view

    def __getitem__(self, key: ConfigKey[T]) -> T:
        place = self._place_of(key)
        value: T = self._values[key] if place is None else self._overrides[place][key]
        return value

    def name_of(self, key: ConfigKey[Any]) -> str:
        """The name under which the value was given, for messages."""
        return (self._place_of(key) or "") + key.name

    def is_own(self, key: ConfigKey[Any]) -> bool:
        """Whether the value was given for this listener (or mechanism), and not for the server as a whole."""
        return self._place_of(key) is not None

    def mechanisms_with(self, key: ConfigKey[Any]) -> Iterator[str]:
        """The mechanisms for which the key was given, in lower case."""
        place = listener_place(self.name)
        for other, values in self._overrides.items():
            if other.startswith(place) and other != place and key in values:
                yield other[len(place) : -1]

    def _place_of(self, key: ConfigKey[Any]) -> str | None:
        return next((place for place in self._places if key in self._overrides.get(place, ())), None)
