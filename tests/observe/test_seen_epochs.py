"""What nodes saw pass of a group of KIP-848, put together with its records."""

from typing import Any, Final

from coordinator.audit import schema
from coordinator.audit.schema.sighted import AnySighting, Asked, Beat, ClientSighted, Departure, Joined, Left, Silent
from coordinator.core.causes import Cause
from coordinator.observe.group_stream import GroupStream, LoggedStatement
from coordinator.observe.logs.statements import Sighted
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

GROUP: Final = "g"
NODE: Final = 1
T0: Final = 1_700_000_000_000
NOBODY: Final = ClientSighted("", "", "")
Item = AnySighting | GroupRecord


def told(items: list[Item]) -> list[Any]:
    """The events of records and sightings, a second apart."""
    stream = GroupStream(GROUP, str, has_records=True)
    for number, item in enumerate(items):
        at_ms = T0 + number * 1_000
        if isinstance(item, AnySighting):
            statement = Sighted(place=Place(Source.NODE, "node 1", at_ms), group_id=GROUP, sighting=item)
            stream.put_line(LoggedStatement(statement, "seen", (number, 0), at_ms), 0.0)
        else:
            stream.put_record(Place(Source.RECORD, "__consumer_offsets-0", at_ms, number), item, 0.0)
    return [observed.event for observed in stream.emit(lambda waiting: True, 0.0)]


def of_kind(events: list[Any], kind: type[schema.AuditEvent]) -> list[Any]:
    return [event for event in events if isinstance(event, kind)]


def member(name: str, assignor: str | None = None, digest: bytes = b"1", instance_id: str | None = None) -> Item:
    return ConsumerMember(GROUP, f"{name}-id", ["orders"], name, "/10.0.0.1", instance_id, assignor, digest)


def epoch(number: int, *settled: str, metadata_hash: int = 7) -> list[Item]:
    reached = [CurrentAssignment(GROUP, f"{name}-id", number, True, {"orders": [0]}) for name in settled]
    return [GroupEpoch(GROUP, number, metadata_hash), TargetEpoch(GROUP, number), *reached]


def beat(name: str, number: int, at_ms: int = T0) -> Item:
    who = ClientSighted(name, "10.0.0.1", "lib 1")
    return Beat(GROUP, at_ms, NODE, f"{name}-id", at_ms, "ConsumerGroupHeartbeat", number, 0, number, who)


def two_members() -> list[Item]:
    return [beat("a", 0), member("a"), *epoch(2, "a"), beat("b", 0), member("b"), *epoch(3, "a", "b")]


def gone(name: str) -> Item:
    return ConsumerMember(GROUP, f"{name}-id")


SILENT: Final = Silent(GROUP, T0 + 20_000, NODE, "b-id", T0)


def test_a_member_that_left_has_left_though_it_is_silent_since():
    (removed,) = of_kind(told([*two_members(), beat("b", -1), SILENT, gone("b"), *epoch(4, "a")]), schema.MemberRemoved)
    assert (removed.cause, removed.member.client_id) == (Cause.MEMBER_LEFT, "b")


def test_a_silent_member_that_had_something_to_give_up_may_have_been_late():
    """The session timeout is a config of the group, so which limit it exceeded is not seen."""
    for is_settled, cause in ((True, "session_expired"), (False, "member_left_or_expired")):
        holds: Item = CurrentAssignment(GROUP, "b-id", 3, is_settled, {"orders": [0]})
        items = [*two_members(), holds, SILENT, gone("b"), *epoch(4, "a")]
        (removed,) = of_kind(told(items), schema.MemberRemoved)
        assert str(removed.cause) == cause, is_settled


def test_another_assignor_of_a_static_member_is_no_reason_of_an_epoch():
    """As on Kafka; the one that comes next was raised by a topic that grew."""
    before, after = ("one", None, b"1", "pod"), ("two", "range", b"2", "pod")
    items = [member(*before), *epoch(2, "one"), gone("one"), member(*after)]
    began = of_kind(told([*items, *epoch(3, "two", metadata_hash=8)]), schema.RebalanceStarted)[-1]
    assert [each.cause for each in began.triggers] == [Cause.TOPICS_CHANGED]
    other_topics = ConsumerMember(GROUP, "two-id", ["payments"], "two", "/10.0.0.1", "pod", "range", b"2")
    items[-1] = other_topics
    began = of_kind(told([*items, *epoch(3, "two", metadata_hash=8)]), schema.RebalanceStarted)[-1]
    assert [each.cause for each in began.triggers] == [Cause.METADATA_CHANGED]


def classic(generation_id: int, *names: str) -> Item:
    members = [ClassicMember(f"{n}-id", n, "/10.0.0.1", None, ["orders"], b"", {"orders": [0]}) for n in names]
    return ClassicGroup(GROUP, generation_id, "consumer", "range", f"{names[0]}-id", -1, members)


def test_who_left_is_why_a_consumer_group_that_became_a_classic_one_rebalances():
    who = ClientSighted("a", "10.0.0.1", "lib 1")
    asked = Asked(GROUP, T0 + 30_000, NODE, "JoinGroup", "a-id", -1, False, who)
    first, again = (
        Joined(GROUP, T0 + at_ms, NODE, "a-id", T0 + at_ms, 0, number, "a-id", who, None, 9_000, 9_000, "", "a-id")
        for at_ms, number in ((9_000, 3), (30_001, 4))
    )
    ends: list[Item] = [beat("b", -1), GroupEpoch(GROUP, None), classic(3, "a"), asked, again, classic(4, "a")]
    events = told([*two_members(), first, *ends])
    assert [event.group_type for event in of_kind(events, schema.GroupConverted)] == ["classic"]
    began = of_kind(events, schema.RebalanceStarted)[-1]
    causes = [(each.cause, each.member.client_id) for each in began.triggers]
    assert causes[0] == (Cause.MEMBER_LEFT, "b"), causes
    assert len(causes) == 1 or causes[1][1] == "a", causes


def test_who_left_before_a_classic_group_became_a_consumer_group_is_none_of_its_members():
    """The new member may come before the others have joined without that one: no classic record is without it."""
    who = ClientSighted("a", "10.0.0.1", "lib 1")
    left = Left(GROUP, T0 + 1_000, NODE, T0 + 1_000, 0, (Departure("a-id", None, "bye", 0),), who, True)
    upgraded: list[Item] = [ClassicGroup(GROUP), member("b"), member("c"), *epoch(2, "b", "c")]
    events = told([classic(1, "a", "b"), left, *upgraded])
    (removed,) = of_kind(events, schema.MemberRemoved)
    assert (removed.cause, removed.reason, removed.member.client_id) == (Cause.MEMBER_LEFT, "bye", "a")
    (converted,) = of_kind(events, schema.GroupConverted)
    assert [each.member.client_id for each in converted.members] == ["b"]
    assert events.index(removed) < events.index(converted)
