import gc
import weakref

import pytest

from coordinator.timers import TimerWheel

SLOTS_PER_LEVEL = 64
LEVELS = 11
TIMERS_PER_RUN = 13
TIMERS_PER_CHUNK = 4_096
HOUR_MS = 3_600_000
WEEK_MS = 168 * HOUR_MS
INT64_MAX = 2**63 - 1


class Key:
    """Something a weak reference can point at."""

    wheel: TimerWheel


def test_an_empty_wheel_has_nothing_to_say():
    wheel = TimerWheel(5)
    assert (wheel.now_ms, wheel.pending, wheel.capacity) == (5, 0, 0)
    assert wheel.next_deadline_ms() == -1
    assert wheel.advance(10) == []
    assert wheel.now_ms == 10


def test_time_before_the_epoch_is_refused():
    with pytest.raises(ValueError, match="before the epoch: -1"):
        TimerWheel(-1)


BOUNDARIES = sorted(
    {SLOTS_PER_LEVEL**level + offset for level in range(1, LEVELS) for offset in (-1, 0, 1)} | {1, 2, INT64_MAX}
)


@pytest.mark.parametrize("start_ms", [0, 1, 63, 64, 1_700_000_000_000])
@pytest.mark.parametrize("delay_ms", BOUNDARIES)
def test_never_early_and_never_late_where_the_levels_meet(start_ms, delay_ms):
    deadline_ms = min(start_ms + delay_ms, INT64_MAX)
    wheel = TimerWheel(start_ms)
    wheel.start("due", deadline_ms)
    assert wheel.next_deadline_ms() == deadline_ms
    assert wheel.advance(deadline_ms - 1) == []
    assert wheel.next_deadline_ms() == deadline_ms
    assert wheel.advance(deadline_ms) == ["due"]
    assert wheel.pending == 0


def test_every_millisecond_of_three_levels_fires_in_its_own_millisecond():
    last_ms = SLOTS_PER_LEVEL**2 + 2 * SLOTS_PER_LEVEL
    wheel = TimerWheel()
    for deadline_ms in range(1, last_ms + 1):
        wheel.start(deadline_ms, deadline_ms)
    for now_ms in range(1, last_ms + 1):
        assert wheel.next_deadline_ms() == now_ms
        assert wheel.advance(now_ms) == [now_ms]


@pytest.mark.parametrize("jump_ms", [HOUR_MS, 5 * WEEK_MS, 2**40, INT64_MAX])
def test_one_jump_over_everything_fires_all_in_order(jump_ms):
    wheel = TimerWheel()
    deadlines_ms = [deadline_ms for deadline_ms in BOUNDARIES if deadline_ms <= jump_ms]
    for deadline_ms in reversed(BOUNDARIES):
        wheel.start(deadline_ms, deadline_ms)
    assert wheel.advance(jump_ms) == deadlines_ms
    assert wheel.now_ms == jump_ms
    assert wheel.pending == len(BOUNDARIES) - len(deadlines_ms)


def test_a_timer_due_just_after_a_jump_keeps_its_millisecond():
    wheel = TimerWheel()
    wheel.start("after", WEEK_MS + 1)
    assert wheel.advance(WEEK_MS) == []
    assert wheel.next_deadline_ms() == WEEK_MS + 1
    assert wheel.advance(WEEK_MS + 1) == ["after"]


def test_a_deadline_in_the_past_fires_at_the_next_advance_and_before_the_others():
    wheel = TimerWheel(1_000)
    wheel.start("soon", 1_001)
    wheel.start("now", 1_000)
    wheel.start("long ago", -5)
    wheel.start("just missed", 999)
    assert wheel.next_deadline_ms() == 1_000
    assert wheel.advance(1_001) == ["long ago", "just missed", "now", "soon"]


def test_a_clock_that_goes_back_is_ignored():
    wheel = TimerWheel(1_000)
    wheel.start("due", 1_500)
    wheel.start("overdue", 900)
    assert wheel.advance(10) == ["overdue"]
    assert wheel.now_ms == 1_000
    assert wheel.advance(1_500) == ["due"]


def test_equal_deadlines_fire_in_the_order_they_were_started_whatever_level_they_came_by():
    wheel = TimerWheel()
    wheel.start("from far", 5_000)
    wheel.advance(4_500)
    wheel.start("from near", 5_000)
    wheel.advance(4_999)
    wheel.start("from beside", 5_000)
    assert wheel.advance(6_000) == ["from far", "from near", "from beside"]


def test_a_restarted_timer_keeps_number_and_key_and_comes_after_its_equals():
    wheel = TimerWheel()
    moved = wheel.start("moved", 10)
    wheel.start("stayed", 20)
    assert wheel.restart(moved, 20)
    assert wheel.pending == 2
    assert wheel.next_deadline_ms() == 20
    assert wheel.advance(20) == ["stayed", "moved"]
    assert not wheel.restart(moved, 30)


def test_cancel_is_true_once_and_false_for_a_timer_that_fired():
    wheel = TimerWheel()
    cancelled, fired = wheel.start("cancelled", 10), wheel.start("fired", 20)
    assert wheel.cancel(cancelled)
    assert not wheel.cancel(cancelled)
    assert wheel.advance(20) == ["fired"]
    assert not wheel.cancel(fired)
    assert not wheel.cancel(0)
    assert not wheel.cancel(2**64 - 1)


