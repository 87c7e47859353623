"""The records of targets and the tombstones of members, made without message objects, are what the codec writes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coordinator.core.consumer.member_records import removed_member_records, targets_records
from coordinator.core.consumer.records import current_tombstone, member_tombstone, target_record_of, target_tombstone

IDS = st.binary(min_size=16, max_size=16)
PARTITIONS = st.lists(st.integers(0, 2**31 - 1), min_size=1, max_size=200).map(tuple)
TARGETS = st.dictionaries(st.text(max_size=40), st.dictionaries(IDS, PARTITIONS, max_size=5), max_size=5)


@given(st.text(max_size=40), TARGETS)
def test_they_are_those_of_the_codec(group_id, targets):
    expected = [target_record_of(group_id, member_id, target) for member_id, target in targets.items()]
    assert targets_records(group_id, targets) == expected


@given(st.text(max_size=40), st.text(max_size=40))
def test_tombstones_are_those_of_the_codec(group_id, member_id):
    made = [make(group_id, member_id) for make in (current_tombstone, target_tombstone, member_tombstone)]
    assert removed_member_records(group_id, member_id) == made


def test_lengths_of_several_bytes():
    target = {number.to_bytes(16, "big"): tuple(range(20_000)) for number in range(130)}
    assert targets_records("g", {"m": target}) == [target_record_of("g", "m", target)]


@pytest.mark.parametrize(("group_id", "member_id"), [("g" * 32_768, "m"), ("g", "ü" * 16_384)])
def test_a_name_that_no_record_can_hold_is_rejected_as_by_the_codec(group_id, member_id):
    with pytest.raises(ValueError, match="too long"):
        targets_records(group_id, {member_id: {}})
    with pytest.raises(ValueError, match="too long"):
        removed_member_records(group_id, member_id)
    with pytest.raises(ValueError):
        target_record_of(group_id, member_id, {})
