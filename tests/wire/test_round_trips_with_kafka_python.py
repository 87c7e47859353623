"""Any message: what we write, kafka-python's codec reads as the same, and the other way round."""

from importlib import import_module
from typing import Any
from uuid import UUID

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from kafka.protocol import admin, consumer, metadata, producer, sasl

from _wire.apis import APIS, Api
from _wire.messages.api_versions import ApiVersionsResponse
from _wire.notation import Definition, Field, Struct
from _wire.structs import Message
from _wire.structs import Struct as WireStruct
from tests.examples import examples
from tests.wire.kafka_json import DEFINITIONS

EXAMPLES = 25
THEIRS = (admin, consumer, metadata, producer, sasl)
SCALARS: dict[str, st.SearchStrategy[Any]] = {
    "bool": st.booleans(),
    "int8": st.integers(-(2**7), 2**7 - 1),
    "int16": st.integers(-(2**15), 2**15 - 1),
    "uint16": st.integers(0, 2**16 - 1),
    "int32": st.integers(-(2**31), 2**31 - 1),
    "int64": st.integers(-(2**63), 2**63 - 1),
    "float64": st.floats(allow_nan=False),
    "string": st.text(max_size=20),
    "bytes": st.binary(max_size=200),
    "records": st.binary(max_size=200),
    "uuid": st.binary(min_size=16, max_size=16),
}


def values_of(definition: Definition, field: Field, version: int) -> st.SearchStrategy[Any]:
    one = struct_of(definition, definition.structs[field.type], version) if field.is_struct else SCALARS[field.type]
    values: st.SearchStrategy[Any] = st.lists(one, max_size=4) if field.is_array else one
    return st.none() | values if field.nullable is not None and version in field.nullable else values


def struct_of(definition: Definition, struct: Struct, version: int) -> st.SearchStrategy[Any]:
    """Any such struct in which the fields of other versions have their defaults."""
    module = import_module(f"_wire.messages.{definition.module}")
    present = {field.name: field for field in struct.fields if version in field.versions}
    fields = {name: values_of(definition, each, version) for name, each in present.items()}
    return st.builds(getattr(module, struct.name), **fields)


def their_class(kind: type[Message]) -> Any:
    """None if they have none."""
    return next((getattr(module, kind.__name__) for module in THEIRS if hasattr(module, kind.__name__)), None)


KINDS = [(api, kind) for api in APIS.values() for kind in (api.request, api.response) if their_class(kind)]


@st.composite
def messages(draw: st.DrawFn, api: Api, kind: type[Message]) -> tuple[Message, int]:
    definition = DEFINITIONS[api.name]
    theirs = their_class(kind)
    version = draw(st.integers(max(api.min_version, theirs.min_version), min(api.max_version, theirs.max_version)))
    message = draw(struct_of(definition, definition.structs[kind.__name__], version))
    if isinstance(message, ApiVersionsResponse):
        message.error_code = 0  # they read one with an error as version 0, whatever was asked for (KIP-511)
    return message, version


def their_value(theirs: Any, name: str) -> Any:
    """Most of their messages hold authorized operations under one name, and as a set of bits."""
    if not name.endswith("authorized_operations") or name.startswith("include_"):
        return getattr(theirs, name)
    bits: set[int] | int | None = getattr(theirs, name if hasattr(theirs, name) else "authorized_operations")
    if isinstance(bits, int):
        return bits
    value = sum(1 << bit for bit in bits if bit < 31) if bits is not None else 0
    return value - 2**31 if bits is None or 31 in bits else value


def same(ours: Any, theirs: Any, version: int, definition: Definition) -> bool:
    """Every field of the version has the same value with both."""
    if isinstance(ours, WireStruct):
        fields = definition.structs[type(ours).__name__].fields
        present = [field.name for field in fields if version in field.versions]
        return all(same(getattr(ours, name), their_value(theirs, name), version, definition) for name in present)
    if isinstance(ours, list):
        both = zip(ours, theirs, strict=True)
        return all(same(one, other, version, definition) for one, other in both)
    if theirs is None and ours == bytes(16):
        return True  # kafka-python's word for the id that is all zeros
    return bool(ours == (theirs.bytes if isinstance(theirs, UUID) else theirs))


@pytest.mark.parametrize(
    ("api", "kind"),
    KINDS,
    ids=lambda each: each.__name__ if isinstance(each, type) else "",
)
@settings(max_examples=examples(EXAMPLES), suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_both_codecs_mean_the_same_bytes(api: Api, kind: type[Message], data: st.DataObject) -> None:
    message, version = data.draw(messages(api, kind))
    body = message.encode(version)
    theirs = their_class(kind).decode(body, version=version)
    theirs._header = None  # its decode leaves out what its encode asks for
    assert same(message, theirs, version, DEFINITIONS[api.name])
    assert theirs.encode(version=version) == body
    assert kind.decode(body, version) == message


def test_all_apis_are_compared_that_they_have() -> None:
    missing = {api.name for api in APIS.values()} - {api.name for api, _ in KINDS}
    of_this_server = {"AlterGroupOwners", "AlterWatchedGroups", "DescribeGroupOwners"}
    tokens = {f"{verb}DelegationToken" for verb in ("Create", "Renew", "Expire", "Describe")}
    newer = {
        "AlterShareGroupOffsets",
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
    assert missing == newer | of_this_server | tokens
