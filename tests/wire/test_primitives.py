"""Kafka's wire types one by one: what they look like, and what is refused before memory is taken for it."""

import struct
import tracemalloc
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from _wire.errors import MalformedMessage
from tests.wire.primitive_calls import read, size_of_varint, size_of_varlong, tagged, untagged, write

FIXED = {"int8": ">b", "int16": ">h", "uint16": ">H", "int32": ">i", "uint32": ">I", "int64": ">q", "float64": ">d"}
INTEGERS = {
    "int8": st.integers(-(2**7), 2**7 - 1),
    "int16": st.integers(-(2**15), 2**15 - 1),
    "uint16": st.integers(0, 2**16 - 1),
    "int32": st.integers(-(2**31), 2**31 - 1),
    "uint32": st.integers(0, 2**32 - 1),
    "int64": st.integers(-(2**63), 2**63 - 1),
    "uvarint": st.integers(0, 2**32 - 1),
    "uvarlong": st.integers(0, 2**64 - 1),
    "varint": st.integers(-(2**31), 2**31 - 1),
    "varlong": st.integers(-(2**63), 2**63 - 1),
}
HUGE = 2**31 - 1


@pytest.mark.parametrize("kind", INTEGERS)
@given(data=st.data())
def test_integers_come_back_and_use_exactly_their_bytes(kind: str, data: st.DataObject) -> None:
    value = data.draw(INTEGERS[kind])
    written = write(kind, value)
    assert read(kind, written + b"\xff") == (value, len(written))
    if kind in FIXED:
        assert written == struct.pack(FIXED[kind], value)


