"""Whatever lines and records come, in whatever order, a group has a history: nothing fails, and no event is lost."""

from collections.abc import Callable

from hypothesis import given, settings
from hypothesis import strategies as st

from coordinator.explain.story import story_of
from coordinator.explain.words import utc_clock
from coordinator.observe.group import observed_events
from coordinator.observe.history import ObservedHistory
from coordinator.observe.logs import statements as said
from coordinator.observe.logs.statements import Reason, Statement
from coordinator.observe.places import Place, Source
from coordinator.observe.records.stored import (
    ClassicGroup,
    ClassicMember,
    ConsumerMember,
    CurrentAssignment,
    GroupEpoch,
    GroupRecord,
    TargetEpoch,
)

GROUP = "orders"
LIMIT = 2**31 - 1
members = st.sampled_from(["", "a-1", "b-2", "é\n[x", f"c-{'0' * 8}-0000-0000-0000-{'0' * 12}"])
numbers = st.one_of(st.integers(0, 5), st.sampled_from([-1, LIMIT]))
times = st.integers(0, 20_000)


def place(source: Source) -> st.SearchStrategy[Place]:
    return st.builds(Place, st.just(source), st.sampled_from(["server.log", "other.log"]), times, numbers)


def lines(kind: Callable[..., Statement], **fields: st.SearchStrategy[object]) -> st.SearchStrategy[Statement]:
    return st.builds(kind, place=place(Source.BROKER_LOG), group_id=st.just(GROUP), **fields)


statements = st.one_of(
    lines(
        said.RebalancePrepared,
        generation_before=numbers,
        reason=st.sampled_from(Reason),
        text=st.just(""),
        member_ids=st.lists(members, max_size=2).map(tuple),
        client_reason=st.sampled_from([None, "", "not provided", "subscription has changed"]),
    ),
    lines(said.GroupStabilized, generation_id=numbers, members=st.one_of(st.none(), numbers)),
    lines(said.AssignmentReceived, generation_id=numbers, leader=st.one_of(st.none(), members)),
    lines(said.GroupEmptied, generation_id=numbers),
    lines(said.MemberIdHandedOut, member_id=members, state=st.just("Stable")),
    lines(said.MemberAdded, member_id=members),
    lines(said.StaticMemberReturned, group_instance_id=members, old_member_id=members, member_id=st.none() | members),
    lines(said.MembersDropped, member_ids=st.lists(members, max_size=3).map(tuple), text=st.just("")),
    lines(said.SessionExpired, member_id=members),
    lines(said.MemberLeft, member_id=members, is_explicit=st.booleans(), is_pending=st.booleans()),
    lines(said.PendingExpired, member_id=members),
    lines(said.GroupDied, generation_id=numbers),
    lines(said.GroupLoaded, generation_id=numbers),
    lines(said.ConsumerJoined, member_id=members, protocol=st.sampled_from(["consumer", "classic"])),
    lines(said.ConsumerReplaced, group_instance_id=members, member_id=members, old_member_id=members),
    lines(said.ConsumerLate, member_id=members, missing=st.sampled_from(["give_up", "sync", "rejoin"])),
    lines(said.LeftForAMoment, member_id=members, group_instance_id=members),
    lines(said.EpochBumped, epoch=numbers, metadata_hash=st.one_of(st.none(), numbers)),
    lines(said.TargetComputed, epoch=numbers, assignor=st.sampled_from([None, "uniform"])),
    lines(said.GroupConverted, group_type=st.sampled_from(["classic", "consumer"])),
)
partitions = st.dictionaries(st.sampled_from(["t", "u"]), st.lists(st.integers(0, 3), unique=True, max_size=3))
classic_members = st.builds(
    ClassicMember,
    members,
    st.just("client"),
    st.just("/10.0.0.1"),
    st.none() | members,
    st.none() | st.just(["t"]) | st.just(["t", "u"]),
    st.binary(max_size=1),
    partitions,
)
records = st.one_of(
    st.builds(
        ClassicGroup,
        st.just(GROUP),
        numbers,
        st.just("consumer"),
        st.just("range"),
        st.none() | members,
        times,
        st.lists(classic_members, max_size=3, unique_by=lambda each: each.member_id),
    ),
    st.builds(ClassicGroup, st.just(GROUP)),
    st.builds(GroupEpoch, st.just(GROUP), st.none() | st.integers(0, 5), st.integers(0, 2)),
    st.builds(ConsumerMember, st.just(GROUP), members, st.none() | st.just(["t"]), digest=st.binary(max_size=1)),
    st.builds(TargetEpoch, st.just(GROUP), st.integers(0, 5)),
    st.builds(CurrentAssignment, st.just(GROUP), members, st.integers(-2, 5), st.booleans(), partitions),
)
places_of_records = st.tuples(place(Source.RECORD), records)


def told(history: ObservedHistory) -> None:
    for generation in history.generations:
        story = story_of(history, generation, utc_clock)
        assert story.headline
        assert (generation.rebalance_ms or 0) >= 0 and (generation.join_ms or 0) >= 0


@settings(deadline=None)
@given(st.lists(statements, max_size=25), st.lists(places_of_records, max_size=15), st.booleans(), st.booleans())
def test_whatever_is_seen_makes_a_history(
    lines_seen: list[Statement], records_seen: list[tuple[Place, GroupRecord]], in_time: bool, has_records: bool
):
    if in_time:
        lines_seen.sort(key=lambda each: each.place.time_ms)
        records_seen.sort(key=lambda each: each[0].time_ms)
    events = list(observed_events(GROUP, records_seen, lines_seen, has_records=has_records))
    assert [event.event.seq for event in events] == list(range(1, len(events) + 1))
    assert all(event.places for event in events)
    told(ObservedHistory.of_observed(GROUP, events))


@settings(deadline=None)
@given(st.lists(statements, min_size=1, max_size=10), st.lists(places_of_records, max_size=10))
def test_a_line_that_is_read_twice_changes_nothing_about_who_is_in_the_group(
    lines_seen: list[Statement], records_seen: list[tuple[Place, GroupRecord]]
):
    """A log that was rotated, and is given with its copy."""
    lines_seen.sort(key=lambda each: each.place.time_ms)
    records_seen.sort(key=lambda each: each[0].time_ms)
    once = ObservedHistory.of_observed(GROUP, observed_events(GROUP, records_seen, lines_seen))
    twice = [each for each in lines_seen for _ in range(2)]
    again = ObservedHistory.of_observed(GROUP, observed_events(GROUP, records_seen, twice))
    if records_seen:
        told(again)
    else:
        assert again.exists == once.exists


def test_a_group_that_died_is_gone_though_it_was_a_consumer_group_before():
    at = Place(Source.BROKER_LOG, "server.log", 1_000, 1)
    lines: list[Statement] = [
        said.ConsumerJoined(place=at, group_id=GROUP, member_id="m1", protocol="consumer"),
        said.GroupDied(place=at, group_id=GROUP, generation_id=0),
    ]
    assert not ObservedHistory.of_observed(GROUP, observed_events(GROUP, [], lines)).exists
