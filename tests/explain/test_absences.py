"""What is said of the coordinator's own absence, in the story of a group and beside it."""

import msgspec

from coordinator.audit.schema import (
    CoordinatorEvent,
    CoordinatorPaused,
    CoordinatorStarted,
    CoordinatorStopped,
    CoordinatorUnavailable,
    LeadershipTaken,
)
from coordinator.explain.history import GroupHistory
from coordinator.explain.makers.absences import absences
from coordinator.explain.sentences.silences import absence
from coordinator.explain.story import story_of
from tests.explain.consumers import Consumers, clock, text


def started(time_ms: int, node_id: int = 1) -> CoordinatorStarted:
    return CoordinatorStarted(time_ms=time_ms, node_id=node_id, coordinator_epoch=2, software_version="1")


def stopped(time_ms: int, node_id: int = 1) -> CoordinatorStopped:
    return CoordinatorStopped(time_ms=time_ms, node_id=node_id, coordinator_epoch=1)


def paused(from_ms: int, until_ms: int, kind: str = "suspended") -> CoordinatorPaused:
    return CoordinatorPaused(
        time_ms=until_ms, node_id=1, coordinator_epoch=2, from_ms=from_ms, until_ms=until_ms, pause_kind=kind
    )


def taken(time_ms: int, node_id: int = 1) -> LeadershipTaken:
    return LeadershipTaken(
        time_ms=time_ms, node_id=node_id, coordinator_epoch=2, partition=0, producer_id=1, producer_epoch=2
    )


def said(*events: CoordinatorEvent, first_ms: int | None = None) -> list[str]:
    history = GroupHistory("g")
    history.first_ms = first_ms
    for event in events:
        history.note_coordinator(event)
    return [absence(each) for each in absences(history)]


def test_a_start_after_a_stop_tells_how_long_it_was_away():
    assert said(stopped(1_000), started(4_500)) == [
        "the coordinator was stopped",
        "the coordinator started again, 3.5 s after its stop",
    ]


def test_a_start_without_a_stop_does_not_tell_how_long():
    assert said(started(1_000), started(9_000)) == [
        "the coordinator started",
        "the coordinator started again: it had ended without a stop, so it is unknown for how long it was away",
    ]


def test_the_first_start_after_events_of_the_group_is_another_one():
    """Whether it had been stopped is unknown: earlier versions told partition 0 alone."""
    assert said(started(9_000), first_ms=1_000) == ["the coordinator started again"]


def test_a_stop_of_another_node_says_nothing_of_this_one():
    assert said(stopped(1_000, node_id=2), started(2_000)) == ["the coordinator was stopped", "the coordinator started"]


def test_other_events_between_a_stop_and_a_start_change_nothing():
    """A node in front of a cluster takes its partitions over before it tells of its start: it is there from then on."""
    told = said(stopped(1_000), taken(4_000), started(4_500))
    assert told == ["the coordinator was stopped", "the coordinator started again, 3 s after its stop"]


def test_an_absence_is_from_the_last_sign_of_a_leader_to_the_next_one_whichever_node_it_is():
    """A node that comes back after another one led was not missed meanwhile."""
    events = (taken(0), started(10), stopped(1_000), taken(1_200, 2), started(1_250, 2), taken(23_600), started(23_700))
    _, *told = said(*events)
    assert told == [
        "node 1 was stopped",
        "node 2 led the group from here on, 200 ms after the stop of node 1",
        "node 1 led the group from here on, after node 2, whose last event here was 22.4 s before",
    ]


def test_an_event_of_the_group_is_a_sign_of_its_leader():
    group = Consumers().group_of("a")
    group.quiet(60_000)
    group.join("b")
    group.settle()
    history = group.history()
    last_ms = history.last_ms
    assert last_ms is not None
    node_id = history.last_sign.node_id if history.last_sign else None
    assert node_id is not None
    history.note_coordinator(taken(last_ms + 5_900, node_id + 1))
    *_, last = absences(history)
    what = absence(last)
    assert what == (
        f"node {node_id + 1} led the group from here on, after node {node_id}, whose last event here was 5.9 s before"
    )


