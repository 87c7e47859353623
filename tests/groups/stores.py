"""The store of a shard of groups over two logs, as the server makes it."""

from collections.abc import Callable
from typing import Any

from coordinator.groups.audit_checkpoints import AuditCheckpoints
from coordinator.groups.audit_stream import AuditStream
from coordinator.groups.offsets_stream import OffsetsStream
from coordinator.log.partition.partition_log import PartitionLog
from coordinator.runtime.store import LogStore


def group_store(
    offsets: PartitionLog,
    audit: PartitionLog,
    *,
    compression: str = "none",
    checkpoints: AuditCheckpoints | None = None,
    appended: Callable[[PartitionLog], None] = lambda log: None,
    **settings: Any,
) -> LogStore:
    """`compression` is that of `__consumer_offsets`."""
    stream = AuditStream(audit, 0, checkpoints=checkpoints)
    return LogStore(OffsetsStream(offsets, 0, compression), stream, appended=appended, **settings)
