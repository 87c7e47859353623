"""A config of topics or of groups: name (Kafka's), type, default, bounds and documentation (ConfigDef.java)."""

import re
from collections.abc import Callable
from enum import IntEnum
from typing import Any, Final

import msgspec

from coordinator.config.key import INT16_MAX, INT32_MAX, INT64_MAX, ConfigKey

VALUE_LENGTH_MAX: Final = 2048
"""The most characters of one value: the configs of 100 new topics have to fit into one batch of the metadata log."""

INTEGER: Final = re.compile(r"[+-]?[0-9]{1,40}")
DOUBLE: Final = re.compile(r"[+-]?([0-9]{1,40}(\.[0-9]{0,40})?|\.[0-9]{1,40})([eE][+-]?[0-9]{1,3})?")


class ConfigType(IntEnum):
    """The types in DescribeConfigs (DescribeConfigsResponse.ConfigType)."""

    BOOLEAN = 1
    STRING = 2
    INT = 3
    SHORT = 4
    LONG = 5
    DOUBLE = 6
    LIST = 7
    CLASS = 8
    PASSWORD = 9


LARGEST: Final = {ConfigType.SHORT: INT16_MAX, ConfigType.INT: INT32_MAX, ConfigType.LONG: INT64_MAX}
"""Of each type of whole numbers."""


class InvalidResourceConfig(ValueError):
    """A config is unknown, or its value is not allowed. The message is Kafka's, where Kafka has one."""


class BrokerDefault(msgspec.Struct, frozen=True):
    """The setting of the broker that a config falls back to, and how many of its units one of it is."""

    key: ConfigKey[Any]
    factor: int = 1

    def text(self, value: Any) -> str:
        """A value of the setting, in the unit of the config."""
        return str(value * self.factor) if self.factor > 1 and value >= 0 else self.key.format(value)


class ResourceConfigKey(msgspec.Struct, frozen=True, eq=False):
    """One config of topics or of groups.

    `at_least` and `at_most` are inclusive; `check` raises InvalidResourceConfig for the rest.
    """

    name: str
    type: ConfigType
    default: str
    doc: str
    at_least: float | None = None
    at_most: float | None = None
    one_of: tuple[str, ...] = ()
    broker: tuple[BrokerDefault, ...] = ()
    """The first one that is set counts; the last one also when none is."""
    check: Callable[[str, str], None] = lambda name, text: None

    def parse(self, text: str) -> Any:
        """The value of a text: bool, int, float, str or a list of str.

        Raises:
            InvalidResourceConfig: the text is not a value of this type, or not allowed.
        """
        trimmed = text.strip()
        if len(trimmed) > VALUE_LENGTH_MAX:
            raise InvalidResourceConfig(
                f"The value of configuration {self.name} has more than {VALUE_LENGTH_MAX} characters"
            )
        value = self._typed(text, trimmed)
        for word in value if isinstance(value, list) else [value]:
            if self.one_of and word not in self.one_of:
                raise self._invalid(word, f"String must be one of: {', '.join(self.one_of)}")
        if self.at_least is not None and value < self.at_least:
            raise self._invalid(value, f"Value must be at least {self.at_least}")
        if self.at_most is not None and value > self.at_most:
            raise self._invalid(value, f"Value must be no more than {self.at_most}")
        self.check(self.name, trimmed)
        return value

    def _typed(self, text: str, trimmed: str) -> Any:
        match self.type:
            case ConfigType.BOOLEAN:
                if trimmed.lower() not in ("true", "false"):
                    raise self._invalid(text, "Expected value to be either true or false")
                return trimmed.lower() == "true"
            case ConfigType.SHORT | ConfigType.INT | ConfigType.LONG:
                largest = LARGEST[self.type]
                if not INTEGER.fullmatch(trimmed) or not -largest - 1 <= int(trimmed) <= largest:
                    raise self._invalid(text, f"Not a number of type {self.type.name}")
                return int(trimmed)
            case ConfigType.DOUBLE:
                if not DOUBLE.fullmatch(trimmed):
                    raise self._invalid(text, "Not a number of type DOUBLE")
                return float(trimmed)
            case ConfigType.LIST:
                return split_list(trimmed)
        return trimmed

    def _invalid(self, value: object, why: str) -> InvalidResourceConfig:
        return InvalidResourceConfig(f"Invalid value {value} for configuration {self.name}: {why}")


def split_list(text: str) -> list[str]:
    """The elements of a value of type LIST."""
    return [part.strip() for part in text.split(",")] if text.strip() else []
