"""Write markers to the partitions of a transaction (WriteTxnMarkers, `ReplicaManager.appendRecords`)."""

from collections.abc import Callable

from _wire.control_records import EndTxnMarker
from _wire.errors import ErrorCode
from _wire.records import build_batch
from coordinator.broker.data.append_notifier import AppendNotifier
from coordinator.broker.data.producer_directory import ProducerDirectory
from coordinator.broker.data.producers import Marker, ProducerStates
from coordinator.broker.partitions import Partitions
from coordinator.log.errors import LogAppendError, RecordListTooLarge
from coordinator.log.segments.segment_file import PrebuiltBatch
from coordinator.logger import logger
from coordinator.runtime.slices import Steps


class MarkerWriter:
    """Ends transactions in the logs that this node leads, but not in `__consumer_offsets`: groups are told there."""

    def __init__(
        self, partitions: Partitions, producers: ProducerDirectory, notifier: AppendNotifier, now_ms: Callable[[], int]
    ) -> None:
        self._partitions = partitions
        self._producers = producers
        self._notifier = notifier
        self._now_ms = now_ms

    def write_own(self, topic: str, partition: int, marker: Marker) -> Steps[ErrorCode]:
        """As `write`, for the transaction coordinator of this node.

        INVALID_PRODUCER_EPOCH says that the transaction has ended in the partition before.
        """
        return self._write(topic, partition, marker, ProducerStates.check_own_marker)

    def write(self, topic: str, partition: int, marker: Marker) -> Steps[ErrorCode]:
        """Append a marker to the log of a partition; return NONE, or why it was not appended.

        What has to be read of the log before is read in steps.
        """
        return self._write(topic, partition, marker, ProducerStates.check_marker)

    def _write(
        self, topic: str, partition: int, marker: Marker, check: Callable[[ProducerStates, Marker], ErrorCode]
    ) -> Steps[ErrorCode]:
        log = self._partitions.locate(topic, partition)
        if isinstance(log, ErrorCode):
            return log
        if not marker.is_of_producer:
            return ErrorCode.UNKNOWN_SERVER_ERROR
        now_ms = self._now_ms()
        try:
            states = yield from self._producers.load(log, now_ms)
            if self._partitions.locate(topic, partition) is not log:
                return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            error = check(states, marker)
            if error is not ErrorCode.NONE:
                logger.info("marker rejected", log=log.name, error=error.name, marker=marker)
                return error
            offset, data_end = log.log_end_offset, self._partitions.data_end_offset(topic, partition)
            batch = build_batch(
                [EndTxnMarker(marker.committed, marker.coordinator_epoch).as_record()],
                base_offset=offset,
                timestamp_ms=now_ms,
                producer_id=marker.producer_id,
                producer_epoch=marker.producer_epoch,
                is_transactional=True,
                is_control=True,
                partition_leader_epoch=self._partitions.leader_epoch,
            )
            log.append_prebuilt([PrebuiltBatch(batch, offset)], now_ms)
            log.markers_from, log.markers_end = offset if data_end is None else data_end, offset + 1
        except (LogAppendError, RecordListTooLarge, OSError) as problem:
            if not self._partitions.is_disk_failure(log, problem, is_read=not isinstance(problem, LogAppendError)):
                logger.error("cannot write a marker", log=log.name, problem=str(problem))
            return ErrorCode.KAFKA_STORAGE_ERROR
        self._producers.marker_appended(log, marker, offset, now_ms)
        self._notifier.mark_appended(log)
        return ErrorCode.NONE
