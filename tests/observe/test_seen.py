"""What nodes saw pass of a group, put together with its records: why each member is gone."""

from typing import Any, Final

import msgspec
import pytest

from _wire.errors import ErrorCode
from coordinator.audit.schema import decode_observed
from coordinator.audit.schema.observed import encode_observed
from coordinator.audit.schema.sighted import (
    AnySighting,
    Asked,
    Beat,
    ClientSighted,
    Closed,
    Departure,
    Heard,
    Joined,
    Left,
    Silent,
    Synced,
    Unseen,
)
from coordinator.audit.schema.unseen import UnseenBecause
from coordinator.observe.group_stream import GroupStream, LoggedStatement
from coordinator.observe.kept_group import decode_group, encode_group
from coordinator.observe.logs.statements import Sighted
from coordinator.observe.places import Place, Source
from coordinator.observe.records.stored import ClassicGroup, ClassicMember
from coordinator.observe.seen import GONE_KEPT, MEMBERS_MAX, SeenGroup
from coordinator.watch.sighting_logs import time_of

GROUP: Final = "g"
NODE: Final = 1
SESSION_MS, REBALANCE_MS = 6_000, 10_000
BEGIN_MS: Final = 1_700_000_000_000
ADMIN: Final = ClientSighted("admin", "10.0.0.9", "kafka-admin 1")


def client(name: str) -> ClientSighted:
    return ClientSighted(name, "10.0.0.1", "lib 1.2")


def joins(member_id: str, at_ms: int, generation_id: int, answered_ms: int) -> list[AnySighting]:
    """A JoinGroup of a member with its id, and its answer; `a` is the leader."""
    return [
        Asked(GROUP, at_ms, NODE, "JoinGroup", member_id, -1, False, client(member_id)),
        Joined(
            GROUP,
            answered_ms,
            NODE,
            member_id,
            at_ms,
            0,
            generation_id,
            "a",
            client(member_id),
            None,
            SESSION_MS,
            REBALANCE_MS,
            "",
            member_id,
        ),
    ]


def sync(member_id: str, at_ms: int, generation_id: int, has_assignments: bool) -> AnySighting:
    return Asked(GROUP, at_ms, NODE, "SyncGroup", member_id, generation_id, has_assignments, client(member_id))


def record(generation_id: int, at_ms: int, *member_ids: str) -> ClassicGroup:
    members = [
        ClassicMember(
            member_id=member_id,
            client_id=member_id,
            client_host="/10.0.0.1",
            group_instance_id=None,
            topics=["t"],
            digest=b"",
            partitions={"t": [number]},
            unnamed_partitions=0,
            session_timeout_ms=SESSION_MS,
            rebalance_timeout_ms=REBALANCE_MS,
        )
        for number, member_id in enumerate(member_ids)
    ]
    return ClassicGroup(
        group_id=GROUP,
        generation_id=generation_id,
        leader=member_ids[0] if member_ids else None,
        protocol_type="consumer",
        protocol_name="range",
        state_since_ms=at_ms,
        members=members,
    )


def put(stream: GroupStream, offset: int, item: AnySighting | tuple[int, ClassicGroup]) -> None:
    if isinstance(item, tuple):
        at_ms, stored = item
        stream.put_record(Place(Source.RECORD, "__consumer_offsets-0", at_ms, offset), stored, 0.0)
        return
    at_ms = time_of(item)
    statement = Sighted(place=Place(Source.NODE, "node 1", at_ms), group_id=GROUP, sighting=item)
    stream.put_line(LoggedStatement(statement, "seen", (offset, 0), at_ms), 0.0)


def told(items: list[AnySighting | tuple[int, ClassicGroup]], kill_after: int = 1 << 30) -> list[Any]:
    """The events of sightings and of records with their times; the one that tells is killed after so many items."""
    stream = GroupStream(GROUP, str, has_records=True)
    events: list[Any] = []
    for offset, item in enumerate(items):
        put(stream, offset, item)
        if offset == kill_after:
            events += stream.emit(lambda waiting: True, 0.0)
            kept = decode_group(encode_group(stream.kept))
            stream = GroupStream(GROUP, str, has_records=True)
            stream.go_on(kept, 0.0)
    events += stream.emit(lambda waiting: True, 0.0)
    assert all(decode_observed(encode_observed(observed)) is not None for observed in events), "who reads them can"
    return events


