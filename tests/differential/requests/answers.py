"""Answers as plain values that are equal on both servers when the servers behave alike."""

import json
import re
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from _wire.notation import Definition, Field
from tests.differential.requests.state import RECORD_MS, State

MEMBER_ID: Final = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
NOW_MS: Final = 1_750_000_000_000
"""Every clock is later than this; RECORD_MS is not."""
assert RECORD_MS < NOW_MS

LEFT_OUT_FIELDS: Final = frozenset({"throttle_time_ms"})
HOST_FIELDS: Final = frozenset({"log_dir", "total_bytes", "usable_bytes", "cluster_id", "replica_directory_id"})
"""What each server has its own of."""
METADATA_LOG_FIELDS: Final = frozenset({"log_end_offset", "high_watermark", "leader_epoch"})
"""Of DescribeQuorum: how long the metadata log is."""
INTERNAL: Final = "__"
"""Names of internal topics begin with it. Those that exist differ: `__group_audit` is this project's own."""


class Difference(NamedTuple):
    """A field that differs; `path` is the names of the fields with dots, without positions."""

    path: str
    kafka: Any
    ours: Any


def rendered(definition: Definition, message: Any, version: int, state: State) -> dict[str, Any]:
    """The fields of a response, without what each server or each run has its own of. Lists are sorted."""
    return _Renderer(definition, version, state).struct(f"{definition.name}Response", message)


class _Renderer:
    def __init__(self, definition: Definition, version: int, state: State) -> None:
        self._definition = definition
        self._version = version
        self._state = state
        self._topic_names = {topic_id: f"id of {name}" for name, topic_id in state.topic_ids.items()}

    def struct(self, name: str, message: Any) -> dict[str, Any]:
        fields = (field for field in self._definition.structs[name].fields if self._version in field.versions)
        return {
            field.name: self._field(field, getattr(message, field.name))
            for field in fields
            if field.name not in LEFT_OUT_FIELDS
        }

    def _field(self, field: Field, value: Any) -> Any:
        if value is None:
            return None
        if isinstance(value, list):
            elements = [self._field(field, each) for each in value]
            return sorted((element for element in elements if not _is_internal(element)), key=_order)
        if field.name in HOST_FIELDS:
            return "its own" if value else value
        if self._definition.name == "DescribeQuorum" and field.name in METADATA_LOG_FIELDS:
            return "its own"
        if field.is_struct:
            return self.struct(field.type, value)
        if field.type == "uuid":
            return self._topic_names.get(value, "none" if value == bytes(16) else "another id")
        if isinstance(value, bytes | memoryview):
            return bytes(value).hex()
        if isinstance(value, str):
            return self._text(field, value)
        return self._number(field, value)

    def _text(self, field: Field, value: str) -> str:
        if field.name == "error_message":
            # The wording is not compared: that there is a message is.
            return "given" if value else ""
        return MEMBER_ID.sub("UUID", value)

    def _number(self, field: Field, value: Any) -> Any:
        if field.name == "port" and (value == self._state.port or self._definition.name == "DescribeQuorum"):
            return "its own"
        if isinstance(value, int) and NOW_MS < value < NOW_MS * 2:
            return "now"
        if field.name == "producer_id" and 0 <= value < 1 << 32:
            return "its own"
        return value


def _is_internal(element: Any) -> bool:
    """Whether an element of an array is about an internal topic."""
    if not isinstance(element, dict):
        return False
    names = (element.get(key) for key in ("name", "topic", "topic_name", "resource_name"))
    return any(isinstance(name, str) and name.startswith(INTERNAL) and "metadata" not in name for name in names)


def _order(element: Any) -> str:
    return json.dumps(element, sort_keys=True, default=str)


def differences(kafka: Any, ours: Any, path: str = "") -> Iterator[Difference]:
    """The fields that differ. Lists of different lengths differ as a whole, unless their elements have names."""
    if isinstance(kafka, dict) and isinstance(ours, dict):
        for name in kafka.keys() | ours.keys():
            where = f"{path}.{name}" if path else name
            yield from differences(kafka.get(name), ours.get(name), where)
    elif isinstance(kafka, list) and isinstance(ours, list):
        yield from _of_lists(kafka, ours, path)
    elif kafka != ours and not (kafka != kafka and ours != ours):
        yield Difference(path, kafka, ours)


def _of_lists(kafka: list[Any], ours: list[Any], path: str) -> Iterator[Difference]:
    by_name = [_by_name(each) for each in (kafka, ours)]
    if by_name[0] is not None and by_name[1] is not None:
        for name in by_name[0].keys() | by_name[1].keys():
            if name not in by_name[1] or name not in by_name[0]:
                yield Difference(f"{path}[{name}]", name in by_name[0], name in by_name[1])
            else:
                yield from differences(by_name[0][name], by_name[1][name], f"{path}[{name}]")
    elif len(kafka) == len(ours):
        for one, other in zip(kafka, ours, strict=True):
            yield from differences(one, other, path)
    else:
        yield Difference(path, kafka, ours)


def _by_name(elements: list[Any]) -> dict[str, Any] | None:
    """Configs and versions of APIs by their names or keys; None for lists of anything else."""
    for key in ("config_source", "api_key", "config_type"):
        if elements and all(isinstance(element, dict) and key in element for element in elements):
            names = [str(element.get("name", element.get("api_key"))) for element in elements]
            if len(set(names)) == len(names):
                return dict(zip(names, elements, strict=True))
    return None
