"""What is told of a group while it is watched: the same wherever the watcher is killed."""

import random
import sys
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coordinator.observe.evidence import ObservedEvent
from coordinator.observe.group_stream import GroupStream, LoggedStatement
from coordinator.observe.kept_group import decode_group, encode_group
from coordinator.observe.logs.statements import MemberLeft, OfGroup
from coordinator.observe.places import Place, Source
from coordinator.observe.records.stored import ClassicGroup, ClassicMember, GroupRecord
from tests.observe.observing import BOTH, SOURCES, observed, records_of, statements_of
from tests.observe.recordings import Recording, recordings
from tests.observe.test_recorded_causes import CASES

LOG = "server.log"
Item = tuple[Place, GroupRecord] | LoggedStatement


class Watched:
    """What a watcher reads of a recorded group, and a stream that is killed now and then."""

    def __init__(self, recording: Recording, group: str, source: str = BOTH) -> None:
        self.group = group
        records = [] if source == "logs" else records_of(recording, group)
        lines = [] if source == "records" else statements_of(recording, group)
        self.has_records = bool(records)
        own = [line for line in lines if isinstance(line, OfGroup) and line.group_id == group]
        self.items: list[Item] = list(records)
        latest: dict[str, int] = {}
        for partition in own:
            name = partition.place.name
            latest[name] = max(latest.get(name, 0), partition.place.time_ms)
            self.items.append(LoggedStatement(partition, name, (0, partition.place.position or 0), latest[name]))

    def stream(self) -> GroupStream:
        return GroupStream(self.group, str, has_records=self.has_records)

    def put(self, stream: GroupStream, items: Sequence[Item]) -> None:
        for item in items:
            if isinstance(item, LoggedStatement):
                stream.put_line(item, 0.0)
            else:
                stream.put_record(*item, 0.0)

    def told(self, stops: Sequence[int] = ()) -> list[ObservedEvent]:
        """The events, with a kill after so many records and lines each."""
        stream, events = self.stream(), list[ObservedEvent]()
        for stop in stops:
            self.put(stream, self.items)
            left = [stop]

            def is_due(_: object, left: list[int] = left) -> bool:
                left[0] -= 1
                return left[0] >= 0

            events += stream.emit(is_due, 0.0)
            kept = encode_group(stream.kept)
            stream = self.stream()
            stream.go_on(decode_group(kept), 0.0)
        self.put(stream, self.items)
        events += stream.emit(lambda _: True, 0.0)
        events += stream.emit_without_record(1.0)
        return events


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize(("recording", "group"), CASES)
def test_stopping_after_each_step_changes_nothing(recording: Recording, group: str, source: str):
    watched = Watched(recording, group, source)
    undisturbed = watched.told()
    assert watched.told([1] * len(watched.items)) == undisturbed
    assert watched.told([0, 2, 0, 3] * len(watched.items)) == undisturbed


@given(case=st.sampled_from([case.values for case in CASES]), data=st.data())
def test_stopping_at_any_points_changes_nothing(case: tuple[Recording, str], data: st.DataObject):
    watched = Watched(*case)
    stops = data.draw(st.lists(st.integers(0, 7), max_size=12))
    assert watched.told(stops) == watched.told()


@pytest.mark.parametrize(("recording", "group"), CASES)
def test_what_is_watched_is_told_as_what_is_read_afterwards(recording: Recording, group: str):
    if any(statement.is_doubtful for statement in statements_of(recording, group)):
        pytest.skip("who reads afterwards has all records that may confirm a line")
    told = [(each.event.seq, type(each.event), each.places) for each in Watched(recording, group).told()]
    read = observed(recording, group, BOTH).observed.values()
    afterwards = [(each.event.seq, type(each.event), each.places) for each in read]
    # What is open at the end is told by who reads afterwards alone.
    assert told == afterwards[: len(told)]


@pytest.mark.parametrize(("recording", "group"), CASES[:20])
def test_the_order_of_arrival_changes_nothing(recording: Recording, group: str):
    watched = Watched(recording, group)
    undisturbed = watched.told()
    records = [item for item in watched.items if not isinstance(item, LoggedStatement)]
    lines = [item for item in watched.items if isinstance(item, LoggedStatement)]
    choice = random.Random(group)
    watched.items = []
    while records or lines:
        watched.items.append((records if not lines or (records and choice.random() < 0.5) else lines).pop(0))
    assert watched.told() == undisturbed


def _record(members: int, time_ms: int) -> tuple[Place, GroupRecord]:
    described = [
        ClassicMember(f"m{each}", "client", "/10.0.0.1", None, ["orders"], b"", {"orders": [each]})
        for each in range(members)
    ]
    record = ClassicGroup("g", 1, "consumer", "range", "m0", time_ms, described)
    return Place(Source.RECORD, "__consumer_offsets-1", time_ms, 0), record


def _forgeable(member_id: str, number: int, time_ms: int) -> LoggedStatement:
    place = Place(Source.BROKER_LOG, LOG, time_ms, number)
    left = MemberLeft(place=place, is_doubtful=True, group_id="g", member_id=member_id)
    return LoggedStatement(left, LOG, (0, number), time_ms)


def test_a_line_that_may_be_forged_is_told_if_a_record_that_comes_has_its_member():
    stream = GroupStream("g", str, has_records=True)
    stream.put_record(*_record(10, 2_000), 0.0)
    stream.put_line(_forgeable("m7", 1, 1_500), 0.0)
    stream.put_line(_forgeable("nobody", 2, 1_500), 0.0)
    stream.emit(lambda _: True, 0.0)
    assert stream.lines_left_out == 1


def _calls_of_forged_lines(members: int) -> int:
    """How many functions are called to leave lines out that come before the record of a group of so many members."""
    stream = GroupStream("g", str, has_records=True)
    stream.put_record(*_record(members, 2_000), 0.0)
    for number in range(20):
        stream.put_line(_forgeable("nobody", number, 1_500), 0.0)
    calls = 0

    def count(_frame: object, event: str, _argument: object) -> None:
        nonlocal calls
        calls += event in {"call", "c_call"}

    sys.setprofile(count)
    try:
        stream.emit(lambda following: following.log is not None, 0.0)
    finally:
        sys.setprofile(None)
    assert stream.lines_left_out == 20
    return calls


def test_a_forged_line_costs_the_same_in_a_large_group():
    assert _calls_of_forged_lines(members=1_000) == _calls_of_forged_lines(members=1)


def test_lines_of_a_share_group_are_told_though_records_of_other_groups_are_read():
    """Its own records are not: so nothing else tells who came and went."""
    (recording,) = [each for each in recordings() if each.name == "k_share/4.3.1-consumer"]
    (group,) = recording.groups
    told = {}
    for has_records in (False, True):
        stream = GroupStream(group, str, has_records=has_records)
        for number, statement in enumerate(statements_of(recording, group)):
            if isinstance(statement, OfGroup) and statement.group_id == group:
                stream.put_line(LoggedStatement(statement, LOG, (0, number), statement.place.time_ms), 0.0)
        events = stream.emit(lambda _: True, 0.0)
        told[has_records] = [(type(event.event).__name__, event.event.seq) for event in events]
    assert ("MemberJoined", 2) in told[True]
    assert told[True] == told[False]
