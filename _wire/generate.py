"""Generates a Cython module from each definition in `schemas/`. setup.py runs it; it is not installed.

The code reads like the definition: one function per message and direction, fields in the order of the wire,
`if version >= n` where a field came later. The same definitions give the same bytes, and a file is only written when
they differ: builds stay incremental. What was made of a definition that is gone goes, the compiled module too.
"""

from __future__ import annotations

from pathlib import Path

from _wire.codegen.modules import pxd, pyx
from _wire.codegen.stubs import pyi
from _wire.notation import SCHEMAS, Definition, read_definitions

MESSAGES = Path(__file__).parent / "messages"


def generate(schemas: Path = SCHEMAS, messages: Path = MESSAGES) -> None:
    """Write the modules of all definitions in `schemas` into `messages`, and remove those without a definition."""
    definitions = read_definitions(schemas)
    files = {"__init__.py": index(definitions)}
    for definition in definitions:
        files[f"{definition.module}.pxd"] = pxd(definition)
        files[f"{definition.module}.pyx"] = pyx(definition)
        files[f"{definition.module}.pyi"] = pyi(definition)
    messages.mkdir(exist_ok=True)
    for path in messages.iterdir():
        if path.suffix in (".pyx", ".pxd", ".pyi", ".so") and f"{path.name.partition('.')[0]}.pyx" not in files:
            path.unlink()
    for name, text in files.items():
        write_if_changed(messages / name, text)


def write_if_changed(path: Path, text: str) -> None:
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def index(definitions: list[Definition]) -> str:
    """The tables that `_wire.apis`, `_wire.headers` and `_wire.embedded` need without importing any message."""
    apis = sorted((definition.key, definition) for definition in definitions if definition.key is not None)
    modules = "".join(f'    {key}: "{api.module}",\n' for key, api in apis)
    flexible = "".join(f"    {key}: {api.flexible_from},\n" for key, api in apis)
    return (
        '"""Generated from the definitions in _wire/schemas: one module per API or embedded format."""\n\n'
        f"API_MODULES: dict[int, str] = {{\n{modules}}}\n"
        f"FLEXIBLE_FROM: dict[int, int] = {{\n{flexible}}}\n"
        f"{record_modules(definitions)}{data_modules(definitions)}"
    )


def record_modules(definitions: list[Definition]) -> str:
    """By topic and record type."""
    by_topic: dict[str, dict[int, str]] = {}
    for definition in definitions:
        if definition.place is not None:
            types = range(definition.place.types.first, definition.place.types.last + 1)
            by_topic.setdefault(definition.place.topic, {}).update(dict.fromkeys(types, definition.module))
    topics = ""
    for topic, modules in sorted(by_topic.items()):
        entries = "".join(f'        {number}: "{module}",\n' for number, module in sorted(modules.items()))
        topics += f'    "{topic}": {{\n{entries}    }},\n'
    return f"RECORD_MODULES: dict[str, dict[int, str]] = {{\n{topics}}}\n"


def data_modules(definitions: list[Definition]) -> str:
    modules = "".join(f'    "{definition.module}",\n' for definition in definitions if definition.kind == "data")
    return f"DATA_MODULES: tuple[str, ...] = (\n{modules})\n"


if __name__ == "__main__":
    generate()
