"""Why the event loop has not turned: blocked (with its stack), without CPU, or a process that was suspended."""

import os
import re
import signal
import subprocess
import sys
import textwrap
import threading
from typing import Final

import pytest

from coordinator.front.watchdog import (
    FRAMES_MAX,
    INTERVAL_SECONDS,
    STALL_SECONDS,
    Clocks,
    StallMeter,
    pause_kind,
    stack_of,
    waited_seconds,
)
from tests.waiting import wait_for

BLOCKED: Final = "event loop blocked for"
RESUMED: Final = "event loop resumed"
NO_CPU: Final = "event loop did not get CPU for"


class Looked:
    """What the thread of a watchdog finds, look by look."""

    def __init__(self) -> None:
        self._now = self._turned_at = 100.0
        self._cpu = self._loop_waited = self._own_waited = 0.0
        self.meter = StallMeter(self._clocks())

    def _clocks(self) -> Clocks:
        return Clocks(self._now, self._cpu, self._loop_waited, self._own_waited)

    def sample(
        self,
        turned: bool = False,
        elapsed: float = INTERVAL_SECONDS,
        cpu: float = 0.0,
        loop_waited: float = 0.0,
        own_waited: float = 0.0,
    ) -> float:
        self._now += elapsed
        self._cpu += cpu
        self._loop_waited += loop_waited
        self._own_waited += own_waited
        if turned:
            self._turned_at = self._now
        self.meter.sample(self._turned_at, self._clocks())
        return self.meter.stalled


def test_a_loop_that_is_ready_and_not_run_had_no_cpu():
    looked = Looked()
    for _ in range(6):
        looked.sample(cpu=0.01, loop_waited=0.24)
    assert looked.meter.stalled == pytest.approx(1.5)
    assert looked.meter.without_cpu == pytest.approx(1.44)
    looked.sample(turned=True)
    assert looked.meter.without_cpu == 0


def test_a_blocked_loop_on_a_busy_machine_is_blocked():
    looked = Looked()
    for _ in range(6):
        looked.sample(cpu=0.2, loop_waited=0.05)
    assert looked.meter.without_cpu < looked.meter.stalled / 2


def test_a_process_without_cpu_was_not_suspended():
    """The thread that watches had no processor either."""
    looked = Looked()
    assert looked.sample(elapsed=3.0, cpu=0.02, loop_waited=2.9, own_waited=2.7) == pytest.approx(2.92)
    assert looked.meter.without_cpu == pytest.approx(2.9)
    assert looked.meter.suspended == 0


def test_a_suspension_is_measured():
    looked = Looked()
    looked.sample(elapsed=60.0, cpu=0.01)
    assert looked.meter.suspended == pytest.approx(60, abs=2 * INTERVAL_SECONDS)
    assert looked.meter.without_cpu == 0
    looked.sample(turned=True)
    assert looked.meter.suspended == 0


def test_the_wait_of_a_thread_for_a_processor_is_read():
    assert waited_seconds(threading.get_native_id()) >= 0
    assert waited_seconds(1 << 30) == 0


def test_the_time_without_a_turn_is_added_up_until_the_next_one():
    looked = Looked()
    assert [looked.sample() for _ in range(5)] == pytest.approx([0.25, 0.5, 0.75, 1.0, 1.25])
    assert looked.sample(turned=True) == 0
    assert looked.sample() == pytest.approx(0.25)


def test_a_suspended_process_is_no_stall():
    looked = Looked()
    assert looked.sample(elapsed=3600.0) <= INTERVAL_SECONDS
    assert looked.sample(turned=True) == 0


def test_many_short_suspensions_are_none_either():
    looked = Looked()
    for _ in range(100):
        assert looked.sample(elapsed=60.0, cpu=0.01) < STALL_SECONDS
        assert looked.sample(turned=True) == 0


def test_a_thread_that_overslept_while_the_process_computed_saw_a_stall():
    """Something held the interpreter's lock for three seconds."""
    assert Looked().sample(elapsed=3.0, cpu=2.9) == pytest.approx(2.9)


def test_computing_while_the_loop_turns_is_no_stall():
    assert Looked().sample(turned=True, elapsed=3.0, cpu=2.9) == 0


def test_the_stack_is_one_line_that_begins_with_the_innermost_call():
    def inner() -> str:
        return stack_of(sys._getframe())

    def outer(depth: int) -> str:
        return outer(depth - 1) if depth else inner()

    assert re.match(r"tests/front/test_watchdog\.py:\d+ inner < tests/front/test_watchdog\.py:\d+ outer <", outer(0))
    assert outer(100).count("<") == FRAMES_MAX - 1
    assert stack_of(None) == ""


@pytest.mark.parametrize(
    ("computed", "waited", "looked", "kind"),
    [
        (0.0, 0.0, False, "suspended"),
        (0.0, 0.0, True, "blocked"),  # in a call
        (4.9, 0.0, False, "blocked"),  # and held the lock of the interpreter
        (0.1, 4.8, False, "without_cpu"),
        (0.1, 4.8, True, "without_cpu"),
    ],
)
def test_the_kind_of_a_pause(computed, waited, looked, kind):
    assert pause_kind(5.0, computed, waited, sampled=looked) == kind


