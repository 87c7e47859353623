"""What a generation changes of who owns what, beside plain sets."""

from hypothesis import given
from hypothesis import strategies as st

from coordinator.audit.ownership import by_topic, hand_over
from coordinator.core.group import TopicPartition

PARTITIONS = st.sets(st.tuples(st.sampled_from("tus"), st.integers(0, 12)), max_size=20)
OWNERS = st.dictionaries(st.tuples(st.sampled_from("tus"), st.integers(0, 12)), st.sampled_from("ab"), max_size=20)


def naive(partitions: set[tuple[str, int]]) -> list[tuple[str, list[int]]]:
    topics = sorted({topic for topic, _ in partitions})
    return [(topic, sorted(index for name, index in partitions if name == topic)) for topic in topics]


@given(PARTITIONS)
def test_partitions_by_topic_are_in_order(partitions):
    assert list(by_topic(partitions).items()) == naive(partitions)
    assert by_topic([TopicPartition(*partition) for partition in partitions]) == by_topic(partitions)


@given(PARTITIONS, PARTITIONS, OWNERS)
def test_what_is_handed_over_compares_with_what_was_owned(owned, before, owners):
    expected = owners | dict.fromkeys(owned, "a")
    moved = sum(owners.get(partition, "a") != "a" for partition in owned - before)
    *changes, found_moved = hand_over("a", owned, tuple(before), owners)
    assert [list(each.items()) for each in changes] == [
        naive(owned - before),
        naive(before - owned),
        naive(owned & before),
    ]
    assert (found_moved, owners) == (moved, expected)
