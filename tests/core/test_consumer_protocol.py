"""What clients write into subscriptions and assignments, read beside the generated decoders, and bounded."""

import tracemalloc
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from _wire.embedded import decode_versioned, encode_versioned
from _wire.errors import MalformedMessage
from _wire.messages.consumer_protocol_assignment import ConsumerProtocolAssignment
from _wire.messages.consumer_protocol_subscription import ConsumerProtocolSubscription
from coordinator.core.consumer_protocol import (
    count_claimed,
    decode_assignment_message,
    decode_subscription_message,
    read_assignment,
    read_subscription,
    subscription_topics,
)
from tests.audit.stories import assignment, subscription

Expected = tuple[bool, set[tuple[str, int]], int]
MANY = 1_000_000
VERSION_BYTES = 2
ASCII = st.text(st.characters(max_codepoint=127), max_size=4)
PARTITIONS = st.dictionaries(ASCII, st.lists(st.integers(-(2**31), 2**31 - 1), max_size=4), max_size=4)
CUTS = st.integers(0, 200)


def cut(data: bytes, at: int) -> bytes:
    """Some bytes less, or some that follow."""
    return data[:at] + b"more" * (at - len(data) > 100)


def decoded_by_the_codec(kind: Any, data: bytes, version: int | None = None) -> Any:
    """By the generated decoder; bytes after the last field are ignored, as those of a later version."""
    if len(data) < VERSION_BYTES:
        raise MalformedMessage(kind.NAME, 0, "", 0, "there is no version")
    version = int.from_bytes(data[:VERSION_BYTES]) if version is None else version
    return kind.decode(data, version, VERSION_BYTES, whole=False)


def flat(partitions: dict[str, list[int]]) -> set[tuple[str, int]]:
    return {(topic, index) for topic, indexes in partitions.items() for index in indexes}


@given(PARTITIONS, st.integers(0, 3), st.none() | st.binary(max_size=5), CUTS)
def test_an_assignment_is_read_as_the_generated_decoder_does(partitions, version, user_data, at):
    message = ConsumerProtocolAssignment(user_data=user_data)
    message.assigned_partitions = decode_versioned(
        ConsumerProtocolAssignment, assignment(partitions)
    ).assigned_partitions
    data = cut(encode_versioned(message, version), at)
    try:
        decoded = decoded_by_the_codec(ConsumerProtocolAssignment, data)
    except MalformedMessage:
        expected: Expected = (False, set(), 0) if data else (True, set(), 0)
    else:
        owned = {
            (assigned_partition.topic, index)
            for assigned_partition in decoded.assigned_partitions
            for index in assigned_partition.partitions
        }
        expected = (True, owned, 0)
    assert read_assignment("consumer", data, MANY) == expected


@given(st.lists(ASCII, max_size=4), PARTITIONS, st.integers(0, 3), CUTS)
def test_what_a_member_still_owns_is_read_as_the_generated_decoder_does(topics, owned, version, at):
    message = decode_versioned(ConsumerProtocolSubscription, subscription(*topics, owned=owned))
    message.generation_id, message.rack_id = 7, "rack"
    data = cut(encode_versioned(message, version), at)
    claims = {("t", 0), *list(flat(owned))[:3]}
    try:
        decoded = decoded_by_the_codec(ConsumerProtocolSubscription, data)
    except MalformedMessage:
        assert count_claimed("consumer", data, claims, MANY) == 0
    else:
        claimed = {
            (owned_partition.topic, index)
            for owned_partition in decoded.owned_partitions
            for index in owned_partition.partitions
        }
        assert count_claimed("consumer", data, claims, MANY) == len(claims & claimed)


@given(st.lists(ASCII, max_size=4), PARTITIONS, st.integers(0, 3), CUTS)
def test_of_a_subscription_the_coordinator_reads_the_fields_of_version_0(topics, owned, version, at):
    message = decode_versioned(ConsumerProtocolSubscription, subscription(*topics, owned=owned))
    data = cut(encode_versioned(message, version), at)
    try:
        expected = decoded_by_the_codec(ConsumerProtocolSubscription, data, version=0).topics
    except MalformedMessage:
        with pytest.raises(MalformedMessage):
            subscription_topics(data)
        assert read_subscription("consumer", data, MANY) == ([], 0)
    else:
        assert subscription_topics(data) == expected
        assert read_subscription("consumer", data, MANY) == (sorted(expected), 0)


