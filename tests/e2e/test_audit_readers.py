"""The audit topic, read as docs/audit.md says: by the stock client, with the packages that it names."""

import pytest
from kafka import KafkaConsumer, TopicPartition

from coordinator.audit.schema import GroupCreated, decode_event
from coordinator.core.partitioning import partition_for
from coordinator.internal_topics import AUDIT_TOPIC
from tests.servers import QUICK_GROUPS, RunningServer
from tests.wire_client import WireClient

AUDIT_PARTITIONS = 50
GROUP = "read-by-a-stock-client"


@pytest.mark.parametrize("compression", [None, "gzip"], ids=["default", "gzip"])
def test_kafka_python_reads_the_audit_topic(tmp_path, compression):
    settings = QUICK_GROUPS if compression is None else QUICK_GROUPS | {"audit.compression.type": compression}
    with RunningServer(tmp_path, settings) as server, WireClient(server.bootstrap) as client:
        client.join_alone(GROUP)
        consumer = KafkaConsumer(bootstrap_servers=server.bootstrap, auto_offset_reset="earliest")
        consumer.assign([TopicPartition(AUDIT_TOPIC, partition_for(GROUP, AUDIT_PARTITIONS))])
        with consumer:
            found = consumer.poll(timeout_ms=10_000)
            events = [decode_event(record.value) for records in found.values() for record in records]
    assert isinstance(events[0], GroupCreated)
    assert [event.group_id for event in events] == [GROUP] * len(events)
    assert len(events) > 4
