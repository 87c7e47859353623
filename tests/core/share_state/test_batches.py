"""Merged state batches: Kafka's answers, and a plain model that has each offset by itself."""

from collections.abc import Iterable
from itertools import pairwise
from typing import Final

from hypothesis import given
from hypothesis import strategies as st

from coordinator.core.share_state.batches import count_of, packed, unpacked
from coordinator.core.share_state.batches import merged as merged_packed
from coordinator.core.share_states import BY_STRATEGY, StateBatch
from tests.golden_vectors import golden_vectors

SPAN: Final = 30
STATES: Final = (0, 2, 4)


def merged(known: Iterable[StateBatch], new: Iterable[StateBatch], start_offset: int) -> tuple[StateBatch, ...]:
    return unpacked(merged_packed(packed(known), packed(new), start_offset))


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


def test_offsets_and_counts_are_kept_up_to_their_bounds():
    widest = [StateBatch(0, 2**63 - 1, 4, 32767), StateBatch(-(2**63), -1, -128, -32768)]
    assert list(unpacked(packed(widest))) == widest
    assert count_of(packed(widest)) == 2
    assert merged([widest[0]], [StateBatch(2**63 - 1, 2**63 - 1, 4, 32767)], -1) == (widest[0],)


def test_many_that_lie_within_each_other_are_merged_at_once():
    nested = [StateBatch(each, 40_000 - each, 2, 1 + each // 2) for each in range(20_000)]
    result = merged(nested, (), -1)
    assert by_offset(list(result), -1)[20_000] == (10_000, 2)
    assert result[0].first_offset == 0
    assert result[-1].last_offset == 40_000
