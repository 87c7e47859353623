"""What a node reads of the requests that pass, and of their answers, in every version; and that it disturbs nothing."""

import threading
from importlib import import_module
from typing import Any

import pytest

from _wire.apis import APIS
from _wire.errors import ErrorCode
from _wire.headers import encode_request, encode_response
from _wire.messages.api_versions import ApiVersionsRequest
from _wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse
from _wire.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from _wire.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol, JoinGroupResponse
from _wire.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse, MemberIdentity, MemberResponse
from _wire.messages.offset_commit import OffsetCommitRequest
from _wire.messages.share_group_heartbeat import ShareGroupHeartbeatRequest
from _wire.messages.streams_group_heartbeat import StreamsGroupHeartbeatRequest
from _wire.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment, SyncGroupResponse
from coordinator.audit.schema.sighted import (
    Asked,
    Beat,
    Closed,
    Heard,
    Joined,
    Left,
    Silent,
    Synced,
)
from coordinator.cluster.relay import seen_members
from coordinator.cluster.relay.tap import MORE, TAPPED, Tap
from tests.cluster.relay.tapping import GROUP, MEMBER, NODE, Side, SimpleConnection


def versions_of(name: str, first: int = 0) -> Any:
    api = APIS.named(name)
    return pytest.mark.parametrize("version", range(max(first, api.min_version), api.max_version + 1))


@versions_of("Heartbeat")
def test_a_heartbeat_that_is_answered_well_is_seen_once(version: int) -> None:
    side = Side()
    for _ in range(3):
        passing = side.ask(HeartbeatRequest(group_id=GROUP, generation_id=5, member_id=MEMBER), version)
        assert side.answer(passing, HeartbeatResponse(), version)
    (heard,) = side.seen
    assert isinstance(heard, Heard)
    assert (heard.group_id, heard.member_id, heard.node_id) == (GROUP, MEMBER, NODE)
    assert (heard.client.client_id, heard.client.host) == ("c", "10.0.0.1")
    passing = side.ask(HeartbeatRequest(group_id=GROUP, generation_id=5, member_id=MEMBER), version)
    assert side.answer(passing, HeartbeatResponse(error_code=ErrorCode.REBALANCE_IN_PROGRESS), version)
    (beat,) = side.seen
    assert isinstance(beat, Beat)
    assert (beat.api, beat.epoch, beat.error) == ("Heartbeat", 5, ErrorCode.REBALANCE_IN_PROGRESS)


@versions_of("JoinGroup")
def test_a_join_and_its_answer(version: int) -> None:
    side = Side()
    request = JoinGroupRequest(
        group_id=GROUP,
        session_timeout_ms=6_000,
        rebalance_timeout_ms=9_000,
        member_id="",
        protocol_type="consumer",
        reason="because",
    )
    passing = side.ask(request, version)
    answer = JoinGroupResponse(generation_id=4, leader=MEMBER, member_id=MEMBER, protocol_name="range")
    assert side.answer(passing, answer, version)
    asked, heard, joined = side.seen
    assert isinstance(asked, Asked) and isinstance(heard, Heard) and isinstance(joined, Joined)
    assert (asked.api, asked.member_id, asked.reason) == ("JoinGroup", "", "because" if version >= 8 else "")
    assert (joined.member_id, joined.generation_id, joined.leader, joined.error) == (MEMBER, 4, MEMBER, 0)
    assert joined.session_timeout_ms == 6_000
    assert joined.asked_ms <= joined.at_ms


@versions_of("SyncGroup")
def test_the_sync_of_the_leader_is_told_from_others(version: int) -> None:
    side = Side()
    for assignments in ([], [SyncGroupRequestAssignment(member_id=MEMBER, assignment=b"a")]):
        request = SyncGroupRequest(
            group_id=GROUP,
            generation_id=4,
            member_id=MEMBER,
            protocol_type="consumer",
            protocol_name="range",
            assignments=assignments,
        )
        passing = side.ask(request, version)
        assert side.answer(passing, SyncGroupResponse(assignment=b"a"), version)
    _, asked, synced, asked_again, _ = side.seen
    assert isinstance(asked, Asked) and isinstance(synced, Synced)
    assert (asked.generation_id, asked.has_assignments, asked_again.has_assignments) == (4, False, True)
    assert (synced.member_id, synced.generation_id, synced.error) == (MEMBER, 4, 0)


