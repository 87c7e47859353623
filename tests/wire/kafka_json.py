"""Messages from the JSON of Kafka's own tools: camelCase names, bytes in base64, uuids in Kafka's url-safe base64."""

import base64
from collections.abc import Callable
from importlib import import_module
from types import ModuleType
from typing import Any

from _wire.notation import Definition, Field, Struct, read_definitions, snake_case
from _wire.structs import Message

DEFINITIONS = {
    definition.name + ("Record" if definition.kind == "record" else ""): definition for definition in read_definitions()
}

SCALARS_FROM_JSON: dict[str, Callable[[str], bytes]] = {
    "bytes": base64.b64decode,
    "records": base64.b64decode,
    "uuid": lambda text: base64.urlsafe_b64decode(text + "=="),
}


def definition_of(kind: type[Message]) -> str:
    """The name of the definition that a message was made from."""
    (name,) = (name for name, definition in DEFINITIONS.items() if kind.__name__ in definition.messages)
    return name


def message_from_json(definition_name: str, message_name: str, rendered: dict[str, Any], version: int) -> Message:
    """The message; what the JSON leaves out has its default. AssertionError if names do not fit the version."""
    definition = DEFINITIONS[definition_name]
    module = import_module(f"_wire.messages.{definition.module}")
    message: Message = _struct(definition, module, definition.structs[message_name], rendered, version)
    return message


def _struct(definition: Definition, module: ModuleType, struct: Struct, rendered: dict[str, Any], version: int) -> Any:
    values = {snake_case(name): value for name, value in rendered.items()}
    present = {field.name: field for field in struct.fields if version in field.versions}
    untagged = {name for name, each in present.items() if each.tag is None}
    assert untagged <= values.keys() <= present.keys(), (struct.name, version, values.keys() ^ present.keys())
    fields = {name: _value(definition, module, present[name], value, version) for name, value in values.items()}
    return getattr(module, struct.name)(**fields)


def _value(definition: Definition, module: ModuleType, field: Field, rendered: Any, version: int) -> Any:
    def single(value: Any) -> Any:
        if field.is_struct:
            return _struct(definition, module, definition.structs[field.type], value, version)
        return SCALARS_FROM_JSON.get(field.type, lambda unchanged: unchanged)(value)

    if rendered is None:
        return None
    return [single(element) for element in rendered] if field.is_array else single(rendered)
