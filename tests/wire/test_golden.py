"""Every message against the bytes that Apache Kafka wrote for it, in every version."""

from collections.abc import Callable, Sequence
from functools import cache
from random import Random
from typing import Any

import pytest

from _wire.apis import APIS
from _wire.embedded import (
    OFFSETS_TOPIC,
    decode_key,
    decode_value,
    decode_versioned,
    encode_versioned,
    prefix_of,
    record_formats,
    value_of,
)
from _wire.errors import MalformedMessage
from _wire.headers import (
    decode_request_header,
    decode_response_header,
    encode_request,
    encode_response,
    request_header_version,
    response_header_version,
)
from _wire.messages.consumer_protocol_assignment import ConsumerProtocolAssignment
from _wire.messages.consumer_protocol_subscription import ConsumerProtocolSubscription
from _wire.records import batch_headers
from _wire.structs import Message, Struct
from tests.golden_vectors import golden_vectors
from tests.wire.api_vectors import FLEXIBLE, Vector, by_api, check_each, kind_of, name_of, untagged, vectors_of
from tests.wire.kafka_json import definition_of, message_from_json

SHARE_STATE_TOPIC = "__share_group_state"
RECORDS: dict[str, type[Message]] = {
    kind.__name__: kind
    for kind in (
        ConsumerProtocolAssignment,
        ConsumerProtocolSubscription,
        *(
            kind
            for topic in (OFFSETS_TOPIC, SHARE_STATE_TOPIC)
            for record in record_formats(topic).values()
            for kind in (record.key, record.value)
        ),
    )
}
MUTATIONS = 10
BYTES_CUT_EVERYWHERE = 3_000


def record_kind(vector: Vector) -> type[Message]:
    """Kafka calls the oldest offset commits LegacyOffsetCommit; the fields are the same."""
    return RECORDS[vector["record"].removeprefix("Legacy")]


RECORD_FILES = (
    "wire/_records.jsonl.gz",
    "wire/_records.old.jsonl.gz",
    "share-wire/_records.jsonl.gz",
    "share-wire/_state_records.jsonl.gz",
    "streams-wire/_records.jsonl.gz",
)


@cache
def record_vectors() -> dict[str, list[Vector]]:
    vectors: dict[str, list[Vector]] = {name: [] for name in RECORDS}
    for vector in (vector for file in RECORD_FILES for vector in golden_vectors(file)):
        vectors[record_kind(vector).__name__].append(vector)
    return vectors


def expected(vector: Vector) -> Message:
    message = message_from_json(vector["api"], kind_of(vector).__name__, vector["json"], vector["version"])
    take_over_records(message, kind_of(vector).decode(bytes.fromhex(vector["body_hex"]), vector["version"]))
    return message


def take_over_records(message: Any, decoded: Any) -> None:
    """The JSON says of records only whether they are null: those that are not come from the body, as whole batches."""
    for name in message.FIELDS:
        value, other = getattr(message, name), getattr(decoded, name)
        if name == "records" and value is not None:
            assert value == b"" and sum(batch.size_in_bytes for batch in batch_headers(other)) == len(other)
            setattr(message, name, other)
        elif isinstance(value, list) and value and isinstance(value[0], Struct):
            for each, other_each in zip(value, other, strict=True):
                take_over_records(each, other_each)


def expected_record(vector: Vector) -> Message:
    kind = record_kind(vector)
    return message_from_json(definition_of(kind), kind.__name__, vector["json"], vector["prefix"])


def refusal(decode: Callable[..., Message], *arguments: Any) -> str:
    """Why the bytes were refused. (Called a million times: pytest.raises would take most of the time.)"""
    try:
        return f"taken for {decode(*arguments)}"
    except MalformedMessage as malformed:
        return malformed.why


def sizes_to_cut_at(data: bytes) -> Sequence[int]:
    """Every proper size; a random choice of them for long data, where reading up to each would take seconds."""
    return range(len(data)) if len(data) <= BYTES_CUT_EVERYWHERE else Random(7).sample(range(len(data)), 500)


@by_api
def test_a_body_decodes_to_what_kafka_meant(api: str) -> None:
    check_each(vectors_of(api), decodes_to_what_kafka_meant)


def decodes_to_what_kafka_meant(vector: Vector) -> None:
    message = kind_of(vector).decode(bytes.fromhex(vector["body_hex"]), vector["version"])
    assert message == expected(vector)
    assert message.encode(vector["version"]) == expected(vector).encode(vector["version"])


@by_api
def test_a_message_encodes_to_the_bytes_that_kafka_writes(api: str) -> None:
    check_each(untagged(api), encodes_to_the_bytes_that_kafka_writes)


def encodes_to_the_bytes_that_kafka_writes(vector: Vector) -> None:
    assert expected(vector).encode(vector["version"]).hex() == vector["body_hex"]


@by_api
def test_a_header_is_read_whatever_follows_it(api: str) -> None:
    check_each(vectors_of(api), header_is_read)


