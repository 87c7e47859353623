"""The method `write` of a struct: its fields in the order of the wire, then its tagged fields."""

from __future__ import annotations

from _wire.codegen.fields import (
    SIZES,
    by_nullability,
    flexible_variable,
    flexible_versions,
    goes_in_one_piece,
    in_versions,
    indented,
    is_ever_flexible,
    python_default,
)
from _wire.notation import Field, Struct


def write_method(struct: Struct) -> list[str]:
    body = [flexible_variable(struct)]
    for each in struct.fields:
        if each.tag is None:
            condition = in_versions(each.versions, struct.versions)
            statements = write_field(each, struct)
            body += [f"if {condition}:", *indented(statements)] if condition else statements
    if is_ever_flexible(struct):
        body += ["if flexible:", *indented(write_tags(struct))]
    body.append("return 0")
    return ["cdef int write(self, Writer *w, int16_t version) except -1:", *indented(body)]


def write_field(each: Field, struct: Struct) -> list[str]:
    """The statements that write a field which the version has."""
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
    loop = [f"for element in {value}:", f"    {one}"]
    return [*lines, *loop] if each.nullable is None else [*lines, f"if {value} is not None:", *indented(loop)]


def write_single_struct(each: Field, path: str, value: str) -> list[str]:
    """Where it may be null, an int8 goes before it that says whether it is there."""
    body = f"{value}.write(w, version)"
    if each.nullable is None:
        is_sent_at_all = each.tag is not None  # a tagged struct that is None is not written in the first place
        return [body] if is_sent_at_all else [f"if {value} is None:", f"    raise_null({path})", body]
    condition = in_versions(each.nullable, each.versions)
    if not condition:
        return [f"write_int8(w, -1 if {value} is None else 1)", f"if {value} is not None:", f"    {body}"]
    return [
        f"if {condition}:",
        f"    write_int8(w, -1 if {value} is None else 1)",
        f"elif {value} is None:",
        f"    raise_null({path})",
        f"if {value} is not None:",
        f"    {body}",
    ]


def write_call(type_name: str, writer: str, value: str, null: str = "") -> str:
    if type_name in SIZES:
        return f"write_{type_name}({writer}, {value})"
    return f"write_{null}{'bytes' if type_name == 'records' else type_name}({writer}, {value}, flexible)"


def write_tags(struct: Struct) -> list[str]:
    """How many tagged fields differ from their defaults, then those."""
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
    """The condition under which a tagged field goes out: the version has it, and it has not its default."""
    value = f"self.{each.name}"
    if each.default is None and (each.is_struct or each.has_default):
        differs = f"{value} is not None"
    elif each.is_array:
        differs = f"{value} is None or len({value}) > 0"
    elif each.type == "bool":
        differs = f"not {value}" if each.default else value
    else:
        differs = f"{value} != {python_default(each)}"
    condition = in_versions(each.versions, flexible_versions(struct))
    return f"{condition} and ({differs})" if condition else differs
