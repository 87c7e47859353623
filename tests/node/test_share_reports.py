"""What the audit tells of the records of a share group, as members fetch and acknowledge."""

from collections.abc import Iterator

import pytest

from coordinator.audit.schema import MemberRef, ShareRecords
from coordinator.testing import Coordinator
from tests.node.handlers.test_share import GROUP, ShareClient, acquired, first_fetch
from tests.waiting import wait_for

ACCEPT, RELEASE, REJECT = [1], [2], [3]
INTERVAL_S = 20
"""Shorter than the session of a member."""


@pytest.fixture
def server() -> Iterator[Coordinator]:
    with Coordinator({"group.audit.records.interval.ms": str(INTERVAL_S * 1000)}) as running:
        yield running


@pytest.fixture
def client(server: Coordinator) -> Iterator[ShareClient]:
    with ShareClient(server.bootstrap) as connected:
        connected.make_topic("orders", 2)
        connected.configure(share_auto_offset_reset="earliest", share_delivery_count_limit="2")
        connected.initialize("orders")
        connected.put("orders", b"a", b"b", b"c")
        yield connected


def told(server: Coordinator) -> list[ShareRecords]:
    return [event for event in server.events(GROUP) if isinstance(event, ShareRecords)]


def interval(server: Coordinator) -> ShareRecords:
    """What is told of the interval that is under way."""
    before = len(told(server))
    server.advance(INTERVAL_S)
    wait_for(lambda: len(told(server)) > before, 10, "a report")
    return told(server)[-1]


def test_records_that_are_accepted_are_counted_and_no_partition_is_named(server, client):
    first_fetch(client)
    client.acknowledge({0: [(0, 2, ACCEPT)]})
    event = interval(server)
    assert (event.counts.acquired, event.counts.accepted, event.counts.delivered_again) == (3, 3, 0)
    assert event.partitions == []
    (member,) = event.members
    assert (member.member.member_id, member.member.client_id, member.counts) == ("a", "a", event.counts)
    assert (event.interval_ms, event.lock_duration_ms, event.delivery_count_limit) == (20_000, 30_000, 2)
    server.advance(INTERVAL_S)
    assert len(told(server)) == 1, "nothing has happened, and nothing is in flight"


def test_a_record_that_is_archived_and_one_that_is_rejected_are_named(server, client):
    first_fetch(client)
    client.acknowledge({0: [(0, 0, REJECT), (1, 1, ACCEPT), (2, 2, RELEASE)]})
    assert acquired(client.fetch()) == [(0, 2, 2, 2)]
    client.acknowledge({0: [(2, 2, RELEASE)]})
    event = interval(server)
    (partition,) = event.partitions
    assert (partition.topic, partition.partition, partition.start_offset, partition.lag) == ("orders", 0, 3, 0)
    ended = partition.records
    assert [(each.first_offset, each.last_offset, each.delivery_count, each.ended_by) for each in ended] == [
        (0, 0, 1, "rejected"),
        (2, 2, 2, "released"),
    ]
    assert {each.member.member_id for each in ended} == {"a"}
    counts = partition.counts
    assert (counts.delivered_again, counts.released, counts.rejected, counts.archived) == (1, 2, 1, 1)


def test_a_start_that_stands_is_told_with_its_record_and_who_has_it(server, client):
    client.configure(share_record_lock_duration_ms="60000")
    first_fetch(client)
    client.acknowledge({0: [(1, 2, ACCEPT)]})
    assert interval(server).partitions == [], "nobody knows yet for how long it stands"
    event = interval(server)
    (partition,) = event.partitions
    assert partition.first is not None
    assert partition.first.member is not None
    assert (partition.first.member.member_id, partition.first.delivery_count) == ("a", 1)
    assert (partition.start_offset, partition.in_flight, partition.lag) == (0, 3, 1)
    assert event.time_ms - partition.first.since_ms >= INTERVAL_S * 1000
    assert event.members == [], "nobody has done anything"


def test_who_is_no_member_of_the_group_is_told_without_a_client(server, client):
    with ShareClient(server.bootstrap, "stranger", client.topic_id) as other:
        first_fetch(other)
        event = interval(server)
    assert [each.member for each in event.members] == [MemberRef("stranger")]


def test_why_records_come_back_is_told(server, client):
    with ShareClient(server.bootstrap, "b", client.topic_id) as other:
        first_fetch(other)
    wait_for(lambda: acquired(client.fetch(0, share_session_epoch=0)) == [(0, 0, 2, 2)], 10, "records")
    client.acknowledge({0: [(0, 0, ACCEPT)]}, share_session_epoch=-1)
    event = interval(server)
    assert (event.counts.disconnected, event.counts.closed, event.counts.delivered_again) == (3, 2, 3)
    of = {each.member.member_id: each.counts for each in event.members}
    assert (of["b"].disconnected, of["a"].closed, of["a"].archived) == (3, 2, 2)
    (ended,) = event.partitions[0].records
    assert (ended.first_offset, ended.last_offset, ended.ended_by) == (1, 2, "closed")
