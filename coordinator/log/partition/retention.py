"""The rule which records of a log are too old or too many (UnifiedLog.deleteOldSegments)."""

from coordinator.log.partition.partition_log import PartitionLog


def retained_from(log: PartitionLog, now_ms: int) -> int:
    """Return the offset before which retention.ms and retention.bytes let whole segments be deleted.

    It is `log_end_offset` if all records are too old, or too many.

    Raises:
        OSError: the time at which a segment was written cannot be read.
    """
    config = log.config
    surplus_bytes = -1 if config.retention_bytes < 0 else log.size_bytes - config.retention_bytes
    kept_from = log.log_start_offset
    if "delete" not in config.cleanup_policy:
        return kept_from
    for segment in log.segments:
        if segment.next_offset == segment.base_offset and segment is log.segments[-1]:
            break
        is_old = config.retention_ms >= 0 and now_ms - segment.largest_timestamp_ms() > config.retention_ms
        is_surplus = config.retention_bytes >= 0 and surplus_bytes >= segment.size_bytes
        if not is_old and not is_surplus and segment.next_offset > log.log_start_offset:
            break
        surplus_bytes -= segment.size_bytes
        kept_from = max(kept_from, segment.next_offset)
    return kept_from
