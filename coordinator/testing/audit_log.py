"""Reads the audit topic where it lies, in the log of the node."""

from typing import TYPE_CHECKING

from _wire.records import parse_records
from coordinator.audit.schema import AuditEvent
from coordinator.broker.partitions import Partitions
from coordinator.internal_topics import AUDIT_TOPIC

if TYPE_CHECKING:
    from coordinator.explain.history import GroupHistory


class AuditLog:
    """The events of groups. What was read is kept, and only the end of the log is read again."""

    def __init__(self, partitions: Partitions) -> None:
        self._partitions = partitions
        self._read_to: dict[int, int] = {}
        self._events: dict[str, list[AuditEvent]] = {}

    def events(self, group_id: str, partition: int) -> list[AuditEvent]:
        """All events of a group, in order; `partition` is that of the group.

        Those that the retention of the topic deleted before they were read are not among them.
        """
        from coordinator.client.audit_topic import audit_record  # a start is not to wait for what only some tests use

        log = self._partitions.get(AUDIT_TOPIC, partition)
        for header, batch in log.batches(max(self._read_to.get(partition, 0), log.log_start_offset)):
            for record in parse_records(batch):
                event = audit_record(partition, record.offset, record.key, record.value).event
                if event is not None:
                    self._events.setdefault(event.group_id, []).append(event)
            self._read_to[partition] = header.last_offset + 1
        return list(self._events.get(group_id, ()))

    def history(self, group_id: str, partition: int) -> "GroupHistory":
        from coordinator.explain.history import GroupHistory  # as above

        return GroupHistory.of(group_id, self.events(group_id, partition))
