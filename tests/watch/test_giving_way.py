"""Who watches in a node computes for a moment, and lets other threads have their turn."""

import pytest

from coordinator.observe.places import Place, Source
from coordinator.observe.records.stored import ClassicGroup
from coordinator.watch.giving_way import PAUSE_SECONDS_MAX, WORK_SECONDS, GivesWay
from coordinator.watch.partition import PartitionWatch


class Time:
    def __init__(self) -> None:
        self.now = 0.0
        self.pauses: list[float] = []

    def pause(self, seconds: float) -> None:
        self.pauses.append(seconds)
        self.now += seconds


def test_it_pauses_for_as_long_as_it_worked_and_not_for_what_it_waited():
    time = Time()
    give_way = GivesWay(time.pause, lambda: time.now)
    for work_seconds in (WORK_SECONDS / 2, WORK_SECONDS / 2 + 1e-6, WORK_SECONDS / 2, 1.0):
        time.now += work_seconds
        give_way()
    worked, waited = time.pauses
    assert worked == pytest.approx(WORK_SECONDS, abs=1e-5)
    assert waited == PAUSE_SECONDS_MAX


def test_each_group_that_is_told_and_each_event_is_a_piece_of_work_of_its_own():
    calls: list[None] = []
    watch = PartitionWatch(0, str, has_records=True, give_way=lambda: calls.append(None))
    groups = 100
    for number in range(groups):
        place = Place(Source.RECORD, "__consumer_offsets-0", 1_000 + number, number)
        watch.put_record(place, ClassicGroup(f"group-{number}", 1, "consumer"), 0.0)
    assert watch.emit(lambda waiting: True, 1.0, 0.0) >= groups
    assert len(calls) == groups
    records = watch.pop_records(groups, {}, 0, 0)
    assert len(calls) >= 2 * groups + len(records) - 1
