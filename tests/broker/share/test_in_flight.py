"""The window of a share partition, case by case: what Kafka 4.3.1 does."""

import pytest

from _wire.records import build_batch
from coordinator.broker.share.acquisition import acquire
from coordinator.broker.share.fetched_batches import FetchedBatches
from coordinator.broker.share.in_flight import InFlightWindow
from coordinator.broker.share.pieces import ACKNOWLEDGED, ACQUIRED, ARCHIVED, AVAILABLE
from coordinator.broker.share.release import BEYOND_THE_WINDOW, NOT_ACQUIRED, UNKNOWN_TYPE, complete, expire, release
from tests.broker.share.windows import LIMIT, LOCK_MS, acknowledged, batches, limits, taken

GAP, ACCEPT, RELEASE, REJECT, RENEW = range(5)


def states(window: InFlightWindow) -> list[tuple[int, int]]:
    """State and delivery count of each record."""
    return [(state, count) for _, state, count, _ in window.records()]


class TestAcquiring:
    def test_batches_are_acquired_whole_up_to_the_one_that_exceeds_the_limit(self) -> None:
        window = InFlightWindow(0)
        assert taken(window, (0, 9), (10, 19), (20, 29), limits=limits(15)) == [(0, 19, 1)]
        assert (window.start_offset, window.end_offset, window.next_fetch_offset()) == (0, 19, 20)

    def test_record_limit_is_exact_and_leaves_the_rest_available_at_count_0(self) -> None:
        window = InFlightWindow(0)
        assert taken(window, (0, 9), (10, 19), limits=limits(4, is_record_limit=True)) == [(0, 3, 1)]
        assert states(window) == [(ACQUIRED, 1)] * 4 + [(AVAILABLE, 0)] * 6
        assert taken(window, (0, 9), member="b", limits=limits(4, is_record_limit=True)) == [(4, 7, 1)]

    def test_more_than_batch_size_is_cut_where_batches_begin(self) -> None:
        window = InFlightWindow(0)
        ranges = [(first, first + 2) for first in range(0, 15, 3)]
        assert taken(window, *ranges, limits=limits(batch_size=5)) == [(0, 5, 1), (6, 11, 1), (12, 14, 1)]
        assert window.piece_count == 3

    def test_batch_size_0_begins_with_an_impossible_range(self) -> None:
        window = InFlightWindow(0)
        assert taken(window, (0, 1), (2, 3), limits=limits(batch_size=0)) == [(0, -1, 1), (0, 1, 1), (2, 3, 1)]
        assert states(window) == [(ACQUIRED, 1)] * 4

    def test_released_pieces_come_whole_and_before_new_records(self) -> None:
        window = InFlightWindow(0)
        taken(window, (0, 4))
        acknowledged(window, 0, 4, RELEASE)
        assert taken(window, (0, 4), (5, 9), limits=limits(3)) == [(0, 4, 2)]
        assert window.next_fetch_offset() == 5

    def test_a_piece_that_is_read_in_part_is_acquired_in_part(self) -> None:
        window = InFlightWindow(0)
        taken(window, (0, 9), (10, 19))
        acknowledged(window, 0, 19, RELEASE)
        assert taken(window, (0, 9)) == [(0, 9, 2)]
        assert states(window) == [(ACQUIRED, 2)] * 10 + [(AVAILABLE, 1)] * 10

    def test_records_in_flight_are_limited_also_by_acknowledged_ones_in_the_middle(self) -> None:
        window = InFlightWindow(0)
        most = limits(record_locks_max=10)
        assert taken(window, *[(each, each) for each in range(20)], limits=most) == [(0, 9, 1)]
        acknowledged(window, 5, 9, ACCEPT)
        assert not window.can_acquire(10)
        assert taken(window, (10, 10), limits=most) == []
        acknowledged(window, 0, 0, ACCEPT)
        assert window.can_acquire(10)
        assert taken(window, (10, 10), (11, 11), limits=most) == [(10, 10, 1)]

    def test_without_room_only_what_is_available_below_the_end_is_acquired(self) -> None:
        window = InFlightWindow(0)
        most = limits(record_locks_max=4)
        taken(window, (0, 3), limits=most)
        acknowledged(window, 1, 1, RELEASE)
        assert window.can_acquire(4)
        assert taken(window, (0, 3), (4, 7), limits=most) == [(1, 1, 2)]

    def test_a_batch_around_the_start_offset_is_acquired_from_there(self) -> None:
        window = InFlightWindow(5)
        assert taken(window, (0, 9)) == [(5, 9, 1)]

    def test_deliveries_are_throttled_from_half_of_the_limit_on(self) -> None:
        window = InFlightWindow(0)
        delivered = []
        for _ in range(3):
            delivered.append(taken(window, (0, 7)))
            acknowledged(window, 0, 7, RELEASE)
        assert delivered == [[(0, 7, 1)], [(0, 7, 2)], [(0, 7, 3)]]
        assert taken(window, (0, 7), (8, 15)) == [(0, 3, 4)]
        assert taken(window, (0, 7), (8, 15)) == [(4, 7, 4)]
        assert taken(window, (8, 15)) == [(8, 15, 1)]
        acknowledged(window, 0, 7, RELEASE)
        assert [taken(window, (0, 7)) for _ in range(9)] == [[(each, each, 5)] for each in range(8)] + [[]]
        assert acknowledged(window, 0, 7, RELEASE) == [(0, 7, ARCHIVED, 5)]
        assert window.start_offset == 8

    def test_a_throttled_piece_does_not_come_after_others(self) -> None:
        window = InFlightWindow(0, [(0, 3, AVAILABLE, 1), (4, 7, AVAILABLE, 3)])
        assert taken(window, (0, 7)) == [(0, 3, 2)]
        assert taken(window, (0, 7)) == [(4, 5, 4)]

    def test_loaded_counts_at_the_limit_are_delivered_once_more_and_alone(self) -> None:
        window = InFlightWindow(0, [(0, 1, AVAILABLE, 5)])
        assert taken(window, (0, 1)) == [(0, 0, 6)]
        assert acknowledged(window, 0, 0, RELEASE) == [(0, 0, ARCHIVED, 6)]

    def test_a_record_at_its_last_delivery_does_not_come_after_others(self) -> None:
        window = InFlightWindow(0)
        for _ in range(4):
            taken(window, (0, 2))
            acknowledged(window, 2, 2, RELEASE)
        acknowledged(window, 0, 1, RELEASE)
        assert taken(window, (0, 2)) == [(0, 1, 2)]
        assert taken(window, (0, 2)) == [(2, 2, 5)]

    def test_a_limit_of_2_delivers_pieces_whole_at_their_last_delivery(self) -> None:
        window = InFlightWindow(0)
        lowest = limits(delivery_count_limit=2)
        taken(window, (0, 3), limits=lowest)
        acknowledged(window, 0, 3, RELEASE, delivery_count_limit=2)
        assert taken(window, (0, 3), limits=lowest) == [(0, 3, 2)]

    def test_records_that_compaction_removed_are_archived(self) -> None:
        window = InFlightWindow(0)
        taken(window, (0, 9))
        acknowledged(window, 0, 9, RELEASE)
        assert taken(window, (6, 9)) == [(6, 9, 2)]
        assert states(window) == [(ARCHIVED, 1)] * 6 + [(ACQUIRED, 2)] * 4
        assert window.complete_count == 6

    def test_batches_of_aborted_transactions_are_archived_at_once(self) -> None:
        window = InFlightWindow(0)
        found, count = acquire(window, "a", limits(), 0, batches((0, 4), (5, 9), (10, 14)), LOCK_MS, [(5, 9)])
        assert (found, count) == ([(0, 4, 1), (10, 14, 1)], 10)
        assert states(window) == [(ACQUIRED, 1)] * 5 + [(ARCHIVED, 1)] * 5 + [(ACQUIRED, 1)] * 5
        assert acknowledged(window, 0, 4, ACCEPT) == [(0, 4, ACKNOWLEDGED, 1)]
        assert window.start_offset == 10

    def test_what_was_read_without_batches_acquires_nothing(self) -> None:
        window = InFlightWindow(0)
        assert acquire(window, "a", limits(), 0, FetchedBatches(b""), LOCK_MS) == ([], 0)


