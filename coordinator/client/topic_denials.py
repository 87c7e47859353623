"""What was denied about topics lately, by the audit of a server: partition 0 has it, for all groups."""

import time
from typing import Final, TypeGuard

from coordinator.audit.schema import AuthorizationDenied
from coordinator.client.audit_topic import NO_KEY, AuditTopic
from coordinator.client.bootstrap import Server
from coordinator.client.cluster import LATEST
from coordinator.client.wire import ClientError

PARTITION: Final = 0
WINDOW_MS: Final = 10 * 60_000
"""How far back denials are looked for. What goes on has an event each minute."""
RECORDS_MAX: Final = 50_000
"""The newest of the partition that are looked through: half a second."""
TOPIC: Final = "TOPIC"


def topic_denials(server: Server) -> list[AuthorizationDenied]:
    """The denials about topics of the last `WINDOW_MS`, in order.

    None of a server without audit, or one whose audit may not be read, or cannot be.
    """
    since_ms = time.time_ns() // 1_000_000 - WINDOW_MS
    try:
        with AuditTopic(server) as topic:
            start, end = (topic.offsets([PARTITION], each)[PARTITION] for each in (since_ms, LATEST))
            if start < 0:
                return []
            records = topic.records({PARTITION: max(start, end - RECORDS_MAX)}, lambda key: key == NO_KEY)
            return [each for each in (record.coordinator_event for record in records) if is_of_topic(each)]
    except ClientError:
        return []


def is_of_topic(event: object) -> TypeGuard[AuthorizationDenied]:
    """Whether an event tells that something about a topic was denied."""
    return isinstance(event, AuthorizationDenied) and event.resource_type == TOPIC