@versions_of("LeaveGroup")
def test_a_goodbye_has_its_reason_and_whether_it_is_ones_own(version: int) -> None:
    side = Side()
    side.answer(
        side.ask(HeartbeatRequest(group_id=GROUP, generation_id=5, member_id=MEMBER), 0), HeartbeatResponse(), 0
    )
    assert [type(sighting) for sighting in side.seen] == [Heard]
    members = [MemberIdentity(member_id=MEMBER, reason="closed")]
    request = LeaveGroupRequest(group_id=GROUP, member_id=MEMBER, members=members)
    assert side.answer(
        side.ask(request, version), LeaveGroupResponse(members=[MemberResponse(member_id=MEMBER)]), version
    )
    (left,) = side.seen
    assert isinstance(left, Left)
    (member,) = left.members
    assert (member.member_id, member.error, left.is_own) == (MEMBER, 0, True)
    assert member.reason == ("closed" if version >= 5 else "")


@pytest.mark.parametrize(
    "request_class", [ConsumerGroupHeartbeatRequest, ShareGroupHeartbeatRequest, StreamsGroupHeartbeatRequest]
)
def test_heartbeats_with_an_epoch_tell_when_it_changes(request_class: Any) -> None:
    api = APIS[request_class.API_KEY]
    for version in range(api.min_version, api.max_version + 1):
        side = Side()
        for epoch, answered in ((0, 1), (1, 1), (1, 2), (-1, -1)):
            passing = side.ask(request_class(group_id=GROUP, member_id=MEMBER, member_epoch=epoch), version)
            response = api.response(member_id=MEMBER, member_epoch=answered, heartbeat_interval_ms=500)  # type: ignore[call-arg]
            assert side.answer(passing, response, version)
        heard, *beats = side.seen
        assert isinstance(heard, Heard)
        assert [(beat.api, beat.epoch, beat.answered_epoch) for beat in beats] == [
            (api.name, 0, 1),
            (api.name, 1, 2),
            (api.name, -1, -1),
        ]


def commits() -> list[Any]:
    """Each commit that names a member, in each version: the request, its version, and an answer with an error."""
    found = []
    for name, first, field in (
        ("OffsetCommit", 2, "generation_id_or_member_epoch"),
        ("TxnOffsetCommit", 3, "generation_id"),
    ):
        api: Any = APIS.named(name)
        answers = import_module(api.response.__module__)
        partition, topic = (getattr(answers, f"{name}Response{part}") for part in ("Partition", "Topic"))
        for version in range(max(api.min_version, first), api.max_version + 1):
            request = api.request(group_id=GROUP, member_id=MEMBER, **{field: 4})

            def answer(
                *errors: int, api: Any = api, topic: Any = topic, partition: Any = partition, topic_name: str = "orders"
            ) -> Any:
                partitions = [partition(partition_index=index, error_code=error) for index, error in enumerate(errors)]
                of_topic = topic(name=topic_name, partitions=partitions)
                return api.response(throttle_time_ms=77, topics=[of_topic] if errors else [])

            found.append(pytest.param(request, version, answer, id=f"{name}-{version}"))
    return found


