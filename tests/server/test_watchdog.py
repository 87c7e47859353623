"""A blocked event loop is logged once, with its stack; a suspended process is not logged."""

import re
import signal
import subprocess
import sys
import textwrap
import threading
from typing import Final

import pytest

from coordinator.server.watchdog import FRAMES_MAX, INTERVAL_SECONDS, STALL_SECONDS, StallMeter, stack_of
from tests.waiting import wait_for

STANDS_STILL: Final = "the event loop stands still"
GOES_ON: Final = "the event loop goes on"


class Looked:
    """What the thread of a watchdog finds, look by look."""

    def __init__(self) -> None:
        self._now = self._cpu = self._turned_at = 100.0
        self._meter = StallMeter(self._now, self._cpu)

    def look(self, turned: bool = False, elapsed: float = INTERVAL_SECONDS, cpu: float = 0.0) -> float:
        self._now += elapsed
        self._cpu += cpu
        if turned:
            self._turned_at = self._now
        return self._meter.look(self._turned_at, self._now, self._cpu)


def test_the_time_without_a_turn_is_added_up_until_the_next_one():
    looked = Looked()
    assert [looked.look() for _ in range(5)] == pytest.approx([0.25, 0.5, 0.75, 1.0, 1.25])
    assert looked.look(turned=True) == 0
    assert looked.look() == pytest.approx(0.25)


def test_a_suspended_process_is_no_stall():
    looked = Looked()
    assert looked.look(elapsed=3600.0) <= INTERVAL_SECONDS
    assert looked.look(turned=True) == 0


def test_many_short_suspensions_are_none_either():
    looked = Looked()
    for _ in range(100):
        assert looked.look(elapsed=60.0, cpu=0.01) < STALL_SECONDS
        assert looked.look(turned=True) == 0


def test_a_thread_that_overslept_while_the_process_computed_saw_a_stall():
    """Something held the interpreter's lock for three seconds."""
    assert Looked().look(elapsed=3.0, cpu=2.9) == pytest.approx(2.9)


def test_computing_while_the_loop_turns_is_no_stall():
    assert Looked().look(turned=True, elapsed=3.0, cpu=2.9) == 0


def test_the_stack_is_one_line_that_begins_with_the_innermost_call():
    def inner() -> str:
        return stack_of(sys._getframe())

    def outer(depth: int) -> str:
        return outer(depth - 1) if depth else inner()

    assert re.match(r"tests/server/test_watchdog\.py:\d+ inner < tests/server/test_watchdog\.py:\d+ outer <", outer(0))
    assert outer(100).count("<") == FRAMES_MAX - 1
    assert stack_of(None) == ""


PROGRAM: Final = textwrap.dedent(
    """
    import asyncio, itertools, sys, time
    from coordinator.cli.log_writer import logging_to_stderr
    from coordinator.server.watchdog import Watchdog

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
    assert STANDS_STILL in begun
    assert "work_of_the_test < " in begun
    assert GOES_ON in ended
    seconds = re.search(r"after_seconds=([\d.]+)", ended)
    assert seconds is not None
    assert 1.5 <= float(seconds[1]) <= 3.5


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
    assert STANDS_STILL in lines[0]
    assert "work_of_the_test < " in lines[0]


def test_a_process_that_was_suspended_logs_nothing():
    process = Process("pass", "uvloop.run")
    for _ in range(2):
        process.process.send_signal(signal.SIGSTOP)
        wait_for(lambda: state_of(process.process.pid) == "T", 5, "the process to stop")
        threading.Event().wait(1.5 * STALL_SECONDS)
        process.process.send_signal(signal.SIGCONT)
        threading.Event().wait(3 * INTERVAL_SECONDS)
    process.tell()
    process.expect("worked")
    assert process.logged() == []


def state_of(pid: int) -> str:
    with open(f"/proc/{pid}/stat", encoding="ascii") as stat:
        return stat.read().rpartition(")")[2].split()[0]


def test_a_loop_that_turns_is_not_told_of():
    process = Process("asyncio.get_running_loop().call_later(0, print)", "uvloop.run")
    threading.Event().wait(2 * STALL_SECONDS)
    process.tell()
    process.expect("worked")
    assert process.logged() == []
