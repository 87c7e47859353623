"""What the audit says of stock clients: who they are, how they go, and what that cost."""

from collections.abc import Iterator
from typing import Any, TypeVar

import pytest
from confluent_kafka import Consumer
from kafka import KafkaAdminClient
from kafka.admin import NewTopic

from coordinator.audit import schema
from coordinator.client.audit_topic import AuditTopic
from coordinator.core.causes import Cause
from coordinator.explain.history import GroupHistory
from coordinator.explain.story import story_of
from tests.e2e.members import Member, steady
from tests.servers import RunningServer
from tests.waiting import wait_for

pytestmark = pytest.mark.realtime

TOPIC = "orders"
PARTITIONS = 4
SESSION_MS = 1_500
E = TypeVar("E", bound=schema.AuditEvent)


@pytest.fixture
def server(tmp_path) -> Iterator[RunningServer]:
    with RunningServer(tmp_path) as running:
        admin = KafkaAdminClient(bootstrap_servers=running.bootstrap)
        admin.create_topics([NewTopic(TOPIC, PARTITIONS, 1)])
        admin.close()
        yield running


def events(server: RunningServer, group_id: str) -> list[schema.AuditEvent]:
    with AuditTopic(server.bootstrap) as topic:
        return [record.event for record in topic.group_events(group_id) if record.event is not None]


def of_kind(server: RunningServer, group_id: str, kind: type[E]) -> list[E]:
    return [event for event in events(server, group_id) if isinstance(event, kind)]


def confluent(server: RunningServer, group_id: str, **settings: Any) -> Consumer:
    consumer = Consumer(
        {
            "bootstrap.servers": server.bootstrap,
            "group.id": group_id,
            "client.id": "indexer-1",
            "session.timeout.ms": SESSION_MS,
            "heartbeat.interval.ms": 100,
            **settings,
        }
    )
    consumer.subscribe([TOPIC])
    return consumer


def assigned(consumer: Consumer) -> bool:
    consumer.poll(0.05)
    return len(consumer.assignment()) == PARTITIONS


def test_clients_are_told_by_their_software(server):
    member = Member(server.bootstrap, TOPIC, "python", client_id="billing-1")
    steady([member], PARTITIONS, "one member")
    member.stop()
    consumer = confluent(server, "librdkafka")
    wait_for(lambda: assigned(consumer), 20, "an assignment")
    consumer.close()
    (python, *_), (librdkafka, *_) = (of_kind(server, group, schema.MemberJoined) for group in ("python", "librdkafka"))
    assert (python.member.client_id, python.member.client_software_name) == ("billing-1", "kafka-python")
    assert librdkafka.member.client_id == "indexer-1"
    assert "confluent" in librdkafka.member.client_software_name or "rdkafka" in librdkafka.member.client_software_name
    assert all(each.member.client_software_version[:1].isdigit() for each in (python, librdkafka))


@pytest.mark.parametrize("client", ["kafka-python", "librdkafka"])
def test_a_close_is_a_member_that_left(server, client):
    if client == "kafka-python":
        member = Member(server.bootstrap, TOPIC, "g", client_id="billing-1")
        steady([member], PARTITIONS, "one member")
        member.stop()
    else:
        consumer = confluent(server, "g")
        wait_for(lambda: assigned(consumer), 20, "an assignment")
        consumer.close()
    (removed,) = of_kind(server, "g", schema.MemberRemoved)
    assert (removed.cause, removed.requested_by) == (Cause.MEMBER_LEFT, None)
    assert removed.last_joined_ms is not None
    assert removed.last_joined_ms <= removed.time_ms


def test_a_member_that_stops_polling_leaves_and_another_gets_its_partitions(server):
    """librdkafka leaves by itself after max.poll.interval.ms; the protocol does not say why."""
    consumer = confluent(server, "g", **{"max.poll.interval.ms": SESSION_MS})
    wait_for(lambda: assigned(consumer), 20, "an assignment")
    (removed,) = wait_for(lambda: of_kind(server, "g", schema.MemberRemoved), 30, "the member to be removed")
    assert removed.cause is Cause.MEMBER_LEFT
    assert removed.last_joined_ms is not None
    assert removed.time_ms - removed.last_joined_ms >= SESSION_MS
    history = GroupHistory.of("g", events(server, "g"))
    assert "max.poll.interval.ms" in " ".join(story_of(history, history.generations[-1]).paragraphs)
    consumer.close()


def test_a_silent_member_is_told_with_the_time_it_was_last_heard(server):
    """A stopped process: its socket stays open, and nothing is heard of it."""
    silent = confluent(server, "g", **{"enable.auto.commit": False, "heartbeat.interval.ms": 60_000})
    wait_for(lambda: assigned(silent), 20, "an assignment")
    (removed,) = wait_for(lambda: of_kind(server, "g", schema.MemberRemoved), 30, "the session to expire")
    assert (removed.cause, removed.session_timeout_ms) == (Cause.SESSION_EXPIRED, SESSION_MS)
    assert removed.last_heard_ms is not None
    assert SESSION_MS <= removed.time_ms - removed.last_heard_ms < SESSION_MS + 1_000
    silent.close()