@pytest.mark.parametrize(("request_", "version", "answer"), commits())
def test_a_commit_says_that_its_member_is_there_and_what_it_is_refused_for(
    request_: Any, version: int, answer: Any
) -> None:
    side = Side()
    passing = side.ask(request_, version)
    assert side.answer(passing, answer(0, 0), version)
    (heard,) = side.seen
    assert (heard.member_id, heard.group_id) == (MEMBER, GROUP)
    for error in (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.ILLEGAL_GENERATION):
        assert side.answer(side.ask(request_, version), answer(error, error), version)
        (beat,) = side.seen
        assert (beat.api, beat.member_id, beat.epoch, beat.error) == (APIS[request_.API_KEY].name, MEMBER, 4, error)
    assert side.answer(side.ask(request_, version), answer(), version)
    assert side.seen == []


@pytest.mark.parametrize(("request_", "version", "answer"), commits())
def test_an_answer_to_a_commit_is_never_held_back(request_: Any, version: int, answer: Any) -> None:
    """However little of it is there, nor read beyond that."""
    side = Side()
    frame = encode_response(7, answer(ErrorCode.UNKNOWN_MEMBER_ID, topic_name="o" * 100), version)[4:]
    for there in range(4, len(frame)):
        passing = side.ask(request_, version)
        assert side.tap.response(passing, frame[:there] + b"\xff" * 40, 0, there, len(frame))
        assert all(isinstance(each, Heard) or each.error == ErrorCode.UNKNOWN_MEMBER_ID for each in side.seen)


def test_a_commit_of_no_member_is_passed_over() -> None:
    side = Side()
    assert side.ask(OffsetCommitRequest(group_id=GROUP, generation_id_or_member_epoch=-1), 9) is None
    assert side.seen == []


def test_other_groups_leave_no_trace() -> None:
    side = Side()
    for name in ("Heartbeat", "JoinGroup", "SyncGroup", "LeaveGroup", "OffsetCommit", "ConsumerGroupHeartbeat"):
        api = APIS.named(name)
        request: Any = api.request(group_id="other", member_id=MEMBER)  # type: ignore[call-arg]
        assert side.ask(request, api.max_version) is None
    assert side.seen == [] and side.tap.requests == 0


def test_the_client_library_is_known_from_api_versions() -> None:
    side = Side()
    side.ask(ApiVersionsRequest(client_software_name="lib", client_software_version="1.2"), 3)
    side.ask(HeartbeatRequest(group_id=GROUP, member_id=MEMBER), 4)
    (heard,) = side.seen
    assert heard.client.software == "lib 1.2"


def test_what_a_member_that_leaves_committed_last_is_told() -> None:
    side = Side()
    commit: Any = APIS.named("OffsetCommit").response
    assert side.answer(
        side.ask(OffsetCommitRequest(group_id=GROUP, generation_id_or_member_epoch=1, member_id=MEMBER), 9), commit(), 9
    )
    request = LeaveGroupRequest(group_id=GROUP, members=[MemberIdentity(member_id=each) for each in (MEMBER, "other")])
    answers = [MemberResponse(member_id=each) for each in (MEMBER, "other")]
    assert side.answer(side.ask(request, 5), LeaveGroupResponse(members=answers), 5)
    heard, left = side.seen
    member, other = left.members
    assert heard.at_ms <= member.committed_ms <= left.at_ms
    assert other.committed_ms is None


def test_a_frame_that_has_not_come_is_waited_for_and_one_that_is_cut_is_counted() -> None:
    side = Side()
    frame = encode_request(7, "c", HeartbeatRequest(group_id=GROUP, generation_id=5, member_id=MEMBER), 4)[4:]
    for end in range(8, len(frame)):
        found = side.tap.request(side.connection, frame, 0, end, len(frame))
        assert found is MORE or not isinstance(found, tuple)
    assert side.tap.unread == 0
    assert side.tap.request(side.connection, frame[:20], 0, 20, 20) is None
    assert side.tap.unread == 1
    passing = side.ask(HeartbeatRequest(group_id=GROUP, generation_id=5, member_id=MEMBER), 4)
    answer = encode_response(7, HeartbeatResponse(), 4)[4:]
    assert not side.tap.response(passing, answer[:5], 0, 5, len(answer))