def header_is_read(vector: Vector) -> None:
    header, body = bytes.fromhex(vector["header_hex"]), bytes.fromhex(vector["body_hex"])
    key, version, rendered = vector["key"], vector["version"], vector["header_json"]
    if vector["kind"] == "request":
        read, body_start = decode_request_header(header + body)
        assert (read.api_key, read.api_version) == (rendered["requestApiKey"], rendered["requestApiVersion"])
        assert (read.correlation_id, read.client_id) == (rendered["correlationId"], rendered["clientId"])
        assert request_header_version(key, version) == vector["header_version"]
    else:
        correlation_id, body_start = decode_response_header(header + body, key, version)
        assert correlation_id == rendered["correlationId"]
        assert response_header_version(key, version) == vector["header_version"]
    assert body_start == len(header)


@by_api
def test_a_frame_is_length_header_and_body(api: str) -> None:
    vectors = [vector for vector in untagged(api) if not vector.get("header_unknown_tags")]
    check_each(vectors, frame_is_length_header_and_body)


def frame_is_length_header_and_body(vector: Vector) -> None:
    whole = bytes.fromhex(vector["header_hex"] + vector["body_hex"])
    rendered = vector["header_json"]
    if vector["kind"] == "request":
        frame = encode_request(rendered["correlationId"], rendered["clientId"], expected(vector), vector["version"])
    else:
        frame = encode_response(rendered["correlationId"], expected(vector), vector["version"])
    assert frame == len(whole).to_bytes(4, "big") + whole


@by_api
def test_every_proper_prefix_is_truncated_and_a_longer_body_too_long(api: str) -> None:
    check_each(vectors_of(api), other_lengths_are_refused)


def other_lengths_are_refused(vector: Vector) -> None:
    body = bytes.fromhex(vector["body_hex"])
    decode, version = kind_of(vector).decode, vector["version"]
    for size in sizes_to_cut_at(body):
        assert "truncated" in refusal(decode, body[:size], version)
    assert "bytes after the last field" in refusal(decode, body + b"\0", version)


@by_api
def test_a_body_with_wrong_bytes_is_read_or_refused(api: str) -> None:
    """Nothing else can happen: no other exception, no crash; and what was read can be written and read again."""
    check_each(vectors_of(api), wrong_bytes_are_read_or_refused)


def wrong_bytes_are_read_or_refused(vector: Vector) -> None:
    body, version, random = bytes.fromhex(vector["body_hex"]), vector["version"], Random(name_of(vector))
    for _ in range(MUTATIONS if body else 0):
        wrong = bytearray(body)
        for _ in range(random.randint(1, 3)):
            wrong[random.randrange(len(wrong))] = random.choice((0, 1, 0x7F, 0x80, 0xFF, random.randrange(256)))
        try:
            message = kind_of(vector).decode(wrong, version)
        except MalformedMessage:
            continue
        assert kind_of(vector).decode(message.encode(version), version) == message


@pytest.mark.parametrize("api", FLEXIBLE)
def test_unknown_tags_are_dropped(api: str) -> None:
    check_each([vector for vector in vectors_of(api) if vector.get("unknown_tags")], unknown_tags_are_dropped)


def unknown_tags_are_dropped(vector: Vector) -> None:
    body, version = bytes.fromhex(vector["body_hex"]), vector["version"]
    again = kind_of(vector).decode(body, version).encode(version)
    assert len(again) < len(body)
    assert kind_of(vector).decode(again, version) == expected(vector)


@pytest.mark.parametrize("record", RECORDS)
def test_a_record_of_the_offsets_topic_is_read_and_written_as_by_kafka(record: str) -> None:
    check_each(record_vectors()[record], record_is_read_and_written_as_by_kafka)


def record_is_read_and_written_as_by_kafka(vector: Vector) -> None:
    kind, data = record_kind(vector), bytes.fromhex(vector["hex"])
    message = decode_versioned(kind, data)
    assert prefix_of(data) == vector["prefix"]
    assert message == expected_record(vector)
    if not vector.get("unknown_tags"):
        assert encode_versioned(expected_record(vector), vector["prefix"]) == data
    if vector["record"].endswith("Key"):
        topic = SHARE_STATE_TOPIC if kind.__name__.startswith(("ShareSnapshot", "ShareUpdate")) else OFFSETS_TOPIC
        assert decode_key(data, topic) == message
        assert decode_value(message, b"\0\0" + value_of(kind)().encode(0)) == value_of(kind)()
    for size in sizes_to_cut_at(data):
        assert "truncated" in refusal(decode_versioned, kind, data[:size])


@by_api
def test_vectors_name_no_version_that_we_lack(api: str) -> None:
    ours = APIS.named(api)
    versions = {vector["version"] for vector in vectors_of(api)}
    assert versions <= set(range(ours.min_version, ours.max_version + 1))


def test_a_failure_names_its_vector() -> None:
    vector = vectors_of("Heartbeat")[0]
    with pytest.raises(AssertionError) as failure:
        check_each([vector | {"header_version": 99}], header_is_read)
    assert failure.value.__notes__ == [f"in the vector {name_of(vector)}"]
