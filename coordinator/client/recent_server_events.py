"""What was denied about topics lately, and whether the server was away, by its audit: partition 0 has it."""

import time
from typing import Final, NamedTuple, TypeGuard

from coordinator.audit.schema import (
    AuthorizationDenied,
    CoordinatorEvent,
    CoordinatorPaused,
    CoordinatorStarted,
    LeadershipTaken,
)
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
LONG_PAUSE_MS: Final = 10_000
"""A shorter pause of the server keeps nobody from committing for long."""


class Lately(NamedTuple):
    """What the audit of a server tells of the last `WINDOW_MS`.

    `denials` about topics, in order; `heard_since_ms` is when the server last began to hear its clients: its start, a
    takeover, or the end of a long pause. 0: none of that happened, or it is not known.
    """

    denials: tuple[AuthorizationDenied, ...] = ()
    heard_since_ms: int = 0


def recent_server_events(server: Server) -> Lately:
    """What partition 0 tells; nothing of a server without audit, or one whose audit may not be read, or cannot be."""
    since_ms = time.time_ns() // 1_000_000 - WINDOW_MS
    try:
        with AuditTopic(server) as topic:
            start, end = (topic.offsets([PARTITION], timestamp)[PARTITION] for timestamp in (since_ms, LATEST))
            if start < 0:
                return Lately()
            records = topic.records({PARTITION: max(start, end - RECORDS_MAX)}, lambda key: key == NO_KEY)
            events = [record.coordinator_event for record in records]
    except ClientError:
        return Lately()
    begins = (event.time_ms for event in events if event is not None and _begins_to_hear(event))
    return Lately(tuple(filter(is_of_topic, events)), max(begins, default=0))


def _begins_to_hear(event: CoordinatorEvent) -> bool:
    if isinstance(event, CoordinatorPaused):
        return event.until_ms - event.from_ms >= LONG_PAUSE_MS
    return isinstance(event, CoordinatorStarted | LeadershipTaken)


def is_of_topic(event: object) -> TypeGuard[AuthorizationDenied]:
    """Whether an event tells that something about a topic was denied."""
    return isinstance(event, AuthorizationDenied) and event.resource_type == TOPIC