def test_what_cannot_be_decoded_disturbs_nothing() -> None:
    side = Side()
    frame = encode_request(7, "c", JoinGroupRequest(group_id=GROUP, protocol_type="p"), 7)[4:]
    assert side.tap.request(side.connection, frame[:-2], 0, len(frame) - 2, len(frame) - 2) is None
    assert len(side.problems) == 1 and side.tap.unread == 1
    passing = side.ask(ConsumerGroupHeartbeatRequest(group_id=GROUP, member_id=MEMBER, member_epoch=1), 1)
    assert side.tap.response(passing, b"\0\0\0\7", 0, 4, 4), "an answer that is none passes"
    assert isinstance(ConsumerGroupHeartbeatResponse(), ConsumerGroupHeartbeatResponse)


def test_nothing_is_looked_at_while_nothing_is_watched() -> None:
    assert not Tap(NODE).apis
    assert len(TAPPED) == 10


def test_a_heartbeat_that_comes_again_renews_its_member() -> None:
    side = Side()
    steady(side)
    heard = side.seen[0]
    threading.Event().wait(0.005)
    passing = steady(side, answered=False)
    side.tap.closed(side.connection, by_client=True)
    (closed,) = side.seen
    assert closed.last_heard_ms > heard.at_ms and not closed.is_unanswered
    assert side.answer(passing, HeartbeatResponse(), 4), "what comes after the end disturbs nothing"
    assert side.tap.requests == 2


def test_heartbeats_that_come_again_before_the_answer_are_counted_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(seen_members, "LATE_ANSWER_MS", -1)
    side = Side()
    steady(side)
    passing = [steady(side, answered=False) for _ in range(3)]
    for asked in passing[:2]:
        side.answer(asked, HeartbeatResponse(), 4)
    side.tap.closed(side.connection, by_client=True)
    assert side.seen[-1].is_unanswered
    assert len({id(each) for each in passing}) == 3


def test_an_answer_that_comes_in_pieces_is_heard_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(seen_members, "LATE_ANSWER_MS", -1)
    side = Side()
    first, second = steady(side, answered=False), steady(side, answered=False)
    frame = encode_response(7, HeartbeatResponse(), 4)[4:]
    for end in range(4, len(frame)):
        assert not side.tap.response(first, frame, 0, end, len(frame))
    assert side.answer(first, HeartbeatResponse(), 4)
    side.tap.closed(side.connection, by_client=True)
    assert side.seen[-1].is_unanswered, f"{second} is not answered"


@pytest.mark.parametrize("what", ["generation", "member", "group", "version", "client id"])
def test_a_heartbeat_with_something_else_is_read_anew(what: str) -> None:
    side = Side()
    side.tap.watch(lambda group_id: True)
    steady(side)
    side.tap.drain()
    other: dict[str, dict[str, Any]] = {
        "generation": {"generation_id": 6},
        "member": {"member_id": "m-2"},
        "group": {"group_id": "watcheD"},
    }
    fields: dict[str, Any] = {"group_id": GROUP, "generation_id": 5, "member_id": MEMBER} | other.get(what, {})
    version = 3 if what == "version" else 4
    frame = encode_request(7, "d" if what == "client id" else "c", HeartbeatRequest(**fields), version)[4:]
    passing = side.tap.request(side.connection, frame, 0, len(frame), len(frame))
    assert side.answer(passing, HeartbeatResponse(error_code=ErrorCode.REBALANCE_IN_PROGRESS), version)
    beat_seen = side.seen[-1]
    assert (beat_seen.group_id, beat_seen.member_id, beat_seen.epoch) == tuple(
        fields[name] for name in ("group_id", "member_id", "generation_id")
    )


def test_a_member_whose_heartbeat_comes_by_another_connection_is_there() -> None:
    side = Side()
    steady(side)
    first, side.connection = side.connection, SimpleConnection("10.0.0.2", "c", "")
    steady(side)
    side.tap.closed(first, by_client=True)
    assert [type(sighting) for sighting in side.seen] == [Heard], "it has moved"
    side.connection = first
    steady(side)
    side.tap.closed(first, by_client=True)
    assert [type(sighting) for sighting in side.seen] == [Closed]


