"""Our definitions against those that kafka-python ships, field by field in every version that both have."""

import json
import re
from collections.abc import Iterator
from importlib.resources import files
from typing import Any

import pytest

from _wire.notation import Definition, Field, Struct, Versions, snake_case
from tests.wire.kafka_json import DEFINITIONS

# A field as it is in one version: name, type, is an array, may be null, default, tag, its own fields.
Shape = tuple[str, str, bool, bool, object, int | None, list[Any]]


def shipped_definition(message_name: str) -> dict[str, Any] | None:
    file = files("kafka.protocol.schemas.resources") / f"{message_name}.json"
    if not file.is_file():
        return None
    definition: dict[str, Any] = json.loads(re.sub(r"(?m)^\s*//.*$", "", file.read_text(encoding="utf-8")))
    return definition


def pairs() -> Iterator[tuple[Definition, str, dict[str, Any]]]:
    for definition in DEFINITIONS.values():
        for message_name in definition.messages:
            theirs = shipped_definition(message_name)
            if theirs is not None and theirs["validVersions"] != "none":
                yield definition, message_name, theirs


PAIRS = list(pairs())


def versions_of(text: str | None) -> Versions | None:
    if text is None or text == "none":
        return None
    first, _, last = text.partition("-")
    return Versions(int(first.rstrip("+")), 10_000 if first.endswith("+") else int(last or first))


def has(text: str | None, version: int) -> bool:
    versions = versions_of(text)
    return versions is not None and version in versions


def their_default(field: dict[str, Any], is_array: bool) -> object:
    default, kind = field.get("default"), field["type"]
    if default in (None, "") or is_array:
        by_kind: dict[str, object] = {"string": "", "bool": False, "float64": 0.0}
        empty: object = [] if is_array else by_kind.get(kind, 0 if "int" in kind else None)
        return None if default == "null" else empty
    if default == "null" or kind == "string":
        return None if default == "null" else default
    if kind == "bool":
        return str(default).lower() == "true"
    return int(str(default), 0)


def their_shapes(theirs: dict[str, Any], fields: list[dict[str, Any]], version: int) -> list[Shape]:
    common = {struct["name"]: struct["fields"] for struct in theirs.get("commonStructs", [])}
    shapes: list[Shape] = []
    for field in fields:
        if not has(field.get("versions", field.get("taggedVersions")), version):
            continue
        is_array, kind = field["type"].startswith("[]"), field["type"].removeprefix("[]")
        shapes.append(
            (
                snake_case(field["name"]),
                kind,
                is_array,
                has(field.get("nullableVersions"), version),
                their_default(field, is_array),
                field["tag"] if has(field.get("taggedVersions"), version) else None,
                their_shapes(theirs, field.get("fields", common.get(kind, [])), version),
            )
        )
    return shapes


def our_shapes(definition: Definition, struct: Struct, version: int) -> list[Shape]:
    def shape(field: Field) -> Shape:
        return (
            field.name,
            field.type,
            field.is_array,
            field.nullable is not None and version in field.nullable,
            field.default,
            field.tag,
            our_shapes(definition, definition.structs[field.type], version) if field.is_struct else [],
        )

    return [shape(field) for field in struct.fields if version in field.versions]


def without_struct_names(shapes: list[Shape]) -> list[Shape]:
    """Struct names are of no account on the wire."""
    return [
        (name, "struct" if fields else kind, is_array, nullable, default, tag, without_struct_names(fields))
        for name, kind, is_array, nullable, default, tag, fields in shapes
    ]


@pytest.mark.parametrize(("definition", "message_name", "theirs"), PAIRS, ids=[name for _, name, _ in PAIRS])
def test_fields_are_the_same(definition: Definition, message_name: str, theirs: dict[str, Any]) -> None:
    valid = versions_of(theirs["validVersions"])
    assert valid is not None
    common = range(max(valid.first, definition.versions.first), min(valid.last, definition.versions.last) + 1)
    assert len(common) > 0
    assert common[-1] == valid.last, "kafka-python has a later version"
    for version in common:
        ours = our_shapes(definition, definition.structs[message_name], version)
        shipped = their_shapes(theirs, theirs["fields"], version)
        assert without_struct_names(ours) == without_struct_names(shipped), version
        assert has(theirs["flexibleVersions"], version) == (version >= definition.flexible_from)
    assert theirs.get("apiKey") == definition.key


def test_kafka_python_has_all_apis_but_the_consumer_protocols() -> None:
    missing = {definition.name for definition in DEFINITIONS.values()} - {each.name for each, _, _ in PAIRS}
    records = {definition.name for definition in DEFINITIONS.values() if definition.kind == "record"}
    of_this_server = {"AlterGroupOwners", "AlterWatchedGroups", "DescribeGroupOwners"}
    tokens = {f"{verb}DelegationToken" for verb in ("Create", "Renew", "Expire", "Describe")}
    newer = {
        "AlterShareGroupOffsets",
        "ConnectProtocolAssignment",
        "ConsumerGroupDescribe",
        "ConsumerGroupHeartbeat",
        "DeleteShareGroupOffsets",
        "DeleteShareGroupState",
        "DescribeShareGroupOffsets",
        "InitializeShareGroupState",
        "ReadShareGroupState",
        "ReadShareGroupStateSummary",
        "ShareAcknowledge",
        "ShareFetch",
        "ShareGroupDescribe",
        "ShareGroupHeartbeat",
        "StreamsGroupDescribe",
        "StreamsGroupHeartbeat",
        "WriteShareGroupState",
    }
    assert missing - records == newer | of_this_server | tokens
