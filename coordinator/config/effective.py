"""The values with which a server starts, each with its source."""

from collections.abc import Iterator
from typing import NamedTuple

from coordinator.config.settings import ALL_KEYS, Config
from coordinator.config.understood import Understood

DEFAULT = "default"


class Effective(NamedTuple):
    """A setting, its value as text, and where that comes from. A secret is hidden."""

    setting: str
    value: str
    source: str
    """`default`, `file`, `environment` or `option`."""
    place: str
    """The line, the variable or the option; empty for a default."""


def effective_settings(understood: Understood, *, with_defaults: bool) -> Iterator[Effective]:
    """The settings in the order of their names; without the defaults those that have another value.

    Raises:
        ConfigError: they are no settings that a server starts with.
    """
    config = Config(understood.texts)
    values = {key.name: config.text(key) for key in ALL_KEYS}
    changed = {key.name for key in ALL_KEYS if config[key] != key.default}
    overrides = {name: text for name, _, text in config.overrides()}
    for name, value in sorted((values | overrides).items()):
        given = understood.used.get(name)
        if not with_defaults and name not in changed and name not in overrides:
            continue
        if given is None:
            yield Effective(name, value, DEFAULT, "")
        else:
            yield Effective(name, value, given.layer.value, given.place)
