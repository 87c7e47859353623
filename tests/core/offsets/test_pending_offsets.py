"""Pending offsets against their slow twin, and how much work each change of very many of them is."""

import sys
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coordinator.core.groups.group import Group
from coordinator.core.kinds.table import new_group
from coordinator.core.offsets import transactional as transactional_offsets
from coordinator.core.offsets.committed_offsets import CommittedOffsets
from coordinator.core.offsets.pending_offsets import PendingOffsets
from coordinator.core.offsets.records import CommittedOffset
from coordinator.core.stored import Producer, TransactionMarker
from coordinator.core.topic_partition import TopicPartition
from tests.core.deciding import context
from tests.model.pending_offsets import ListedOffsets

MANY = 20_000
ONE, OTHER = Producer(1, 0), Producer(2, 0)
STEPS = st.lists(
    st.tuples(
        st.sampled_from(["put", "pending", "pending", "remove", "commit", "abort", "part"]),
        st.integers(1, 3),
        st.integers(0, 2),
    ),
    max_size=25,
)


def offset(number: int) -> CommittedOffset:
    return CommittedOffset(number, -1, "", 0)


def many(start: int = 0) -> dict[int, CommittedOffset]:
    return {partition: offset(start + partition) for partition in range(MANY)}


@given(STEPS)
def test_any_history_leaves_what_the_list_of_appends_says(steps):
    offsets, twin = CommittedOffsets(), ListedOffsets()
    for number, (step, producer_id, partition) in enumerate(steps):
        if step == "put":
            offsets.put("t", {partition: offset(number)})
            twin.put(partition, offset(number))
        elif step == "pending":
            offsets.put_pending(producer_id, "t", {partition: offset(number)})
            twin.put_pending(producer_id, partition, offset(number))
        elif step == "remove":
            offsets.remove(TopicPartition("t", partition))
            twin.remove(partition)
        else:
            while step == "part" and offsets.pending_of(producer_id):
                offsets.complete_transaction(producer_id, True, 1)
            offsets.complete_transaction(producer_id, step != "abort")
            twin.complete(producer_id, step != "abort")
        pending = offsets.pending or PendingOffsets()
        assert offsets.by_topic.get("t", {}) == twin.committed
        assert list(pending.in_order()) == [((who, ("t", what)), each) for who, what, each in twin.pending]
        assert pending.count == len(twin.pending)
        for who in (1, 2, 3):
            assert offsets.pending_of(who) == sum(each[0] == who for each in twin.pending)
        for what in (0, 1, 2):
            assert offsets.has_pending(TopicPartition("t", what)) == any(each[1] == what for each in twin.pending)
            known = what in twin.committed or any(each[1] == what for each in twin.pending)
            assert offsets.has_any(TopicPartition("t", what)) == known
        assert (offsets.pending is None) == (not twin.pending)


@given(STEPS, st.sampled_from([None, 0, 1, 2]))
def test_what_a_transaction_sets_back_is_known_before_it_is_completed(steps, offsets_max):
    offsets = CommittedOffsets()
    for number, (step, producer_id, partition) in enumerate(steps):
        goes_back = offset(100 + number * (-1 if number % 2 else 1))
        if step == "put":
            offsets.put("t", {partition: goes_back})
        elif step == "pending":
            offsets.put_pending(producer_id, "t", {partition: goes_back})
        elif step == "remove":
            offsets.remove(TopicPartition("t", partition))
        elif offsets.pending is not None:
            before = dict(offsets.by_topic.get("t", {}))
            found = offsets.pending.moved_back(producer_id, offsets.by_topic, offsets_max)
            offsets.complete_transaction(producer_id, True, offsets_max)
            after = offsets.by_topic.get("t", {})
            back = [[index, had.offset, after[index].offset] for index, had in before.items()]
            assert sorted(found.get("t", [])) == sorted(each for each in back if each[2] < each[1])


def test_nothing_is_kept_of_transactions_that_have_ended():
    pending = PendingOffsets()
    pending.put(1, "t", many())
    pending.put(2, "t", many())
    pending.supersede("t", range(MANY))
    for producer_id in (1, 2):
        assert list(pending.complete(producer_id, True, None)) == []
    assert (pending.by_producer, pending.holders, pending.superseded, pending.count) == ({}, {}, {}, 0)


def calls_of(work: Callable[[], object]) -> int:
    """How many functions are called, and lines of this project executed: a busy machine does not change it."""
    counted = 0

    def trace(frame, event, argument):
        nonlocal counted
        counted += 1
        return trace if "coordinator" in frame.f_code.co_filename else None

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        work()
    finally:
        sys.settrace(before)
    return counted


def two_producers() -> Group:
    group = new_group("g")
    group.offsets.put_pending(ONE.producer_id, "t", many())
    group.offsets.put_pending(OTHER.producer_id, "t", many(MANY))
    return group


@pytest.mark.parametrize(
    "change",
    [
        lambda group: group.offsets.complete_transaction(ONE.producer_id, True),
        lambda group: group.offsets.complete_transaction(ONE.producer_id, False),
        lambda group: group.offsets.put("t", many()),
        lambda group: [group.offsets.remove(TopicPartition("t", partition)) for partition in range(MANY)],
        lambda group: [group.offsets.has_pending(TopicPartition("t", partition)) for partition in range(MANY)],
        lambda group: [group.offsets.put("t", {partition: offset(1)}) for partition in range(MANY)],
    ],
    ids=["commit", "abort", "put", "remove", "has pending", "put one by one"],
)
def test_the_work_grows_with_the_offsets_and_not_with_their_square(change):
    group = two_producers()
    assert calls_of(lambda: change(group)) < 100 * MANY


def test_a_marker_over_very_many_offsets_is_completed_in_parts():
    group = two_producers()
    marker, parts = TransactionMarker(OTHER, True, coordinator_epoch=0), 0
    while True:
        decision = transactional_offsets.complete({"g": group}, marker, context())
        for event in decision.events:
            before = group.offsets.pending_of(OTHER.producer_id)
            event.apply(group)
            assert before - group.offsets.pending_of(OTHER.producer_id) <= transactional_offsets.OFFSETS_AT_ONCE
        if not decision.is_partial:
            break
        assert (decision.marker, decision.replies) == (None, ())
        parts += 1
    assert parts == MANY // transactional_offsets.OFFSETS_AT_ONCE - 1
    assert (decision.marker, len(decision.replies)) == (marker, 1)
    assert group.offsets.by_topic == {"t": many(MANY)}
    group.offsets.complete_transaction(ONE.producer_id, True)
    assert group.offsets.by_topic == {"t": many(MANY)}, "the later append counts, whatever completes last"
