"""A coordinator that moved to another broker, or was away: told as that, and as no rebalance."""

from datetime import UTC
from pathlib import Path

from coordinator.explain.claims.notes import Loaded
from coordinator.explain.makers.notes import note_claims
from coordinator.explain.sentences.notes import note
from coordinator.observe.group import observed_events
from coordinator.observe.history import ObservedHistory
from coordinator.observe.logs import statements as said
from coordinator.observe.logs.statements import OfGroup, Reason
from coordinator.observe.places import Place, Source
from coordinator.observe.sources import LogOptions, observe_group
from tests.observe.recordings import recordings

GROUP = "billing"
T0 = 1_700_000_000_000


def place(at_ms: int, broker: int) -> Place:
    return Place(Source.BROKER_LOG, f"server-{broker}.log", T0 + at_ms, at_ms, broker)


def joined(generation: int, at_ms: int, broker: int) -> list[OfGroup]:
    member = f"m-{generation}"
    at = [place(at_ms + each, broker) for each in range(4)]
    return [
        said.MemberAdded(place=at[0], group_id=GROUP, member_id=member),
        said.RebalancePrepared(
            place=at[1], group_id=GROUP, generation_before=generation - 1, reason=Reason.NEW_MEMBER, text=""
        ),
        said.GroupStabilized(place=at[2], group_id=GROUP, generation_id=generation, members=generation),
        said.AssignmentReceived(place=at[3], group_id=GROUP, generation_id=generation, members=generation),
    ]


def unloaded(at_ms: int, broker: int) -> OfGroup:
    return said.GroupUnloaded(place=place(at_ms, broker), group_id=GROUP, generation_id=1)


def loaded(at_ms: int, broker: int) -> OfGroup:
    return said.GroupLoaded(place=place(at_ms, broker), group_id=GROUP, generation_id=1)


def history(*lines: OfGroup) -> ObservedHistory:
    return ObservedHistory.of_observed(GROUP, observed_events(GROUP, [], list(lines)))


def notes(found: ObservedHistory) -> list[str]:
    return [note(note_claim) for note_claim in note_claims(found) if isinstance(note_claim, Loaded)]


def test_a_move_names_both_brokers_and_for_how_long_there_was_none():
    found = history(*joined(1, 0, 1), unloaded(10_000, 1), loaded(12_500, 2), *joined(2, 20_000, 2))
    assert notes(found) == ["the group moved from broker 1 to broker 2: it had no coordinator for 2.5 s"]
    assert [(generation.generation_id, str(generation.outcome)) for generation in found.generations] == [
        (1, "stable"),
        (2, "stable"),
    ]


def test_a_restart_of_the_same_broker():
    found = history(*joined(1, 0, 1), unloaded(10_000, 1), loaded(40_000, 1))
    assert notes(found) == [
        "broker 1 gave the group up and took it again 30 s later: it was restarted, or another broker had the group"
        " meanwhile"
    ]


def test_a_broker_that_was_killed_says_nothing():
    found = history(*joined(1, 0, 1), loaded(12_500, 2))
    assert notes(found) == ["broker 2 coordinates the group from then on, and no line tells which one gave it up"]


def test_what_the_broker_before_says_late_belongs_to_no_later_move():
    """The one that takes the group may say so some milliseconds before."""
    lines = (loaded(9_990, 2), unloaded(10_000, 1), loaded(50_000, 3))
    found = history(*joined(1, 0, 1), *lines)
    assert notes(found)[-1] == "the group moved from broker 2 to broker 3"


def test_a_rebalance_that_the_move_cut_short():
    begun = joined(2, 20_000, 1)[:2]
    found = history(*joined(1, 0, 1), *begun, unloaded(21_000, 1), loaded(22_000, 2), *joined(2, 23_000, 2))
    assert [(generation.generation_id, str(generation.outcome)) for generation in found.generations][-1] == (
        2,
        "stable",
    )
    assert len(notes(found)) == 1


def test_a_recorded_group_that_moved_and_came_back(tmp_path: Path):
    paths: list[str] = []
    for recording in recordings():
        if recording.name.startswith("m_coordinator_moved/3.9.1-classic."):
            path = tmp_path / f"{len(paths)}.log"
            path.write_bytes(recording.log)
            paths.append(str(path))
    assert len(paths) == 2
    found = observe_group("g-m_coordinator_moved-b", None, LogOptions(tuple(paths), (), "auto", UTC)).history
    told = notes(found)
    assert [line.split(":")[0] for line in told] == [
        "the group moved from broker 1 to broker 2",
        "the group moved from broker 2 to broker 1",
    ]
    assert [(generation.generation_id, str(generation.outcome)) for generation in found.generations] == [(1, "stable")]
