"""Retention of the audit topic on a whole server: its config counts at once, and a restart knows all live groups."""

import pytest

from _wire.messages.describe_log_dirs import DescribableLogDirTopic, DescribeLogDirsRequest
from _wire.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from coordinator.audit.schema import GroupLoaded
from coordinator.client.audit_topic import AuditTopic
from coordinator.client.cluster import EARLIEST, LATEST
from coordinator.internal_topics import AUDIT_TOPIC
from coordinator.testing import Coordinator
from tests.waiting import wait_for
from tests.wire_client import WireClient

MINUTE_MS = 60_000
TOPIC = 2
SETTINGS = {
    "offsets.topic.num.partitions": 1,
    "group.max.session.timeout.ms": 7_200_000,
    "log.retention.check.interval.ms": 30_000,
}


@pytest.fixture
def coordinator():
    with Coordinator(SETTINGS) as running:
        yield running


def set_retention(client: WireClient, **configs: int) -> None:
    changes = [AlterableConfig(name=name.replace("_", "."), value=str(value)) for name, value in configs.items()]
    resource = AlterConfigsResource(resource_type=TOPIC, resource_name=AUDIT_TOPIC, configs=changes)
    response = client.send_latest(IncrementalAlterConfigsRequest(resources=[resource]))
    assert [each.error_code for each in response.responses] == [0]


def bounds(bootstrap: str) -> tuple[int, int]:
    """Log start offset and log end offset of the audit topic."""
    with AuditTopic(bootstrap) as topic:
        return topic.offsets([0], EARLIEST)[0], topic.offsets([0], LATEST)[0]


def log_bytes(client: WireClient) -> int:
    """The size of the audit topic on the disk."""
    topic = DescribableLogDirTopic(topic=AUDIT_TOPIC, partitions=[0])
    response = client.send_latest(DescribeLogDirsRequest(topics=[topic]))
    return sum(
        partition.partition_size for root in response.results for found in root.topics for partition in found.partitions
    )


def join_again_and_again(client: WireClient, group_id: str, times: int) -> None:
    """A static member that starts again and again: each time writes some events."""
    for _ in range(times):
        client.join_alone(group_id, instance_id="a", session_timeout_ms=7_200_000)


def test_the_topic_follows_its_retention_and_keeps_live_groups(coordinator):
    with WireClient(coordinator.bootstrap) as client:
        client.join_alone("quiet", session_timeout_ms=7_200_000)
        join_again_and_again(client, "busy", 40)
        set_retention(client, retention_ms=MINUTE_MS)
        _, end = bounds(coordinator.bootstrap)
        assert end > 40

        def old_events_are_gone() -> bool:
            coordinator.advance(30)
            return bounds(coordinator.bootstrap)[0] >= end

        wait_for(old_events_are_gone, 10, "the events that are older than the retention are deleted", every_ms=100)
        start, now = bounds(coordinator.bootstrap)
    assert now - start < 20
    for clean in (True, False):
        coordinator.restart(clean=clean)
        assert coordinator.group("quiet").state == "Stable"
        events = coordinator.events("quiet")
        assert events, "the topic has no event of a live group"
        assert [event.seq for event in events] == list(range(events[0].seq, events[-1].seq + 1))
        assert events[0].seq > events[0].created_seq
        assert not [event for event in events if isinstance(event, GroupLoaded)], "the audit did not know the group"


def test_the_topic_follows_its_size(coordinator):
    with WireClient(coordinator.bootstrap) as client:
        client.join_alone("quiet", session_timeout_ms=7_200_000)
        set_retention(client, retention_bytes=100_000, retention_ms=-1)
        for _ in range(8):
            join_again_and_again(client, "busy", 60)

            def it_is_small_enough() -> bool:
                # What is written between two checks is a segment, and only whole segments are deleted.
                coordinator.advance(30)
                return log_bytes(client) < 100_000 + 60_000

            wait_for(it_is_small_enough, 10, "events beyond retention.bytes are deleted", every_ms=100)
    assert bounds(coordinator.bootstrap)[0] > 0
    coordinator.restart(clean=False)
    assert coordinator.group("quiet").state == "Stable"
