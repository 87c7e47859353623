"""DeleteRecords (KIP-107)."""

from typing import Any, Final

from _wire.errors import ErrorCode
from _wire.messages.delete_records import (
    DeleteRecordsPartitionResult,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopicResult,
)
from coordinator.broker.directories.storage_errors import StorageErrors
from coordinator.broker.log_flusher import LogFlusher
from coordinator.broker.partitions import Partitions
from coordinator.core.error_responses import ErrorForEachPartition
from coordinator.front.dispatch import DEFERRED, DispatchTable
from coordinator.front.request_context import RequestContext
from coordinator.internal_topics import READ_ONLY_TOPICS
from coordinator.log.errors import OffsetOutOfRange
from coordinator.log.partition.partition_log import PartitionLog
from coordinator.node.handlers.partition_steps import answer_partitions
from coordinator.runtime.slices import Steps

HIGH_WATERMARK: Final = -1
"""The offset that stands for the end of the log."""
NO_OFFSET: Final = -1


class DeleteRecordsHandler:
    """Advances log start offsets. The segments before them go with the next check of the retention, as on Kafka."""

    def __init__(
        self,
        partitions: Partitions,
        flusher: LogFlusher,
    ) -> None:
        self._partitions = partitions
        self._flusher = flusher
        self._storage_errors = StorageErrors("cannot store the log start offsets; DeleteRecords fails", "file")

    def add_to(self, table: DispatchTable) -> None:
        table.add("DeleteRecords", self.delete, DELETE_RECORDS_ERROR)

    def delete(self, request: DeleteRecordsRequest, call: RequestContext) -> Steps[Any]:
        """Of a partition that is listed twice, the last entry counts, as on Kafka."""
        requested: dict[str, dict[int, int]] = {}
        for topic in request.topics:
            for partition in topic.partitions:
                requested.setdefault(topic.name, {})[partition.partition_index] = partition.offset
            yield
        advanced: list[DeleteRecordsPartitionResult] = []

        def answer(topic: str, partition: tuple[int, int]) -> DeleteRecordsPartitionResult:
            index, offset = partition
            log = self._partitions.locate(topic, index)
            if isinstance(log, ErrorCode):
                return failed_partition(index, log)
            result, has_advanced = _advance(log, offset)
            if has_advanced:
                advanced.append(result)
            return result

        topics = yield from answer_partitions(
            ((name, offsets.items()) for name, offsets in requested.items()),
            answer,
            lambda topic, partitions: DeleteRecordsTopicResult(name=topic, partitions=partitions),
        )
        response = DeleteRecordsResponse(topics=topics)
        if not advanced:
            return response

        def stored(problem: Exception | None) -> None:
            """What is answered survives the end of the process."""
            if problem is not None:
                self._storage_errors.report("log-start-offset-checkpoint", problem)
                for result in advanced:
                    result.error_code, result.low_watermark = ErrorCode.KAFKA_STORAGE_ERROR, NO_OFFSET
            call.connection.send_response(response)

        self._flusher.store_log_start_offsets(stored)
        return DEFERRED


def _advance(log: PartitionLog, offset: int) -> tuple[DeleteRecordsPartitionResult, bool]:
    """The answer for a partition, and whether its start offset has advanced."""
    if log.topic in READ_ONLY_TOPICS:
        return failed_partition(log.partition, ErrorCode.INVALID_TOPIC_EXCEPTION), False
    if log.config.cleanup_policy == {"compact"}:
        return failed_partition(log.partition, ErrorCode.POLICY_VIOLATION), False
    if offset < HIGH_WATERMARK:
        return failed_partition(log.partition, ErrorCode.OFFSET_OUT_OF_RANGE), False
    try:
        has_advanced = log.delete_records_before(log.log_end_offset if offset == HIGH_WATERMARK else offset)
    except OffsetOutOfRange:
        return failed_partition(log.partition, ErrorCode.OFFSET_OUT_OF_RANGE), False
    result = DeleteRecordsPartitionResult(partition_index=log.partition, low_watermark=log.log_start_offset)
    return result, has_advanced


def failed_partition(index: int, error: ErrorCode) -> DeleteRecordsPartitionResult:
    """The answer for a partition of which nothing is deleted."""
    return DeleteRecordsPartitionResult(partition_index=index, error_code=error, low_watermark=NO_OFFSET)


DELETE_RECORDS_ERROR: Final = ErrorForEachPartition(
    DeleteRecordsResponse, DeleteRecordsTopicResult, failed_partition, asked_index="partition_index"
)