class TestAcknowledging:
    def test_types_give_states(self) -> None:
        window = InFlightWindow(0)
        taken(window, (0, 3))
        changes = acknowledged(window, 0, 3, GAP, ACCEPT, RELEASE, REJECT)
        assert changes == [(0, 0, ARCHIVED, 1), (1, 1, ACKNOWLEDGED, 1), (2, 2, AVAILABLE, 1), (3, 3, ARCHIVED, 1)]
        assert (window.start_offset, window.complete_count) == (2, 1)

    def test_neighbours_in_the_same_state_are_stored_together(self) -> None:
        window = InFlightWindow(0)
        taken(window, (0, 4))
        assert acknowledged(window, 0, 4, ACCEPT, ACCEPT, RELEASE, RELEASE, ACCEPT) == [
            (0, 1, ACKNOWLEDGED, 1),
            (2, 3, AVAILABLE, 1),
            (4, 4, ACKNOWLEDGED, 1),
        ]

    @pytest.mark.parametrize(
        ("first", "last", "member", "error"),
        [
            (10, 12, "b", NOT_ACQUIRED),
            (0, 3, "a", NOT_ACQUIRED),
            (10, 20, "a", BEYOND_THE_WINDOW),
            (21, 22, "a", BEYOND_THE_WINDOW),
        ],
    )
    def test_what_is_not_acquired_by_the_member_is_refused(
        self, first: int, last: int, member: str, error: int
    ) -> None:
        window = InFlightWindow(10)
        taken(window, (10, 19))
        expected = 0 if last < 10 else error
        assert acknowledged(window, first, last, ACCEPT, member=member) == (expected or [])
        assert states(window) == [(ACQUIRED, 1)] * 10

    def test_an_offset_can_be_acknowledged_once(self) -> None:
        window = InFlightWindow(0)
        taken(window, (0, 9))
        acknowledged(window, 5, 5, ACCEPT)
        assert acknowledged(window, 4, 6, ACCEPT) == NOT_ACQUIRED
        assert states(window) == [(ACQUIRED, 1)] * 5 + [(ACKNOWLEDGED, 1)] + [(ACQUIRED, 1)] * 4
        assert window.complete_count == 1

    @pytest.mark.parametrize("types", [(), (1, 1), (7,), (-1,), (1, 1, 9)])
    def test_types_that_do_not_exist_or_fit_change_nothing(self, types: tuple[int, ...]) -> None:
        window = InFlightWindow(0)
        taken(window, (0, 2))
        assert acknowledged(window, 0, 2, *types) == UNKNOWN_TYPE
        assert states(window) == [(ACQUIRED, 1)] * 3

    def test_extreme_offsets_are_refused(self) -> None:
        window = InFlightWindow(10)
        taken(window, (10, 19))
        assert acknowledged(window, -(1 << 63), (1 << 63) - 1, ACCEPT) == BEYOND_THE_WINDOW
        assert acknowledged(window, (1 << 63) - 1, -(1 << 63), ACCEPT) == []

    def test_a_change_that_could_not_be_stored_is_undone(self) -> None:
        window = InFlightWindow(0)
        taken(window, (0, 9))
        changes = release(window, "a", LIMIT)
        assert changes == [(0, 9, AVAILABLE, 1)]
        assert window.next_fetch_offset() == 10, "it is not available before it is stored"
        assert acknowledged(window, 0, 9, ACCEPT) == NOT_ACQUIRED
        complete(window, changes, False, 0, LIMIT)
        assert acknowledged(window, 0, 9, ACCEPT) == [(0, 9, ACKNOWLEDGED, 1)]

    def test_a_change_that_is_undone_after_its_lock_has_ended_leaves_the_records_available(self) -> None:
        window = InFlightWindow(0)
        taken(window, (0, 9))
        changes = release(window, "a", LIMIT)
        assert expire(window, LOCK_MS, LIMIT) == []
        complete(window, changes, False, LOCK_MS, LIMIT)
        assert taken(window, (0, 9)) == [(0, 9, 2)]

    def test_a_renewed_lock_lasts(self) -> None:
        window = InFlightWindow(0)
        taken(window, (0, 9))
        assert acknowledged(window, 0, 4, RENEW, renewed_until_ms=2 * LOCK_MS) == []
        assert expire(window, LOCK_MS, LIMIT) == [(5, 9, AVAILABLE, 1)]
        assert window.deadline_ms == 2 * LOCK_MS
        assert acknowledged(window, 0, 4, ACCEPT) == [(0, 4, ACKNOWLEDGED, 1)]

    def test_a_lock_is_not_renewed_where_that_is_not_allowed(self) -> None:
        window = InFlightWindow(0)
        taken(window, (0, 9))
        assert acknowledged(window, 0, 9, RENEW) == NOT_ACQUIRED


