"""Variants of a valid request: one value of it is empty, null, doubled, unknown, or at a limit."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from _wire.notation import Definition, Field, Struct

Body = dict[str, Any]

LONG_NAME: Final = "x" * 300
UNKNOWN_ID: Final = bytes(range(1, 17))
NO_ID: Final = bytes(16)
BITS: Final = {"int8": 8, "int16": 16, "int32": 32, "int64": 64}


@dataclass(frozen=True, slots=True)
class Variant:
    """A request body, and in words what is different about it: the path of the field, and its value."""

    name: str
    body: Body


def variants(definition: Definition, version: int, base: Body) -> Iterator[Variant]:
    """The base itself, then one variant for each unusual value of each field that the version has.

    Elements of arrays are varied in the first one. `base` may leave out fields; they have their default.
    """
    yield Variant("base", base)
    for name, body in _of_struct(definition, definition.structs[f"{definition.name}Request"], version, base):
        yield Variant(name, body)


def _of_struct(definition: Definition, struct: Struct, version: int, body: Body) -> Iterator[tuple[str, Body]]:
    for field in struct.fields:
        if version not in field.versions:
            continue
        value = body.get(field.name, field.default)
        for what, varied in _of_field(definition, field, version, value):
            yield f"{field.name}{what}", {**body, field.name: varied}


def _of_field(definition: Definition, field: Field, version: int, value: Any) -> Iterator[tuple[str, Any]]:
    if field.nullable is not None and version in field.nullable and value is not None:
        yield "=null", None
    if not field.is_array:
        yield from _of_value(definition, field, version, value)
        return
    elements = value if isinstance(value, list) else []
    if elements:
        yield "=[]", []
        yield " doubled", [*elements, *elements]
        for what, varied in _of_value(definition, field, version, elements[0]):
            yield f"[0]{what}", [varied, *elements[1:]]


def _of_value(definition: Definition, field: Field, version: int, value: Any) -> Iterator[tuple[str, Any]]:
    if field.is_struct:
        if isinstance(value, Mapping):
            for name, varied in _of_struct(definition, definition.structs[field.type], version, dict(value)):
                yield f".{name}", varied
        return
    for what, varied in _unusual(field.type):
        if varied != value or type(varied) is not type(value):
            yield f"={what}", varied


def _unusual(kind: str) -> list[tuple[str, Any]]:
    """Unusual values of a scalar or a text, each with its name."""
    if kind in BITS:
        limit = 1 << (BITS[kind] - 1)
        return [("0", 0), ("1", 1), ("-1", -1), ("-2", -2), ("min", -limit), ("max", limit - 1)]
    match kind:
        case "bool":
            return [("true", True), ("false", False)]
        case "float64":
            return [("0", 0.0), ("-1", -1.0), ("0.5", 0.5), ("nan", float("nan")), ("inf", float("inf"))]
        case "uuid":
            return [("none", NO_ID), ("unknown", UNKNOWN_ID)]
        case "string":
            return [("empty", ""), ("unknown", "unknown"), ("illegal", "a b/\u00e9"), ("long", LONG_NAME)]
        case _:
            return [("empty", b""), ("garbage", b"\x00\xff\x7f")]
