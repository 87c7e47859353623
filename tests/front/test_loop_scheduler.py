"""The end of a loop turn and the passing of time."""

import asyncio
import socket
import threading
from collections import deque
from collections.abc import Callable
from typing import Any

import pytest
import uvloop

from coordinator.front.loop_scheduler import STALL_MS, TIMER_DELAY_MS_MAX, LoopScheduler
from coordinator.timers import SystemClock, VirtualClock
from coordinator.timers.wheel import TimerWheel
from tests.captured_logs import capture_logs


class Handle:
    def __init__(self, delay_seconds: float, callback: Callable[[], object]) -> None:
        self.delay_seconds = delay_seconds
        self.callback = callback
        self.cancelled = False

    def cancel(self) -> None:
        self.cancelled = True


class StepLoop:
    """An event loop that does one thing at a time, when a test says so."""

    def __init__(self) -> None:
        self.soon: deque[Callable[[], object]] = deque()
        self.later: list[Handle] = []

    def call_soon(self, callback: Callable[..., object], *arguments: Any) -> None:
        self.soon.append(lambda: callback(*arguments))

    def call_later(self, delay_seconds: float, callback: Callable[..., object], *arguments: Any) -> Handle:
        self.later.append(Handle(delay_seconds, lambda: callback(*arguments)))
        return self.later[-1]

    def turn(self) -> None:
        """What was due at the turn's begin, as asyncio does it."""
        for _ in range(len(self.soon)):
            self.soon.popleft()()

    @property
    def alarms(self) -> list[Handle]:
        return [handle for handle in self.later if not handle.cancelled]

    def ring(self) -> None:
        (alarm,) = self.alarms
        self.later = []
        alarm.callback()


class Scene:
    """LoopScheduler on a StepLoop and a virtual clock; `calls` has the calls of the steps and handlers."""

    def __init__(self) -> None:
        self.loop = StepLoop()
        self.clock = VirtualClock(1_000_000)
        self.wheel = TimerWheel(self.clock.now_ms())
        self.turns = LoopScheduler(self.loop, self.wheel, self.clock.now_ms)  # type: ignore[arg-type]
        self.calls: list[object] = []
        self.turns.on_iteration_end(lambda now_ms: self.calls.append("end"))
        self.turns.on_due(lambda key, now_ms: self.calls.append((key, now_ms)))

    @property
    def now_ms(self) -> int:
        return self.clock.now_ms()


@pytest.fixture
def scene() -> Scene:
    return Scene()


def test_steps_run_once_per_iteration_however_often_it_is_requested(scene):
    for _ in range(3):
        scene.turns.request_iteration()
    assert scene.calls == []
    scene.loop.turn()
    assert scene.calls == ["end"]
    scene.loop.turn()
    assert scene.calls == ["end"]


def test_steps_run_in_the_order_of_their_registration(scene):
    scene.turns.on_iteration_end(lambda now_ms: scene.calls.append("later"))
    scene.turns.request_iteration()
    scene.loop.turn()
    assert scene.calls == ["end", "later"]


def test_a_step_may_request_another_iteration(scene):
    woken: list[int] = []

    def wake_once(now_ms):
        if not woken:
            woken.append(now_ms)
            scene.turns.request_iteration()

    scene.turns.on_iteration_end(wake_once)
    scene.turns.request_iteration()
    scene.loop.turn()
    assert scene.calls == ["end"]
    scene.loop.turn()
    assert scene.calls == ["end", "end"]


def test_the_loop_wakes_for_a_timer(scene):
    scene.turns.start("key", scene.now_ms + 500)
    scene.loop.turn()
    assert [alarm.delay_seconds for alarm in scene.loop.alarms] == [0.5]
    scene.clock.advance(500)
    scene.calls.clear()
    scene.loop.ring()
    assert scene.calls == [("key", scene.now_ms), "end"]
    assert scene.loop.alarms == []


def test_the_timer_handle_follows_the_earliest_deadline(scene):
    late = scene.turns.start("late", scene.now_ms + 900)
    scene.loop.turn()
    early = scene.turns.start("early", scene.now_ms + 100)
    scene.loop.turn()
    assert [alarm.delay_seconds for alarm in scene.loop.alarms] == [0.1]
    assert scene.turns.cancel(early)
    assert not scene.turns.cancel(early)
    scene.turns.request_iteration()
    scene.loop.turn()
    assert [alarm.delay_seconds for alarm in scene.loop.alarms] == [0.9]
    scene.turns.cancel(late)
    scene.turns.request_iteration()
    scene.loop.turn()
    assert scene.loop.alarms == []


def test_a_timer_after_the_next_wake_up_needs_no_iteration_and_fires_in_time(scene):
    scene.turns.start("early", scene.now_ms + 100)
    scene.loop.turn()
    scene.turns.start("late", scene.now_ms + 900)
    assert not scene.loop.soon
    for key, passed_ms in (("early", 100), ("late", 800)):
        scene.clock.advance(passed_ms)
        scene.calls.clear()
        scene.loop.ring()
        assert scene.calls == [(key, scene.now_ms), "end"]


