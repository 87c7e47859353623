"""Requests and responses with very many elements are decoded, encoded and freed in steps; others are served between."""

from collections.abc import Iterator
from itertools import count

import pytest

from _wire.errors import ErrorCode
from _wire.headers import encode_request
from _wire.messages.alter_client_quotas import (
    AlterClientQuotasEntity,
    AlterClientQuotasEntry,
    AlterClientQuotasOp,
    AlterClientQuotasRequest,
)
from _wire.messages.api_versions import ApiVersionsRequest
from _wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from _wire.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse, MemberIdentity
from _wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from _wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from _wire.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup, OffsetFetchRequestTopics
from _wire.release import Release
from coordinator.front import request_dispatcher
from coordinator.runtime import slices
from tests.hostile.in_process import InProcessServer, Peer

MEMBERS = 20_000
VERSION = 5
STEPS_AT_LEAST = (MEMBERS - 5_000) // 500


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[InProcessServer]:
    """Who looks at the clock of the slices finds that a slice has passed: each step of long work has its own turn."""
    with InProcessServer({"max.broker.partitions": "20000"}) as running:
        readings = count()
        monkeypatch.setattr(slices, "seconds", lambda: next(readings) * slices.TURN_SECONDS)
        yield running
        assert [line for line in running.log.lines if "unhandled" in line[1]] == []


def leave_request(members: int = MEMBERS) -> LeaveGroupRequest:
    return LeaveGroupRequest(group_id="g", members=[MemberIdentity(member_id=f"m{n}") for n in range(members)])


def ask(peer: Peer, request: object, version: int) -> None:
    """Send a request, and let the loop not turn."""
    peer.received.clear()
    peer.send(encode_request(7, "client", request, version))  # type: ignore[arg-type]


def turns_until_answered(server: InProcessServer, peer: Peer, other: Peer) -> int:
    """How many turns the answer took; in each of them another client asked something and was answered at once."""
    for turns in range(10_000):
        if peer.is_answered:
            return turns
        assert other.request(ApiVersionsRequest(), 0).error_code == ErrorCode.NONE
        server.turn()
    raise AssertionError("no answer")


def test_others_are_served_while_a_long_request_is_decoded_and_its_response_encoded(server):
    peer = Peer(server)
    ask(peer, leave_request(), VERSION)
    assert turns_until_answered(server, peer, Peer(server)) > 2 * STEPS_AT_LEAST
    answered = LeaveGroupResponse.decode(bytes(peer.received), VERSION, 4 + 4 + 1)
    assert [member.member_id for member in answered.members] == [f"m{number}" for number in range(MEMBERS)]
    assert {member.error_code for member in answered.members} == {ErrorCode.UNKNOWN_MEMBER_ID}


def test_others_are_served_while_the_long_response_to_a_small_request_is_encoded(server):
    peer = Peer(server)
    wide = CreatableTopic(name="wide", num_partitions=4_000, replication_factor=1)
    assert peer.request(CreateTopicsRequest(topics=[wide]), 7).topics[0].error_code == ErrorCode.NONE
    ask(peer, MetadataRequest(topics=[MetadataRequestTopic(name="wide")]), 12)
    elements = 3 * 4_000  # each partition, its replica and its replica in sync
    assert turns_until_answered(server, peer, Peer(server)) > (elements - 5_000) // 500
    (topic,) = peer.request(MetadataRequest(topics=[MetadataRequestTopic(name="wide")]), 12).topics
    assert [partition.partition_index for partition in topic.partitions] == list(range(4_000))


def test_a_long_request_that_is_malformed_at_its_end_closes_the_connection_and_changes_nothing(server):
    peer = Peer(server)
    topic = CreatableTopic(name="t", num_partitions=2, replication_factor=1)
    assert peer.request(CreateTopicsRequest(topics=[topic]), 7).topics[0].error_code == ErrorCode.NONE
    partitions = [OffsetCommitRequestPartition(partition_index=0, committed_offset=5)] * MEMBERS
    commit = OffsetCommitRequest(group_id="g", topics=[OffsetCommitRequestTopic(name="t", partitions=partitions)])
    frame = bytearray(encode_request(7, "client", commit, 8))
    frame[-4] = 0x7F  # the length of the last metadata
    other = Peer(server)
    other.send(bytes(frame))
    server.turn_until(lambda: other.is_lost)
    assert not other.received
    asked = OffsetFetchRequestGroup(group_id="g", topics=[OffsetFetchRequestTopics(name="t", partition_indexes=[0])])
    fetched = peer.request(OffsetFetchRequest(groups=[asked]), 8)
    assert fetched.groups[0].topics[0].partitions[0].committed_offset == -1


@pytest.mark.parametrize("turns", [0, 3, STEPS_AT_LEAST + 10])
def test_a_client_that_goes_away_meanwhile_ends_the_work(server, turns):
    peer, other = Peer(server), Peer(server)
    ask(peer, leave_request(), VERSION)
    for _ in range(turns):
        server.turn()
    assert not peer.is_answered
    peer.leave()
    for _ in range(100):
        server.turn()
    assert not peer.received
    assert other.request(leave_request(), VERSION).members[-1].error_code == ErrorCode.UNKNOWN_MEMBER_ID


def is_decoded(peer: Peer) -> bool:
    call = peer.connection.call
    assert call is not None
    return call.request is not None


def test_of_the_long_requests_of_an_address_one_is_decoded_at_a_time_if_they_would_hold_too_much(server, monkeypatch):
    monkeypatch.setattr(request_dispatcher, "BYTES_OF_LONG_REQUEST", slices.HELD_BYTES_MAX)
    first, second = Peer(server), Peer(server)
    for peer in (first, second):
        ask(peer, leave_request(), VERSION)
    while not first.is_answered:
        assert not second.is_answered
        server.turn()
        if not first.is_answered and not is_decoded(first):
            assert not is_decoded(second)
    server.turn_until(lambda: second.is_answered)


def test_a_long_request_and_its_response_are_freed_in_steps(server, monkeypatch):
    steps: list[int] = []

    class CountingRelease(Release):
        def run(self, messages):
            (message,) = messages
            size = len(message.members)
            del message
            super().run(messages)
            assert messages == []
            steps.append(size)

    monkeypatch.setattr(request_dispatcher, "Release", CountingRelease)
    peer = Peer(server)
    peer.request(leave_request(), VERSION)
    assert steps == []
    server.turn_until(lambda: len(steps) == 2)
    assert steps == [MEMBERS, MEMBERS]


def test_a_long_request_is_measured_against_quotas(server):
    """Its time counts step by step, and the throttle time is in the response."""
    peer = Peer(server)
    entry = AlterClientQuotasEntry(
        entity=[AlterClientQuotasEntity(entity_type="client-id", entity_name="client")],
        ops=[AlterClientQuotasOp(key="request_percentage", value=0.0001)],
    )
    altered = peer.request(AlterClientQuotasRequest(entries=[entry]), 1)
    assert altered.entries[0].error_code == ErrorCode.NONE
    peer.leave()
    peer = Peer(server)
    answered = peer.request(leave_request(), VERSION)
    assert len(answered.members) == MEMBERS
    assert answered.throttle_time_ms > 0
