"""The bytes are what the assignors of Apache Kafka 4.3.1 wrote."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coordinator.core.assignors.model import NO_GENERATION
from coordinator.core.assignors.user_data import (
    UnreadableUserData,
    decode_cooperative_sticky,
    decode_sticky,
    encode_cooperative_sticky,
    encode_sticky,
)

OWNED = {"payments": [4], "orders": [0, 3], "zebra": [1]}
STICKY = bytes.fromhex(
    "00000003"
    "00057a65627261 00000001 00000001"
    "00087061796d656e7473 00000001 00000004"
    "00066f7264657273 00000002 00000000 00000003"
    "00000007"
)
GENERATION_BYTES = 4


def test_sticky_writes_what_kafka_writes():
    assert encode_sticky(OWNED, 7) == STICKY
    assert decode_sticky(STICKY) == (OWNED, 7)


def test_version_0_has_no_generation():
    assert encode_sticky(OWNED, None) == STICKY[:-GENERATION_BYTES]
    assert decode_sticky(STICKY[:-GENERATION_BYTES]) == (OWNED, NO_GENERATION)


def test_bytes_that_follow_do_not_matter():
    assert decode_sticky(STICKY + b"later") == (OWNED, 7)
    assert decode_sticky(STICKY[:-1]) == (OWNED, NO_GENERATION), "too few for a generation"


def test_a_topic_that_is_there_twice_is_one():
    assert decode_sticky(bytes.fromhex("00000002 000161 00000001 00000000 000161 00000001 00000005")) == (
        {"a": [0, 5]},
        NO_GENERATION,
    )


def test_cooperative_sticky_writes_its_generation():
    assert encode_cooperative_sticky(7) == bytes.fromhex("00000007")
    assert encode_cooperative_sticky(NO_GENERATION) == bytes.fromhex("ffffffff")
    assert decode_cooperative_sticky(bytes.fromhex("00000007")) == 7


@pytest.mark.parametrize(
    "data",
    [
        "",
        "0000",
        "ffffffff",
        "7fffffff",
        "00000001 ffff",
        "00000001 0001",
        "00000001 0001ff 00000000",
        "00000001 000161",
    ],
)
def test_what_is_cut_off_or_impossible_is_refused(data):
    with pytest.raises(UnreadableUserData):
        decode_sticky(bytes.fromhex(data))


def test_a_generation_of_two_bytes_is_refused():
    with pytest.raises(UnreadableUserData):
        decode_cooperative_sticky(b"\0\0")


@given(
    owned=st.dictionaries(st.text(max_size=9), st.lists(st.integers(0, 2**31 - 1), max_size=5), max_size=5),
    generation_id=st.integers(-1, 2**31 - 1),
)
def test_what_was_written_is_read(owned, generation_id):
    assert decode_sticky(encode_sticky(owned, generation_id)) == (owned, generation_id)


@given(st.binary(max_size=60))
def test_any_bytes_are_read_or_refused(data):
    try:
        decode_sticky(data)
    except UnreadableUserData as refused:
        assert "sticky" in str(refused)
