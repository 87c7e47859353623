"""Generates the function that reads a struct, field by field in the order of encoding.

It fills a struct that its caller has put in place already. So at any moment all that was read hangs on the message: an
error can say which element of which array it is about, and show what was understood before it, at no cost until then.
"""

from __future__ import annotations

from dataclasses import replace

from _wire.codegen.fields import (
    SIZES,
    by_nullability,
    flexible_variable,
    flexible_versions,
    goes_in_one_piece,
    in_versions,
    indented,
    is_ever_flexible,
    may_be_null_in_its_tag,
    negated,
    python_default,
)
from _wire.notation import Definition, Field, Struct, snake_case

NEW_OBJECTS_HAVE = ("None", "0", "0.0", "False")


def fill_signature(struct: Struct) -> str:
    return f"cdef int fill_{snake_case(struct.name)}(Reader *r, {struct.name} m, int16_t version) except -1"


def decode_signature(struct: Struct) -> str:
    return f"cdef {struct.name} decode_{snake_case(struct.name)}(Reader *r, int16_t version)"


def decode_function(struct: Struct) -> list[str]:
    """For compiled callers, and for `decode` of the class."""
    body = [
        f"cdef {struct.name} m = {struct.name}.__new__({struct.name})",
        "r.target = <PyObject *>m",
        f"fill_{snake_case(struct.name)}(r, m, version)",
        "return m",
    ]
    return [f"{decode_signature(struct)}:", *indented(body)]


def fill_function(definition: Definition, struct: Struct) -> list[str]:
    tagged = [field for field in struct.fields if field.tag is not None]
    untagged = [field for field in struct.fields if field.tag is None]
    body = [flexible_variable(struct), *element_variables(untagged)]
    for field in struct.fields:
        if field.tag is None:
            body += read_field(field, struct, definition, in_versions(field.versions, struct.versions))
        else:
            body += set_default(field)
    if tagged:
        body += ["if flexible:", f"    {tags_name(struct)}(r, m, version)"]
    elif is_ever_flexible(struct):
        body += ["if flexible:", f"    skip_tags({tags_path(struct)})"]
    before = [*fill_tags_function(definition, struct, tagged), "", ""] if tagged else []
    return [*before, f"{fill_signature(struct)}:", *indented([*body, "return 0"])]


def tags_name(struct: Struct) -> str:
    return f"fill_{snake_case(struct.name)}_tags"


def tags_path(struct: Struct) -> str:
    return f'at(r, b"{struct.path}tagged fields")'


def fill_tags_function(definition: Definition, struct: Struct, tagged: list[Field]) -> list[str]:
    """Reads the tagged fields over their defaults, and skips unknown ones."""
    body = [
        "cdef bint flexible = True",
        "cdef const uint8_t *outer_end = NULL",
        "cdef uint32_t tag",
        f"cdef Py_ssize_t tags = read_tag_count({tags_path(struct)})",
        *element_variables(tagged),
    ]
    loop = [f"tag = open_tag({tags_path(struct)}, &outer_end)"]
    for i, field in enumerate(tagged):
        condition = in_versions(field.versions, flexible_versions(struct))
        loop.append(f"{'elif' if i else 'if'} tag == {field.tag}{f' and {condition}' if condition else ''}:")
        loop += indented(read_field(field, struct, definition, ""))
    loop += ["else:", "    r.position = r.end", "close_tag(r, outer_end)"]
    body += ["for _ in range(tags):", *indented(loop), "return 0"]
    return [f"cdef int {tags_name(struct)}(Reader *r, {struct.name} m, int16_t version) except -1:", *indented(body)]


def element_variables(fields: list[Field]) -> list[str]:
    arrays = [field for field in fields if field.is_array and not goes_in_one_piece(field)]
    types = sorted({array.type for array in arrays if array.is_struct})
    variables = [f"cdef {name} {snake_case(name)}" for name in types]
    return ["cdef list elements", "cdef Py_ssize_t count", *variables] if arrays else []


