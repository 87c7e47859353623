"""Share fetches: what they acquire at once, what they wait for, and who is served first."""

from collections.abc import Callable
from itertools import count
from typing import Final

import pytest

from _wire.errors import ErrorCode
from coordinator.broker.share import waiting
from coordinator.broker.share.fetch_service import ShareFetchTerms, shared_out
from coordinator.broker.share.reading import READ_FIRST_BYTES, READ_FIRST_BYTES_MIN
from coordinator.broker.share.settings import RecordSettings
from coordinator.broker.share.share_partition import SharePartition
from coordinator.runtime.slices import at_once
from tests.broker.share.memory_states import StoredState
from tests.broker.share.virtual_shares import GROUP, VirtualShares
from tests.broker.virtual_broker import batch

WAIT_MS: Final = 500
LOCK_MS: Final = 30_000
ACCEPT, RELEASE = [1], [2]


@pytest.fixture
def shares() -> VirtualShares:
    shares = VirtualShares()
    shares.create_topic("orders", 3)
    return shares


def produce(shares: VirtualShares, *values: bytes, partition: int = 0, topic: str = "orders") -> None:
    """A batch for each value."""
    for value in values:
        shares.produce(topic, batch(value), partition)
    shares.end_iteration()


def noted_reads(shares: VirtualShares, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The bytes of each read of a log from now on."""
    sizes: list[int] = []
    original = shares.fetch_service.read_log

    def noted(log, requested, *rest):
        sizes.append(requested.partition_max_bytes)
        return original(log, requested, *rest)

    monkeypatch.setattr(shares.fetch_service, "read_log", noted)
    return sizes


def assert_nothing_waits(shares: VirtualShares) -> None:
    assert not shares.waiting.by_share_partition
    requested = shares.iterations_requested
    shares.produce("orders", batch(b"later"))
    assert shares.iterations_requested == requested, "a listener was left"


def test_records_are_acquired_once(shares):
    produce(shares, b"a", b"b")
    assert shares.share_fetch("orders").acquired == [(0, 0, 1, 1)]
    assert shares.share_fetch("orders", member_id="b").acquired == []


def test_the_records_are_the_batches_around_what_was_acquired(shares):
    produce(shares, b"a", b"b", b"c")
    fetched = shares.share_fetch("orders", max_records=2)
    assert fetched.found is not None
    (data,) = fetched.found.values()
    assert bytes(data.records).count(b"a") == 1
    assert len(data.records) == 2 * len(batch(b"a"))


def test_max_records_counts_down_over_the_partitions(shares):
    for partition in range(3):
        produce(shares, b"a", b"b", partition=partition)
    assert shares.share_fetch("orders", 1, 0, 2, max_records=3).acquired == [(1, 0, 1, 1), (0, 0, 0, 1)]
    assert shares.share_fetch("orders", 0, 1, 2).acquired == [(0, 1, 1, 1), (2, 0, 1, 1)]


@pytest.mark.parametrize("terms", [{"max_records": 0}, {"max_bytes": 0}, {"max_records": -1}])
def test_a_fetch_of_nothing_is_answered_at_once(shares, terms):
    produce(shares, b"a")
    assert shares.share_fetch("orders", max_wait_ms=WAIT_MS, **terms).found == {}


def test_it_waits_for_an_append(shares):
    fetched = shares.share_fetch("orders", 0, 1, max_wait_ms=WAIT_MS)
    assert fetched.is_waiting
    produce(shares, b"a", partition=1)
    assert fetched.acquired == [(1, 0, 0, 1)]
    assert fetched.partitions == [0, 1]
    assert_nothing_waits(shares)


def test_it_waits_for_min_bytes(shares):
    size = len(batch(b"a"))
    fetched = shares.share_fetch("orders", max_wait_ms=WAIT_MS, min_bytes=size + 1)
    produce(shares, b"a")
    assert fetched.is_waiting
    produce(shares, b"b")
    assert fetched.acquired == [(0, 0, 1, 1)]


def test_at_max_wait_it_gets_what_there_is(shares):
    fetched = shares.share_fetch("orders", max_wait_ms=WAIT_MS, min_bytes=1000)
    produce(shares, b"a")
    shares.advance(WAIT_MS - 1)
    assert fetched.is_waiting
    assert shares.waiting.expired == 0
    shares.advance(1)
    assert fetched.acquired == [(0, 0, 0, 1)]
    assert shares.waiting.expired == 1
    assert_nothing_waits(shares)


def test_of_those_that_wait_the_first_one_is_served(shares):
    first, second = (shares.share_fetch("orders", member_id=member, max_wait_ms=WAIT_MS) for member in "ab")
    produce(shares, b"a")
    assert first.acquired == [(0, 0, 0, 1)]
    assert second.is_waiting
    produce(shares, b"b")
    assert second.acquired == [(0, 1, 1, 1)]


def test_the_next_one_gets_what_the_first_one_leaves(shares):
    first, second = (
        shares.share_fetch("orders", member_id=member, max_wait_ms=WAIT_MS, max_records=1) for member in "ab"
    )
    shares.produce("orders", batch(b"a"))
    shares.produce("orders", batch(b"b"))
    shares.end_iteration()
    assert (first.acquired, second.acquired) == ([(0, 0, 0, 1)], [(0, 1, 1, 1)])


def test_those_that_wait_in_vain_are_not_looked_at(shares, monkeypatch):
    waiting = [shares.share_fetch("orders", member_id=str(number), max_wait_ms=WAIT_MS) for number in range(50)]
    looks = count(1)
    share_partition = shares.share_partition("orders")
    original: Callable[[SharePartition, RecordSettings], int] = type(share_partition).available_bytes

    def counted(self: SharePartition, settings: RecordSettings) -> int:
        next(looks)
        return original(self, settings)

    monkeypatch.setattr(type(share_partition), "available_bytes", counted)
    produce(shares, b"a")
    assert [each.is_waiting for each in waiting] == [False] + [True] * 49
    assert next(looks) < 15


def test_a_client_that_is_gone_waits_no_longer(shares):
    fetched = shares.share_fetch("orders", max_wait_ms=WAIT_MS)
    fetched.cancel()
    assert_nothing_waits(shares)


def test_the_end_of_a_lock_wakes_it(shares):
    produce(shares, b"a")
    shares.share_fetch("orders")
    fetched = shares.share_fetch("orders", member_id="b", max_wait_ms=2 * LOCK_MS)
    shares.advance(LOCK_MS - 1)
    assert fetched.is_waiting
    shares.advance(1)
    assert fetched.acquired == [(0, 0, 0, 2)]
    assert [write.batches for write in shares.states.writes] == [[(0, 0, 0, 1)]]


def test_a_release_does_not_wake_it_but_a_new_fetch_gets_the_records(shares):
    produce(shares, b"a")
    shares.share_fetch("orders")
    shares.states.is_held = True
    fetched = shares.share_fetch("orders", member_id="b", max_wait_ms=WAIT_MS)
    shares.acknowledge("orders", (0, 0, RELEASE))
    shares.states.let_go()
    shares.run()
    assert fetched.is_waiting
    assert shares.share_fetch("orders", member_id="c").acquired == [(0, 0, 0, 2)]


def test_a_start_that_moves_wakes_it(shares):
    shares.configure({"share.auto.offset.reset": "earliest", "share.partition.max.record.locks": "100"})
    produce(shares, *[b"a"] * 101)
    assert shares.share_fetch("orders").acquired == [(0, 0, 99, 1)]
    fetched = shares.share_fetch("orders", member_id="b", max_wait_ms=WAIT_MS)
    assert fetched.is_waiting
    assert shares.acknowledge("orders", (0, 0, ACCEPT)) == [ErrorCode.NONE]
    assert fetched.acquired == [(0, 100, 100, 1)]


def test_a_partition_that_is_loading_is_left_out_and_wakes_it_when_it_is_loaded(shares):
    produce(shares, b"a")
    shares.states.is_held = True
    assert shares.share_fetch("orders").found == {}
    fetched = shares.share_fetch("orders", max_wait_ms=WAIT_MS)
    assert fetched.is_waiting
    shares.states.let_go()
    shares.run()
    assert fetched.acquired == [(0, 0, 0, 1)]


@pytest.mark.parametrize(
    ("stored", "error"),
    [
        (ErrorCode.INVALID_REQUEST, ErrorCode.UNKNOWN_SERVER_ERROR),
        (ErrorCode.FENCED_LEADER_EPOCH, ErrorCode.NOT_LEADER_OR_FOLLOWER),
        (ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.COORDINATOR_NOT_AVAILABLE),
        (StoredState(2, 5, [(4, 4, 0, 1)]), ErrorCode.UNKNOWN_SERVER_ERROR),
    ],
)
def test_one_that_cannot_be_loaded_is_an_error_and_is_loaded_by_the_next_fetch(shares, stored, error):
    produce(shares, b"a")
    shares.states.stored[GROUP, shares.topic_ids["orders"], 0] = stored
    fetched = shares.share_fetch("orders", max_wait_ms=WAIT_MS)
    assert fetched.is_waiting, "clients ask again at once"
    shares.advance(WAIT_MS)
    assert fetched.error == error
    assert len(shares.share_partitions) == 0
    del shares.states.stored[GROUP, shares.topic_ids["orders"], 0]
    assert shares.share_fetch("orders").acquired == [(0, 0, 0, 1)]


def test_what_is_stored_is_where_it_begins(shares):
    produce(shares, b"a", b"b", b"c", b"d")
    shares.states.stored[GROUP, shares.topic_ids["orders"], 0] = StoredState(2, 1, [(2, 2, 2, 1)])
    assert shares.share_fetch("orders").acquired == [(0, 1, 1, 1), (0, 3, 3, 1)]


class TestOffsetReset:
    def test_latest_is_the_end_at_the_first_fetch(self, shares):
        shares.configure({})
        produce(shares, b"a")
        assert shares.share_fetch("orders").acquired == []
        produce(shares, b"b")
        assert shares.share_fetch("orders").acquired == [(0, 1, 1, 1)]

    def test_by_duration_is_the_first_record_that_is_no_older(self, shares):
        shares.configure({"share.auto.offset.reset": "by_duration:PT1H"})
        now_ms = shares.wall_ms()
        for age_ms in (7_200_000, 3_500_000):
            shares.produce("orders", batch(b"a", timestamp_ms=now_ms - age_ms))
        assert shares.share_fetch("orders").acquired == [(0, 1, 1, 1)]

    def test_by_duration_without_such_a_record_is_an_error_until_there_is_one(self, shares):
        shares.configure({"share.auto.offset.reset": "by_duration:PT1H"})
        assert shares.share_fetch("orders").error == ErrorCode.OFFSET_NOT_AVAILABLE
        shares.produce("orders", batch(b"a", timestamp_ms=shares.wall_ms()))
        assert shares.share_fetch("orders").acquired == [(0, 0, 0, 1)]


class TestStartOfTheLog:
    def test_records_that_were_deleted_are_archived_in_a_fetch_that_gets_nothing(self, shares):
        produce(shares, b"a", b"b", b"c")
        shares.share_fetch("orders", max_records=1)
        shares.acknowledge("orders", (0, 0, RELEASE))
        log = shares.partitions.get("orders", 0)
        log.log_start_offset = 2
        fetched = shares.share_fetch("orders", max_wait_ms=WAIT_MS)
        assert (fetched.acquired, fetched.error) == ([], ErrorCode.NONE)
        assert shares.share_fetch("orders").acquired == [(0, 2, 2, 1)]


def test_a_deleted_topic_is_dropped_with_its_locks(shares):
    shares.create_topic("gone")
    produce(shares, b"a", topic="gone")
    shares.share_fetch("gone")
    shares.topics.delete(["gone"], shares.clock.now_ms())
    shares.end_iteration()
    assert len(shares.share_partitions) == 0
    assert shares.wheel.pending == 0
    assert shares.share_fetch("gone").error == ErrorCode.UNKNOWN_TOPIC_ID


def test_a_partition_that_does_not_exist_is_an_error(shares):
    assert shares.share_fetch("orders", 7).error == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


@pytest.mark.parametrize(
    ("max_bytes", "count", "shared"), [(10, 3, [4, 3, 3]), (2, 3, [1, 1, 0]), (5, 0, []), (3, 3, [1, 1, 1])]
)
def test_bytes_are_shared_out_evenly(max_bytes, count, shared):
    assert shared_out(max_bytes, count) == shared


def test_many_locks_that_end_together_are_stored_together(shares):
    produce(shares, *[b"a"] * 200)
    shares.share_fetch("orders")
    shares.acknowledge("orders", (0, 0, ACCEPT))
    del shares.states.writes[:]
    shares.advance(LOCK_MS)
    stored = [write.batches for write in shares.states.writes]
    assert stored == [[(each, each, 0, 1)] for each in range(1, 51)] + [[(51, 199, 0, 1)]]
    assert shares.share_fetch("orders").acquired == [(0, 1, 199, 2)]


def test_what_comes_while_a_fetch_looks_at_many_partitions_is_not_missed(shares, monkeypatch):
    monkeypatch.setattr(waiting, "ADDED_AT_ONCE", 1)
    shares.share_fetch("orders", 0, 1)
    terms = ShareFetchTerms(
        group_id=GROUP,
        member_id="a",
        max_wait_ms=WAIT_MS,
        min_bytes=1,
        max_bytes=1000,
        max_records=10,
        batch_size=10,
        is_record_limit=False,
    )
    topic_id = shares.topic_ids["orders"]
    steps = shares.share_fetches.fetch(terms, [(topic_id, 0), (topic_id, 1)], shares.clock.now_ms())
    for _ in range(5):  # looked at both, added both, looked at the first one again
        assert next(steps) is None
    produce(shares, b"a")
    found = at_once(steps)
    assert [each.first_offset for each in found[topic_id, 0].acquired_records] == [0]


def test_no_more_is_read_than_the_records_that_are_asked_for(shares, monkeypatch):
    produce(shares, *[bytes(2000)] * 500)
    sizes = noted_reads(shares, monkeypatch)
    assert shares.share_fetch("orders", max_records=10).acquired == [(0, 0, 9, 1)]
    assert sizes == [READ_FIRST_BYTES]
    del sizes[:]
    assert shares.share_fetch("orders", max_records=300, batch_size=300).acquired == [(0, 10, 309, 1)]
    assert sizes == [READ_FIRST_BYTES, 8 * READ_FIRST_BYTES]
    assert shares.share_fetch("orders").acquired == [(0, 310, 499, 1)]


def test_a_read_is_as_large_as_the_records_before_were(shares, monkeypatch):
    size = len(batch(bytes(2000)))
    produce(shares, *[bytes(2000)] * 100)
    sizes = noted_reads(shares, monkeypatch)
    for first in (0, 10):
        assert shares.share_fetch("orders", max_records=10).acquired == [(0, first, first + 9, 1)]
    expected = 10 * (size + 1)
    assert sizes == [READ_FIRST_BYTES, expected + expected // 4]
    assert shares.share_fetch("orders", max_records=1).acquired == [(0, 20, 20, 1)]
    assert sizes[2:] == [READ_FIRST_BYTES_MIN]


def test_records_that_become_smaller_are_read_with_room_for_larger_ones(shares, monkeypatch):
    small = len(batch(bytes(2_000)))
    produce(shares, bytes(20_000), *[bytes(2_000)] * 40)
    sizes = noted_reads(shares, monkeypatch)
    for _ in range(20):
        shares.share_fetch("orders", max_records=1)
    assert sizes[1] > 5 * small
    assert sizes[1:] == sorted(sizes[1:], reverse=True)
    assert small * 5 // 4 < sizes[-1] == READ_FIRST_BYTES_MIN


def test_records_that_are_larger_than_those_before_are_read_at_all(shares, monkeypatch):
    for partition in (0, 1):
        produce(shares, *[b"a"] * 11, *[bytes(50_000)] * 2, partition=partition)
        shares.share_fetch("orders", partition, max_records=10)
        assert shares.share_fetch("orders", partition, max_records=1).acquired == [(partition, 10, 10, 1)]
    sizes = noted_reads(shares, monkeypatch)
    assert shares.share_fetch("orders", 0, 1, max_records=4).acquired == [(0, 11, 12, 1), (1, 11, 12, 1)]
    # Of the second partition not even the first batch may be returned above the limit: it is read until one fits.
    assert sizes == [READ_FIRST_BYTES_MIN, 8 * READ_FIRST_BYTES_MIN, 64 * READ_FIRST_BYTES_MIN] * 2


def test_the_end_of_the_log_is_read_once(shares, monkeypatch):
    produce(shares, *[b"a"] * 3)
    sizes = noted_reads(shares, monkeypatch)
    assert shares.share_fetch("orders", max_records=10).acquired == [(0, 0, 2, 1)]
    assert sizes == [READ_FIRST_BYTES]


def test_what_is_left_is_known_without_the_log(shares, monkeypatch):
    produce(shares, *[b"a"] * 10)
    shares.share_fetch("orders", max_records=3, max_wait_ms=WAIT_MS)
    log = shares.share_partition("orders").log
    asked: list[int] = []
    original = log.bytes_from

    def bytes_from(offset: int) -> int:
        asked.append(offset)
        return int(original(offset))

    monkeypatch.setattr(log, "bytes_from", bytes_from)
    settings = shares.share_partition("orders").settings
    for first in (3, 6):
        left_bytes = shares.share_partition("orders").available_bytes(settings)
        assert left_bytes == original(first)
        assert shares.share_fetch("orders", max_records=3, max_wait_ms=WAIT_MS).acquired == [(0, first, first + 2, 1)]
    assert asked == []
    shares.acknowledge("orders", (3, 3, RELEASE))
    assert shares.share_partition("orders").available_bytes(settings) == original(3)
    assert asked == [3]


def test_new_records_are_read_beyond_those_that_others_hold(shares):
    produce(shares, *[bytes(2000)] * 300)
    shares.share_fetch("orders", member_id="b", max_records=200)
    shares.acknowledge("orders", (0, 0, RELEASE), member="b")
    assert shares.share_fetch("orders", max_records=50).acquired == [(0, 0, 0, 2), (0, 200, 248, 1)]


def test_one_fetch_at_a_time_reads_a_share_partition(shares):
    shares.share_fetch("orders")
    shares.produce("orders", batch(b"a"))
    shares.end_iteration()
    shares.share_partition("orders").is_fetching = True
    assert shares.share_fetch("orders", member_id="b").partitions == []
    shares.share_partition("orders").is_fetching = False
    assert len(shares.share_fetch("orders", member_id="b").acquired) == 1
