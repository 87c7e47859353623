"""Groups of stock consumers, as they live: they come and go, restart, and outlive the server's own end."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from typing import Final

import pytest
from kafka import KafkaProducer

from _wire.embedded import encode_versioned
from _wire.messages.consumer_protocol_subscription import ConsumerProtocolSubscription
from _wire.messages.describe_groups import DescribeGroupsRequest
from _wire.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestTopic
from _wire.records import parse_records
from coordinator.audit import schema
from coordinator.core.partitioning import partition_for
from coordinator.internal_topics import AUDIT_TOPIC
from coordinator.log.data_dirs.checkpoints import GROUP_AUDIT
from tests.e2e.members import Member, steady, stop_all
from tests.servers import RunningServer
from tests.waiting import wait_for
from tests.wire_client import WireClient, fetch_request, join_request

pytestmark = pytest.mark.realtime

PARTITIONS: Final = 6
AUDIT_PARTITIONS: Final = 50
SESSION_MS: Final = 1500
_NAMES = (f"e2e-{number}" for number in count(1))


@pytest.fixture
def name(server: RunningServer) -> str:
    """The name of a group, and of a topic of six partitions on the shared server."""
    name = next(_NAMES)
    with WireClient(server.bootstrap) as client:
        client.create_topic(name, PARTITIONS)
    return name


@contextmanager
def running(*members: Member) -> Iterator[list[Member]]:
    """Members that are stopped in the end, those too that were added."""
    all_members = list(members)
    try:
        yield all_members
    finally:
        stop_all(all_members)


def produce(bootstrap: str, topic: str, values: range) -> None:
    """One record each, spread over the partitions; all are acknowledged."""
    producer = KafkaProducer(bootstrap_servers=bootstrap, acks="all", retry_backoff_ms=20)
    sent = [producer.send(topic, str(value).encode(), partition=value % PARTITIONS) for value in values]
    producer.flush()
    assert [each.get(10).partition for each in sent] == [value % PARTITIONS for value in values]
    producer.close()


def audit_of(server: RunningServer, group_id: str) -> list[schema.AuditEvent]:
    """All events of a group, which was created once; their `seq` has no gap."""
    with WireClient(server.bootstrap) as client:
        partition = partition_for(group_id, AUDIT_PARTITIONS)
        answer = client.request(fetch_request(AUDIT_TOPIC, partition=partition, max_bytes=1 << 24), 11)
    records = parse_records(answer.responses[0].partitions[0].records)
    events = [schema.decode_event(record.value or b"") for record in records if record.key == group_id.encode()]
    first = events[0].created_seq
    assert [event.seq for event in events] == list(range(first, first + len(events)))
    return events


def changes(server: RunningServer, group_id: str) -> list[schema.AuditEvent]:
    """The events of a group but for snapshots and what is about its offsets."""
    return [event for event in audit_of(server, group_id) if type(event) not in schema.NEVER_VOID]


def kinds(events: list[schema.AuditEvent]) -> list[str]:
    return [str(event.__struct_config__.tag) for event in events]


def causes(events: list[schema.AuditEvent]) -> list[str]:
    return [event.cause for event in events if isinstance(event, schema.RebalanceStarted)]


def committed(server: RunningServer, group_id: str, topic: str) -> dict[int, int]:
    """Partition → committed offset, as the server tells it."""
    with WireClient(server.bootstrap) as client:
        wanted = [OffsetFetchRequestTopic(name=topic, partition_indexes=list(range(PARTITIONS)))]
        (answer,) = client.request(OffsetFetchRequest(group_id=group_id, topics=wanted), 5).topics
    return {partition.partition_index: partition.committed_offset for partition in answer.partitions}


def described(server: RunningServer, group_id: str) -> tuple[str, set[str]]:
    """State and member ids."""
    with WireClient(server.bootstrap) as client:
        (group,) = client.request(DescribeGroupsRequest(groups=[group_id]), 4).groups
    return group.group_state, {member.member_id for member in group.members}


# ---- consumers come and go


def test_consumers_share_the_partitions_whoever_comes_and_goes(server, name):
    def one_more() -> Member:
        return Member(server.bootstrap, name, name)

    with running(one_more(), one_more(), one_more()) as members:
        first = steady(members, PARTITIONS, "three members with two partitions each")
        members.pop().stop()
        second = steady(members, PARTITIONS, "two members with three partitions each")
        members.append(one_more())
        third = steady(members, PARTITIONS, "three members again")
        assert first < second < third
    events = audit_of(server, name)
    assert causes(events)[-1] == "member_left"
    assert {"new_member", "member_left"} <= set(causes(events)) <= {"new_member", "member_left", "leader_rejoined"}
    assert kinds(events)[0] == "group.created"
    assert (kinds(events)[-1], events[-1].state) == ("group.emptied", "Empty")


def test_every_record_is_read_once_by_a_group_that_does_not_change(server, name):
    produce(server.bootstrap, name, range(300))
    with running(Member(server.bootstrap, name, name), Member(server.bootstrap, name, name)) as members:
        wait_for(lambda: sum(sum(member.committed.values()) for member in members) >= 300, 20, "all to be committed")
        read = sorted({value for member in members for value in member.values})
    assert read == list(range(300))
    assert committed(server, name, name) == dict.fromkeys(range(PARTITIONS), 50)


def test_a_static_member_restarts_without_a_rebalance(server, name):
    def static(instance_id: str) -> Member:
        return Member(server.bootstrap, name, name, instance_id=instance_id)

    with running(static("one"), static("two")) as members:
        generation_id = steady(members, PARTITIONS, "two static members")
        owned = members[1].membership
        _, ids = described(server, name)
        before = len(audit_of(server, name))
        members.pop().stop()
        assert described(server, name) == ("Stable", ids), "it did not leave"
        members.append(static("two"))
        assert steady(members, PARTITIONS, "the restarted member") == generation_id
        assert members[1].membership == owned
        assert members[0].generations[-1] == generation_id
        assert kinds(audit_of(server, name)[before:]) == ["static_member.replaced"]
        state, ids_after = described(server, name)
        assert (state, len(ids_after - ids)) == ("Stable", 1)


def test_a_group_resumes_where_it_committed(server, name):
    produce(server.bootstrap, name, range(60))
    with running(Member(server.bootstrap, name, name)) as (first,):
        wait_for(lambda: sum(first.committed.values()) == 60, 20, "the first half")
    produce(server.bootstrap, name, range(60, 120))
    with running(Member(server.bootstrap, name, name)) as (second,):
        wait_for(lambda: len(second.values) >= 60, 20, "the second half")
        wait_for(lambda: sum(second.committed.values()) == 120, 20, "its commit")
    assert sorted(second.values) == list(range(60, 120)), "nothing twice, nothing left out"


def test_a_member_that_dies_is_missed(server, name):
    """Without a goodbye: its socket is closed, its heartbeats end, its session runs out."""
    with running(Member(server.bootstrap, name, name)) as members:
        steady(members, PARTITIONS, "one member with all partitions")
        with WireClient(server.bootstrap) as dying:
            subscription = encode_versioned(ConsumerProtocolSubscription(topics=[name]), 0)
            dying.send(join_request(name, timeout_ms=600, metadata=subscription), 3)
            wait_for(lambda: len(described(server, name)[1]) == 2, 10, "the join of the one that dies")
        wait_for(lambda: len(described(server, name)[1]) == 1, 20, "the end of its session")
        steady(members, PARTITIONS, "the one that is left, with all partitions")
    removed = [event for event in audit_of(server, name) if isinstance(event, schema.MemberRemoved)]
    assert removed[0].cause in ("session_expired", "sync_timeout", "rebalance_timeout")


# ---- the server's own end


@pytest.mark.parametrize("end", ["kill", "stop"])
def test_a_group_goes_on_after_the_server_was_started_anew(tmp_path, end):
    with RunningServer(tmp_path) as server:
        with WireClient(server.bootstrap) as client:
            client.create_topic("orders", PARTITIONS)
        produce(server.bootstrap, "orders", range(60))
        couple = [Member(server.bootstrap, "orders", "group", session_ms=SESSION_MS) for _ in range(2)]
        with running(*couple) as members:
            generation_id = steady(members, PARTITIONS, "two members")
            wait_for(lambda: sum(committed(server, "group", "orders").values()) == 60, 20, "all to be committed")
            before, group, memberships = changes(server, "group"), described(server, "group"), memberships_of(members)

            getattr(server, end)()
            server.start()

            assert described(server, "group") == group == ("Stable", group[1])
            assert committed(server, "group", "orders") == dict.fromkeys(range(PARTITIONS), 10)
            assert changes(server, "group") == before
            snapshots = [event for event in audit_of(server, "group") if isinstance(event, schema.GroupSnapshot)]
            assert [event.checkpoint_offset is not None for event in snapshots] == [True] * (end == "stop")
            assert (server.data / GROUP_AUDIT).exists() == (end == "stop")
            produce(server.bootstrap, "orders", range(60, 120))
            wait_for(lambda: sum(committed(server, "group", "orders").values()) == 120, 20, "commits after the restart")
            sessions_would_be_over = threading.Event()
            sessions_would_be_over.wait(SESSION_MS / 1000)
            assert described(server, "group") == group, "their heartbeats are taken"
            assert memberships_of(members) == memberships
            assert steady(members, PARTITIONS, "the same two members") == generation_id
            assert changes(server, "group") == before, "nothing happened to the group"
            read = sorted(value for member in members for value in member.values)
        assert read == list(range(120)), "each record once"
        # The heartbeat that a client sends beside its LeaveGroup may come after that, and is refused.
        since = [kind for kind in kinds(audit_of(server, "group"))[len(before) :] if kind != "request.rejected"]
        assert since[-1] == "group.emptied"


def memberships_of(members: list[Member]) -> list[object]:
    return [member.membership for member in members]


@pytest.mark.parametrize("end", ["kill", "stop"])
def test_who_does_not_come_back_after_a_restart_is_missed(tmp_path, end):
    """Members get a fresh session at the load; this one never uses it."""
    with RunningServer(tmp_path) as server:
        with WireClient(server.bootstrap) as client:
            client.join_alone("group", session_timeout_ms=600)
        getattr(server, end)()
        server.start()
        assert described(server, "group")[0] == "Stable"
        wait_for(lambda: described(server, "group") == ("Empty", set()), 10, "its session to run out")
        assert kinds(audit_of(server, "group"))[-3:] == ["member.removed", "rebalance.started", "group.emptied"]