def test_a_member_that_has_left_and_comes_again_with_the_same_bytes_is_heard_anew() -> None:
    side = Side()
    steady(side)
    goodbye = LeaveGroupRequest(group_id=GROUP, members=[MemberIdentity(member_id=MEMBER)])
    answer = LeaveGroupResponse(members=[MemberResponse(member_id=MEMBER)])
    assert side.answer(side.ask(goodbye, 5), answer, 5)
    side.tap.drain()
    steady(side)
    assert [type(sighting) for sighting in side.seen] == [Heard]


def test_a_member_that_was_silent_and_comes_again_with_the_same_bytes_is_heard(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(seen_members, "SILENT_AFTER_MS", -1)
    side = Side()
    steady(side)
    side.tap.find_silent()
    steady(side)
    assert [type(sighting) for sighting in side.seen] == [Heard, Silent, Heard]


def test_what_is_watched_from_now_on_is_read_although_the_same_bytes_came_before() -> None:
    side, watched = Side(), set[str]()
    side.tap.watch(watched.__contains__)
    for _ in range(3):
        assert steady(side, answered=False) is None
    watched.add(GROUP)
    side.tap.ask_again()
    assert steady(side) is not None
    side.tap.watch(None)
    side.tap.watch(watched.__contains__)
    assert steady(side) is not None
    assert len(side.seen) == 2


def steady(side: Side, *, answered: bool = True) -> Any:
    """A heartbeat as its member sends it again and again."""
    passing = side.ask(HeartbeatRequest(group_id=GROUP, generation_id=5, member_id=MEMBER), 4)
    if answered:
        assert side.answer(passing, HeartbeatResponse(), 4)
    return passing


@versions_of("SyncGroup")
def test_the_long_sync_of_a_leader_is_seen_before_its_end(version: int) -> None:
    """It has the assignments of all members, and its client may wait long to be able to send it all."""
    side = Side()
    assignments = [SyncGroupRequestAssignment(member_id=f"m-{number}", assignment=bytes(9)) for number in range(200)]
    request = SyncGroupRequest(group_id=GROUP, generation_id=4, member_id=MEMBER, assignments=assignments)
    frame = encode_request(7, "c", request, version)[4:]
    passing = side.tap.request(side.connection, frame, 0, 200, len(frame))
    answer = encode_response(7, SyncGroupResponse(assignment=bytes(200)), version)[4:]
    assert side.tap.response(passing, answer, 0, 20, len(answer))
    heard, asked, synced = side.seen
    assert heard.member_id == asked.member_id == synced.member_id == MEMBER
    assert asked.has_assignments and synced.has_assignments and synced.error == 0
    assert side.tap.unread == 0


@versions_of("SyncGroup")
def test_a_sync_is_waited_for_until_it_says_whether_it_has_assignments(version: int) -> None:
    side = Side()
    request = SyncGroupRequest(group_id=GROUP, generation_id=4, member_id=MEMBER, protocol_name="p")
    frame = encode_request(7, "c", request, version)[4:]
    needed = len(frame) - (1 if version >= 4 else 0)
    for end in range(8, needed):
        assert side.tap.request(side.connection, frame, 0, end, len(frame)) is MORE
    assert side.tap.request(side.connection, frame, 0, needed, len(frame)) is not MORE
    assert not side.seen[-1].has_assignments


def test_a_join_that_is_very_long_passes_unread() -> None:
    """To decode it would hold up all else."""
    side = Side()
    assert side.ask(JoinGroupRequest(group_id=GROUP, protocol_type="p", reason="r"), 8) is not None
    protocols = [JoinGroupRequestProtocol(name="p", metadata=bytes(1 << 20))]
    assert side.ask(JoinGroupRequest(group_id=GROUP, protocol_type="p", protocols=protocols), 8) is None
    assert side.tap.unread == 1
