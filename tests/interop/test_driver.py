"""Drivers that keep to the contract, and drivers that do not: these fail with one line that says what happened."""

import os
import sys
import time
from pathlib import Path

import pytest

from interop.driver import BASIC, Driver, DriverFailed
from tests.waiting import wait_for

COMMAND = [sys.executable, "-m", "tests.interop.drivers"]


def started(how: str) -> Driver:
    return Driver([*COMMAND, how], ready_seconds=5 if how != "says nothing" else 0.5)


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_a_driver_that_answers():
    with started("answers") as driver:
        assert (driver.client, driver.version, driver.can) == ("fake", "1", BASIC | {"range"})
        member = driver.start("one", "127.0.0.1:1", "group", "topic")
        driver.wait_for(lambda: member.owned, "partitions")
        assert member.owned == {("topic", 0)}
        pid = driver.pid
    assert not is_alive(pid)


def test_a_driver_says_what_it_lacks():
    with started("lacks an ability") as driver:
        assert driver.can == {"range"} | BASIC - {"commit"}


def test_a_driver_stands_still_with_the_processes_that_it_has_started():
    with started("starts a process") as driver:
        children = Path(f"/proc/{driver.pid}/task/{driver.pid}/children")
        pids = [driver.pid, *map(int, children.read_text(encoding="ascii").split())]
        assert len(pids) == 2
        driver.stop()
        wait_for(lambda: states(pids) == ["T", "T"], 5, "both to stand still")
        driver.go_on()
        wait_for(lambda: "T" not in states(pids), 5, "both to go on")


def states(pids: list[int]) -> list[str]:
    return [Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[0] for pid in pids]


@pytest.mark.parametrize(
    ("how", "why"),
    [
        ("dies", "has ended (exit status 1): no such library"),
        ("says nothing", "it was not ready within 0.5 s"),
        ("is no driver", "wrote a line that is no event: Usage: fake [options]"),
    ],
)
def test_a_driver_that_does_not_start(how, why):
    with pytest.raises(DriverFailed) as failed:
        started(how)
    assert why in str(failed.value)
    assert "\n" not in str(failed.value)


@pytest.mark.parametrize(
    ("how", "why"),
    [
        ("talks nonsense", r"wrote a line that is no event: 'assigned: all of them \x1b[31m'"),
        ("lacks fields", "wrote a line that is no event"),
        ("ends", "has ended (exit status 3): Segmentation fault"),
        ("ends in a line", "has ended (exit status 0)"),
    ],
)
def test_a_driver_that_fails_is_noticed_at_once(how, why):
    with started(how) as driver:
        member = driver.start("one", "127.0.0.1:1", "group", "topic")
        began = time.monotonic()
        with pytest.raises(DriverFailed) as failed:
            driver.wait_for(lambda: member.owned, "partitions", seconds=60)
        assert time.monotonic() - began < 30
        assert str(failed.value).startswith("waiting for partitions: the driver of fake ")
        assert why in str(failed.value)


def test_a_driver_that_hangs_is_waited_for_and_killed():
    with started("hangs") as driver:
        member = driver.start("one", "127.0.0.1:1", "group", "topic")
        with pytest.raises(DriverFailed, match=r"waited 0 s for partitions"):
            driver.wait_for(lambda: member.owned, "partitions", seconds=0.2)
        pid = driver.pid
    assert not is_alive(pid)


def test_a_driver_that_has_ended_takes_no_command():
    with started("answers") as driver:
        driver.kill()
        with pytest.raises(DriverFailed, match="the driver of fake has ended"):
            driver.start("one", "127.0.0.1:1", "group", "topic")