def test_a_subscription_of_version_1_may_end_where_version_0_does():
    """So kafka-go (segmentio) writes it; Kafka's coordinator reads no more than that."""
    data = b"\0\1" + ConsumerProtocolSubscription(topics=["u", "t"]).encode(0)
    assert read_subscription("consumer", data, MANY) == (["t", "u"], 0)
    assert count_claimed("consumer", data, {("t", 0)}, MANY) == 0


def test_a_later_version_is_read_as_the_newest_known():
    subscription = ConsumerProtocolSubscription(topics=["t"], generation_id=5, rack_id="r")
    data = b"\x00\x63" + subscription.encode(3) + b"what came later"
    assert decode_subscription_message(data) == subscription
    assert read_subscription("consumer", data, MANY) == (["t"], 0)
    assert subscription_topics(data) == ["t"]
    assigned = b"\x00\x63" + assignment({"t": [1]})[2:] + b"what came later"
    assert encode_versioned(decode_assignment_message(assigned), 1) == assignment({"t": [1]})
    assert read_assignment("consumer", assigned, MANY) == (True, {("t", 1)}, 0)


@pytest.mark.parametrize("data", [b"", b"\0", b"\xff\xff", b"\0\3\0\0"])
def test_what_cannot_be_read_is_rejected_or_counts_as_nothing(data):
    for decode in (decode_subscription_message, subscription_topics):
        with pytest.raises(MalformedMessage):
            decode(data)
    assert read_subscription("consumer", data, MANY) == ([], 0)
    if data:
        with pytest.raises(MalformedMessage):
            decode_assignment_message(data)
    assert read_assignment("consumer", data, MANY) == (not data, set(), 0)


def test_empty_bytes_assign_nothing():
    assert decode_assignment_message(b"").assigned_partitions == []


@given(st.binary(max_size=60))
def test_any_bytes_can_be_read(data):
    read_assignment("consumer", data, MANY)
    read_subscription("consumer", data, MANY)
    count_claimed("consumer", data, {("t", 0)}, MANY)


def test_names_that_are_no_text_make_it_unreadable():
    assert read_assignment("consumer", assignment({"t\x01": [0]}).replace(b"\x01", b"\xff"), MANY) == (False, set(), 0)
    assert read_subscription("consumer", subscription("t\x01").replace(b"\x01", b"\xff"), MANY) == ([], 0)


def test_bytes_of_another_protocol_type_are_not_read():
    assert read_assignment("connect", assignment({"t": [0]}), MANY) == (False, set(), 0)
    assert read_subscription(None, subscription("t"), MANY) == ([], 0)
    assert count_claimed(None, subscription("t", owned={"t": [0]}), {("t", 0)}, MANY) == 0


@pytest.mark.parametrize(("limit", "expected"), [(3, (True, {("t", 0), ("t", 1), ("u", 0)}, 0)), (2, (True, set(), 3))])
def test_more_partitions_than_asked_for_are_counted(limit, expected):
    assert read_assignment("consumer", assignment({"t": [0, 1], "u": [0]}), limit) == expected


@pytest.mark.parametrize(("limit", "expected"), [(2, (["t", "u"], 0)), (1, ([], 2))])
def test_more_topics_than_asked_for_are_counted(limit, expected):
    assert read_subscription("consumer", subscription("u", "t"), limit) == expected


@pytest.mark.parametrize(("limit", "expected"), [(2, 1), (1, 0)])
def test_more_claims_than_asked_for_count_as_none(limit, expected):
    metadata = subscription("t", owned={"t": [0, 1]})
    assert count_claimed("consumer", metadata, {("t", 0)}, limit) == expected


def test_counting_makes_no_objects():
    """Megabytes of a client cost the time to walk over them, and no memory."""
    large_assignment = assignment({"t": list(range(MANY))})
    many_topics = assignment({f"{index:x}": [] for index in range(100_000)})
    large_subscription = subscription(*(["t"] * MANY))
    claims = subscription("t", owned={"t": list(range(MANY))})
    tracemalloc.start()
    try:
        assert read_assignment("consumer", large_assignment, 10_000) == (True, set(), MANY)
        assert read_assignment("consumer", many_topics, 10_000) == (True, set(), 0)
        assert read_subscription("consumer", large_subscription, 1_000) == ([], MANY)
        assert count_claimed("consumer", claims, {("t", 0)}, 10_000) == 0
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 100_000