def test_timers_of_the_same_batch_can_be_cancelled_and_started_while_it_is_handled():
    wheel = TimerWheel()
    first = wheel.start("first", 10)
    second = wheel.start("second", 10)
    later = wheel.start("later", 11)
    due = wheel.advance(10)
    assert due == ["first", "second"]
    assert not wheel.cancel(first)
    assert not wheel.cancel(second)
    assert wheel.cancel(later)
    wheel.start("again", 10)
    assert wheel.advance(10) == ["again"]


def test_a_number_is_never_given_again_though_its_memory_is():
    wheel = TimerWheel()
    numbers = set()
    for _ in range(1_000):
        number = wheel.start("key", 10)
        assert number not in numbers
        numbers.add(number)
        assert wheel.cancel(number)
    assert wheel.capacity == 1
    alive = wheel.start("alive", 10)
    assert not any(wheel.cancel(number) for number in numbers)
    assert wheel.cancel(alive)


def test_the_next_deadline_rises_when_the_only_timer_of_a_slot_is_cancelled():
    wheel = TimerWheel()
    earliest = wheel.start("earliest", 100)
    wheel.start("next", 200)
    assert wheel.next_deadline_ms() == 100
    wheel.cancel(earliest)
    assert wheel.next_deadline_ms() == 200


def test_memory_is_bounded_by_the_most_timers_pending_at_once():
    wheel = TimerWheel()
    numbers = [wheel.start(None, deadline_ms) for deadline_ms in range(1, 40_001)]
    assert (wheel.pending, wheel.capacity) == (40_000, 40_000)
    for number in numbers[::2]:
        assert wheel.cancel(number)
    assert len(wheel.advance(40_000)) == 20_000
    assert wheel.pending == 0
    for deadline_ms in range(40_000):
        wheel.start(None, WEEK_MS + deadline_ms)
    assert wheel.capacity == 40_000


@pytest.mark.parametrize("timers", range(1, 2 * TIMERS_PER_RUN + 2))
def test_a_timer_taken_out_of_a_slot_leaves_the_others_in_their_order(timers):
    for place in range(timers):
        wheel = TimerWheel()
        numbers = [wheel.start(key, HOUR_MS) for key in range(timers)]
        others = [key for key in range(timers) if key != place]
        assert wheel.cancel(numbers[place])
        wheel.start("last", HOUR_MS)
        assert wheel.advance(HOUR_MS) == [*others, "last"]


def test_timers_may_lie_apart_in_one_slot_and_still_move_to_slots_of_their_own():
    """What a slot holds together is taken apart by cancels, until there is no spare memory to move the rest."""
    wheel = TimerWheel()
    kept = TIMERS_PER_CHUNK - TIMERS_PER_RUN + 1
    for key in range(kept):
        *cancelled, _ = [wheel.start(key, HOUR_MS + key) for _ in range(TIMERS_PER_RUN)]
        assert all(wheel.cancel(number) for number in cancelled)
    for key in range(kept, TIMERS_PER_CHUNK):
        wheel.start(key, WEEK_MS << key - kept)
    assert (wheel.pending, wheel.capacity) == (TIMERS_PER_CHUNK, TIMERS_PER_CHUNK)
    for key in range(kept):
        assert wheel.advance(HOUR_MS + key) == [key]
    assert wheel.advance(INT64_MAX) == list(range(kept, TIMERS_PER_CHUNK))


@pytest.mark.parametrize("end", ["cancel", "advance", "drop"])
def test_the_key_is_let_go_when_its_timer_ends(end):
    wheel = TimerWheel()
    key = Key()
    watch = weakref.ref(key)
    number = wheel.start(key, 10)
    del key
    assert watch() is not None
    if end == "cancel":
        wheel.cancel(number)
    elif end == "advance":
        wheel.advance(10)
    else:
        del wheel
    assert watch() is None


def test_a_key_that_refers_to_its_wheel_is_collected_with_it():
    wheel, key = TimerWheel(), Key()
    key.wheel = wheel
    watch = weakref.ref(key)
    wheel.start(key, 10)
    del wheel, key
    gc.collect()
    assert watch() is None


def test_a_destructor_may_use_the_wheel_that_drops_it():
    class Restless:
        def __init__(self, wheel: TimerWheel, deadline_ms: int) -> None:
            self.wheel = wheel
            self.number = wheel.start(self, deadline_ms)

        def __del__(self) -> None:
            stale.append(self.wheel.cancel(self.number))
            self.wheel.start("from a destructor", 30)

    stale: list[bool] = []
    wheel = TimerWheel()
    wheel.cancel(Restless(wheel, 10).number)
    Restless(wheel, 20)
    assert len(wheel.advance(20)) == 1
    assert stale == [False, False]
    assert wheel.advance(30) == ["from a destructor"] * 2


def test_a_destructor_may_use_the_wheel_while_both_are_collected():
    class Restless:
        def __init__(self, wheel: TimerWheel) -> None:
            self.wheel = wheel
            self.number = wheel.start(self, 10)

        def __del__(self) -> None:
            cancelled.append(self.wheel.cancel(self.number))

    cancelled: list[bool] = []
    Restless(TimerWheel())
    gc.collect()
    assert cancelled == [True]
