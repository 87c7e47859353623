"""The compiled meters, and the histograms."""

import pytest

from coordinator.core.groups.events import GroupCreated
from coordinator.core.groups.states import EMPTY
from coordinator.core.offsets.events import OffsetsCommitted
from coordinator.core.offsets.records import CommittedOffset
from coordinator.metrics.histogram import Histogram, histogram_value
from coordinator.metrics.timing import AppendMeter, DrainMeter, EventMeter, TimeHistogram

OFFSET = CommittedOffset(1, -1, "", 0)


def test_a_time_on_a_bound_is_within_it():
    histogram = TimeHistogram((1, 2.5))
    for time_ms in (0, 1, 1.001, 2.5, 3):
        histogram.observe(time_ms)
    assert histogram.range_counts == [2, 2, 1]
    assert histogram.sum_ms == pytest.approx(7.501)


def test_both_histograms_put_a_value_into_the_same_range():
    values = (0.0, 0.5, 1, 1.5, 2.5, 99)
    compiled, plain = TimeHistogram((1, 2.5)), Histogram((1, 2.5))
    for value in values:
        compiled.observe(value)
        plain.observe(value)
    assert compiled.range_counts == plain.counts
    assert plain.value == histogram_value((1, 2.5), [3, 2, 1], sum(values))


def test_buckets_are_cumulative():
    assert histogram_value((1, 2.5), [3, 0, 2], 9.0).buckets == [("1", 3), ("2.5", 3), ("+Inf", 5)]


def test_too_many_bounds_are_refused():
    with pytest.raises(ValueError, match="more than 31 bounds"):
        TimeHistogram(range(1, 33))


def test_only_drains_that_were_requested_are_observed():
    queue, processing = TimeHistogram((1,)), TimeHistogram((1,))
    called: list[object] = []
    meter = DrainMeter(lambda: called.append("requested"), queue, processing)
    drain = meter.timed(called.append)
    drain(1)
    meter.request_iteration()
    meter.request_iteration()
    drain(2)
    drain(3)
    assert called == [1, "requested", "requested", 2, 3]
    assert sum(queue.range_counts) == sum(processing.range_counts) == 1


def test_a_drain_that_raises_is_not_observed_and_the_next_one_is():
    processing = TimeHistogram((1,))
    meter = DrainMeter(lambda: None, TimeHistogram((1,)), processing)

    def drain(now_ms):
        assert now_ms, "by hand"

    measured = meter.timed(drain)
    meter.request_iteration()
    with pytest.raises(AssertionError, match="by hand"):
        measured(0)
    meter.request_iteration()
    measured(1)
    assert sum(processing.range_counts) == 1


def test_a_failed_append_adds_no_events():
    meter = AppendMeter(TimeHistogram((1,)))
    for failed in (False, True):
        meter.begin()
        meter.end(3, failed)
    assert (meter.audit_events, meter.failures) == (3, 1)


def test_commits_are_counted_and_other_events_passed_on():
    seen = []
    meter = EventMeter({GroupCreated: lambda meter, event, state: seen.append((event, state))})
    created = GroupCreated(group_id="g", at_ms=0)
    committed = OffsetsCommitted(group_id="g", at_ms=0, offsets={"t": {0: OFFSET, 1: OFFSET}, "u": {0: OFFSET}})
    meter.applied((created, committed), EMPTY)
    assert (seen, meter.offset_commits) == ([(created, EMPTY)], 3)
