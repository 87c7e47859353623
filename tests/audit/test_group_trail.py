"""What a generation changes of who owns what, beside plain sets and dicts."""

from hypothesis import given
from hypothesis import strategies as st

from coordinator.audit.group_trail import GroupTrail, by_topic
from coordinator.core.classic_group import Member
from coordinator.core.committed_offsets import TopicPartition

Partitions = set[tuple[str, int]]
PARTITIONS = st.sets(st.tuples(st.sampled_from("tus"), st.integers(0, 12)), max_size=20)
GENERATIONS = st.lists(
    st.lists(st.tuples(st.sampled_from("abc"), PARTITIONS, st.integers(0, 20)), max_size=3), max_size=5
)
"""Each: which member gets what, and how many of those it claims."""


def member(member_id: str) -> Member:
    return Member(member_id, None, "client", "/127.0.0.1", 10_000, 20_000, ())


def naive(partitions: Partitions) -> list[tuple[str, list[int]]]:
    topics = sorted({topic for topic, _ in partitions})
    return [(topic, sorted(index for name, index in partitions if name == topic)) for topic in topics]


@given(PARTITIONS)
def test_partitions_by_topic_are_in_order(partitions):
    assert list(by_topic(partitions).items()) == naive(partitions)
    assert by_topic([TopicPartition(*partition) for partition in partitions]) == by_topic(partitions)


@given(PARTITIONS, GENERATIONS)
def test_what_is_handed_over_compares_with_what_was_owned(loaded, generations):
    trail = GroupTrail()
    owned: dict[str, Partitions] = {"a": set(loaded), "b": set(), "c": set()}
    last_owner = dict.fromkeys(loaded, "a")
    for member_id, partitions in owned.items():
        trail.know(member(member_id), tuple(partitions))
    for at_ms, generation in enumerate(generations):
        trail.begin_generation(at_ms)
        handed_over = moved = unowned = 0
        for member_id, now, claimed in generation:
            before = owned[member_id]
            moved += sum(last_owner.get(partition, member_id) != member_id for partition in now - before)
            handed_over, unowned = handed_over + len(now), unowned + len(now) - claimed
            changes = trail.hand_over(member_id, now, claimed)
            assert [list(each.items()) for each in changes] == [
                naive(now - before),
                naive(before - now),
                naive(now & before),
            ]
            owned[member_id] = now
            last_owner |= dict.fromkeys(now, member_id)
            assert set(trail.members[member_id].owned) == now
        assert (trail.partitions, trail.moved, trail.unowned) == (handed_over, moved, unowned)
        assert trail.generation_started_ms == at_ms


def test_a_member_that_is_known_anew_has_what_it_is_known_with():
    trail = GroupTrail()
    trail.know(member("old"), (("t", 0),))
    trail.know(member("new"), trail.members.pop("old").owned)
    assert trail.hand_over("new", {("t", 0)}, 0) == ({}, {}, {"t": [0]})
    assert (trail.moved, trail.members.keys()) == (0, {"new"})
