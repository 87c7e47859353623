"""Describes the layout of a message in each version, as a table."""

from collections.abc import Iterator

from _wire.notation import Definition, Field, Struct

LEGEND = "x present   n may be null   t tagged   . not there"


def describe(definition: Definition) -> Iterator[str]:
    """The lines of the description: a summary, then a table for each message."""
    yield heading(definition)
    yield definition.doc
    for name in definition.messages:
        message = definition.structs[name]
        rows = list(_rows(definition, message, 1))
        width = max((len(label) for label, _, _ in rows), default=0)
        types = max((len(type_name) for _, type_name, _ in rows), default=0)
        versions = range(message.versions.first, message.versions.last + 1)
        yield ""
        yield f"{name:{width + types + 3}}  " + " ".join(f"{version:>2}" for version in versions)
        for label, type_name, field in rows:
            marks = " ".join(f"{mark(field, version):>2}" for version in versions)
            yield f"{label:{width}}  {type_name:{types}}   {marks}   {field.doc}".rstrip()
    yield ""
    yield LEGEND


def heading(definition: Definition) -> str:
    first, last, flexible = definition.versions.first, definition.versions.last, definition.flexible_from
    what = f"API key {definition.key}" if definition.key is not None else "embedded format"
    if definition.place is not None:
        what = f"record type {definition.place.types} of {definition.place.topic}"
    return f"{definition.name}: {what}, versions {first} to {last}, " + (
        f"flexible from {flexible} on" if flexible <= last else "never flexible"
    )


def mark(field: Field, version: int) -> str:
    """The form of a field in a version, as one or two letters of the legend."""
    if version not in field.versions:
        return "."
    letters = "t" if field.tag is not None else ""
    if field.nullable is not None and version in field.nullable:
        letters += "n"
    return letters or "x"


def _rows(definition: Definition, struct: Struct, depth: int) -> Iterator[tuple[str, str, Field]]:
    for field in struct.fields:
        yield "  " * depth + field.name, f"[{field.type}]" if field.is_array else field.type, field
        if field.is_struct:
            yield from _rows(definition, definition.structs[field.type], depth + 1)
