"""Acknowledgements of a request: what is stored, in which order, and what becomes of them when it is not."""

import pytest

from _wire.errors import ErrorCode
from _wire.messages.share_acknowledge import AcknowledgementBatch
from coordinator.broker.share import share_partition
from coordinator.broker.share.share_partition import BATCHES_AT_ONCE, RECORDS_AT_ONCE
from tests.broker.share.memory_states import StoredState, Write
from tests.broker.share.virtual_shares import GROUP, VirtualShares
from tests.broker.virtual_broker import batch

ACCEPT, RELEASE, RENEW = [1], [2], [4]
LOCK_MS = 30_000


@pytest.fixture
def shares() -> VirtualShares:
    shares = VirtualShares()
    shares.create_topic("orders", 2)
    for _ in range(4):
        shares.produce("orders", batch(b"a"))
    shares.end_iteration()
    shares.share_fetch("orders")
    return shares


def test_the_start_offset_is_stored_by_the_next_write(shares):
    assert shares.acknowledge("orders", (0, 1, ACCEPT)) == [ErrorCode.NONE]
    assert shares.acknowledge("orders", (2, 3, [1, 2])) == [ErrorCode.NONE]
    assert shares.states.writes == [Write(0, 0, 2, [(0, 1, 2, 1)]), Write(0, 2, 1, [(2, 2, 2, 1), (3, 3, 0, 1)])]
    window = shares.share_partition("orders").window
    assert (window.start_offset, window.complete_count) == (3, 0)


def test_it_is_answered_and_counts_when_it_is_stored(shares):
    shares.states.is_held = True
    answered = shares.acknowledge("orders", (0, 3, RELEASE))
    assert answered == []
    assert shares.share_fetch("orders", member_id="b").acquired == []
    assert shares.acknowledge("orders", (0, 0, ACCEPT)) == [ErrorCode.INVALID_RECORD_STATE]
    shares.states.let_go()
    shares.run()
    assert answered == [ErrorCode.NONE]
    assert shares.share_fetch("orders", member_id="b").acquired == [(0, 0, 3, 2)]


def test_what_could_not_be_stored_is_undone(shares):
    shares.states.answer = ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert shares.acknowledge("orders", (0, 3, ACCEPT)) == [ErrorCode.COORDINATOR_NOT_AVAILABLE]
    shares.states.answer = ErrorCode.NONE
    assert shares.acknowledge("orders", (0, 3, ACCEPT)) == [ErrorCode.NONE]


def test_a_defect_after_it_is_stored_is_an_error_of_this_request_alone(shares, monkeypatch):
    def fail(*arguments):
        raise RuntimeError("a defect")

    monkeypatch.setattr(share_partition, "complete", fail)
    assert shares.acknowledge("orders", (0, 3, ACCEPT)) == [ErrorCode.UNKNOWN_SERVER_ERROR]


def test_what_could_not_be_stored_is_available_if_its_lock_has_ended(shares):
    shares.states.is_held = True
    shares.states.answer = ErrorCode.COORDINATOR_NOT_AVAILABLE
    answered = shares.acknowledge("orders", (0, 3, ACCEPT))
    shares.advance(LOCK_MS)
    shares.states.let_go()
    shares.run()
    assert answered == [ErrorCode.COORDINATOR_NOT_AVAILABLE]
    assert shares.share_fetch("orders", member_id="b").acquired == [(0, 0, 3, 2)]


