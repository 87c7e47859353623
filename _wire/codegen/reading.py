"""The function that decodes a struct: one statement per field, in the order of the wire."""

from __future__ import annotations

from dataclasses import replace

from _wire.codegen.fields import (
    SIZES,
    by_nullability,
    flexible_variable,
    flexible_versions,
    in_versions,
    indented,
    is_ever_flexible,
    negated,
    python_default,
)
from _wire.notation import Definition, Field, Struct, snake_case

NEW_OBJECTS_HAVE = ("None", "0", "0.0", "False")


def decode_signature(struct: Struct) -> str:
    return f"cdef {struct.name} decode_{snake_case(struct.name)}(Reader *r, int16_t version)"


def decode_function(definition: Definition, struct: Struct) -> list[str]:
    tagged = [each for each in struct.fields if each.tag is not None]
    body = [
        f"cdef {struct.name} m = {struct.name}.__new__({struct.name})",
        flexible_variable(definition, struct),
        *count_variable(struct.fields),
    ]
    for each in struct.fields:
        if each.tag is None:
            body += read_field(each, struct, definition, in_versions(each.versions, struct.versions))
        else:
            body += set_default(each)
    if tagged:
        body += ["if flexible:", f"    {tags_name(struct)}(r, m, version)"]
    elif is_ever_flexible(definition, struct):
        body += ["if flexible:", "    skip_tags(r)"]
    before = [*decode_tags_function(definition, struct, tagged), "", ""] if tagged else []
    return [*before, f"{decode_signature(struct)}:", *indented([*body, "return m"])]


def tags_name(struct: Struct) -> str:
    return f"decode_{snake_case(struct.name)}_tags"


def decode_tags_function(definition: Definition, struct: Struct, tagged: list[Field]) -> list[str]:
    """Reads the tagged fields over their defaults; those that no definition knows are passed over."""
    body = [
        "cdef bint flexible = True",
        "cdef const uint8_t *outer_end = NULL",
        "cdef uint32_t tag",
        *count_variable(tagged),
    ]
    loop = ["tag = open_tag(r, &outer_end)"]
    for i, each in enumerate(tagged):
        condition = in_versions(each.versions, flexible_versions(definition, struct))
        loop.append(f"{'elif' if i else 'if'} tag == {each.tag}{f' and {condition}' if condition else ''}:")
        loop += indented(read_field(each, struct, definition, ""))
    loop += ["else:", "    r.position = r.end", "close_tag(r, outer_end)"]
    body += ["for _ in range(read_tag_count(r)):", *indented(loop), "return 0"]
    return [f"cdef int {tags_name(struct)}(Reader *r, {struct.name} m, int16_t version) except -1:", *indented(body)]


def count_variable(fields: list[Field]) -> list[str]:
    return ["cdef Py_ssize_t count"] if any(each.is_array and each.nullable for each in fields) else []


def set_default(each: Field) -> list[str]:
    default = python_default(each)
    return [] if default in NEW_OBJECTS_HAVE else [f"m.{each.name} = {default}"]


def read_field(each: Field, struct: Struct, definition: Definition, condition: str) -> list[str]:
    """The statements that read a field where `condition` holds (always, if empty), and elsewhere set its default."""
    path = f'at(r, b"{struct.path}{each.name}")'
    target = f"m.{each.name}"
    minimum = element_bytes_min(definition, each) if each.is_array else 0
    if each.is_array and each.nullable is not None:
        lines = by_nullability(each, lambda null: f"count = read_{null}count({path}, flexible, {minimum})")
        lines.append(f"{target} = None if count < 0 else [{read_one(each, 'r')} for _ in range(count)]")
    elif each.type == "int32" and each.is_array:
        lines = [f"{target} = read_int32_array({path}, flexible)"]
    elif each.is_array:
        lines = [
            f"{target} = [",
            f"    {read_one(each, 'r')}",
            f"    for _ in range(read_count({path}, flexible, {minimum}))",
            "]",
        ]
    elif each.is_struct and each.nullable is not None:
        there = f"read_int8({path}) >= 0"
        always = in_versions(each.nullable, each.versions)
        there = f"{negated(always)} or {there}" if always else there
        lines = [f"{target} = {read_one(each, path)} if {there} else None"]
    else:
        lines = by_nullability(each, lambda null: f"{target} = {read_one(each, path, null)}")
    otherwise = set_default(each)
    if not condition:
        return lines
    if len(lines) == 1 and otherwise:
        return [f"{lines[0]} if {condition} else {python_default(each)}"]
    return [f"if {condition}:", *indented(lines), *(["else:", *indented(otherwise)] if otherwise else [])]


def read_one(each: Field, reader: str, null: str = "") -> str:
    """The expression that reads a single value, or an element of an array."""
    if each.is_struct:
        return f"decode_{snake_case(each.type)}(r, version)"
    if each.type in SIZES:
        return f"read_{each.type}({reader})"
    return f"read_{null}{'bytes' if each.type == 'records' else each.type}({reader}, flexible)"


def element_bytes_min(definition: Definition, each: Field) -> int:
    """The least bytes an element takes in any version: an array's count is held against it before memory is taken."""
    element = replace(each, is_array=False, nullable=None)
    versions = range(each.versions.first, each.versions.last + 1)
    return max(1, min(bytes_min(definition, element, version) for version in versions))


def bytes_min(definition: Definition, each: Field, version: int) -> int:
    flexible = version >= definition.flexible_from
    if each.is_array or each.type in ("bytes", "records"):
        return 1 if flexible else 4
    if each.type == "string":
        return 1 if flexible else 2
    if not each.is_struct:
        return SIZES[each.type]
    if each.nullable is not None:
        return 1
    fields = definition.structs[each.type].fields
    present = [other for other in fields if other.tag is None and version in other.versions]
    return sum(bytes_min(definition, other, version) for other in present) + flexible
