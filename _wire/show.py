"""A message as text: one line per field of its version, with its path."""

from collections.abc import Iterator
from typing import Any
from uuid import UUID

from _wire.notation import Definition, Field, Struct

BYTES_SHOWN = 64
TAGGED_FIELDS = "tagged fields"


def lines(message: Any, definition: Definition, version: int, until: str | None = None) -> Iterator[str]:
    """`protocols[0].name = 'range'` and so on, in the order of encoding; with `until`, only the fields before that one.

    `until` is the path of a MalformedMessage, and `message` what was understood of it.
    """
    for path, text in _struct(message, definition, definition.structs[type(message).__name__], version, ""):
        if path == until:
            return
        if text:
            yield f"{path} = {text}"


def _struct(value: Any, definition: Definition, struct: Struct, version: int, prefix: str) -> Iterator[tuple[str, str]]:
    """(path, text) of each field; the text is None for places that can only have an error."""
    present = [field for field in struct.fields if version in field.versions]
    for field in present:
        if field.tag is None:
            yield from _field(getattr(value, field.name), definition, field, version, prefix + field.name)
    if version >= struct.flexible_from:
        yield prefix + TAGGED_FIELDS, ""
    for field in present:
        if field.tag is not None:
            yield from _field(getattr(value, field.name), definition, field, version, prefix + field.name)


def _field(value: Any, definition: Definition, field: Field, version: int, path: str) -> Iterator[tuple[str, str]]:
    elements = [element for element in value if element is not None] if isinstance(value, list) else []
    if field.is_array and elements and field.is_struct:
        yield path, ""
        for i, element in enumerate(elements):
            yield from _struct(element, definition, definition.structs[field.type], version, f"{path}[{i}].")
    elif field.is_array and value is not None:
        yield path, f"[{', '.join(_text(element, field.type) for element in elements)}]"
        yield f"{path}[{len(elements)}]", ""
    elif field.is_struct and value is not None:
        yield path, ""
        yield from _struct(value, definition, definition.structs[field.type], version, path + ".")
    else:
        yield path, _text(value, field.type)


def _text(value: Any, type_name: str) -> str:
    if value is None:
        return "null"
    if type_name == "uuid":
        return str(UUID(bytes=value))
    if isinstance(value, bytes):
        shown = value[:BYTES_SHOWN].hex() + ("..." if len(value) > BYTES_SHOWN else "")
        return f"{len(value)} bytes {shown}".rstrip()
    return str(value).lower() if isinstance(value, bool) else repr(value)