def two_members() -> list[AnySighting | tuple[int, ClassicGroup]]:
    at = BEGIN_MS
    return [
        *joins("a", at, 1, at + 20),
        *joins("b", at + 5, 1, at + 20),
        sync("b", at + 30, 1, False),
        sync("a", at + 40, 1, True),
        (at + 45, record(1, at + 40, "a", "b")),
    ]


def next_generation(at_ms: int) -> list[AnySighting | tuple[int, ClassicGroup]]:
    """The other one has joined again."""
    return [
        *joins("a", at_ms, 2, at_ms + 10),
        sync("a", at_ms + 20, 2, True),
        (at_ms + 25, record(2, at_ms + 20, "a")),
    ]


LATER: Final = BEGIN_MS + 60_000
REBALANCES: Final = Beat(
    GROUP, LATER + 1, NODE, "a", LATER, "Heartbeat", 1, ErrorCode.REBALANCE_IN_PROGRESS, 1, client("a")
)
SILENT: Final = Silent(GROUP, LATER - 1_000, NODE, "b", LATER - SESSION_MS)
GONE: Final[dict[str, tuple[list[AnySighting], str]]] = {
    "left": (
        [Left(GROUP, LATER, NODE, LATER - 1, 0, (Departure("b", None, "bye", 0),), client("b"), True)],
        "member_left",
    ),
    "removed by another": (
        [Left(GROUP, LATER, NODE, LATER - 1, 0, (Departure("b", None, "", 0),), ADMIN, False)],
        "member_left",
    ),
    "suspended": ([SILENT, REBALANCES], "session_expired"),
    "killed": (
        [Closed(GROUP, LATER - SESSION_MS + 10, NODE, "b", LATER - SESSION_MS, True), SILENT, REBALANCES],
        "session_expired",
    ),
    "slow to join": ([Heard(GROUP, LATER, NODE, "b", client("b"))], "rebalance_timeout"),
}


@pytest.mark.parametrize("case", GONE)
def test_why_a_member_is_gone(case: str) -> None:
    seen, cause = GONE[case]
    items = [*two_members(), *seen, *next_generation(LATER + 100)]
    events = [observed.event for observed in told(items)]
    (removed,) = [event for event in events if type(event).__name__ == "MemberRemoved"]
    assert (removed.member.member_id, str(removed.cause)) == ("b", cause)
    assert removed.member.client_software_name == "lib"
    if case == "left":
        assert removed.reason == "bye"
    by = removed.requested_by
    assert (None if by is None else (by.client_id, by.client_host)) == (
        ("admin", "10.0.0.9") if case == "removed by another" else None
    )
    if case == "killed":
        assert (removed.connection_open, removed.connection_closed_ms) == (False, LATER - SESSION_MS + 10)
    if case == "suspended":
        assert (removed.connection_open, removed.last_heard_ms) == (True, LATER - SESSION_MS)
    began = [event for event in events if type(event).__name__ == "RebalanceStarted"][-1]
    assert str(began.cause) == cause if case != "slow to join" else began.member.member_id == "a"


@pytest.mark.parametrize("case", GONE)
def test_the_same_is_told_wherever_it_is_killed(case: str) -> None:
    items = [*two_members(), *GONE[case][0], *next_generation(LATER + 100)]
    whole = told(items)
    for kill_after in range(len(items)):
        assert told(items, kill_after) == whole, kill_after


