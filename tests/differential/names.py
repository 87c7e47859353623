"""Requests from, and answers into, the words that hold on every server (see `steps.py`)."""

import json
import re
from collections import Counter
from importlib import import_module
from typing import Any, Final

from _wire.apis import APIS, Api
from _wire.notation import Definition, Field, Struct, read_definitions
from _wire.structs import Message

API_BY_NAME: Final[dict[str, Api]] = {api.name: api for api in APIS.values()}
DEFINITIONS: Final[dict[str, Definition]] = {
    definition.name: definition for definition in read_definitions() if definition.kind == "api"
}

MEMBER_ID: Final = re.compile(r"(.*)-[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", re.DOTALL)
GROUP_FIELDS: Final = frozenset({"group_id", "groups", "groups_names", "key", "coordinator_keys"})
NO_TOPIC_ID: Final = bytes(16)


class Names:
    """What names of a history stand for on one server: groups of its own, member ids, topic ids."""

    def __init__(self, prefix: str, topic_ids: dict[str, bytes], port: int) -> None:
        """`prefix` makes the history's group names its own; `port` is the server's."""
        self._prefix = prefix
        self._topic_ids = {"": NO_TOPIC_ID} | topic_ids
        self._topic_names = {topic_id: name for name, topic_id in self._topic_ids.items()}
        self._port = port
        self._real: dict[str, str] = {}
        self._said: dict[str, str] = {}
        self._ids = Counter[str]()

    def request(self, api: str, version: int, body: dict[str, Any]) -> Message:
        """The request for this server; what `body` leaves out has its default."""
        definition = DEFINITIONS[api]
        message: Message = self._build(definition, f"{api}Request", body, version)
        return message

    def answer(self, api: str, version: int, message: Message) -> dict[str, Any]:
        """The answer in words of the history.

        Left out is what says nothing about groups: throttle times, the wording of error messages. Lists are sorted:
        Kafka keeps members, groups and offsets in hash maps.
        """
        said = self._render(DEFINITIONS[api], f"{api}Response", message, version)
        if api == "ListGroups":
            listed = {self._say_text(group.group_id) for group in self._own(message)}
            said["groups"] = [group for group in said["groups"] if group["group_id"] in listed]
        return said

    def _own(self, listed: Any) -> list[Any]:
        """Other histories' groups are on the server, too."""
        return [group for group in listed.groups if group.group_id.startswith(self._prefix)]

    def _build(self, definition: Definition, name: str, body: dict[str, Any], version: int) -> Any:
        struct = definition.structs[name]
        fields = {field.name: field for field in struct.fields if version in field.versions}
        values = {
            name: self._value(definition, fields[name], said, version) for name, said in body.items() if name in fields
        }
        return getattr(import_module(f"_wire.messages.{definition.module}"), name)(**values)

    def _value(self, definition: Definition, field: Field, said: Any, version: int) -> Any:
        if isinstance(said, list):
            return [self._value(definition, field, element, version) for element in said]
        if field.is_struct and said is not None:
            return self._build(definition, field.type, said, version)
        if field.type == "bytes" and said is not None:
            return bytes.fromhex(said.removeprefix("0x"))
        if field.type == "uuid":
            return self._topic_id(said)
        if field.name in GROUP_FIELDS:
            return said and self._prefix + said
        return self._real.get(said, said) if isinstance(said, str) else said

    def _topic_id(self, name: str) -> bytes:
        """A topic that does not exist has an id that begins with its name."""
        topic_id = self._topic_ids.get(name) or name.encode().ljust(16, b"?")
        self._topic_names[topic_id] = name
        return topic_id

    def _render(self, definition: Definition, name: str, message: Any, version: int) -> dict[str, Any]:
        struct: Struct = definition.structs[name]
        present = (field for field in struct.fields if version in field.versions and field.name != "throttle_time_ms")
        return {each.name: self._say(definition, each, getattr(message, each.name), version) for each in present}

    def _say(self, definition: Definition, field: Field, value: Any, version: int) -> Any:
        if field.name == "error_message":
            return None if value is None else "given"
        if field.name == "port" and value == self._port:
            return "its own"
        if isinstance(value, list):
            said = [self._say(definition, field, element, version) for element in value]
            return sorted(said, key=json.dumps)
        if field.is_struct and value is not None:
            return self._render(definition, field.type, value, version)
        if field.type == "uuid":
            return self._topic_names.get(value, value.hex())
        if isinstance(value, bytes):
            return f"0x{value.hex()}"
        if isinstance(value, str):
            return self._say_text(value)
        return value

    def _say_text(self, text: str) -> str:
        if text.startswith(self._prefix):
            return text[len(self._prefix) :]
        known = self._said.get(text)
        if known is not None:
            return known
        found = MEMBER_ID.fullmatch(text)
        if found is None:
            return text
        whose = found[1]
        self._ids[whose] += 1
        said = f"{whose}-{self._ids[whose]}"
        self._said[text], self._real[said] = said, text
        return said
