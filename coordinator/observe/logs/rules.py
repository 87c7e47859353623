"""A rule: which statement a line with a certain message makes."""

from collections.abc import Callable
from typing import Any, Final

import msgspec

from coordinator.observe.logs.templates import Kind, Template, Values


class Rule:
    """A template and the class of its statement. `constants` are values that the wording itself tells.

    Fields of the template that the class does not have say nothing.
    """

    __slots__ = ("_converters", "constants", "groups", "members", "statement", "template")

    def __init__(self, text: str, statement: type[msgspec.Struct], /, **constants: Any) -> None:
        self.template = Template(text)
        self.statement = statement
        self.constants = constants
        kinds, names = self.template.kinds, set(statement.__struct_fields__)
        self._converters = [(name, _CONVERTED.get(kind)) for name, kind in kinds.items() if name in names]
        self.groups = [name for name, kind in kinds.items() if kind is Kind.GROUP]
        self.members = [name for name, kind in kinds.items() if kind is Kind.MEMBER]

    def values(self, read: Values) -> dict[str, Any]:
        """The fields of the statement, without its place."""
        made = {
            name: read[name] if convert is None else convert(read[name])
            for name, convert in self._converters
            if name in read
        }
        made.update(self.constants)
        return made


def _scala_option(value: str) -> str | None:
    return None if value == "None" else value[len("Some(") : -1]


def _java_option(value: str) -> str | None:
    return None if value == "null" else value


_CONVERTED: Final[dict[Kind, Callable[[str], Any]]] = {
    Kind.INTEGER: int,
    Kind.SCALA_INSTANCE: _scala_option,
    Kind.JAVA_INSTANCE: _java_option,
}


def elements(text: str) -> str:
    """What is between the brackets of a set."""
    return text[text.index("(") + 1 : -1] if text.endswith(")") else text[1:-1]