@pytest.mark.parametrize(
    ("kind", "value", "written"),
    [
        ("bool", True, "01"),
        ("bool", False, "00"),
        ("float64", -1.5, "bff8000000000000"),
        ("uuid", bytes(range(16)), "000102030405060708090a0b0c0d0e0f"),
        ("uvarint", 0, "00"),
        ("uvarint", 127, "7f"),
        ("uvarint", 128, "8001"),
        ("uvarint", 300, "ac02"),
        ("uvarint", 2**32 - 1, "ffffffff0f"),
        ("uvarlong", 2**64 - 1, "ffffffffffffffffff01"),
        ("varint", -1, "01"),
        ("varint", 1, "02"),
        ("varint", 2**31 - 1, "feffffff0f"),
        ("varint", -(2**31), "ffffffff0f"),
        ("varlong", -(2**63), "ffffffffffffffffff01"),
    ],
)
def test_what_values_look_like(kind: str, value: Any, written: str) -> None:
    assert write(kind, value).hex() == written
    assert read(kind, bytes.fromhex(written)) == (value, len(written) // 2)


def test_any_byte_but_zero_is_true() -> None:
    assert read("bool", b"\x7f") == (True, 1)


@given(st.integers(-(2**31), 2**31 - 1), st.integers(-(2**63), 2**63 - 1))
def test_sizes_of_varints_are_known_beforehand(small: int, large: int) -> None:
    assert size_of_varint(small) == len(write("varint", small))
    assert size_of_varlong(large) == len(write("varlong", large))


@pytest.mark.parametrize(
    ("kind", "data"),
    [
        ("uvarint", "ffffffff10"),
        ("uvarint", "808080808000"),
        ("varint", "ffffffffff0f"),
        ("uvarlong", "ffffffffffffffffff02"),
        ("varlong", "8080808080808080808000"),
    ],
)
def test_varints_with_too_many_bits_are_refused(kind: str, data: str) -> None:
    with pytest.raises(MalformedMessage, match="varint of more than"):
        read(kind, bytes.fromhex(data))


@pytest.mark.parametrize("flexible", [False, True])
@pytest.mark.parametrize("kind", ["string", "nullable_string"])
@given(value=st.text(max_size=300))
def test_strings_come_back(flexible: bool, kind: str, value: str) -> None:
    written = write(kind, value, flexible)
    size = len(value.encode())
    length = write("uvarint", size + 1) if flexible else struct.pack(">h", size)
    assert written == length + value.encode()
    assert read(kind, written, flexible) == (value, len(written))


@pytest.mark.parametrize("flexible", [False, True])
@pytest.mark.parametrize("kind", ["bytes", "nullable_bytes"])
@pytest.mark.parametrize("size", [0, 1, 126, 127, 128, 16_382, 16_383, 100_000])
def test_bytes_come_back_however_often_the_writer_had_to_grow(flexible: bool, kind: str, size: int) -> None:
    value = bytes(range(256)) * (size // 256) + bytes(size % 256)
    written = write(kind, value, flexible)
    length = write("uvarint", size + 1) if flexible else struct.pack(">i", size)
    assert written == length + value
    assert read(kind, written, flexible) == (value, len(written))


@pytest.mark.parametrize(
    ("kind", "flexible", "null"),
    [
        ("string", False, "ffff"),
        ("string", True, "00"),
        ("bytes", False, "ffffffff"),
        ("bytes", True, "00"),
        ("count", False, "ffffffff"),
        ("count", True, "00"),
    ],
)
def test_null_is_one_of_the_values_only_where_it_may_be(kind: str, flexible: bool, null: str) -> None:
    data = bytes.fromhex(null)
    value, _ = read(f"nullable_{kind}", data, flexible)
    assert value == (-1 if kind == "count" else None)
    assert write(f"nullable_{kind}", None, flexible) == data
    with pytest.raises(MalformedMessage, match="null, but not nullable"):
        read(kind, data, flexible)
    with pytest.raises(ValueError, match=r"Primitive\.value is None"):
        write(kind, None, flexible)


@pytest.mark.parametrize(
    ("kind", "flexible", "data"),
    [
        ("string", False, "fffe"),
        ("nullable_string", False, "8000"),
        ("string", True, "818002"),  # 32768 bytes, one more than Kafka's strings may have
        ("bytes", False, "fffffffe"),
        ("nullable_bytes", True, "ffffffff0f"),
        ("count", False, "fffffffe"),
    ],
)
def test_lengths_that_nothing_can_have_are_refused(kind: str, flexible: bool, data: str) -> None:
    with pytest.raises(MalformedMessage, match="is not allowed"):
        read(kind, bytes.fromhex(data), flexible)


@pytest.mark.parametrize(
    ("kind", "flexible", "data"),
    [
        ("bytes", False, struct.pack(">i", HUGE)),
        ("nullable_bytes", True, write("uvarint", HUGE)),
        ("count", False, struct.pack(">i", HUGE)),
        ("nullable_count", True, write("uvarint", HUGE)),
        ("tags", True, write("uvarint", HUGE)),
        ("tags", True, write("uvarint", 1) + write("uvarint", 7) + write("uvarint", HUGE)),
    ],
)
def test_what_is_announced_but_not_there_takes_no_memory(kind: str, flexible: bool, data: bytes) -> None:
    tracemalloc.start()
    try:
        with pytest.raises(MalformedMessage, match="truncated"):
            read(kind, data + b"0123456789", flexible)
        assert tracemalloc.get_traced_memory()[1] < 100_000
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(("bytes_left", "fits"), [(39, False), (40, True)])
def test_a_count_is_held_against_the_least_its_elements_take(bytes_left: int, fits: bool) -> None:
    data = struct.pack(">i", 10) + bytes(bytes_left)
    if fits:
        assert read("count", data, element_bytes_min=4) == (10, 4)
    else:
        with pytest.raises(MalformedMessage, match="10 elements need 40 bytes at least, 39 left"):
            read("count", data, element_bytes_min=4)


@pytest.mark.parametrize("broken", [b"\xff", b"ok\xc3", b"\xed\xa0\x80", b"\xc0\x80"])
def test_what_is_not_utf8_is_malformed_where_the_string_begins(broken: bytes) -> None:
    with pytest.raises(MalformedMessage, match="not UTF-8") as refused:
        read("string", struct.pack(">h", len(broken)) + broken)
    assert (refused.value.field, refused.value.offset) == ("value", 2)


def test_a_string_that_cannot_be_utf8_is_a_value_error() -> None:
    with pytest.raises(ValueError, match="surrogates not allowed"):
        write("string", "\ud800")


@pytest.mark.parametrize("flexible", [False, True])
def test_strings_end_at_the_largest_int16(flexible: bool) -> None:
    longest = "x" * 32_767
    assert read("string", write("string", longest, flexible), flexible)[0] == longest
    with pytest.raises(ValueError, match="has length 32768, allowed is 32767"):
        write("string", longest + "x", flexible)


def test_a_uuid_is_sixteen_bytes() -> None:
    with pytest.raises(ValueError, match="has length 15"):
        write("uuid", bytes(15))
    with pytest.raises(ValueError, match="is None"):
        write("uuid", None)


@pytest.mark.parametrize("size", [0, 1, 127, 128, 129, 16_383, 16_384, 70_000])
def test_the_size_of_a_tagged_field_is_as_long_as_it_must_be(size: int) -> None:
    value = bytes(range(256)) * (size // 256) + bytes(size % 256)
    written = tagged(1_000, value)
    assert written == write("uvarint", 1_000) + write("uvarint", size) + value
    assert untagged(written) == (1_000, value, True)
    assert untagged(written + b"more") == (1_000, value, False)


def test_unknown_tagged_fields_are_passed_over() -> None:
    data = write("uvarint", 2) + tagged(0, b"abc") + tagged(5, b"")
    assert read("tags", data + b"rest") == (0, len(data))


def test_errors_say_where() -> None:
    with pytest.raises(MalformedMessage) as refused:
        read("int32", b"\0\0\0")
    assert str(refused.value) == "Primitive v0.value at byte 0: truncated: 4 bytes wanted, 3 left"


@pytest.mark.parametrize("data", [b"\0\0\0\7", bytearray(b"\0\0\0\7"), memoryview(b"..\0\0\0\7")[2:]])
def test_any_buffer_can_be_read(data: Any) -> None:
    assert read("int32", data) == (7, 4)
