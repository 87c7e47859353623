"""Requests at random: each field may be at a limit, empty, huge, doubled, or a name that exists."""

from random import Random
from typing import Any, Final

from _wire.apis import Api
from _wire.notation import Definition, Field, Struct, read_definitions

INT_BITS: Final = {"int8": 8, "int16": 16, "int32": 32, "int64": 64}
REQUEST_BYTES_MAX: Final = 3_000_000
TEXTS: Final = ("", "consumer", "range", "\x1b[2J", "../..", "a" * 249, "b" * 32_000, "é\u202e🦆", "__consumer_offsets")


class RandomRequests:
    """Makes requests of all APIs from the definitions of their messages."""

    def __init__(self, random: Random, known: list[str], elements_max: int) -> None:
        """`known` are names of things that exist; others may be added while requests are made."""
        self._random = random
        self._known = known
        self._elements_max = elements_max
        self._definitions = {
            definition.name: definition for definition in read_definitions() if definition.kind == "api"
        }

    def request(self, api: Api, version: int) -> Any:
        definition = self._definitions[api.name]
        self._left = self._elements_max
        self._left_bytes = REQUEST_BYTES_MAX
        return self._struct(api.request, definition.structs[api.request.__name__], definition, version)

    def _struct(self, made_by: type, struct: Struct, definition: Definition, version: int) -> Any:
        module = __import__(made_by.__module__, fromlist=["_"])
        values = {}
        for field in struct.fields:
            if version in field.versions and (field.tag is None or self._random.random() < 0.3):
                values[field.name] = self._field(module, field, definition, version)
        return made_by(**values)

    def _field(self, module: Any, field: Field, definition: Definition, version: int) -> Any:
        if field.nullable is not None and version in field.nullable and self._random.random() < 0.15:
            return None
        if not field.is_array:
            return self._value(module, field, definition, version)
        count = min(self._count(), self._left)
        self._left -= count
        if self._random.random() < 0.2:
            before = self._left_bytes
            value = self._value(module, field, definition, version)
            size = max(before - self._left_bytes, 1)
            return [value] * min(count, REQUEST_BYTES_MAX // size)
        return [self._value(module, field, definition, version) for _ in range(count)]

    def _count(self) -> int:
        return self._random.choice((0, 1, 1, 1, 2, 3, self._random.randrange(self._elements_max), self._elements_max))

    def _value(self, module: Any, field: Field, definition: Definition, version: int) -> Any:
        random = self._random
        if field.is_struct:
            return self._struct(getattr(module, field.type), definition.structs[field.type], definition, version)
        if field.type == "bool":
            return random.random() < 0.5
        if field.type in INT_BITS:
            limit = 1 << INT_BITS[field.type] - 1
            return random.choice((0, 0, 1, -1, random.randrange(100), limit - 1, -limit))
        if field.type == "uint16":
            return random.choice((0, 65_535))
        if field.type == "float64":
            return random.choice((0.0, -1.0, float("nan"), float("inf")))
        if field.type == "string":
            return self._text()
        if field.type == "uuid":
            return random.choice((bytes(16), random.randbytes(16)))
        return self._bytes()

    def _text(self) -> str:
        random = self._random
        text = random.choice(self._known) if self._known and random.random() < 0.6 else random.choice(TEXTS)
        self._left_bytes -= len(text)
        return text if self._left_bytes > 0 else ""

    def _bytes(self) -> bytes:
        size = self._random.choice((0, 1, self._random.randrange(200), 1_000_000))
        self._left_bytes -= size
        return self._random.randbytes(min(size, 200)) + bytes(max(size - 200, 0)) if self._left_bytes > 0 else b""
