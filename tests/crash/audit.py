"""Whether the events of each group are numbered without a gap, over all the lives of a server."""

from collections import defaultdict

from _wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from coordinator.audit.schema import decode_event
from coordinator.internal_topics import AUDIT_TOPIC
from tests.crash.reading import read_all
from tests.wire_client import WireClient


class AuditReader:
    """Reads the whole audit topic."""

    def check(self, bootstrap: str) -> None:
        """Compare the numbers of the events of each group since its creation.

        Raises:
            AssertionError: there is a gap, or a number twice.
        """
        numbers: dict[tuple[str, int], list[int]] = defaultdict(list)
        with WireClient(bootstrap, "audit") as client:
            for partition in range(partitions_of_the_audit(client)):
                for record in read_all(client, AUDIT_TOPIC, partition):
                    if record.key is not None and record.value is not None:
                        event = decode_event(record.value)
                        numbers[event.group_id, event.created_seq].append(event.seq)
        assert numbers, "the audit topic is empty"
        for (group_id, created_seq), found in numbers.items():
            expected = list(range(found[0], found[0] + len(found)))
            assert found == expected, f"the events of group {group_id} since {created_seq} are numbered {found[:50]}..."


def partitions_of_the_audit(client: WireClient) -> int:
    """The number of partitions of the audit topic."""
    request = MetadataRequest(topics=[MetadataRequestTopic(name=AUDIT_TOPIC)], allow_auto_topic_creation=False)
    (topic,) = client.request(request, 9).topics
    return len(topic.partitions)
