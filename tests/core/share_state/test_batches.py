"""Merged state batches: Kafka's answers, and a plain model that has each offset by itself."""

from itertools import pairwise
from typing import Final

from hypothesis import given
from hypothesis import strategies as st

from coordinator.core.share_state.batches import merged
from coordinator.core.share_states import BY_STRATEGY, StateBatch
from tests.golden_vectors import golden_vectors

SPAN: Final = 30
STATES: Final = (0, 2, 4)


def batches(raw: list[list[int]]) -> list[StateBatch]:
    return [StateBatch(*each) for each in raw]


def test_batches_are_merged_as_on_kafka():
    for vector in golden_vectors("share-state-batches/merged.jsonl.gz"):
        result = merged(batches(vector["known"]), batches(vector["new"]), vector["start_offset"])
        assert list(result) == batches(vector["merged"]), vector


def by_offset(all_batches: list[StateBatch], start_offset: int) -> dict[int, tuple[int, int]]:
    """Offset → (delivery count, state), of two the larger one."""
    found: dict[int, tuple[int, int]] = {}
    for first, last, state, count in all_batches:
        for offset in range(first, last + 1):
            if offset >= start_offset:
                found[offset] = max(found.get(offset, (-1, -1)), (count, state))
    return found


batch_lists = st.lists(
    st.tuples(st.integers(0, SPAN), st.integers(0, SPAN // 2), st.sampled_from(STATES), st.integers(0, 4)).map(
        lambda made: StateBatch(made[0], made[0] + made[1], made[2], made[3])
    ),
    max_size=8,
)


@given(batch_lists, batch_lists, st.integers(-1, SPAN))
def test_each_offset_has_the_higher_count_then_the_higher_state(
    known: list[StateBatch], new: list[StateBatch], start_offset: int
):
    result = merged(known, new, start_offset)
    assert by_offset(list(result), BY_STRATEGY) == by_offset([*known, *new], start_offset)
    for before, after in pairwise(result):
        assert before.last_offset < after.first_offset


@given(batch_lists, batch_lists, st.integers(-1, SPAN))
def test_what_is_merged_again_has_no_equal_neighbours(
    known: list[StateBatch], new: list[StateBatch], start_offset: int
):
    result = merged(merged(known, new, start_offset), (), start_offset)
    for before, after in pairwise(result):
        assert before.last_offset + 1 < after.first_offset or before[2:] != after[2:]
