"""The bytes are what ConsumerProtocol of Apache Kafka 4.3.1 wrote."""

import pytest

from _wire.embedded import encode_versioned
from _wire.errors import MalformedMessage
from _wire.messages.consumer_protocol_subscription import ConsumerProtocolSubscription, TopicPartition
from coordinator.core.assignment import decode_assignment
from coordinator.core.assignors.consumer_protocol import (
    decode_subscription,
    encode_assignment,
    encode_subscription,
)
from coordinator.core.assignors.model import NO_GENERATION, MemberSubscription
from coordinator.core.assignors.registry import COOPERATIVE_STICKY, RANGE, STICKY

TOPICS = frozenset({"zebra", "orders", "payments"})
OWNED = {"orders": [0, 3], "payments": [4], "zebra": [1]}
TOPICS_HEX = "00000003 00066f7264657273 00087061796d656e7473 00057a65627261"
OWNED_HEX = "00000003 00066f7264657273 00000002 00000000 00000003"
OWNED_HEX += "00087061796d656e7473 00000001 00000004 00057a65627261 00000001 00000001"
USER_DATA_HEX = "00000003 00057a65627261 00000001 00000001 00087061796d656e7473 00000001 00000004"
USER_DATA_HEX += "00066f7264657273 00000002 00000000 00000003 00000007"

FRESH = MemberSubscription("c", TOPICS)
HAS_OWNED = MemberSubscription("c", TOPICS, None, OWNED, 7)


@pytest.mark.parametrize(
    ("version", "rest"),
    [
        (0, "ffffffff"),
        (1, "ffffffff 00000000"),
        (2, "ffffffff 00000000 ffffffff"),
        (3, "ffffffff 00000000 ffffffff ffff"),
    ],
)
def test_a_subscription_without_a_past(version, rest):
    expected = bytes.fromhex(f"{version:04x} {TOPICS_HEX} {rest}")
    assert encode_subscription(RANGE, FRESH, version) == expected
    assert encode_subscription(STICKY, FRESH, version) == expected
    assert decode_subscription(RANGE, "c", None, expected) == FRESH


@pytest.mark.parametrize(
    ("version", "rest"),
    [(0, ""), (1, OWNED_HEX), (2, OWNED_HEX + "00000007"), (3, OWNED_HEX + "00000007 ffff")],
)
def test_a_cooperative_subscription_names_what_the_member_keeps(version, rest):
    expected = bytes.fromhex(f"{version:04x} {TOPICS_HEX} 00000004 00000007 {rest}")
    assert encode_subscription(COOPERATIVE_STICKY, HAS_OWNED, version) == expected
    read = decode_subscription(COOPERATIVE_STICKY, "c", None, expected)
    assert read.generation_id == 7, "from the user data where the version has no field for it"
    assert read.owned_partitions == (OWNED if version else {})


def test_a_sticky_subscription_names_what_the_member_had_in_its_user_data():
    member = MemberSubscription("c", TOPICS, "instance", OWNED, 7, "rack-a")
    expected = bytes.fromhex(f"0003 {TOPICS_HEX} 0000003d {USER_DATA_HEX} 00000000 00000007 00067261636b2d61")
    assert encode_subscription(STICKY, member) == expected
    assert decode_subscription(STICKY, "c", "instance", expected) == member


@pytest.mark.parametrize("user_data", [None, b"", b"\xff", b"\0\0\0\5"])
def test_a_member_whose_user_data_cannot_be_read_owns_nothing(user_data):
    data = encode_versioned(ConsumerProtocolSubscription(topics=["t"], user_data=user_data, generation_id=4), 3)
    read = decode_subscription(STICKY, "c", None, data)
    assert (read.owned_partitions, read.generation_id) == ({}, NO_GENERATION)


def test_a_cooperative_member_whose_generation_cannot_be_read_owns_what_it_says():
    owned = [TopicPartition(topic="t", partitions=[1]), TopicPartition(topic="t", partitions=[2])]
    data = encode_versioned(ConsumerProtocolSubscription(topics=["t"], user_data=b"?", owned_partitions=owned), 1)
    read = decode_subscription(COOPERATIVE_STICKY, "c", None, data)
    assert (read.owned_partitions, read.generation_id) == ({"t": [1, 2]}, NO_GENERATION)


def test_a_later_version_is_read_as_the_latest_known():
    data = b"\0\4" + encode_subscription(RANGE, FRESH)[2:] + b"what came later"
    assert decode_subscription(RANGE, "c", None, data) == FRESH


def test_what_is_no_subscription_is_refused():
    with pytest.raises(MalformedMessage):
        decode_subscription(RANGE, "c", None, b"\0\3\0\0")


def test_an_assignment():
    expected = bytes.fromhex(f"0003 {OWNED_HEX} ffffffff")
    assert encode_assignment(OWNED) == expected
    assert decode_assignment(expected) == OWNED
    assert decode_assignment(b"") == {}, "what a member is given that the leader left out"