def test_what_passed_and_what_is_recorded_is_told_once_and_is_not_inferred() -> None:
    found = told([*two_members(), *GONE["suspended"][0], *next_generation(LATER + 100)])
    assert [observed.event.seq for observed in found] == list(range(1, len(found) + 1))
    kinds = [type(observed.event).__name__ for observed in found]
    assert kinds.count("GenerationStable") == 2 and kinds.count("MemberRemoved") == 1
    assert not any(observed.is_inferred for observed in found)
    stable = [observed.event for observed in found if type(observed.event).__name__ == "GenerationStable"]
    assert [event.rebalance_ms for event in stable] == [40, 120]


HOSTILE: Final[dict[str, list[AnySighting]]] = {
    "SyncGroup without a member": [sync("", LATER, 1, True), sync("", LATER, 1, False)],
    "JoinGroup without a member": [Asked(GROUP, LATER, NODE, "JoinGroup", "", -1, False, client("x"))],
    "an error of a later version": [Beat(GROUP, LATER + 1, NODE, "a", LATER, "Heartbeat", 1, 30_000, 1, client("a"))],
    "an instance that nobody joined with": [
        Left(GROUP, LATER, NODE, LATER - 1, 0, (Departure("", "i-1", "", 0), Departure("", None, "", 0)), ADMIN, False)
    ],
}


@pytest.mark.parametrize("case", HOSTILE)
def test_what_no_client_should_send_tells_nothing(case: str) -> None:
    events = [observed.event for observed in told([*two_members(), *HOSTILE[case]])]
    assert events == [observed.event for observed in told(two_members())]


def test_a_static_member_that_is_removed_by_its_instance_id_has_left() -> None:
    instance = two_members()
    joined = instance[3]
    assert isinstance(joined, Joined)
    instance[3] = msgspec.structs.replace(joined, group_instance_id="i-1")
    removal = Left(GROUP, LATER, NODE, LATER - 1, 0, (Departure("", "i-1", "", 0),), ADMIN, False)
    events = [observed.event for observed in told([*instance, removal, *next_generation(LATER + 100)])]
    (removed,) = [event for event in events if type(event).__name__ == "MemberRemoved"]
    assert (str(removed.cause), removed.requested_by.client_id) == ("member_left", "admin")


def test_members_that_anybody_may_name_are_bounded() -> None:
    seen = SeenGroup()
    place = Place(Source.NODE, "node 1", LATER)
    for number in range(MEMBERS_MAX + 1_000):
        heard = Heard(GROUP, LATER, NODE, f"m-{number}", client("x"))
        list(seen.apply(Sighted(place=place, group_id=GROUP, sighting=heard), 1))
    assert MEMBERS_MAX <= len(seen.members) <= MEMBERS_MAX + GONE_KEPT
    assert f"m-{MEMBERS_MAX + 999}" in seen.members


def test_of_members_that_are_silent_the_last_are_kept() -> None:
    seen = SeenGroup()
    place = Place(Source.NODE, "node 1", LATER)
    for number in range(1_000):
        silent = Silent(GROUP, LATER, NODE, f"m-{number}", LATER)
        list(seen.apply(Sighted(place=place, group_id=GROUP, sighting=silent), 1))
    assert GONE_KEPT <= len(seen.members) <= 3 * GONE_KEPT
    assert "m-999" in seen.members


AWAY: Final = Unseen(GROUP, LATER - 1_000, NODE, LATER - 5_000, UnseenBecause.NODE_AWAY)


def test_a_cause_that_is_one_of_two_is_inferred_also_if_the_rest_was_seen() -> None:
    removals = [
        observed
        for observed in told([*two_members(), AWAY, *next_generation(LATER)])
        if type(observed.event).__name__ == "MemberRemoved"
    ]
    assert [(str(observed.event.cause), observed.is_inferred) for observed in removals] == [
        ("member_left_or_expired", True)
    ]


# ---- who joined when, and which client took whose place


def kind(events: list[Any], name: str) -> list[Any]:
    return [observed.event for observed in events if type(observed.event).__name__ == name]


def _is_of(item: Any, member_id: str) -> bool:
    return isinstance(item, Asked | Joined) and item.member_id == member_id