def set_default(field: Field) -> list[str]:
    default = python_default(field)
    return [] if default in NEW_OBJECTS_HAVE else [f"m.{field.name} = {default}"]


def read_field(field: Field, struct: Struct, definition: Definition, condition: str) -> list[str]:
    """The statements that read a field if `condition` is true or empty, and otherwise set its default."""
    path = f'at(r, b"{struct.path}{field.name}")'
    if field.is_array:
        lines = read_array(field, struct, definition, path)
    elif field.is_struct:
        lines = read_single_struct(field, path)
    else:
        lines = by_nullability(field, lambda null: f"m.{field.name} = {read_one(field, path, null)}")
    otherwise = set_default(field)
    if not condition:
        return lines
    if len(lines) == 1 and otherwise:
        return [f"{lines[0]} if {condition} else {python_default(field)}"]
    return [f"if {condition}:", *indented(lines), *(["else:", *indented(otherwise)] if otherwise else [])]


def read_array(field: Field, struct: Struct, definition: Definition, path: str) -> list[str]:
    if goes_in_one_piece(field):
        return [f"m.{field.name} = read_int32_array({path}, flexible)"]
    minimum = element_bytes_min(definition, struct, field)
    lines = by_nullability(field, lambda null: f"count = read_{null}count({path}, flexible, {minimum})")
    blank = "[None] * count" if field.nullable is None else "None if count < 0 else [None] * count"
    lines += [f"elements = m.{field.name} = {blank}", "for i in range(count):"]
    if not field.is_struct:
        return [*lines, f"    put_element(elements, i, {read_one(field, 'r')})", "    count_read(r, 1)"]
    element = snake_case(field.type)
    return [
        *lines,
        f"    {element} = {field.type}.__new__({field.type})",
        f"    put_element(elements, i, {element})",
        f"    fill_{element}(r, {element}, version)",
        "    count_read(r, 1)",
    ]


def read_single_struct(field: Field, path: str) -> list[str]:
    """A nullable struct begins with a flag: an int8 or, within a tag, an unsigned varint that is 0 for null."""
    lines = [
        f"m.{field.name} = {field.type}.__new__({field.type})",
        f"fill_{snake_case(field.type)}(r, m.{field.name}, version)",
    ]
    if field.nullable is None:
        return lines
    always = in_versions(field.nullable, field.versions)
    there = f"read_int8({path}) >= 0" if field.tag is None else f"read_uvarint({path}) != 0"
    condition = f"{negated(always)} or {there}" if always else there
    otherwise = ["else:", f"    m.{field.name} = None"] if may_be_null_in_its_tag(field) else []
    return [f"if {condition}:", *indented(lines), *otherwise]


def read_one(field: Field, reader: str, null: str = "") -> str:
    """The expression that reads a single value or an element of an array, except structs."""
    if field.type in SIZES:
        return f"read_{field.type}({reader})"
    return f"read_{null}{'bytes' if field.type == 'records' else field.type}({reader}, flexible)"


def element_bytes_min(definition: Definition, struct: Struct, field: Field) -> int:
    """The minimum size of an element in bytes; it limits the count of an array before memory is allocated."""
    element = replace(field, is_array=False, nullable=None)
    versions = range(field.versions.first, field.versions.last + 1)
    return max(1, min(bytes_min(definition, struct, element, version) for version in versions))


def bytes_min(definition: Definition, struct: Struct, field: Field, version: int) -> int:
    flexible = version >= struct.flexible_from
    if field.is_array or field.type in ("bytes", "records"):
        return 1 if flexible else 4
    if field.type == "string":
        return 1 if flexible else 2
    if not field.is_struct:
        return SIZES[field.type]
    if field.nullable is not None:
        return 1
    inner = definition.structs[field.type]
    present = [other for other in inner.fields if other.tag is None and version in other.versions]
    return sum(bytes_min(definition, inner, other, version) for other in present) + flexible
