"""Generates the type stubs (.pyi) of a definition: signatures and docstrings of classes and fields."""

from __future__ import annotations

import re

from _wire.codegen.fields import indented, python_argument_default, python_argument_type, python_type
from _wire.codegen.modules import head, innermost_first, lines_of
from _wire.notation import Definition, Field, Struct, Versions


def pyi(definition: Definition) -> str:
    body = "\n".join(lines_of(class_stub(definition, struct)) for struct in innermost_first(definition))
    collections = ", ".join(name for name in ("Callable", "Iterable") if f"{name}[" in body)
    imports = f"from collections.abc import {collections}\n\n" if collections else ""
    bases = ", ".join(name for name in ("Buffer", "Message", "Struct") if re.search(rf"\b{name}\b", body))
    return f'{head(definition)}"""{definition.doc}"""\n\n{imports}from _wire.structs import {bases}\n\n{body}'


def class_stub(definition: Definition, struct: Struct) -> list[str]:
    is_message = struct.name in definition.messages
    body = class_doc(definition, struct)
    for field in struct.fields:
        body += [f"{field.name}: {python_type(field)}", f'"""{field_doc(field, struct)}"""', ""]
    if struct.fields:
        arguments = [f"{e.name}: {python_argument_type(e)} = {python_argument_default(e)}," for e in struct.fields]
        body += ["def __init__(", "    self,", "    *,", *indented(arguments), ") -> None: ..."]
    else:
        body += ["def __init__(self) -> None: ..."]
    if is_message:
        inputs = (
            "data: Buffer,",
            "version: int,",
            "start: int = 0,",
            "whole: bool = True,",
            "elements_max: int = -1,",
            "pause: Callable[[], object] | None = None,",
        )
        why = '"""As Message.decode. Raises MalformedMessage, and ValueError for an unknown version."""'
        body += ["@staticmethod", "def decode(", *indented([*inputs]), f") -> {struct.name}:", f"    {why}"]
    return [f"class {struct.name}({'Message' if is_message else 'Struct'}):", *indented(body)]


def class_doc(definition: Definition, struct: Struct) -> list[str]:
    if struct.name not in definition.messages:
        holders = " and ".join(f"`{other.name}.{field.name}`" for other, field in uses(definition, struct))
        return [f'"""An element of, or what is in, {holders}."""', ""]
    flexible = f", flexible from {struct.flexible_from} on" if struct.flexible_from <= struct.versions.last else ""
    block = struct.name.removeprefix(definition.name) or "Format"
    return [f'"""{definition.doc}', "", f"{block}, {versions_text(struct.versions)}{flexible}.", '"""', ""]


def uses(definition: Definition, struct: Struct) -> list[tuple[Struct, Field]]:
    return [
        (other, field) for other in definition.structs.values() for field in other.fields if field.type == struct.name
    ]


def field_doc(field: Field, struct: Struct) -> str:
    """`The group. string, versions 0 to 9.`"""
    words = [f"array of {field.type}" if field.is_array else field.type, versions_text(field.versions)]
    if field.tag is not None:
        words.append(f"tag {field.tag}")
    if field.nullable is not None:
        words.append(
            "may be null" if field.nullable == field.versions else f"may be null from {field.nullable.first} on"
        )
    meaning = f"{field.doc[0].upper()}{field.doc[1:]}. " if field.doc else ""
    return (meaning + ", ".join(words) + ".").replace('"', '\\"')


def versions_text(versions: Versions) -> str:
    first, last = versions.first, versions.last
    return f"versions {first} to {last}" if last > first else f"version {first}"