def test_who_held_up_a_rebalance_is_told_if_all_were_seen_to_join() -> None:
    at = LATER
    items = [
        *two_members(),
        *joins("a", at, 2, at + 900),
        *joins("b", at + 890, 2, at + 900),
        sync("b", at + 910, 2, False),
        sync("a", at + 950, 2, True),
        (at + 960, record(2, at + 950, "a", "b")),
    ]
    started = kind(told(items), "GenerationStarted")[-1]
    assert (started.slowest_member.member_id, started.slowest_join_ms) == ("b", 890)
    assigned = kind(told(items), "MemberAssigned")[-2:]
    assert [(each.member.member_id, each.join_ms, each.sync_ms) for each in assigned] == [("a", 0, 50), ("b", 890, 10)]
    first = len(two_members())
    unseen = [*items[:first], *(each for each in items[first:] if not _is_of(each, "b"))]
    assert kind(told(unseen), "GenerationStarted")[-1].slowest_member is None
    new = Asked(GROUP, at - 500, NODE, "JoinGroup", "b", -1, False, client("b"))
    assert kind(told([*unseen[:first], new, *unseen[first:]]), "GenerationStarted")[-1].slowest_member is None


def test_a_client_that_takes_a_static_place_is_known_before_it_has_its_member_id() -> None:
    """Its record is there before the answer to its JoinGroup; records go on to name the client before."""
    static = msgspec.structs.replace(record(1, BEGIN_MS, "a").members[0], group_instance_id="pod")
    before = msgspec.structs.replace(record(1, BEGIN_MS, "a"), members=[static])
    after = msgspec.structs.replace(before, members=[msgspec.structs.replace(static, member_id="a-2")])
    asked = Asked(GROUP, LATER, NODE, "JoinGroup", "", -1, False, client("twin"), "", "pod")
    found = told([*joins("a", BEGIN_MS, 1, BEGIN_MS + 5), (BEGIN_MS + 9, before), asked, (LATER + 2, after)])
    (replaced,) = kind(found, "StaticMemberReplaced")
    assert (replaced.member.client_id, replaced.old_client_id, replaced.described_client_id) == ("twin", "a", "a")
    assert replaced.member.client_software_name == "lib"
    assert kind(found, "GroupUnseen") == []


def test_clients_that_ask_to_join_with_any_instance_id_are_bounded() -> None:
    seen = SeenGroup()
    for number in range(GONE_KEPT + 10):
        asked = Asked(GROUP, LATER, NODE, "JoinGroup", "", -1, False, client("x"), "", f"pod-{number}")
        place = Place(Source.NODE, "node 1", LATER)
        list(seen.apply(Sighted(place=place, group_id=GROUP, sighting=asked), 1))
    assert len(seen.coming) == GONE_KEPT and f"pod-{GONE_KEPT + 9}" in seen.coming


def test_a_client_that_gave_up_waiting_is_not_said_to_have_closed_its_connection() -> None:
    closed = Closed(GROUP, LATER, NODE, "b", LATER - SESSION_MS, True, True)
    (removed,) = kind(told([*two_members(), closed, REBALANCES, *next_generation(LATER + 100)]), "MemberRemoved")
    assert str(removed.cause) == "member_left_or_expired"
    assert (removed.connection_open, removed.connection_closed_ms) == (None, None)


def test_what_a_broker_that_stood_still_answers_late_says_nothing_of_the_time_when_it_was_asked() -> None:
    """Its clients send heartbeats that do not wait for each other, give up, and come again."""
    gave_up = [Closed(GROUP, LATER + 2_000, NODE, each, LATER + 1_900, True, True) for each in ("a", "b")]
    late = [
        msgspec.structs.replace(REBALANCES, at_ms=LATER + 6_000),
        msgspec.structs.replace(failed(ErrorCode.UNKNOWN_MEMBER_ID), at_ms=LATER + 6_001, asked_ms=LATER),
    ]
    found = told([*two_members(), *gave_up, *late, *next_generation(LATER + 6_100)])
    (removed,) = kind(found, "MemberRemoved")
    assert str(removed.cause) == "member_left_or_expired"
    assert (removed.connection_open, removed.connection_closed_ms, removed.rejected) == (None, None, "")
    assert kind(found, "RebalanceStarted")[-1].time_ms >= LATER + 6_000