PROGRAM: Final = textwrap.dedent(
    """
    import asyncio, itertools, sys, time
    from coordinator.cli.log_writer import logging_to_stderr
    from coordinator.front.watchdog import Watchdog

    def work_of_the_test():
        {work}

    async def main():
        watchdog = Watchdog()
        watchdog.start()
        await asyncio.sleep(0.3)
        print("ready", flush=True)
        await asyncio.get_running_loop().run_in_executor(None, sys.stdin.readline)
        work_of_the_test()
        print("worked", flush=True)
        await asyncio.get_running_loop().run_in_executor(None, sys.stdin.readline)
        watchdog.stop()

    with logging_to_stderr("info"):
        {run}(main())
    """
)


class Process:
    """A loop with a watchdog in a process of its own, which works when it is told to."""

    def __init__(self, work: str, run: str) -> None:
        imports = "import uvloop\n" if run == "uvloop.run" else ""
        self.process = subprocess.Popen(
            [sys.executable, "-c", imports + PROGRAM.format(work=work, run=run)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.expect("ready")

    def tell(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def expect(self, word: str) -> None:
        assert self.process.stdout is not None
        assert self.process.stdout.readline() == f"{word}\n"

    def logged(self) -> list[str]:
        """Ends it; all that it logged."""
        _, logged = self.process.communicate("\n", timeout=20)
        assert self.process.returncode == 0
        return logged.splitlines()


@pytest.mark.parametrize("run", ["asyncio.run", "uvloop.run"])
def test_a_blocked_loop_is_told_of_once_with_its_place_and_its_duration(run):
    process = Process("time.sleep(2.5)", run)
    process.tell()
    process.expect("worked")
    threading.Event().wait(2 * INTERVAL_SECONDS)  # the loop turns, and is found turning
    begun, ended = process.logged()
    assert BLOCKED in begun
    assert "work_of_the_test < " in begun
    assert RESUMED in ended
    seconds = re.search(r"after_seconds=([\d.]+)", ended)
    assert seconds is not None
    assert 1.5 <= float(seconds[1]) <= 20


HOLD: Final = (
    "began = time.process_time(); max(itertools.repeat(1, 10**7)); "
    "max(itertools.repeat(1, int(2.5 * 10**7 / (time.process_time() - began))))"
)
"""A call into C that takes 2.5 seconds of computing and lets no other thread run."""


def test_what_holds_the_interpreter_is_told_of_too():
    """Nothing else runs meanwhile, so the line is logged as soon as the stall ends."""
    process = Process(HOLD, "uvloop.run")
    process.tell()
    process.expect("worked")
    threading.Event().wait(2 * INTERVAL_SECONDS)
    lines = process.logged()
    # On a busy machine it may also have waited for a processor most of the time, which the line then says.
    assert BLOCKED in lines[0] or NO_CPU in lines[0]
    assert "work_of_the_test < " in lines[0]


def test_a_process_that_was_suspended_says_so_and_nothing_of_its_loop():
    process = Process("pass", "uvloop.run")
    for _ in range(2):
        process.process.send_signal(signal.SIGSTOP)
        wait_for(lambda: state_of(process.process.pid) == "T", 5, "the process to stop")
        threading.Event().wait(2.5 * STALL_SECONDS)
        process.process.send_signal(signal.SIGCONT)
        threading.Event().wait(3 * INTERVAL_SECONDS)
    process.tell()
    process.expect("worked")
    lines = process.logged()
    assert len(lines) == 2
    assert all(re.search(r"process was suspended for [12]\.\d s", line) for line in lines)


COMPUTE: Final = """
        end = time.process_time() + 0.1
        while time.process_time() < end:
            pass
"""


def test_a_loop_that_has_no_processor_says_so():
    """It shares one with a process that always computes, and that the system prefers."""
    # It ends when this process has been killed, too.
    busy = "import os; parent = os.getppid()\nwhile os.getppid() == parent: pass"
    rival = subprocess.Popen([sys.executable, "-c", busy])
    try:
        process = Process(COMPUTE, "uvloop.run")
        for pid in (rival.pid, process.process.pid):
            for task in os.listdir(f"/proc/{pid}/task"):
                os.sched_setaffinity(int(task), {min(os.sched_getaffinity(0))})
        for task in os.listdir(f"/proc/{process.process.pid}/task"):
            os.setpriority(os.PRIO_PROCESS, int(task), 19)
        os.setpriority(
            os.PRIO_PROCESS, rival.pid, max(os.getpriority(os.PRIO_PROCESS, 0), 0)
        )  # also under `nice -n -10`
        process.tell()
        process.expect("worked")
    finally:
        rival.kill()
        rival.wait()
    lines = [line for line in process.logged() if "event loop" in line]
    assert NO_CPU in lines[0], lines
    assert BLOCKED not in "".join(lines)


def state_of(pid: int) -> str:
    with open(f"/proc/{pid}/stat", encoding="ascii") as stat:
        return stat.read().rpartition(")")[2].split()[0]


def test_a_loop_that_turns_is_not_told_of():
    process = Process("asyncio.get_running_loop().call_later(0, print)", "uvloop.run")
    threading.Event().wait(2 * STALL_SECONDS)
    process.tell()
    process.expect("worked")
    assert process.logged() == []
