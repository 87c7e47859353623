"""What this server makes of the settings of a Kafka: used, without use, unknown, and those that it needs otherwise.

A server.properties of Kafka, with KRaft or with ZooKeeper, is taken as it is.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import msgspec

from coordinator.config.given import Given, Layer
from coordinator.config.kafka_names import is_of_kafka
from coordinator.config.key import ConfigError, Scope
from coordinator.config.listener_keys import ADVERTISED_LISTENERS, LISTENERS
from coordinator.config.listener_overrides import PREFIX, listener_place
from coordinator.config.log_keys import LOG_ROLL_MS
from coordinator.config.server_keys import LOG_DIRS, NODE_ID
from coordinator.config.settings import KEYS_BY_NAME, hint

CONTROLLER_LISTENERS: Final = "controller.listener.names"
PROCESS_ROLES: Final = "process.roles"
MS_PER_HOUR: Final = 3_600_000
NAMES_SHOWN_MAX: Final = 100
"""In one line."""


class Understood(msgspec.Struct):
    """Settings by name, sorted into kinds."""

    used: dict[str, Given] = msgspec.field(default_factory=dict)
    """What the server is started with."""
    unused: dict[str, Given] = msgspec.field(default_factory=dict)
    """Kafka has them, and nothing here reads them."""
    unknown: dict[str, Given] = msgspec.field(default_factory=dict)
    otherwise: list[tuple[Given, str]] = msgspec.field(default_factory=list)
    """What is used in another way than it was given, and how."""

    @property
    def texts(self) -> dict[str, str]:
        """What the server is started with, as text."""
        return {name: given.text for name, given in self.used.items()}

    @property
    def unused_texts(self) -> dict[str, str]:
        return {name: given.text for name, given in self.unused.items()}

    def lines(self) -> Iterator[tuple[str, str]]:
        """What a user should know, in one line of each kind: the kind, and what it is about."""
        if self.unused:
            yield "settings of Kafka that this server does not use", shortened(sorted(self.unused))
        if self.unknown:
            yield "unknown settings, not used", shortened([hint(name) for name in sorted(self.unknown)])
        if self.otherwise:
            yield "settings that this server uses otherwise", "; ".join(how for _, how in self.otherwise)


def understand(*layers: Mapping[str, Given]) -> Understood:
    """Sort what is given in layers, the weakest first.

    Raises:
        ConfigError: this server cannot be what a setting says.
    """
    merged: dict[str, Given] = {}
    for layer in layers:
        merged |= layer
    found = Understood()
    _rename(merged, found)
    controllers = _controllers(merged)
    for name, given in merged.items():
        if name.startswith(PREFIX):
            kind = _of_listener(name, controllers, found)
        elif name in KEYS_BY_NAME:
            kind = found.used
        elif is_of_kafka(name):
            kind = found.unused
        else:
            # An option was written for this server, so it is an error: `Config` tells it.
            kind = found.used if given.layer is Layer.OPTION else found.unknown
        kind[name] = given
    _without_controllers(found, controllers)
    return found


def _rename(merged: dict[str, Given], found: Understood) -> None:
    """Give settings the name that this server has for them, unless that is given, too."""
    for old, new, factor in (
        ("broker.id", NODE_ID.name, 0),
        ("log.dir", LOG_DIRS.name, 0),
        ("log.roll.hours", LOG_ROLL_MS.name, MS_PER_HOUR),
    ):
        given = merged.get(old)
        if given is None or new in merged or (old == "broker.id" and given.text.strip() == "-1"):
            continue
        text = given.text
        if factor:
            try:
                text = str(int(text) * factor)
            except ValueError:
                raise ConfigError(f"{old}={text}: expected a whole number") from None
        del merged[old]
        merged[new] = msgspec.structs.replace(given, text=text)
        found.otherwise.append((given, f"{old}={given.text} is taken for {new}={text}"))


def _controllers(merged: Mapping[str, Given]) -> list[str]:
    """The names of listeners that are of controllers, in upper case.

    Raises:
        ConfigError: this is the file of a controller that is no broker.
    """
    roles = merged.get(PROCESS_ROLES)
    if roles is not None and roles.text.strip() and "broker" not in [role.strip() for role in roles.text.split(",")]:
        raise ConfigError(f"{PROCESS_ROLES}={roles.text}: this server is a broker")
    names = merged.get(CONTROLLER_LISTENERS)
    return [] if names is None else [listener.strip().upper() for listener in names.text.split(",") if listener.strip()]


def _of_listener(name: str, controllers: Sequence[str], found: Understood) -> dict[str, Given]:
    """Where a setting of one listener belongs. `Config` tells what is wrong with it."""
    if name.startswith(tuple(map(listener_place, controllers))):
        return found.unused
    words = name.split(".")
    # Names of listeners and of mechanisms may have dots, so any end may be the key.
    ends = [".".join(words[first:]) for first in range(3, len(words))]
    if any(end in KEYS_BY_NAME and KEYS_BY_NAME[end].scope is not Scope.BROKER for end in ends):
        return found.used
    return found.unused if any(is_of_kafka(end) for end in ends) else found.used


def _without_controllers(found: Understood, controllers: Sequence[str]) -> None:
    """Leave out the listeners of controllers: this server needs none."""
    for key in (LISTENERS, ADVERTISED_LISTENERS):
        given = found.used.get(key.name)
        if given is None:
            continue
        parts = [part.strip() for part in given.text.split(",")]
        left = [part for part in parts if part.partition("://")[0].upper() not in controllers]
        if left == parts:
            continue
        found.used[key.name] = msgspec.structs.replace(given, text=",".join(left))
        if not left:
            del found.used[key.name]
        found.otherwise.append(
            (given, f"{key.name} without {', '.join(sorted(set(parts) - set(left)))} of controllers")
        )


def shortened(names: Sequence[str]) -> str:
    """Names in one line, which has an end."""
    more = len(names) - NAMES_SHOWN_MAX
    return ", ".join(names[:NAMES_SHOWN_MAX]) + (f" and {more} more" if more > 0 else "")