def test_when_a_member_that_leaves_committed_last_is_told() -> None:
    left = Left(GROUP, LATER, NODE, LATER - 1, 0, (Departure("b", None, "", 0, LATER - 70),), client("b"), True)
    (removed,) = kind(told([*two_members(), left, *next_generation(LATER + 100)]), "MemberRemoved")
    assert removed.last_committed_ms == LATER - 70


# ---- who was refused


def refused_join(error: ErrorCode, instance_id: str | None = None) -> Joined:
    offered = ("consumer", ("roundrobin",))
    new = (client("new"), instance_id, SESSION_MS, REBALANCE_MS, "", "")
    return Joined(GROUP, LATER, NODE, "", LATER, error, -1, "", *new, (), *offered)


def failed(error: ErrorCode, api: str = "Heartbeat", member_id: str = "b") -> Beat:
    return Beat(GROUP, LATER + 1, NODE, member_id, LATER, api, 1, error, 1, client(member_id))


REFUSALS: Final[dict[str, tuple[AnySighting, tuple[str, str, str] | None]]] = {
    "the group is full": (
        refused_join(ErrorCode.GROUP_MAX_SIZE_REACHED),
        ("JoinGroup", "GROUP_MAX_SIZE_REACHED", "new"),
    ),
    "it is handed an id": (refused_join(ErrorCode.MEMBER_ID_REQUIRED), None),
    "the cluster is at work": (refused_join(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS), None),
    "SyncGroup of nobody": (
        Synced(GROUP, LATER, NODE, "b", LATER, ErrorCode.UNKNOWN_MEMBER_ID, 1, False),
        ("SyncGroup", "UNKNOWN_MEMBER_ID", "b"),
    ),
    "SyncGroup in a rebalance": (
        Synced(GROUP, LATER, NODE, "b", LATER, ErrorCode.REBALANCE_IN_PROGRESS, 1, False),
        None,
    ),
    "a heartbeat is fenced": (
        failed(ErrorCode.FENCED_INSTANCE_ID),
        ("Heartbeat", "FENCED_INSTANCE_ID", "b"),
    ),
    "a heartbeat of a former generation": (failed(ErrorCode.ILLEGAL_GENERATION), None),
    "a heartbeat of a member that is not gone": (failed(ErrorCode.UNKNOWN_MEMBER_ID), None),
    "a commit of nobody": (
        failed(ErrorCode.UNKNOWN_MEMBER_ID, "OffsetCommit"),
        ("OffsetCommit", "UNKNOWN_MEMBER_ID", "b"),
    ),
    "a commit in a rebalance": (failed(ErrorCode.REBALANCE_IN_PROGRESS, "OffsetCommit"), None),
    "a heartbeat with another epoch": (
        failed(ErrorCode.FENCED_MEMBER_EPOCH, "ConsumerGroupHeartbeat"),
        ("ConsumerGroupHeartbeat", "FENCED_MEMBER_EPOCH", "b"),
    ),
    "a heartbeat while the cluster is at work": (
        failed(ErrorCode.NOT_COORDINATOR, "ConsumerGroupHeartbeat"),
        None,
    ),
}


@pytest.mark.parametrize("case", REFUSALS)
def test_who_is_refused(case: str) -> None:
    sighting, expected = REFUSALS[case]
    rejected = kind(told([*two_members(), sighting]), "RequestRejected")
    found = [(each.api, each.error, each.member.client_id) for each in rejected]
    assert found == ([] if expected is None else [expected])
    assert all(each.member.client_software_name == "lib" for each in rejected)


