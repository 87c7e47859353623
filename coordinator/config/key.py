"""A setting: name (Kafka's), type, default, bounds and documentation.

Each one is declared once. Parsing, validation and docs/configuration.md are derived from the declarations.
"""

import math
import sys
from collections import Counter
from collections.abc import Mapping
from decimal import Decimal
from enum import Enum
from typing import Any, Final, Generic, TypeVar

import msgspec

from coordinator.config.password import Password

T = TypeVar("T")
N = TypeVar("N", int, float)

INT16_MAX: Final = 2**15 - 1
INT32_MAX: Final = 2**31 - 1
INT64_MAX: Final = 2**63 - 1
DOUBLE_MAX: Final = sys.float_info.max
"""Double.MAX_VALUE of Java, which stands for "no limit" in Kafka."""
SEGMENT_BYTES_MIN: Final = 1024 * 1024
"""The lower bound of a topic's `segment.bytes`.

Kafka accepts a smaller `offsets.topic.segment.bytes`, but then fails to create the topic.
"""
PARTITIONS_MAX: Final = 10_000
"""The most partitions of one topic: Kafka's controller rejects a request for more (POLICY_VIOLATION)."""


TYPE_NAMES: Final = {bool: "boolean", int: "int", float: "double", str: "string", tuple: "list", Password: "password"}


class ConfigError(ValueError):
    """A setting is invalid. The message is one line: the setting, the problem, and what is allowed."""


class Scope(Enum):
    """What a setting can be given for, beside the server as a whole (config/listener_overrides.py)."""

    BROKER = "broker"
    """Nothing else."""
    LISTENER = "listener"
    """One listener: `listener.name.NAME.KEY`."""
    MECHANISM = "mechanism"
    """One listener, and one SASL mechanism of it: `listener.name.NAME.MECHANISM.KEY`."""


class ConfigKey(msgspec.Struct, Generic[T], frozen=True, eq=False):
    """One setting. `at_least` and `at_most` are inclusive bounds of a number; `one_of` lists the allowed words.

    The default of a list is a tuple. A list has no word twice. With `one_of` it has one word at least; without, its
    words are free. The default of a secret is a `Password`.
    """

    name: str
    default: T
    doc: str
    at_least: float | None = None
    at_most: float | None = None
    one_of: tuple[str, ...] = ()
    is_case_insensitive: bool = False
    """Whether a word may be written in any case. Its value is the one of `one_of`."""
    aliases: Mapping[str, str] = msgspec.field(default_factory=dict)
    """Other names of words of a list."""
    scope: Scope = Scope.BROKER

    @property
    def type_name(self) -> str:
        return TYPE_NAMES[type(self.default)]

    @property
    def is_secret(self) -> bool:
        """Whether the value is shown to nobody (Kafka's type PASSWORD)."""
        return isinstance(self.default, Password)

    def format(self, value: T) -> str:
        """A value as in a properties file. A secret is hidden."""
        if isinstance(value, tuple):
            return ",".join(value)
        if isinstance(value, float):
            return _double_text(value)
        return str(value).lower() if isinstance(value, bool) else str(value)

    def parse(self, text: str) -> T:
        """Parse and validate a value.

        Raises:
            ConfigError: the value is not of the setting's type, or not allowed.
        """
        value: Any = text.strip()
        if self.is_secret:
            return Password(value)  # type: ignore[return-value]
        if isinstance(self.default, bool):
            if value.lower() not in ("true", "false"):
                raise ConfigError(f"{self.name}={text}: expected true or false")
            value = value.lower() == "true"
        elif isinstance(self.default, int):
            value = self._parse_int(value)
        elif isinstance(self.default, float):
            value = self._parse_float(value)
        elif isinstance(self.default, tuple):
            value = self._parse_list(value)
        elif self.one_of:
            value = self._parse_word(value)
        return value  # type: ignore[no-any-return]

    def _parse_word(self, text: str) -> str:
        word = text.lower() if self.is_case_insensitive else text
        if word not in self.one_of:
            raise ConfigError(f"{self.name}={text}: expected one of {', '.join(self.one_of)}")
        return word

    def _parse_list(self, text: str) -> tuple[str, ...]:
        words = [word.strip() for word in text.split(",")]
        words = [self.aliases.get(word, word) for word in words]
        if not self.one_of:
            words = [word for word in words if word]
        elif unknown := [word for word in words if word not in self.one_of]:
            raise ConfigError(f"{self.name}={text}: {unknown[0]!r} is not one of {', '.join(self.one_of)}")
        if repeated := [word for word, times in Counter(words).items() if times > 1]:
            raise ConfigError(f"{self.name}={text}: {repeated[0]} is named twice")
        return tuple(words)

    def _parse_int(self, text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            raise ConfigError(f"{self.name}={text}: expected a whole number") from None
        return self._within_bounds(value, text)

    def _parse_float(self, text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            raise ConfigError(f"{self.name}={text}: expected a number") from None
        if not math.isfinite(value):
            raise ConfigError(f"{self.name}={text}: expected a number")
        return self._within_bounds(value, text)

    def _within_bounds(self, value: N, text: str) -> N:
        if self.at_least is not None and value < self.at_least:
            raise ConfigError(f"{self.name}={text}: must be at least {self.at_least}")
        if self.at_most is not None and value > self.at_most:
            raise ConfigError(f"{self.name}={text}: must be at most {self.at_most}")
        return value


def _double_text(value: float) -> str:
    """The text of Java's `Double.toString`, as Kafka's tools print a number with a fraction."""
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        return repr(value)
    sign, digits, exponent = Decimal(repr(value)).as_tuple()
    assert isinstance(exponent, int), "settings are finite"
    shown = "".join(map(str, digits)).rstrip("0")
    return f"{'-' * sign}{shown[0]}.{shown[1:] or '0'}E{exponent + len(digits) - 1}"
