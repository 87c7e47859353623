"""The records of targets and the tombstones of members, made without message objects, are what the codec writes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coordinator.core.consumer import records
from coordinator.core.consumer.member import CurrentAssignment, MemberState
from coordinator.core.consumer.member_records import (
    current_record,
    epoch_record,
    removed_member_records,
    targets_records,
)
from coordinator.core.consumer.records import (
    current_record_of,
    current_tombstone,
    member_tombstone,
    target_record_of,
    target_tombstone,
)

IDS = st.binary(min_size=16, max_size=16)
PARTITIONS = st.lists(st.integers(0, 2**31 - 1), min_size=1, max_size=200).map(tuple)
EPOCHS = st.integers(-2, 2**31 - 1)
WITH_EPOCHS = st.dictionaries(
    IDS, st.dictionaries(st.integers(0, 2**31 - 1), EPOCHS, min_size=1, max_size=200), max_size=3
)
CURRENTS = st.builds(CurrentAssignment, EPOCHS, EPOCHS, st.sampled_from(MemberState), WITH_EPOCHS, WITH_EPOCHS)
TARGETS = st.dictionaries(st.text(max_size=40), st.dictionaries(IDS, PARTITIONS, max_size=5), max_size=5)


@given(st.text(max_size=40), TARGETS)
def test_they_are_those_of_the_codec(group_id, targets):
    expected = [target_record_of(group_id, member_id, target) for member_id, target in targets.items()]
    assert targets_records(group_id, targets) == expected


@given(st.text(max_size=40), st.text(max_size=40))
def test_tombstones_are_those_of_the_codec(group_id, member_id):
    made = [make(group_id, member_id) for make in (current_tombstone, target_tombstone, member_tombstone)]
    assert removed_member_records(group_id, member_id) == made


@given(st.text(max_size=40), st.text(max_size=40), CURRENTS)
def test_the_step_of_a_member_is_that_of_the_codec(group_id, member_id, current):
    assert current_record(group_id, member_id, current) == current_record_of(group_id, member_id, current)


@given(st.text(max_size=40), EPOCHS, st.integers(-(2**63), 2**63 - 1) | st.sampled_from([0, 1, -1]))
def test_a_group_epoch_is_that_of_the_codec(group_id, epoch, metadata_hash):
    assert epoch_record(group_id, epoch, metadata_hash) == records.epoch_record(group_id, epoch, metadata_hash)


@pytest.mark.parametrize("count", [31, 32, 126, 127, 128, 4_094, 4_095, 4_096, 20_000])
def test_many_partitions_of_a_member(count):
    of_topic = {index: index + 1 for index in reversed(range(count))}
    current = CurrentAssignment(3, 2, MemberState.STABLE, {bytes(16): of_topic}, {b"p" * 16: of_topic})
    assert current_record("g", "m", current) == current_record_of("g", "m", current)


def test_lengths_of_several_bytes():
    target = {number.to_bytes(16, "big"): tuple(range(20_000)) for number in range(130)}
    assert targets_records("g", {"m": target}) == [target_record_of("g", "m", target)]


@pytest.mark.parametrize(("group_id", "member_id"), [("g" * 32_768, "m"), ("g", "ü" * 16_384)])
def test_a_name_that_no_record_can_hold_is_rejected_as_by_the_codec(group_id, member_id):
    with pytest.raises(ValueError, match="too long"):
        targets_records(group_id, {member_id: {}})
    with pytest.raises(ValueError, match="too long"):
        removed_member_records(group_id, member_id)
    with pytest.raises(ValueError, match="too long"):
        epoch_record(max(group_id, member_id, key=len) * 2, 1, 0)
    with pytest.raises(ValueError, match="too long"):
        current_record(group_id, member_id, CurrentAssignment())
    with pytest.raises(ValueError):
        target_record_of(group_id, member_id, {})
