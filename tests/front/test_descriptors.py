"""The limit on open files: raised as far as possible, and shared out."""

import os
import resource
import subprocess
import sys
from collections.abc import Iterator

import pytest

from coordinator.front.descriptors import DescriptorReserve, raise_limit, reserve_of
from tests.front.descriptors import no_free_descriptor_below_an_open_one


@pytest.mark.parametrize(
    ("limit", "reserve"), [(1_048_576, 262_144), (20_000, 5_000), (1_024, 256), (512, 256), (256, 128), (20, 10)]
)
def test_a_quarter_is_kept_at_least_256_and_at_most_half(limit, reserve):
    assert reserve_of(limit) == reserve


def test_the_soft_limit_is_raised_to_the_hard_one():
    program = (
        "import resource; from coordinator.front.descriptors import raise_limit;"
        "_, hard = resource.getrlimit(resource.RLIMIT_NOFILE);"
        "resource.setrlimit(resource.RLIMIT_NOFILE, (128, min(hard, 1024)));"
        "print(raise_limit(), *resource.getrlimit(resource.RLIMIT_NOFILE))"
    )
    shown = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    raised, soft, hard = map(int, shown.split())
    assert raised == soft == hard > 128


class Limits:
    """RLIMIT_NOFILE of a system that allows no more than `allowed`, whatever the hard limit says."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, soft: int, hard: int, allowed: int) -> None:
        self.soft = soft
        self.hard = hard
        self._allowed = allowed
        monkeypatch.setattr(resource, "getrlimit", lambda which: (self.soft, self.hard))
        monkeypatch.setattr(resource, "setrlimit", self._set)

    def _set(self, which: int, limits: tuple[int, int]) -> None:
        if limits[0] > self._allowed:
            raise ValueError("current limit exceeds maximum limit")
        self.soft, self.hard = limits


@pytest.mark.parametrize(
    ("soft", "hard", "allowed", "raised"),
    [
        (256, resource.RLIM_INFINITY, 10_240, 10_240),
        (256, resource.RLIM_INFINITY, 1 << 20, 1 << 20),
        (256, resource.RLIM_INFINITY, 1_000, 256),
        (256, 4_096, 1_000, 256),
        (4_096, 4_096, 0, 4_096),
        (resource.RLIM_INFINITY, resource.RLIM_INFINITY, 0, resource.RLIM_INFINITY),
    ],
)
def test_it_is_raised_as_far_as_the_system_allows(monkeypatch, soft, hard, allowed, raised):
    limits = Limits(monkeypatch, soft, hard, allowed)
    assert raise_limit() == limits.soft == raised
    assert limits.hard == hard


@pytest.fixture
def low_limit() -> Iterator[int]:
    """A limit with room for more than are open now."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with no_free_descriptor_below_an_open_one():
        probe = os.open(os.devnull, os.O_RDONLY)
        os.close(probe)
        resource.setrlimit(resource.RLIMIT_NOFILE, (2 * probe + 40, hard))
        yield 2 * probe + 40
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_the_reserve_is_reached_when_the_others_are_in_use_and_left_again(low_limit):
    reserve = DescriptorReserve()
    opened: list[int] = []
    assert reserve.limit == low_limit
    try:
        while not opened or opened[-1] < low_limit - reserve.reserve - 1:
            assert reserve.room(0, 0) > 0
            opened.append(os.open(os.devnull, os.O_RDONLY))
        assert reserve.room(0, 0) <= 0
        os.close(opened.pop())
        assert reserve.room(0, 0) > 0
    finally:
        for each in opened:
            os.close(each)


def test_far_from_the_reserve_the_number_of_the_last_connection_says_how_many_are_in_use(monkeypatch):
    """To look it up takes two system calls per connection."""
    monkeypatch.setattr(resource, "getrlimit", lambda which: (20_000, 20_000))
    looked_up: list[int] = []
    dup = os.dup

    def look_up(descriptor: int) -> int:
        looked_up.append(descriptor)
        return dup(descriptor)

    monkeypatch.setattr(os, "dup", look_up)
    reserve = DescriptorReserve(lambda: 10)
    reserve.given(13_000)
    assert reserve.room(0, 100) == 15_000 - 12_990
    assert reserve.room(0, 14_990) == 10
    assert looked_up == []
    reserve.given(13_976)
    reserve.room(0, 100)
    assert looked_up == [0]


def test_no_descriptor_at_all_is_the_reserve_too(low_limit):
    reserve = DescriptorReserve()
    opened: list[int] = []
    try:
        with pytest.raises(OSError, match="Too many open files"):
            while True:
                opened.append(os.open(os.devnull, os.O_RDONLY))
        assert reserve.room(0, 0) <= 0
    finally:
        for each in opened:
            os.close(each)


def test_files_of_the_logs_have_their_own_share(low_limit):
    """They are closed when the logs need others, so connections lose nothing by them."""
    opened: list[int] = []
    reserve = DescriptorReserve(lambda: len(opened))
    try:
        while not opened or opened[-1] < low_limit - 2:
            opened.append(os.open(os.devnull, os.O_RDONLY))
        assert reserve.room(0, 0) > 0
    finally:
        for each in opened:
            os.close(each)


def test_connections_never_have_the_share_of_the_logs(low_limit):
    """However low the numbers of their descriptors are: files may be closed at the moment."""
    reserve = DescriptorReserve()
    most = low_limit - reserve.reserve
    assert reserve.room(0, most - 1) == 1
    assert reserve.room(0, most) == 0


def test_without_a_limit_there_is_no_reserve(monkeypatch):
    monkeypatch.setattr(resource, "getrlimit", lambda which: (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    assert DescriptorReserve().room(0, 1 << 20) > 1 << 20
