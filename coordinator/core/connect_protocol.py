"""The assignment of a worker of Kafka Connect, as its leader encodes it (ConnectProtocol, IncrementalCooperative)."""

from collections.abc import Iterable
from typing import Final

import msgspec

from _wire.embedded import PREFIX_BYTES, prefix_of
from _wire.errors import MalformedMessage
from _wire.messages.connect_protocol_assignment import ConnectorTasks, ConnectProtocolAssignment

CONNECT_PROTOCOL_TYPE: Final = "connect"
CONNECTOR: Final = -1
"""The number among its tasks that stands for the connector itself."""


class WorkerAssignment(msgspec.Struct, frozen=True):
    """What a worker runs, and what it was to give up: connector → numbers of its tasks, ascending."""

    connectors: tuple[str, ...]
    tasks: dict[str, list[int]]
    revoked: dict[str, list[int]]
    """With `CONNECTOR` for the connector itself."""
    config_offset: int
    """Up to where the leader had read the topic of the configurations."""
    delay_ms: int
    """How long the leader waits for workers that went, until it gives what they ran to others."""
    leader: str

    @property
    def size(self) -> int:
        """How many connectors and tasks it names, with those to be given up."""
        return len(self.connectors) + sum(map(len, (*self.tasks.values(), *self.revoked.values())))


def decode_worker_assignment(data: bytes) -> WorkerAssignment:
    """Read the assignment of a worker; empty bytes assign nothing.

    As Connect does, a later version is read as the newest known one, and bytes that follow are ignored.

    Raises:
        MalformedMessage: the bytes are no assignment.
    """
    if not data:
        return WorkerAssignment((), {}, {}, -1, 0, "")
    version = min(prefix_of(data), ConnectProtocolAssignment.MAX_VERSION)
    if version < ConnectProtocolAssignment.MIN_VERSION:
        raise MalformedMessage(ConnectProtocolAssignment.NAME, version, "", 0, "version is less than 0")
    found = ConnectProtocolAssignment.decode(data, version, PREFIX_BYTES, False)
    assigned = _tasks(found.assigned)
    connectors = tuple(worker_id for worker_id, numbers in assigned.items() if CONNECTOR in numbers)
    tasks = {
        worker_id: own
        for worker_id, numbers in assigned.items()
        if (own := [one for one in numbers if one != CONNECTOR])
    }
    return WorkerAssignment(connectors, tasks, _tasks(found.revoked), found.config_offset, found.delay_ms, found.leader)


def _tasks(several: Iterable[ConnectorTasks] | None) -> dict[str, list[int]]:
    """Connector → numbers, both in order. A connector may occur twice, because a client wrote the bytes."""
    found: dict[str, list[int]] = {}
    for connector_tasks in several or ():
        found.setdefault(connector_tasks.connector, []).extend(connector_tasks.tasks)
    return {name: sorted(own) for name, own in sorted(found.items())}
