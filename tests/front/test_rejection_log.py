"""One line per address and second, whatever comes; and every closed connection is counted in one."""

from collections.abc import Iterator

import pytest

from coordinator.front.rejection_log import ADDRESSES_MAX, INTERVAL_MS, RejectionLog
from tests.front.log_lines import LogLines, log_lines
from tests.front.manual_scheduler import ManualScheduler

A, B = "/10.0.0.1", "/10.0.0.2"
CLOSED = "connection closed"


@pytest.fixture
def lines() -> Iterator[LogLines]:
    with log_lines() as kept:
        yield kept


@pytest.fixture
def scheduler() -> ManualScheduler:
    return ManualScheduler()


@pytest.fixture
def log(scheduler: ManualScheduler) -> RejectionLog:
    made = RejectionLog(scheduler.as_loop_scheduler, scheduler.now_ms)
    scheduler.on_due(made.due)
    return made


def test_the_first_of_each_address_is_told_at_once(log, lines):
    log.rejected(A, "one")
    log.rejected(B, "two")
    assert lines.of(CLOSED) == [{"client": A, "reason": "one"}, {"client": B, "reason": "two"}]


def test_the_others_are_told_together_after_a_second(log, lines, scheduler):
    for number in range(100):
        log.rejected(A, f"reason {number}")
    scheduler.advance(INTERVAL_MS - 1)
    assert len(lines.lines) == 1
    scheduler.advance(1)
    assert lines.of(CLOSED)[1:] == [{"client": A, "reason": "reason 99", "suppressed": 98}]


def test_a_second_one_alone_is_told_in_full(log, lines, scheduler):
    log.rejected(A, "one")
    log.rejected(A, "two")
    scheduler.advance(INTERVAL_MS)
    assert lines.of(CLOSED)[1:] == [{"client": A, "reason": "two"}]


def test_a_flood_of_ten_seconds_leaves_a_line_per_second_and_nothing_else(log, lines, scheduler):
    for _ in range(10_000):
        log.rejected(A, "again")
        scheduler.advance(1)
    scheduler.advance(10 * INTERVAL_MS)
    assert len(lines.lines) == 11
    assert sum(1 + fields.get("suppressed", 0) for fields in lines.of(CLOSED)) == 10_000
    assert not scheduler.has_timers


def test_after_a_quiet_second_a_line_comes_at_once_again(log, lines, scheduler):
    log.rejected(A, "one")
    scheduler.advance(INTERVAL_MS)
    assert not scheduler.has_timers
    log.rejected(A, "two")
    assert lines.of(CLOSED)[1:] == [{"client": A, "reason": "two"}]


def test_very_many_addresses_are_counted_together(log, lines, scheduler):
    for number in range(ADDRESSES_MAX + 500):
        log.rejected(f"/client-{number}", "bad")
    assert len(lines.lines) == ADDRESSES_MAX
    scheduler.advance(INTERVAL_MS)
    assert lines.lines[ADDRESSES_MAX:] == [("connections of further clients closed", {"count": 500})]


def test_at_the_end_of_the_server_the_rest_is_told(log, lines):
    for _ in range(3):
        log.rejected(A, "bad")
    log.report()
    assert lines.of(CLOSED)[1:] == [{"client": A, "reason": "bad", "suppressed": 1}]
