import pytest
from hypothesis import given
from hypothesis import strategies as st

from coordinator.core.partitioning import java_string_hash, partition_for
from tests.golden_vectors import golden_vectors


@pytest.fixture(scope="module")
def recorded():
    """Names with their hash and their partitions on Kafka."""
    return golden_vectors("partitions/partitions.jsonl.gz")


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


def test_a_thousand_names_lie_in_the_same_partitions_as_on_kafka(recorded):
    assert len(recorded) == 1000
    for each in recorded:
        assert java_string_hash(each["name"]) == each["hash"] & 0xFFFFFFFF
        partitions = {count: partition_for(each["name"], int(count)) for count in each["partitions"]}
        assert partitions == each["partitions"], each["name"]


def test_a_hash_without_absolute_value_gives_partition_0(recorded):
    names = [each["name"] for each in recorded if each["hash"] == -(2**31)]
    assert len(names) == 3
    assert {partition_for(name, 50) for name in names} == {0}


@given(st.text(st.characters(exclude_categories=())))
def test_it_goes_over_utf_16_code_units_lone_surrogates_too(text):
    units = text.encode("utf-16-be", "surrogatepass")
    value = 0
    for high, low in zip(units[::2], units[1::2], strict=True):
        value = (31 * value + (high << 8 | low)) & 0xFFFFFFFF
    assert java_string_hash(text) == value
