"""What a worker of Kafka Connect was given, for the audit: read if it is not too large, as a client wrote the bytes."""

from typing import Final

from _wire.errors import MalformedMessage
from coordinator.audit.schema import WORKER_TASKS_NAMED_MAX, WorkerTasks
from coordinator.core.connect_protocol import CONNECT_PROTOCOL_TYPE, decode_worker_assignment

BYTES_READ_MAX: Final = 64 * 1024
"""Of one assignment: some 10,000 tasks."""
BYTES_OF_GROUP_MAX: Final = 1_000_000
"""Of all assignments of a generation together: some 10 ms."""


def worker_tasks(protocol_type: str | None, assignment: bytes, member_count: int) -> WorkerTasks | None:
    """What the member of a group of `member_count` runs; None if it is no worker, or its assignment is not read."""
    if protocol_type != CONNECT_PROTOCOL_TYPE:
        return None
    if len(assignment) > min(BYTES_READ_MAX, BYTES_OF_GROUP_MAX // max(1, member_count)):
        return None
    try:
        found = decode_worker_assignment(assignment)
    except MalformedMessage:
        return None
    if found.size > WORKER_TASKS_NAMED_MAX:
        return WorkerTasks([], {}, {}, found.config_offset, found.delay_ms, found.size)
    return WorkerTasks(list(found.connectors), found.tasks, found.revoked, found.config_offset, found.delay_ms)