class TestLoadedStates:
    def test_holes_are_new_records_that_come_first(self) -> None:
        window = InFlightWindow(0, [(3, 4, ACKNOWLEDGED, 1), (8, 9, AVAILABLE, 2)])
        assert window.next_fetch_offset() == 0
        assert taken(window, (0, 9), (10, 19), limits=limits(3)) == [(0, 2, 1)]
        assert taken(window, (0, 9), (10, 19)) == [(5, 7, 1), (8, 9, 3), (10, 19, 1)]
        assert acknowledged(window, 0, 2, ACCEPT) == [(0, 2, ACKNOWLEDGED, 1)]
        assert window.start_offset == 5

    def test_the_start_moves_over_what_is_done(self) -> None:
        window = InFlightWindow(5, [(5, 6, ARCHIVED, 5), (7, 9, AVAILABLE, 1)])
        assert (window.start_offset, window.complete_count, window.next_fetch_offset()) == (7, 0, 7)

    @pytest.mark.parametrize("stored", [[(3, 4, 0, 1)], [(6, 5, 0, 1)], [(5, 7, 0, 1), (7, 8, 0, 1)]])
    def test_states_that_cannot_be_are_refused(self, stored: list[tuple[int, int, int, int]]) -> None:
        with pytest.raises(ValueError, match="cannot be in flight"):
            InFlightWindow(5, stored)