def test_an_unchanged_timer_handle_is_kept(scene):
    scene.turns.start("key", scene.now_ms + 500)
    for _ in range(3):
        scene.turns.request_iteration()
        scene.loop.turn()
    assert len(scene.loop.later) == 1


def test_an_overdue_timer_is_dispatched_at_once(scene):
    scene.turns.start("past", scene.now_ms - 100)
    scene.loop.turn()
    assert [alarm.delay_seconds for alarm in scene.loop.alarms] == [0]
    scene.loop.ring()
    assert ("past", scene.now_ms) in scene.calls


def test_a_timer_handle_that_fires_early_is_set_again(scene):
    scene.turns.start("key", scene.now_ms + 500)
    scene.loop.turn()
    scene.clock.advance(499)
    scene.loop.ring()
    assert not any(isinstance(call, tuple) for call in scene.calls)
    scene.clock.advance(1)
    scene.loop.ring()
    assert ("key", scene.now_ms) in scene.calls


def test_handlers_may_start_timers(scene):
    scene.turns.on_due(lambda key, now_ms: scene.turns.start("next", now_ms + 10) if key == "first" else None)
    scene.turns.start("first", scene.now_ms + 10)
    scene.loop.turn()
    for _ in range(2):
        scene.clock.advance(10)
        scene.loop.ring()
    assert ("next", scene.now_ms) in scene.calls


@pytest.mark.parametrize(("stalled_ms", "turns_waited"), [(STALL_MS, 0), (STALL_MS + 1, 2)])
def test_after_a_stall_timers_wait_until_sockets_were_read(scene, stalled_ms, turns_waited):
    scene.turns.start("session", scene.now_ms + 100)
    scene.loop.turn()
    scene.clock.advance(100 + stalled_ms)
    scene.loop.ring()
    for _ in range(turns_waited):
        assert not any(isinstance(call, tuple) for call in scene.calls)
        scene.loop.turn()
    assert ("session", scene.now_ms) in scene.calls