@pytest.mark.parametrize(
    ("stored", "error"),
    [
        (ErrorCode.FENCED_STATE_EPOCH, ErrorCode.NOT_LEADER_OR_FOLLOWER),
        (ErrorCode.FENCED_LEADER_EPOCH, ErrorCode.NOT_LEADER_OR_FOLLOWER),
        (ErrorCode.GROUP_ID_NOT_FOUND, ErrorCode.GROUP_ID_NOT_FOUND),
        (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
    ],
)
def test_a_fenced_share_partition_is_dropped_and_loaded_anew(shares, stored, error):
    shares.states.answer = stored
    assert shares.acknowledge("orders", (0, 3, ACCEPT)) == [error]
    assert len(shares.share_partitions) == 0
    assert shares.wheel.pending == 0
    shares.states.stored[GROUP, shares.topic_ids["orders"], 0] = StoredState(3, 2, [])
    assert shares.share_fetch("orders").acquired == [(0, 2, 3, 1)]


def test_a_partition_that_nobody_has_fetched_is_unknown(shares):
    assert shares.acknowledge("orders", (0, 0, ACCEPT), partition=1) == [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]


@pytest.mark.parametrize(
    "batches",
    [
        [(1, 0, ACCEPT)],
        [(2, 3, ACCEPT), (0, 1, ACCEPT)],
        [(0, 1, [])],
        [(0, 1, [1, 1, 1])],
        [(0, 1, [5])],
        [(0, 1, [-1])],
    ],
)
def test_batches_that_cannot_be_right_are_refused(shares, batches):
    assert shares.acknowledge("orders", *batches) == [ErrorCode.INVALID_REQUEST]
    assert shares.states.writes == []


def test_batches_that_share_an_offset_are_refused_as_it_is_not_acquired_any_more(shares):
    assert shares.acknowledge("orders", (0, 1, ACCEPT), (1, 2, ACCEPT)) == [ErrorCode.INVALID_RECORD_STATE]
    assert shares.acknowledge("orders", (0, 3, ACCEPT)) == [ErrorCode.NONE]


def test_a_renewed_lock_lasts_its_whole_time_again(shares):
    shares.advance(LOCK_MS - 1)
    assert shares.acknowledge("orders", (0, 1, RENEW)) == [ErrorCode.NONE]
    assert shares.states.writes == []
    shares.advance(1)
    assert shares.share_fetch("orders", member_id="b").acquired == [(0, 2, 3, 2)]
    shares.advance(LOCK_MS - 2)
    assert shares.share_fetch("orders", member_id="b").acquired == []
    shares.advance(1)
    assert shares.share_fetch("orders", member_id="b").acquired == [(0, 0, 1, 2)]


def test_locks_are_not_renewed_where_the_group_forbids_it(shares):
    shares.configure({"share.renew.acknowledge.enable": "false"})
    assert shares.acknowledge("orders", (0, 1, RENEW)) == [ErrorCode.INVALID_RECORD_STATE]


def test_very_many_batches_are_acknowledged_together(shares):
    many = [(0, 3, ACCEPT)] + [(4 + each, 4 + each, ACCEPT) for each in range(BATCHES_AT_ONCE)]
    assert shares.acknowledge("orders", *many) == [ErrorCode.INVALID_REQUEST], "the last ones are beyond the window"
    assert shares.acknowledge("orders", (0, 3, ACCEPT)) == [ErrorCode.NONE], "the first ones were undone"


def test_released_records_keep_their_count(shares):
    share_partition = shares.share_partition("orders")
    errors: list[ErrorCode] = []
    share_partition.release("a", errors.append)
    shares.run()
    assert errors == [ErrorCode.NONE]
    assert [write.batches for write in shares.states.writes] == [[(0, 3, 0, 1)]]
    assert shares.share_fetch("orders", member_id="b").acquired == [(0, 0, 3, 2)]


def test_a_write_waits_for_those_that_say_an_earlier_start(shares):
    shares.states.is_held = True
    first, second = (shares.acknowledge("orders", (offset, offset, ACCEPT)) for offset in (0, 1))
    assert [write.start_offset for write in shares.states.writes] == [0, 0], "they may be stored in any order"
    shares.states.answer_held(1)
    shares.run()
    third, fourth = (shares.acknowledge("orders", (offset, offset, ACCEPT)) for offset in (2, 3))
    assert (first, second, third) == ([ErrorCode.NONE], [], [])
    assert len(shares.states.writes) == 2
    shares.states.answer_held(1)
    shares.run()
    assert second == [ErrorCode.NONE]
    assert shares.states.writes[2:] == [Write(0, 2, 2, [(2, 2, 2, 1), (3, 3, 2, 1)])], "both together"
    shares.states.let_go()
    shares.run()
    assert (third, fourth) == ([ErrorCode.NONE], [ErrorCode.NONE])
    assert shares.share_partition("orders").window.start_offset == 4


def test_very_many_types_are_acknowledged_in_parts(shares):
    count = 2 * RECORDS_AT_ONCE + 1
    shares.produce("orders", batch(*[b"v"] * count), partition=1)
    shares.end_iteration()
    assert shares.share_fetch("orders", 1).acquired == [(1, 0, count - 1, 1)]
    types = [1, 2] * RECORDS_AT_ONCE + [1]
    assert shares.acknowledge("orders", (0, count, [*types, 1]), partition=1) == [ErrorCode.INVALID_REQUEST]
    assert shares.acknowledge("orders", (0, count - 1, types), partition=1) == [ErrorCode.NONE]
    states = [state for _, state, _, _ in shares.share_partition("orders", 1).window.records()]
    assert states == [0 if kind == 2 else 2 for kind in types]


def test_records_whose_lock_ends_at_their_last_delivery_are_archived(shares):
    shares.configure({"share.delivery.count.limit": "2", "share.auto.offset.reset": "earliest"})
    shares.advance(LOCK_MS)
    assert shares.share_fetch("orders").acquired == [(0, 0, 3, 2)]
    shares.advance(LOCK_MS)
    assert shares.share_fetch("orders").acquired == []
    assert shares.states.writes[-1].batches == [(0, 3, 4, 2)]


def test_a_lock_that_is_shorter_than_those_before_it_ends_first(shares):
    shares.configure({"share.record.lock.duration.ms": "15000", "share.auto.offset.reset": "earliest"})
    shares.produce("orders", batch(b"b"))
    shares.end_iteration()
    assert shares.share_fetch("orders", member_id="b").acquired == [(0, 4, 4, 1)]
    shares.advance(15_000)
    assert shares.share_fetch("orders", member_id="c").acquired == [(0, 4, 4, 2)]


def test_the_start_waits_for_records_that_are_being_stored(shares):
    shares.states.is_held = True
    shares.acknowledge("orders", (0, 0, ACCEPT))
    shares.acknowledge("orders", (1, 1, ACCEPT))
    shares.states.answer_held(1)
    shares.run()
    assert shares.share_partition("orders").window.start_offset == 1
    shares.states.let_go()
    shares.run()
    assert shares.share_partition("orders").window.start_offset == 2


def test_locks_are_renewed_only_by_requests_that_may(shares):
    assert shares.acknowledge("orders", (0, 3, RENEW)) == [ErrorCode.NONE]
    assert shares.acknowledge("orders", (0, 3, RENEW), may_renew=False) == [ErrorCode.INVALID_REQUEST]


def test_partitions_without_acknowledgements_are_mentioned_beside_others_only(shares):
    first, second = ((shares.topic_ids["orders"], partition) for partition in (0, 1))
    some = AcknowledgementBatch(first_offset=0, last_offset=3, acknowledge_types=ACCEPT)
    assert shares.acknowledge_partitions({first: [], second: []}) == {}
    assert shares.acknowledge_partitions({first: [some], second: []}) == {first: ErrorCode.NONE, second: ErrorCode.NONE}
