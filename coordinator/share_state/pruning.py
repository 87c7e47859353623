"""Deletes the records of `__share_group_state` that nobody needs: those before the last snapshots.

Counterpart in Kafka: `ShareCoordinatorService.performRecordPruning`.
"""

from collections.abc import Callable

from coordinator.log.partition.partition_log import PartitionLog
from coordinator.share_state.stream import ShareStateStream


class Pruning:
    """Advances the log start offsets, once the snapshots after them are on stable storage.

    The segments before them are deleted by the next check of the retention.
    """

    def __init__(self, request_flush: Callable[[PartitionLog], None]) -> None:
        """`request_flush` has a log flushed soon."""
        self._request_flush = request_flush
        self._streams: dict[int, ShareStateStream] = {}
        self.pruned: dict[int, int] = {}
        """Partition → the offset up to which its log was pruned last, since the start of the node."""
        self._waiting: dict[int, tuple[int, int]] = {}
        """Partition → the offset that is to be the start of its log when all before the other one is flushed."""

    def add(self, stream: ShareStateStream) -> None:
        """The log of a partition is looked after from now on."""
        self._streams[stream.log.partition] = stream

    def prune(self, partition: int, *, may_begin: bool) -> bool:
        """Do so for a partition; false if it has to be tried again when the log was flushed.

        `may_begin` is false while an append is under way.
        """
        stream = self._streams[partition]
        log = stream.log
        if partition not in self._waiting:
            oldest_needed = stream.snapshots.oldest_needed
            if not may_begin or oldest_needed <= log.log_start_offset:
                return True
            self._waiting[partition] = oldest_needed, log.log_end_offset
        start_offset, end_offset = self._waiting[partition]
        if log.recovery_point < end_offset:
            self._request_flush(log)
            return False
        del self._waiting[partition]
        log.delete_records_before(start_offset)
        self.pruned[partition] = start_offset
        return True