def test_a_refusal_says_what_was_offered_and_who_has_the_instance_id() -> None:
    offers = [
        msgspec.structs.replace(each, protocols=("range", "sticky"), group_instance_id="pod")
        if isinstance(each, Joined)
        else each
        for each in two_members()
    ]
    (rejected,) = kind(told([*offers, refused_join(ErrorCode.FENCED_INSTANCE_ID, "pod")]), "RequestRejected")
    assert (rejected.protocols, rejected.group_protocols) == (["roundrobin"], ["range", "sticky"])
    assert rejected.holder.member_id == "b", "who joined last with it"
    (rejected,) = kind(told([*two_members(), refused_join(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)]), "RequestRejected")
    assert (rejected.group_protocols, rejected.holder) == ([], None), "what the members offer was not seen"
    direct = [each for each in offers if not _is_of(each, "b")]
    (rejected,) = kind(told([*direct, refused_join(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)]), "RequestRejected")
    assert rejected.group_protocols == [], "nor was that of one that came to the brokers directly"


def test_a_commit_that_is_not_fenced_named_no_instance_if_another_client_has_it() -> None:
    """aiokafka's commits name none: so it is called by its own name, as by the coordinator."""
    first, second = (
        msgspec.structs.replace(each, group_instance_id="pod-0") if isinstance(each, Asked | Joined) else each
        for each in joins("b", BEGIN_MS, 1, BEGIN_MS + 20)
    )
    twin = Joined(
        GROUP, LATER - 5, NODE, "b2", LATER - 9, 0, 1, "b2", client("twin"), "pod-0", SESSION_MS, REBALANCE_MS, "", ""
    )
    for another, instance_id in (([], "pod-0"), ([twin], None)):
        refused = failed(ErrorCode.UNKNOWN_MEMBER_ID, "OffsetCommit")
        (rejected,) = kind(told([first, second, *another, refused]), "RequestRejected")
        assert (rejected.member.client_id, rejected.member.group_instance_id) == ("b", instance_id)


def test_a_member_that_was_removed_for_its_silence_and_asks_again_lives() -> None:
    items = [*two_members(), *GONE["suspended"][0], *next_generation(LATER + 100)]
    again = [msgspec.structs.replace(failed(ErrorCode.UNKNOWN_MEMBER_ID), at_ms=LATER + 9_000 + n) for n in range(12)]
    again = [msgspec.structs.replace(each, asked_ms=each.at_ms) for each in again]
    (rejected,) = kind(told([*items, *again]), "RequestRejected")
    assert (rejected.api, rejected.member.client_id) == ("Heartbeat", "b")


def test_a_time_in_which_no_rule_watches_a_group_is_told_and_leaves_causes_open() -> None:
    stream = GroupStream(GROUP, str, has_records=True)
    place = Place(Source.NODE, "node 1", LATER - 20_000)

    def seen(items: list[AnySighting | tuple[int, ClassicGroup]], first: int) -> list[Any]:
        for offset, item in enumerate(items, first):
            put(stream, offset, item)
        return stream.emit(lambda waiting: True, 0.0)

    assert stream.be_watched(False, place) == [], "nothing was told of it"
    seen(two_members(), 0)
    assert stream.be_watched(True, place) == []
    assert stream.be_watched(False, place) == []
    kept = decode_group(encode_group(stream.kept))
    stream = GroupStream(GROUP, str, has_records=True)
    stream.go_on(kept, 0.0)
    until = msgspec.structs.replace(place, time_ms=LATER - 10_000)
    assert stream.be_watched(False, until) == []
    (unseen,) = kind(stream.be_watched(True, until), "GroupUnseen")
    assert (unseen.because, unseen.from_ms, unseen.until_ms) == ("not_watched", LATER - 20_000, LATER - 10_000)
    assert unseen.time_ms == LATER - 20_000, "what records tell of that time follows"
    assert stream.be_watched(True, until) == []
    (removed,) = kind(seen([SILENT, REBALANCES, *next_generation(LATER + 100)], 100), "MemberRemoved")
    assert str(removed.cause) == "member_left_or_expired"


def test_what_a_new_member_subscribes_to_is_told_by_the_record_of_its_generation() -> None:
    assert [each.subscribed_topics for each in kind(told(two_members()), "MemberJoined")] == [["t"], ["t"]]
