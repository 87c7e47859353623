"""A rule: which statement a line with a certain message makes."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from coordinator.observe.logs.statements import Statement
from coordinator.observe.logs.templates import Kind, Template, Values


class Rule:
    """A template and the class of its statement. `constants` are values that the wording itself tells.

    Fields of the template that the class does not have say nothing.
    """

    __slots__ = ("_dropped", "constants", "kinds", "make", "statement", "template")

    def __init__(self, text: str, statement: type[Statement], /, **constants: Any) -> None:
        self.template = Template(text)
        self.statement = statement
        self.constants = constants
        self.kinds: Mapping[str, Kind] = self.template.kinds
        names = set(statement.__struct_fields__)
        self._dropped = frozenset(self.kinds) - names

    def values(self, read: Values) -> dict[str, Any]:
        """The fields of the statement, without its place."""
        made = {name: _CONVERTED[self.kinds[name]](value) for name, value in read.items() if name not in self._dropped}
        return {**made, **self.constants}


def _scala_option(value: str) -> str | None:
    return None if value == "None" else value[len("Some(") : -1]


def _java_option(value: str) -> str | None:
    return None if value == "null" else value


def _same(value: str) -> str:
    return value


_CONVERTED: Final[dict[Kind, Callable[[str], Any]]] = {
    **dict.fromkeys(Kind, _same),
    Kind.INTEGER: int,
    Kind.SCALA_INSTANCE: _scala_option,
    Kind.JAVA_INSTANCE: _java_option,
}


def elements(text: str) -> str:
    """What is between the brackets of a set."""
    return text[text.index("(") + 1 : -1] if text.endswith(")") else text[1:-1]
