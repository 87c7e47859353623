"""The wheel against a sorted list, under virtual time."""

from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, initialize, invariant, rule

from coordinator.timers import TimerWheel
from tests.examples import examples
from tests.model.heap_timers import HeapTimers

WEEK_MS = 604_800_000

near_slot_edges = st.builds(
    lambda level, slots, offset: slots * 64**level + offset,
    st.integers(0, 6),
    st.integers(0, 66),
    st.integers(-2, 2),
)
DELAYS_MS = st.one_of(st.integers(-50, 200), near_slot_edges, st.integers(0, 4 * WEEK_MS))
JUMPS_MS = st.one_of(st.integers(-10, 200), near_slot_edges, st.integers(0, 2 * WEEK_MS))


class WheelMachine(RuleBasedStateMachine):
    timers = Bundle("timers")

    @initialize(start_ms=st.one_of(st.integers(0, 5_000), st.integers(0, 2**44)))
    def build(self, start_ms: int) -> None:
        self.wheel, self.model = TimerWheel(start_ms), HeapTimers(start_ms)
        self.keys = 0
        self.exact = True  # no cancelled timer can have left its deadline behind as the bound of a slot

    @rule(target=timers, delay_ms=DELAYS_MS, count=st.integers(1, 3))
    def start(self, delay_ms: int, count: int) -> tuple[int, int]:
        for _ in range(count):
            self.keys += 1
            deadline_ms = self.wheel.now_ms + delay_ms
            numbers = self.wheel.start(self.keys, deadline_ms), self.model.start(self.keys, deadline_ms)
        return numbers

    @rule(timer=timers)
    def cancel(self, timer: tuple[int, int]) -> None:
        assert self.wheel.cancel(timer[0]) == self.model.cancel(timer[1])
        self.exact = False

    @rule(timer=consumes(timers))
    def cancel_for_the_last_time(self, timer: tuple[int, int]) -> None:
        self.cancel(timer)

    @rule(timer=timers, delay_ms=DELAYS_MS)
    def restart(self, timer: tuple[int, int], delay_ms: int) -> None:
        deadline_ms = self.wheel.now_ms + delay_ms
        assert self.wheel.restart(timer[0], deadline_ms) == self.model.restart(timer[1], deadline_ms)
        self.exact = False

    @rule(jump_ms=JUMPS_MS)
    def advance(self, jump_ms: int) -> None:
        now_ms = self.wheel.now_ms + jump_ms
        assert self.wheel.advance(now_ms) == self.model.advance(now_ms)

    @rule(before_ms=st.integers(0, 1))
    def advance_to_the_next_deadline(self, before_ms: int) -> None:
        if self.model.pending:
            now_ms = self.model.next_deadline_ms() - before_ms
            assert self.wheel.advance(now_ms) == self.model.advance(now_ms)

    @rule()
    def sleep_until_something_is_due(self) -> None:
        """The loop of a server: bounds that a cancelled timer left behind cost wake-ups, but only a few."""
        for _ in range(self.model.pending and 2 * 11 + self.model.pending):
            now_ms = self.wheel.next_deadline_ms()
            due = self.wheel.advance(now_ms)
            assert due == self.model.advance(now_ms)
            if due:
                return
        assert not self.model.pending

    @invariant()
    def both_agree(self) -> None:
        assert self.wheel.now_ms == self.model.now_ms
        assert self.wheel.pending == self.model.pending
        bound_ms, earliest_ms = self.wheel.next_deadline_ms(), self.model.next_deadline_ms()
        if not self.model.pending:
            assert bound_ms == -1
        elif earliest_ms <= self.wheel.now_ms:
            assert bound_ms == self.wheel.now_ms
        else:
            assert self.wheel.now_ms < bound_ms <= earliest_ms
            assert bound_ms == earliest_ms or not self.exact

    def teardown(self) -> None:
        self.wheel.advance(2**62)
        assert self.wheel.pending == 0


TestWheel = WheelMachine.TestCase
TestWheel.settings = settings(max_examples=examples(200), stateful_step_count=60, deadline=None)


@settings(max_examples=examples(200), deadline=None)
@given(st.lists(st.integers(0, 3), min_size=1, max_size=200), st.data())
def test_a_crowded_slot_keeps_its_order_through_cancels_restarts_and_lower_levels(
    delays_ms: list[int], data: st.DataObject
) -> None:
    """Few deadlines and many timers, as no run of the machine above comes to."""
    wheel, model = TimerWheel(), HeapTimers()
    base_ms = data.draw(st.sampled_from([4, 64, 66, 4096, 64**3 + 1]))
    timers = [
        (wheel.start(key, base_ms + delay), model.start(key, base_ms + delay)) for key, delay in enumerate(delays_ms)
    ]
    for number, model_number in data.draw(st.lists(st.sampled_from(timers), unique=True)):
        assert wheel.cancel(number) == model.cancel(model_number)
    for number, model_number in data.draw(st.lists(st.sampled_from(timers))):
        deadline_ms = base_ms + data.draw(st.integers(0, 3))
        assert wheel.restart(number, deadline_ms) == model.restart(model_number, deadline_ms)
    for now_ms in range(base_ms - 1, base_ms + 4):
        assert wheel.advance(now_ms) == model.advance(now_ms)
    assert wheel.pending == 0
