"""What really happened in small worlds: who processed what, and when nobody did."""

from itertools import pairwise
from typing import Any

import pytest

from coordinator.audit.schema import LeadershipTaken
from tests.world.corpus import FOUND
from tests.world.history import Action, ConsumerSetup, History, Setup
from tests.world.playing import Played, play
from tests.world.spans import FOREVER, Spans, last_before, overlap, without
from tests.world.truth import AwayKind, Ended, Fate, Way

JAVA = ConsumerSetup()
MODERN = ConsumerSetup("modern", ())
KINDS = (JAVA, MODERN, JAVA._replace(assignors=("cooperative-sticky",)))


def played(*actions: Action, consumers: tuple[ConsumerSetup, ...] = (JAVA, JAVA), **setup: Any) -> Played:
    return play(History(Setup(consumers, **setup), actions, 50_000))


def at(world: Played, ms: int) -> int:
    return world.begin_ms + ms


def processed(world: Played, ms: int) -> int:
    """How many partitions are processed at a time."""
    spans = (world.truth.surely_processed(each) for each in world.truth.by_partition)
    return sum(overlap(span, at(world, ms), at(world, ms) + 1) for span in spans)


def test_spans():
    spans = Spans()
    spans.begin(10)
    assert spans.is_on
    spans.begin(15)
    spans.end(20)
    assert spans.all == [(10, 20)]
    assert (spans.at(10), spans.at(20), spans.within(0, 15)) == (True, False, 5)
    assert without([(0, 30)], spans.all) == [(0, 10), (20, 30)]
    assert without([(12, 18)], spans.all) == []
    assert (last_before(spans.all, 15), last_before(spans.all, 25), last_before(spans.all, 5)) == (15, 20, None)


@pytest.mark.parametrize("kind", KINDS)
def test_all_partitions_are_processed_by_one_process_each(kind):
    world = played(consumers=(kind, kind, kind))
    assert processed(world, 20_000) == 6
    for holdings in world.truth.by_partition.values():
        in_order = sorted(holding.span for holding in holdings)
        assert all(one[1] <= other[0] for one, other in pairwise(in_order))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("action", ["kill", "lose_host", "suspend", "starve", "cut"])
def test_what_nobody_processes(kind, action):
    world = played(Action(20_000, action, 1, 28_000), consumers=(kind, kind))
    assert processed(world, 19_999) == 6
    assert processed(world, 20_001) == 3
    assert processed(world, 45_000) == 6


def test_a_process_amid_one_batch_processes_perhaps():
    world = played(Action(20_000, "block", 1, 5_000))
    assert (processed(world, 22_000), processed(world, 26_000)) == (3, 6)
    perhaps = (world.truth.perhaps_processed(each) for each in world.truth.by_partition)
    assert sum(overlap(perhap, at(world, 22_000), at(world, 22_000) + 1) for perhap in perhaps) == 6


def test_a_member_that_was_removed_processes_nothing_by_right():
    world = played(Action(20_000, "remove_member", 1))
    (removed,) = [membership for membership in world.truth.memberships if membership.until_ms < FOREVER]
    assert removed.process is world.truth.processes[1]
    reported_ms = min(answer.at_ms for answer in removed.process.answers if answer.error == "UNKNOWN_MEMBER_ID")
    assert removed.until_ms + 10 < reported_ms
    assert processed(world, (removed.until_ms + reported_ms) // 2 - world.begin_ms) == 3


def test_how_processes_end_and_members_leave():
    world = played(
        Action(20_000, "kill"), Action(20_000, "close", 1), Action(20_000, "lose_host", 2), consumers=(JAVA,) * 3
    )
    assert [process.ended for process in world.truth.processes] == [Ended.KILLED, Ended.CLOSED, Ended.POWER]
    assert [[departure.way for departure in process.departures] for process in world.truth.processes] == [
        [],
        [Way.CLOSED],
        [],
    ]
    assert [len(process.disconnections) for process in world.truth.processes] == [1, 1, 0]


def test_a_static_member_leaves_without_a_word():
    world = played(Action(20_000, "close", 1), consumers=(JAVA, JAVA._replace(instance_id="i-1")))
    assert not world.truth.processes[1].departures
    assert world.truth.processes[1].out.is_on


@pytest.mark.parametrize(
    ("action", "kind"),
    [
        ("kill_coordinator", AwayKind.KILLED),
        ("stop_coordinator", AwayKind.STOPPED),
        ("pause_coordinator", AwayKind.PAUSED),
    ],
)
def test_the_coordinator_is_away(action, kind):
    world = played(Action(20_000, action, 0, 3_000))
    assert world.truth.away == [(kind, at(world, 20_000), at(world, 23_000), None)]
    fates = {arrival.fate for process in world.truth.processes for arrival in process.arrivals}
    assert (Fate.UNREAD in fates) == (kind is AwayKind.PAUSED)
    assert processed(world, 40_000) == 6


def test_another_node_takes_over():
    world = played(Action(20_000, "kill_leader", 0, 3_000), Action(30_000, "stop_leader", 0, 1_000), in_cluster=True)
    assert [(away.kind, away.next_node_id) for away in world.truth.away] == [
        (AwayKind.KILLED, 2),
        (AwayKind.STOPPED, 3),
    ]
    leaders = [event.node_id for event in world.events if isinstance(event, LeadershipTaken)]
    assert leaders == [1, 2, 3]
    assert processed(world, 45_000) == 6


def test_requests_that_are_refused_and_requests_that_are_not_read():
    refused = played(Action(20_000, "refuse", 1, 4_000)).truth.processes[1]
    assert {arrival.fate for arrival in refused.arrivals} == {Fate.HANDLED, Fate.REFUSED}
    muted = played(Action(20_000, "mute", 1, 4_000)).truth.processes[1]
    unread = [arrival for arrival in muted.arrivals if arrival.fate is Fate.UNREAD]
    assert unread
    assert all(each._replace(at_ms=muted.muted.all[0][1], fate=Fate.HANDLED) in muted.arrivals for each in unread)


def test_partitions_of_a_topic_that_was_made_again_are_new():
    world = played(Action(20_000, "delete_topic", 0, 3_000))
    assert len(world.truth.by_partition) == 12
    assert (processed(world, 22_000), processed(world, 40_000)) == (0, 6)


def test_the_lag_of_the_group():
    world = played(Action(20_000, "kill"), Action(20_000, "kill", 1))
    before, after = world.truth.lags_at(at(world, 20_000)), world.truth.lags_at(at(world, 30_000))
    assert after[-1] - before[-1] == 6 * 10 * 20


def test_what_a_leader_assigns_after_its_group_has_changed_its_type_was_never_assigned():
    world = play(FOUND["what a leader assigns after its group has changed its type counts no more"])
    first = next(plan for plan in world.truth.plans if "i-1-00000001" in plan.assigned)
    assert not first.is_whole
    assert not first.assigned["i-1-00000001"]


def test_a_coordinator_that_stands_still_throttles_nobody():
    world = played(Action(20_000, "pause_coordinator", 0, 5_000), Action(22_000, "mute", 1, 5_000))
    assert not any(process.muted.all for process in world.truth.processes)
    world = played(Action(22_000, "mute", 1, 5_000))
    assert any(process.muted.all for process in world.truth.processes)
