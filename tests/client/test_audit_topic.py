"""The reader of the audit topic, on a real server."""

import json

import pytest

from coordinator.audit.schema import AuditEvent, CoordinatorPaused, GenerationStable, GroupCreated, encode_event
from coordinator.client import audit_topic
from coordinator.client.audit_topic import AuditTopic, audit_record
from coordinator.client.cluster import EARLIEST
from coordinator.explain.history import GroupHistory
from tests.servers import RunningServer
from tests.wire_client import WireClient

MEMBERS = 30


@pytest.fixture(scope="module")
def group(server: RunningServer) -> str:
    """One of many groups, whose events are in batches of their own."""
    with WireClient(server.bootstrap) as client:
        client.join_alone("audited", instance_id="a")
        for number in range(MEMBERS):
            client.join_alone(f"audited-{number}")
    return "audited"


def test_all_events_of_one_group_and_no_other(server, group):
    with AuditTopic(server.bootstrap) as topic:
        events = [group_event.event for group_event in topic.group_events(group) if group_event.event is not None]
    assert isinstance(events[0], GroupCreated)
    assert isinstance(events[-1], GenerationStable)
    assert {event.group_id for event in events} == {group}
    assert not GroupHistory.of(group, events).gaps


def test_the_events_about_a_group_have_those_of_the_coordinator_in_its_partition(server, group):
    with AuditTopic(server.bootstrap) as topic:
        own = list(topic.group_events(group))
        about = list(topic.events_about(group))
        partition = topic.partition_of(group)
        whole = topic.records(topic.offsets([partition], EARLIEST), lambda key: True)
        unkeyed = [each for each in whole if each.record[0] is None]
    assert [each for each in about if each.event is not None] == own
    assert [each for each in about if each.event is None] == unkeyed
    assert all(each.coordinator_event is None for each in own)


def test_an_event_about_a_coordinator_is_decoded():
    paused = CoordinatorPaused(time_ms=9, node_id=1, coordinator_epoch=2, from_ms=3, until_ms=9, pause_kind="blocked")
    record = audit_record(4, 9, None, encode_event(paused))
    assert (record.event, record.coordinator_event, record.time_ms) == (None, paused, 9)
    assert audit_record(4, 9, None, b'{"kind": "coordinator.upgraded", "time_ms": 17}').coordinator_event is None


def test_a_topic_that_is_larger_than_a_response(server, group, monkeypatch):
    with AuditTopic(server.bootstrap) as topic:
        whole, _ = topic.tail(10_000)
        monkeypatch.setattr(audit_topic, "FETCH_BYTES", 1_000)
        monkeypatch.setattr(audit_topic, "PARTITION_BYTES", 1_000)
        assert topic.tail(10_000)[0] == whole
    assert len(whole) > MEMBERS


def test_the_tail_is_the_newest_of_all_partitions(server, group):
    with AuditTopic(server.bootstrap) as topic:
        whole, _ = topic.tail(10_000)
        newest, _ = topic.tail(7)
    assert newest == whole[-7:]


def test_a_kind_of_a_later_version_keeps_its_place():
    event = {
        "kind": "group.renamed", "group_id": "g", "seq": 7, "created_seq": 1, "time_ms": 5, "node_id": 1,
        "coordinator_epoch": 2, "generation_id_before": 3, "generation_id": 3, "state_before": "Stable",
        "state": "Stable", "to": "h",
    }  # fmt: skip
    record = audit_record(0, 9, b"g", json.dumps(event).encode())
    assert record.event is not None
    assert type(record.event) is AuditEvent
    history = GroupHistory.of("g", [record.event])
    assert (history.last_seq, history.state) == (7, "Stable")


@pytest.mark.parametrize("value", [b"", b"not JSON", b"[]", b'{"kind": "group.created"}', b"\xff", None])
def test_what_is_no_event_is_none(value):
    assert audit_record(0, 9, b"g", value).event is None


def test_a_record_of_the_coordinator_itself_has_a_time_but_is_no_event_of_a_group():
    record = audit_record(0, 9, None, b'{"kind": "coordinator.started", "time_ms": 17}')
    assert (record.group_id, record.event, record.time_ms) == ("", None, 17)
