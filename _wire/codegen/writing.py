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
    untagged = (each for each in struct.fields if each.tag is None)
    by_condition = groupby(untagged, key=lambda each: (in_versions(each.versions, struct.versions), is_fixed(each)))
    for (condition, fixed), fields in by_condition:
        yield from [(condition, list(fields))] if fixed else [(condition, [each]) for each in fields]


def is_fixed(each: Field) -> bool:
    return each.type in STORES and not each.is_array


def is_written_at_once(run: list[Field]) -> bool:
    return len(run) > 1


def write_at_once(run: list[Field]) -> list[str]:
    """The statements that write them after a single check of the space."""
    lines, position = [f"room = reserve(w, {sum(SIZES[each.type] for each in run)})"], 0
    for each in run:
        at = f"room + {position}" if position else "room"
        lines.append(STORES[each.type].format(at=at, value=f"self.{each.name}"))
        position += SIZES[each.type]
    return lines


def write_field(each: Field, struct: Struct) -> list[str]:
    """The statements that write a field of the version."""
    path = f'to(w, b"{struct.path}{each.name}")'
    value = f"self.{each.name}"
    if each.is_array:
        return write_array(each, path, value)
    if each.is_struct:
        return write_single_struct(each, path, value)
    return by_nullability(each, lambda null: write_call(each.type, path, value, null))


def write_array(each: Field, path: str, value: str) -> list[str]:
    if goes_in_one_piece(each):
        return [f"write_int32_array({path}, {value}, flexible)"]
    one = f"(<{each.type}?>element).write(w, version)" if each.is_struct else write_call(each.type, "w", "element")
    lines = by_nullability(each, lambda null: f"write_{null}count({path}, {value}, flexible)")
    loop = [f"for element in {value}:", f"    {one}", "    count_written(w, 1)"]
    return [*lines, *loop] if each.nullable is None else [*lines, f"if {value} is not None:", *indented(loop)]


def write_single_struct(each: Field, path: str, value: str) -> list[str]:
    """A nullable struct begins with a flag: an int8 or, within a tag, an unsigned varint that is 0 for null."""
    body = f"{value}.write(w, version)"
    if each.nullable is None:
        is_sent_at_all = each.tag is not None  # a tagged struct that is None is not written in the first place
        return [body] if is_sent_at_all else [f"if {value} is None:", f"    raise_null({path})", body]
    condition = in_versions(each.nullable, each.versions)
    write_presence = (
        f"write_int8(w, -1 if {value} is None else 1)"
        if each.tag is None
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
    tagged = [each for each in struct.fields if each.tag is not None]
    if not tagged:
        return ["write_uvarint(w, 0)"]
    sent = {each.name: is_sent(each, struct) for each in tagged}
    lines = ["write_uvarint(w, <uint32_t>("]
    lines += [f"    {'+ ' if i else ''}({sent[each.name]})" for i, each in enumerate(tagged)]
    lines.append("))")
    for each in tagged:
        lines += [f"if {sent[each.name]}:", f"    mark = begin_tag(w, {each.tag})"]
        lines += indented([*write_field(each, struct), "end_tag(w, mark)"])
    return lines


def is_sent(each: Field, struct: Struct) -> str:
    """The condition under which a tagged field is written: the version has it, and its value is not the default."""
    value = f"self.{each.name}"
    if may_be_null_in_its_tag(each):
        differs = f"{value} is None or {value} != {python_default(each)}"
    elif each.default is None and (each.is_struct or each.has_default):
        differs = f"{value} is not None"
    elif each.is_array:
        differs = f"{value} is None or len({value}) > 0"
    elif each.type == "bool":
        differs = f"not {value}" if each.default else value
    else:
        differs = f"{value} != {python_default(each)}"
    condition = in_versions(each.versions, flexible_versions(struct))
    return f"{condition} and ({differs})" if condition else differs
