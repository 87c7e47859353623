import pytest
from hypothesis import given
from hypothesis import strategies as st

from coordinator.core.partitioning import java_string_hash, partition_for


@pytest.mark.parametrize(
    ("text", "java_hash"),
    [
        ("", 0),
        ("a", 97),
        ("orders", -1008770331),
        ("polygenelubricants", -(2**31)),
        ("群组", 1045408),
        ("\N{GRINNING FACE}", 1772899),
    ],
)
def test_the_hash_is_javas(text, java_hash):
    assert java_string_hash(text) == java_hash & 0xFFFFFFFF


def test_the_sign_bit_is_dropped_not_the_sign():
    assert partition_for("polygenelubricants", 50) == 0
    assert partition_for("orders", 50) == (-1008770331 & 0x7FFFFFFF) % 50


@given(st.text(st.characters(exclude_categories=())))
def test_it_goes_over_utf_16_code_units_lone_surrogates_too(text):
    units = text.encode("utf-16-be", "surrogatepass")
    value = 0
    for high, low in zip(units[::2], units[1::2], strict=True):
        value = (31 * value + (high << 8 | low)) & 0xFFFFFFFF
    assert java_string_hash(text) == value
