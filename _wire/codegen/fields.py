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


def by_nullability(each: Field, statement: Callable[[str], str]) -> list[str]:
    """The statement for a field that is nullable in all, in no or in some versions."""
    if each.nullable is None:
        return [statement("")]
    condition = in_versions(each.nullable, each.versions)
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


def is_made_when_missing(each: Field) -> bool:
    """A struct that is neither tagged nor nullable has a value by default."""
    return each.is_struct and not each.is_array and each.tag is None and each.nullable is None


def may_be_null_in_its_tag(each: Field) -> bool:
    """A tagged struct whose default is a struct of defaults. Null is another value, and is written."""
    return (
        each.is_struct
        and not each.is_array
        and each.tag is not None
        and each.nullable is not None
        and not each.has_default
    )


def goes_in_one_piece(each: Field) -> bool:
    """An array of partition numbers, which is the only array that is often long."""
    return each.type == "int32" and each.is_array and each.nullable is None


def c_type(each: Field) -> str:
    return "list" if each.is_array else C_TYPES.get(each.type, each.type)


def is_optional(each: Field) -> bool:
    return each.nullable is not None or (each.is_struct and not each.is_array and each.tag is not None)


def python_type(each: Field) -> str:
    element = PYTHON_TYPES.get(each.type, "int" if each.type in SIZES else each.type)
    whole = f"list[{element}]" if each.is_array else element
    return f"{whole} | None" if is_optional(each) else whole


def python_argument_type(each: Field) -> str:
    whole = python_type(each).replace("list[", "Iterable[")
    return f"{whole} | None" if is_made_when_missing(each) else whole


def python_argument_default(each: Field) -> str:
    if each.is_array:
        return "None" if each.default is None else "()"
    if may_be_null_in_its_tag(each):
        return "..."  # not given, where None is null
    return "None" if each.is_struct else python_default(each)


def python_default(each: Field) -> str:
    """The default of a field that was not sent, as an expression."""
    if each.default is None and each.has_default:
        return "None"
    if each.is_array:
        return "[]"
    if each.is_struct:
        return f"{each.type}()" if is_made_when_missing(each) or may_be_null_in_its_tag(each) else "None"
    if each.type == "uuid":
        return ZERO_UUID
    if each.type in ("bytes", "records"):
        return 'b""'
    if each.type == "string":
        return f'"{each.default}"'
    if each.default == INT64_MIN:
        return "(-9223372036854775807 - 1)"  # C has no such literal
    return repr(each.default)
