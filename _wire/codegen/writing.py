"""Generates the method `write` of a struct: its fields in the order of encoding, then its tagged fields."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

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
    python_default,
)
from _wire.notation import Field, Struct

STORES = {
    "bool": "({at})[0] = 1 if {value} else 0",
    "int8": "({at})[0] = <uint8_t>{value}",
    "int16": "store_uint16({at}, <uint16_t>{value})",
    "uint16": "store_uint16({at}, {value})",
    "int32": "store_uint32({at}, <uint32_t>{value})",
    "int64": "store_uint64({at}, <uint64_t>{value})",
}
"""The functions that write a value of fixed size into reserved space."""


def write_method(struct: Struct) -> list[str]:
    body = [flexible_variable(struct)]
    runs = list(runs_of_fields(struct))
    if any(is_written_at_once(run) for _, run in runs):
        body.append("cdef uint8_t *room")
    for condition, run in runs:
        statements = write_at_once(run) if is_written_at_once(run) else write_field(run[0], struct)
        body += [f"if {condition}:", *indented(statements)] if condition else statements
    if is_ever_flexible(struct):
        body += ["if flexible:", *indented(write_tags(struct))]
    body.append("return 0")
    return ["cdef int write(self, Writer *w, int16_t version) except -1:", *indented(body)]


def runs_of_fields(struct: Struct) -> Iterator[tuple[str, list[Field]]]:
    """The untagged fields in order, with the condition of their versions. Adjacent fields of fixed size are grouped."""
    untagged = (field for field in struct.fields if field.tag is None)
    by_condition = groupby(untagged, key=lambda field: (in_versions(field.versions, struct.versions), is_fixed(field)))
    for (condition, fixed), fields in by_condition:
        yield from [(condition, list(fields))] if fixed else [(condition, [field]) for field in fields]


def is_fixed(field: Field) -> bool:
    return field.type in STORES and not field.is_array


def is_written_at_once(run: list[Field]) -> bool:
    return len(run) > 1


def write_at_once(run: list[Field]) -> list[str]:
    """The statements that write them after a single check of the space."""
    lines, position = [f"room = reserve(w, {sum(SIZES[field.type] for field in run)})"], 0
    for field in run:
        at = f"room + {position}" if position else "room"
        lines.append(STORES[field.type].format(at=at, value=f"self.{field.name}"))
        position += SIZES[field.type]
    return lines


def write_field(field: Field, struct: Struct) -> list[str]:
    """The statements that write a field of the version."""
    path = f'to(w, b"{struct.path}{field.name}")'
    value = f"self.{field.name}"
    if field.is_array:
        return write_array(field, path, value)
    if field.is_struct:
        return write_single_struct(field, path, value)
    return by_nullability(field, lambda null: write_call(field.type, path, value, null))


def write_array(field: Field, path: str, value: str) -> list[str]:
    if goes_in_one_piece(field):
        return [f"write_int32_array({path}, {value}, flexible)"]
    one = f"(<{field.type}?>element).write(w, version)" if field.is_struct else write_call(field.type, "w", "element")
    lines = by_nullability(field, lambda null: f"write_{null}count({path}, {value}, flexible)")
    loop = [f"for element in {value}:", f"    {one}", "    count_written(w, 1)"]
    return [*lines, *loop] if field.nullable is None else [*lines, f"if {value} is not None:", *indented(loop)]


def write_single_struct(field: Field, path: str, value: str) -> list[str]:
    """A nullable struct begins with a flag: an int8 or, within a tag, an unsigned varint that is 0 for null."""
    body = f"{value}.write(w, version)"
    if field.nullable is None:
        is_sent_at_all = field.tag is not None  # a tagged struct that is None is not written in the first place
        return [body] if is_sent_at_all else [f"if {value} is None:", f"    raise_null({path})", body]
    condition = in_versions(field.nullable, field.versions)
    write_presence = (
        f"write_int8(w, -1 if {value} is None else 1)"
        if field.tag is None
        else f"write_uvarint(w, 0 if {value} is None else 1)"
    )
    if not condition:
        return [write_presence, f"if {value} is not None:", f"    {body}"]
    return [
        f"if {condition}:",
        f"    {write_presence}",
        f"elif {value} is None:",
        f"    raise_null({path})",
        f"if {value} is not None:",
        f"    {body}",
    ]


def write_call(type_name: str, writer: str, value: str, null: str = "") -> str:
    if type_name in SIZES:
        return f"write_{type_name}({writer}, {value})"
    return f"write_{null}{type_name}({writer}, {value}, flexible)"


def write_tags(struct: Struct) -> list[str]:
    """The number of tagged fields that differ from their defaults, followed by these fields."""
    tagged = [field for field in struct.fields if field.tag is not None]
    if not tagged:
        return ["write_uvarint(w, 0)"]
    sent = {field.name: is_sent(field, struct) for field in tagged}
    lines = ["write_uvarint(w, <uint32_t>("]
    lines += [f"    {'+ ' if i else ''}({sent[field.name]})" for i, field in enumerate(tagged)]
    lines.append("))")
    for field in tagged:
        lines += [f"if {sent[field.name]}:", f"    mark = begin_tag(w, {field.tag})"]
        lines += indented([*write_field(field, struct), "end_tag(w, mark)"])
    return lines


def is_sent(field: Field, struct: Struct) -> str:
    """The condition under which a tagged field is written: the version has it, and its value is not the default."""
    value = f"self.{field.name}"
    if may_be_null_in_its_tag(field):
        differs = f"{value} is None or {value} != {python_default(field)}"
    elif field.default is None and (field.is_struct or field.has_default):
        differs = f"{value} is not None"
    elif field.is_array:
        differs = f"{value} is None or len({value}) > 0"
    elif field.type == "bool":
        differs = f"not {value}" if field.default else value
    else:
        differs = f"{value} != {python_default(field)}"
    condition = in_versions(field.versions, flexible_versions(struct))
    return f"{condition} and ({differs})" if condition else differs