def test_a_crash_is_at_most_as_long_ago_as_the_last_event_of_the_group():
    group = Consumers().group_of("a")
    history = group.history()
    last_ms, sign = history.last_ms, history.last_sign
    assert last_ms is not None
    assert sign is not None and sign.node_id is not None
    history.note_coordinator(started(0, sign.node_id))
    history.note_coordinator(started(last_ms + 4_000, sign.node_id))
    *_, last = absences(history)
    what = absence(last)
    assert what == "the coordinator started again: it had ended without a stop, at most 4 s before"


def test_a_node_that_stood_still_past_its_lease_is_told():
    """It tells of it when the partition is its own again."""
    told = said(taken(0), taken(7_000, 2), paused(1_000, 23_000), taken(30_000))
    assert told[1] == (
        "node 1 stood still for 22 s: its process was suspended (SIGSTOP, a machine that sleeps). That was longer than"
        " its lease, and node 2 took the group over"
    )


def test_what_was_before_the_group_is_not_in_its_history():
    assert said(started(1_000), paused(2_000, 4_000), first_ms=9_000) == []
    history = GroupHistory("g")
    history.first_ms, history.begins_in_the_middle = 9_000, True
    history.note_coordinator(paused(2_000, 4_000))
    assert len(list(absences(history))) == 1


def test_the_wall_clock_may_be_set_back_between_a_stop_and_a_start():
    assert said(stopped(5_000), started(1_000))[1] == "the coordinator started again, 0 ms after its stop"


def test_each_kind_of_a_pause():
    assert said(paused(0, 6_000), paused(0, 1_500, "blocked"), paused(0, 1_000, "of a later version")) == [
        "the coordinator stood still for 6 s: its process was suspended (SIGSTOP, a machine that sleeps)",
        "the coordinator stood still for 1.5 s: it was busy, or waited in a call",
        "the coordinator stood still for 1 s",
    ]


def test_the_story_tells_what_fell_into_the_silence_and_the_rebalance_alone():
    group = Consumers().group_of("a", "b")
    before_ms = group.sim.now_ms
    group.quiet(20_000)
    in_silence_ms = group.sim.now_ms + 1_000
    group.vanish("b")
    group.settle()
    group.quiet(5_000)
    history = group.history()
    for event in (paused(before_ms, before_ms + 1_500), paused(in_silence_ms, in_silence_ms + 1_500)):
        history.note_coordinator(event)
    history.note_coordinator(stopped(group.sim.now_ms))
    assert history.latest is not None
    told = text(story_of(history, history.latest, clock))
    assert f"At {clock(in_silence_ms)}, the coordinator stood still for 1.5 s: its process was suspended" in told
    assert told.count("stood still for 1.5 s") == 1
    assert "stopped" not in told


def test_a_session_that_began_again_with_a_start():
    group = Consumers().group_of("a", "b")
    group.quiet(60_000)
    group.sim.restart()
    restarted_ms = group.sim.now_ms
    group.vanish("b")
    group.settle()
    history = group.history()
    history.note_coordinator(stopped(restarted_ms - 2_000))
    history.note_coordinator(started(restarted_ms))
    assert history.latest is not None
    told = text(story_of(history, history.latest, clock))
    assert f"At {clock(restarted_ms)}, the coordinator started again, 2 s after its stop." in told
    assert "Nothing was heard of b since then, when its session began again." in told
    (removal,) = history.latest.changes.removed
    assert removal.stopped_ms == removal.at_ms - 10_000, "it may have been there until the start, and not later"


def test_a_member_that_was_heard_after_a_start_has_another_reason():
    group = Consumers().group_of("a", "b")
    group.sim.restart()
    restarted_ms = group.sim.now_ms
    group.quiet(3_000)
    group.vanish("b")
    group.settle()
    history = group.history()
    history.note_coordinator(started(restarted_ms))
    assert history.latest is not None
    assert "since then" not in text(story_of(history, history.latest, clock))


def test_a_start_after_an_ordered_stop_that_could_not_be_written():
    assert said(started(1_000), msgspec.structs.replace(started(9_000), after_clean_stop=True))[-1] == (
        "the coordinator started again: it had been stopped in order, and could not write when, so it is unknown for"
        " how long it was away"
    )


def test_a_time_in_which_nothing_could_be_written():
    unavailable = CoordinatorUnavailable(time_ms=9_000, node_id=1, coordinator_epoch=2, from_ms=4_000, until_ms=9_000)
    assert said(started(1_000), unavailable)[-1] == (
        "the coordinator could write nothing for 5 s (a full disk?), and answered no request of the group"
    )
