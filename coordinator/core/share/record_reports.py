"""What became of records is told to the audit of the group, and stored nowhere else.

Kafka has no counterpart, because it has no audit topic.
"""

from coordinator.core.decision import NOTHING, Decision, OperationContext
from coordinator.core.groups.group import Group
from coordinator.core.share.events import ShareRecordsReported
from coordinator.core.share.group import ShareGroup
from coordinator.core.share_records import RecordsReport


def report(group: Group[ShareGroup] | None, records: RecordsReport, context: OperationContext) -> Decision:
    """Only report it, if the group is still there."""
    if group is None:
        return NOTHING
    event = ShareRecordsReported(group_id=group.group_id, at_ms=context.wall_ms, report=records)
    return Decision((event,), no_step_follows=True)