def test_a_failing_step_affects_nothing_else(scene):
    scene.turns.on_iteration_end(lambda now_ms: 1 // 0)
    scene.turns.on_iteration_end(lambda now_ms: scene.calls.append("later"))
    scene.turns.start("key", scene.now_ms + 500)
    with capture_logs() as logs:
        scene.loop.turn()
    assert [line["log_level"] for line in logs] == ["error"]
    assert scene.calls == ["end", "later"]
    assert [alarm.delay_seconds for alarm in scene.loop.alarms] == [0.5]


def test_a_failing_timer_affects_no_other(scene):
    scene.turns.on_due(lambda key, now_ms: 1 // 0 if key == "first" else None)
    for key in ("first", "second"):
        scene.turns.start(key, scene.now_ms + 10)
    scene.turns.start("third", scene.now_ms + 20)
    scene.loop.turn()
    for _ in range(2):
        scene.clock.advance(10)
        with capture_logs():
            scene.loop.ring()
    calls = [call[0] for call in scene.calls if isinstance(call, tuple)]
    assert sorted(calls) == ["first", "second", "third"]


def test_a_timer_handle_set_while_sockets_are_read_does_not_outlive_the_iteration(scene):
    number = scene.turns.start("renewed", scene.now_ms + 100)
    scene.loop.turn()
    scene.clock.advance(100 + STALL_MS + 1)
    scene.loop.ring()
    scene.turns.cancel(number)
    scene.turns.start("renewed", scene.now_ms + 100)
    for _ in range(3):
        scene.loop.turn()
    assert [alarm.delay_seconds for alarm in scene.loop.alarms] == [0.1]


def test_a_stopped_scheduler_does_not_wake(scene):
    scene.turns.start("key", scene.now_ms + 500)
    scene.loop.turn()
    scene.turns.stop()
    assert scene.loop.alarms == []


class Reading(asyncio.Protocol):
    def __init__(self, calls: list[str]) -> None:
        self.calls = calls

    def data_received(self, data: bytes) -> None:
        self.calls.append("read")


def test_after_a_stall_of_the_real_loop_the_sockets_come_first():
    async def stalled() -> list[str]:
        calls: list[str] = []
        loop, clock, due = asyncio.get_running_loop(), SystemClock(), asyncio.Event()
        turns = LoopScheduler(loop, TimerWheel(clock.now_ms()), clock.now_ms)

        def fired(key: object, now_ms: int) -> None:
            calls.append(str(key))
            due.set()

        turns.on_due(fired)
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        with theirs:
            transport, _ = await loop.create_connection(lambda: Reading(calls), sock=ours)
            turns.start("due", clock.now_ms() + 20)
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            theirs.send(b"heartbeat")
            threading.Event().wait((STALL_MS + 50) / 1000)
            await asyncio.wait_for(due.wait(), 5)
            transport.close()
        turns.stop()
        return calls

    assert uvloop.run(stalled()) == ["read", "due"]


def test_the_timer_handle_for_a_far_deadline_fires_early_and_is_set_again(scene):
    far_ms = scene.now_ms + 3 * TIMER_DELAY_MS_MAX - 1
    scene.turns.start("far", far_ms)
    scene.loop.turn()
    for _ in range(2):
        assert [alarm.delay_seconds for alarm in scene.loop.alarms] == [TIMER_DELAY_MS_MAX / 1000]
        scene.clock.advance(TIMER_DELAY_MS_MAX)
        scene.loop.ring()
    assert ("far", scene.now_ms) not in scene.calls
    assert [alarm.delay_seconds for alarm in scene.loop.alarms] == [(TIMER_DELAY_MS_MAX - 1) / 1000]
    scene.clock.advance(TIMER_DELAY_MS_MAX - 1)
    scene.loop.ring()
    assert ("far", far_ms) in scene.calls


def advance_clock_to(scene: Scene, now_ms: int) -> None:
    scene.clock.advance(max(0, now_ms - scene.now_ms))


def test_time_that_passes_at_once_fires_each_timer_at_its_own_time(scene):
    """What a timer starts is due in the same jump, and the clock shows each deadline when it fires."""
    begin = scene.now_ms
    before: list[int] = []
    scene.turns.start("b", begin + 20_000)
    scene.turns.start("a", begin + 10)
    scene.turns.on_due(lambda key, now_ms: scene.turns.start("c", now_ms + 5) if key == "a" else None)
    scene.turns.start("beyond", begin + 20_001)
    done = scene.turns.run_until(begin + 20_000, lambda now_ms: advance_clock_to(scene, now_ms), before.append, 100)
    fired = [(key, at - begin) for key, at in (call for call in scene.calls if call != "end")]
    assert done and fired == [("a", 10), ("c", 15), ("b", 20_000)]
    assert [at - begin for at in before] == [10, 15, 20_000]
    assert scene.now_ms == begin + 20_000
    assert scene.loop.alarms[-1].delay_seconds == 0.001


def test_time_that_passes_at_once_ends_after_so_many_deadlines(scene):
    begin = scene.now_ms
    scene.turns.start("again", begin + 10)
    scene.turns.on_due(lambda key, now_ms: scene.turns.start("again", now_ms + 10))
    done = scene.turns.run_until(begin + 10_000, lambda now_ms: advance_clock_to(scene, now_ms), lambda now_ms: None, 5)
    assert not done and scene.now_ms == begin + 50


def test_an_abandoned_scheduler_does_nothing_more(scene):
    scene.turns.start("a", scene.now_ms + 10)
    scene.turns.abandon()
    scene.loop.turn()
    scene.clock.advance(10)
    assert scene.calls == [] and scene.loop.alarms == []


def test_what_is_due_fires_before_data_is_read(scene):
    scene.turns.start("due", scene.now_ms + 10)
    scene.turns.start("later", scene.now_ms + 20)
    scene.clock.advance(9)
    scene.turns.fire_due()
    assert scene.calls == []
    scene.clock.advance(1)
    scene.turns.fire_due()
    assert scene.calls == [("due", scene.now_ms)]
    scene.loop.turn()
    assert scene.calls == [("due", scene.now_ms), "end"]
    assert [alarm.delay_seconds for alarm in scene.loop.alarms] == [0.01]


def test_after_a_stall_data_is_read_before_anything_fires(scene):
    scene.turns.start("due", scene.now_ms + 10)
    scene.clock.advance(10 + STALL_MS + 1)
    scene.turns.fire_due()
    assert scene.calls == []


def test_nothing_fires_after_the_end(scene):
    scene.turns.start("due", scene.now_ms + 10)
    scene.clock.advance(10)
    scene.turns.abandon()
    scene.turns.fire_due()
    assert scene.calls == []


# ---- whose timers are due


class Owner:
    """Has timers of its own, by the class of their keys."""

    def __init__(self, *timer_keys: type) -> None:
        self.keys: list[object] = []
        self.timer_keys = timer_keys

    def due(self, key: object, now_ms: int) -> None:
        self.keys.append(key)


def test_a_due_timer_goes_to_the_owner_of_its_key_alone(scene: Scene) -> None:
    """And to who wants to know of each: the first handler of the scene."""
    texts, numbers = Owner(str), Owner(int, float)
    scene.turns.on_due(texts.due)
    scene.turns.on_due(numbers.due)
    for key in ("a", 7, 1.5):
        scene.turns.start(key, scene.now_ms + 10)
    scene.clock.advance(10)
    scene.turns.fire_due()
    assert texts.keys == ["a"]
    assert numbers.keys == [7, 1.5]
    assert {call[0] for call in scene.calls if isinstance(call, tuple)} == {"a", 7, 1.5}


def test_an_owner_that_comes_later_gets_its_keys_too(scene: Scene) -> None:
    scene.turns.start("a", scene.now_ms + 10)
    scene.clock.advance(10)
    scene.turns.fire_due()
    late = Owner(str)
    scene.turns.on_due(late.due)
    scene.turns.start("b", scene.now_ms + 10)
    scene.clock.advance(10)
    scene.turns.fire_due()
    assert late.keys == ["b"]
