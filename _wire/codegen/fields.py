"""The C and Python forms of fields and their versions, from which the code is generated."""

from __future__ import annotations

from collections.abc import Callable

from _wire.notation import Field, Struct, Versions

# The C and Python types of each type, and the size of scalars in bytes.
C_TYPES = {
    "bool": "bint",
    "int8": "int8_t",
    "int16": "int16_t",
    "uint16": "uint16_t",
    "int32": "int32_t",
    "int64": "int64_t",
    "float64": "double",
    "uuid": "bytes",
    "string": "str",
    "bytes": "bytes",
    "records": "object",
}
PYTHON_TYPES = {
    "bool": "bool",
    "float64": "float",
    "uuid": "bytes",
    "string": "str",
    "bytes": "bytes",
    "records": "bytes | memoryview",
}
SIZES = {"bool": 1, "int8": 1, "int16": 2, "uint16": 2, "int32": 4, "int64": 8, "float64": 8, "uuid": 16}
ZERO_UUID = 'b"' + r"\0" * 16 + '"'
INT64_MIN = -(2**63)


def indented(lines: list[str], levels: int = 1) -> list[str]:
    return ["    " * levels + line for line in lines]


def in_versions(versions: Versions, within: Versions) -> str:
    """The condition under which a version of `within` is in `versions`; empty if it always is."""
    lower, upper = versions.first > within.first, versions.last < within.last
    if lower and upper:
        one = versions.first == versions.last
        return f"version == {versions.first}" if one else f"{versions.first} <= version <= {versions.last}"
    if lower:
        return f"version >= {versions.first}"
    return f"version <= {versions.last}" if upper else ""


def negated(condition: str) -> str:
    return condition.replace(">=", "<") if ">=" in condition else f"not ({condition})"


def by_nullability(field: Field, statement: Callable[[str], str]) -> list[str]:
    """The statement for a field that is nullable in all, in no or in some versions."""
    if field.nullable is None:
        return [statement("")]
    condition = in_versions(field.nullable, field.versions)
    if not condition:
        return [statement("nullable_")]
    return [f"if {condition}:", f"    {statement('nullable_')}", "else:", f"    {statement('')}"]


def flexible_versions(struct: Struct) -> Versions:
    return Versions(max(struct.versions.first, struct.flexible_from), struct.versions.last)


def is_ever_flexible(struct: Struct) -> bool:
    return struct.flexible_from <= struct.versions.last


def flexible_variable(struct: Struct) -> str:
    """The local variable for flexible versions, with compact lengths and tagged fields."""
    condition = in_versions(flexible_versions(struct), struct.versions)
    return f"cdef bint flexible = {(condition or 'True') if is_ever_flexible(struct) else 'False'}"


def is_made_when_missing(field: Field) -> bool:
    """A struct that is neither tagged nor nullable has a value by default."""
    return field.is_struct and not field.is_array and field.tag is None and field.nullable is None


def may_be_null_in_its_tag(field: Field) -> bool:
    """A tagged struct whose default is a struct of defaults. Null is another value, and is written."""
    return (
        field.is_struct
        and not field.is_array
        and field.tag is not None
        and field.nullable is not None
        and not field.has_default
    )


def goes_in_one_piece(field: Field) -> bool:
    """An array of partition numbers, which is the only array that is often long."""
    return field.type == "int32" and field.is_array and field.nullable is None


def c_type(field: Field) -> str:
    return "list" if field.is_array else C_TYPES.get(field.type, field.type)


def is_optional(field: Field) -> bool:
    return field.nullable is not None or (field.is_struct and not field.is_array and field.tag is not None)


def python_type(field: Field) -> str:
    element = PYTHON_TYPES.get(field.type, "int" if field.type in SIZES else field.type)
    whole = f"list[{element}]" if field.is_array else element
    return f"{whole} | None" if is_optional(field) else whole


def python_argument_type(field: Field) -> str:
    whole = python_type(field).replace("list[", "Iterable[")
    return f"{whole} | None" if is_made_when_missing(field) else whole


def python_argument_default(field: Field) -> str:
    if field.is_array:
        return "None" if field.default is None else "()"
    if may_be_null_in_its_tag(field):
        return "..."  # not given, where None is null
    return "None" if field.is_struct else python_default(field)


def python_default(field: Field) -> str:
    """The default of a field that was not sent, as an expression."""
    if field.default is None and field.has_default:
        return "None"
    if field.is_array:
        return "[]"
    if field.is_struct:
        return f"{field.type}()" if is_made_when_missing(field) or may_be_null_in_its_tag(field) else "None"
    if field.type == "uuid":
        return ZERO_UUID
    if field.type in ("bytes", "records"):
        return 'b""'
    if field.type == "string":
        return f'"{field.default}"'
    if field.default == INT64_MIN:
        return "(-9223372036854775807 - 1)"  # C has no such literal
    return repr(field.default)