class TestStartOfTheLog:
    def test_available_records_below_it_are_archived_and_held_ones_end_without_effect(self) -> None:
        window = InFlightWindow(0)
        taken(window, (0, 4), limits=limits(5))
        taken(window, (5, 9), member="b")
        acknowledged(window, 0, 4, RELEASE)
        window.move_start(7)
        assert (window.start_offset, window.complete_count) == (7, 0)
        assert acknowledged(window, 5, 6, ACCEPT, member="b") == []
        assert acknowledged(window, 5, 9, RELEASE, member="b") == [(7, 9, AVAILABLE, 1)]
        assert taken(window, (5, 9)) == [(7, 9, 2)]

    def test_with_nothing_known_both_ends_move(self) -> None:
        window = InFlightWindow(0)
        window.move_start(7)
        assert (window.start_offset, window.end_offset, window.next_fetch_offset()) == (7, 7, 7)

    def test_locks_below_it_end_archived(self) -> None:
        window = InFlightWindow(0)
        taken(window, (0, 9))
        window.move_start(5)
        assert expire(window, LOCK_MS, LIMIT) == [(0, 4, ARCHIVED, 1), (5, 9, AVAILABLE, 1)]
        assert window.complete_count == 0


class TestFetchedBatches:
    def test_batches_around_what_was_acquired(self) -> None:
        first, second, third = (
            build_batch([(None, b"v")] * 10, base_offset=base, last_offset=base + 9) for base in (0, 10, 20)
        )
        read = FetchedBatches(first + second + third + b"the beginning of another")
        assert len(read) == 3
        assert bytes(read.around(12, 14)) == second
        assert bytes(read.around(9, 10)) == first + second
        assert bytes(FetchedBatches(first + second).around(0, 19)) == first + second

    def test_batches_of_aborted_transactions(self) -> None:
        def batch(base: int, producer_id: int, *, is_control: bool = False, key: bytes | None = None) -> bytes:
            return build_batch(
                [(key, b"v")],
                base_offset=base,
                producer_id=producer_id,
                is_transactional=producer_id >= 0,
                is_control=is_control,
            )

        abort = b"\0\0\0\0"
        read = FetchedBatches(
            batch(0, -1)
            + batch(1, 7)
            + batch(2, 8)
            + batch(3, 7, is_control=True, key=abort)
            + batch(4, 7)
            + batch(5, 8)
        )
        assert read.aborted([(7, 1)]) == [(1, 1)]
        assert read.aborted([(8, 2), (7, 1)]) == [(1, 1), (2, 2), (5, 5)]
        assert read.aborted([(7, 4)]) == [(4, 4)]
        assert read.aborted([]) == []


class TestEndOfLocks:
    def test_locks_end_one_by_one_if_that_is_asked_for(self) -> None:
        window = InFlightWindow(0)
        taken(window, (0, 1), limits=limits(2))
        taken(window, (2, 5))
        acknowledged(window, 2, 2, ACCEPT)
        assert [expire(window, LOCK_MS, LIMIT, 1) for _ in range(3)] == [
            [(0, 1, AVAILABLE, 1)],
            [(3, 3, AVAILABLE, 1)],
            [(4, 4, AVAILABLE, 1)],
        ]
        assert expire(window, LOCK_MS, LIMIT) == [(5, 5, AVAILABLE, 1)]

    def test_it_says_when_the_next_one_ends(self) -> None:
        window = InFlightWindow(0)
        taken(window, (0, 1), limits=limits(2), now_ms=0)
        taken(window, (2, 5), now_ms=10)
        assert window.deadline_ms == LOCK_MS
        assert expire(window, LOCK_MS, LIMIT) == [(0, 1, AVAILABLE, 1)]
        assert window.deadline_ms == LOCK_MS + 10


def test_the_first_record_is_that_at_the_start_with_who_has_it():
    window = InFlightWindow(0)
    assert window.first_record() is None
    taken(window, (0, 3), member="a")
    assert window.first_record() == (1, 1, "a")
    acknowledged(window, 0, 0, 2)
    assert window.first_record() == (0, 1, None)
    taken(window, (0, 3), member="b")
    assert window.first_record() == (1, 2, "b")
