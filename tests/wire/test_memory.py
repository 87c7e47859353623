"""A frame of N bytes never costs more than a small multiple of N, whatever it says of itself; and nothing is kept."""

import gc
import tracemalloc
from collections.abc import Callable, Iterator
from importlib import import_module
from types import ModuleType
from typing import Any

import pytest

from _wire.errors import MalformedMessage
from _wire.notation import Definition, Field, Struct
from _wire.records import Record, build_batch, parse_batch
from _wire.structs import Message
from tests.wire.api_vectors import API_FILES, Vector, by_api, check_each, kind_of, vectors_of
from tests.wire.kafka_json import DEFINITIONS

BYTES_PER_BYTE_MAX = 64
"""Worst is an array of structs that hold an empty array each: 2 bytes become a struct, a list and a place in a list."""
AN_ERROR_BYTES = 20_000
ELEMENTS = 3_000
TIMES = 5
EMPTY: dict[str, Any] = {"string": "", "bytes": b"", "records": b"", "uuid": bytes(16), "bool": False, "int8": 1}
ANY_INTEGER = 1_000

Path = tuple[Field, ...]


def peak_bytes(call: Callable[[], object]) -> int:
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def arrays(definition: Definition, struct: Struct, version: int, path: Path = ()) -> Iterator[Path]:
    """The ways that lead to an array."""
    for field in struct.fields:
        if version in field.versions:
            if field.is_array:
                yield (*path, field)
            if field.is_struct:
                yield from arrays(definition, definition.structs[field.type], version, (*path, field))


def smallest(definition: Definition, module: ModuleType, struct: Struct, version: int) -> Any:
    """Everything empty, or null where it may be."""
    made = getattr(module, struct.name)()
    for field in struct.fields:
        if version in field.versions and field.nullable is not None and version in field.nullable:
            setattr(made, field.name, None)
        elif version in field.versions and field.is_struct and not field.is_array and field.tag is None:
            setattr(made, field.name, smallest(definition, module, definition.structs[field.type], version))
    return made


def filled(definition: Definition, module: ModuleType, struct: Struct, version: int, path: Path) -> Any:
    """One element in every array on the way, and ELEMENTS of the smallest ones in the last."""
    made, (each, *rest) = smallest(definition, module, struct, version), path
    if rest:
        inner = filled(definition, module, definition.structs[each.type], version, tuple(rest))
        setattr(made, each.name, [inner] if each.is_array else inner)
    elif each.is_struct:
        element = smallest(definition, module, definition.structs[each.type], version)
        setattr(made, each.name, [element] * ELEMENTS)
    else:
        setattr(made, each.name, [EMPTY.get(each.type, ANY_INTEGER)] * ELEMENTS)
    return made


@pytest.mark.parametrize("definition", DEFINITIONS.values(), ids=lambda each: each.module)
def test_an_array_of_the_smallest_elements(definition: Definition) -> None:
    module = import_module(f"_wire.messages.{definition.module}")
    for name in definition.messages:
        message = definition.structs[name]
        first, last = message.versions.first, message.versions.last
        for version in {first, last, min(message.flexible_from, last)}:
            for path in arrays(definition, message, version):
                body = filled(definition, module, message, version, path).encode(version)
                taken = peak_bytes(lambda: getattr(module, name).decode(body, version))  # noqa: B023  (called at once)
                assert taken < BYTES_PER_BYTE_MAX * len(body), (name, version, [each.name for each in path])


def typical(api: str) -> list[Vector]:
    """The vectors with ordinary values, without those that hold hardly more than an error code."""
    return [vector for vector in vectors_of(api) if vector["variant"] == "typical" and len(vector["body_hex"]) > 8]


@by_api
def test_a_count_as_high_as_the_bytes_left_allow(api: str) -> None:
    """Written wherever a count may be: also where the elements that follow are arrays with such a count themselves."""
    check_each(typical(api), high_counts_take_little_memory)


def high_counts_take_little_memory(vector: Vector) -> None:
    kind, version, body = kind_of(vector), vector["version"], bytes.fromhex(vector["body_hex"])
    wrong = [body[:at] + (len(body) - at - 4).to_bytes(4, "big") + body[at + 4 :] for at in range(len(body) - 4)]
    wrong += [body[:at] + bytes([min(len(body) - at, 0x7F)]) * (len(body) - at) for at in range(len(body))]

    def decode_all() -> None:
        for each in wrong:
            read_or_refuse(kind, each, version)

    assert peak_bytes(decode_all) < BYTES_PER_BYTE_MAX * len(body) + AN_ERROR_BYTES


def read_or_refuse(kind: type[Message], body: bytes, version: int) -> str:
    try:
        return kind.decode(body, version).NAME
    except MalformedMessage as malformed:
        return malformed.why


def test_a_batch_of_the_smallest_records() -> None:
    batch = build_batch([(None, None, ())] * ELEMENTS)
    assert peak_bytes(lambda: parse_batch(batch)) < BYTES_PER_BYTE_MAX * len(batch)


def test_a_record_of_the_smallest_headers() -> None:
    batch = build_batch([Record(headers=[("", None)] * ELEMENTS)])
    assert peak_bytes(lambda: parse_batch(batch)) < BYTES_PER_BYTE_MAX * len(batch)


def test_neither_reading_nor_refusing_keeps_anything() -> None:
    vectors = [vector for api in API_FILES for vector in typical(api)]

    def read_and_refuse_all() -> None:
        for vector in vectors:
            body = bytes.fromhex(vector["body_hex"])
            for cut in (len(body), len(body) // 2, len(body) - 1):
                read_or_refuse(kind_of(vector), body[:cut], vector["version"])
        gc.collect()

    def kept() -> int:
        """Bytes that were asked for in this file, whatever the other threads of the process do meanwhile."""
        here = tracemalloc.take_snapshot().filter_traces([tracemalloc.Filter(True, __file__)])
        return sum(trace.size for trace in here.traces)

    read_and_refuse_all()  # free lists and caches fill up once
    tracemalloc.start()
    try:
        read_and_refuse_all()
        before = kept()
        for _ in range(TIMES):
            read_and_refuse_all()
        # An object kept from each reading would be 16 bytes at least; the interpreter itself may keep a little.
        assert kept() - before < TIMES * len(vectors)
    finally:
        tracemalloc.stop()
