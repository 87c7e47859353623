"""Produce: append batches to logs."""

from collections.abc import Iterable
from weakref import WeakKeyDictionary

from _wire.errors import ErrorCode, MalformedMessage
from _wire.messages.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
    TopicProduceResponse,
)
from _wire.records import BatchHeader, batch_headers
from coordinator.broker.append_notifier import AppendNotifier
from coordinator.broker.partitions import LEADER_EPOCH, Partitions
from coordinator.broker.producers import NO_PRODUCER_ID, AppendedBatch, ProducerStates
from coordinator.broker.slices import Steps
from coordinator.internal_topics import READ_ONLY_TOPICS
from coordinator.log.errors import LogAppendError, RecordBatchTooLarge, RecordListTooLarge
from coordinator.log.partition_log import PartitionLog
from coordinator.logger import logger
from coordinator.metadata.image import MetadataImage

NO_OFFSET = -1
TOPIC_ID_VERSION = 13
"""From this version on, topics are identified by id only (KIP-516)."""
CURRENT_MAGIC = 2


class ProduceService:
    """Handles Produce requests."""

    def __init__(self, image: MetadataImage, partitions: Partitions, notifier: AppendNotifier) -> None:
        self._image = image
        self._partitions = partitions
        self._notifier = notifier
        self._states: WeakKeyDictionary[PartitionLog, ProducerStates] = WeakKeyDictionary()

    def produce(self, request: ProduceRequest, api_version: int, now_ms: int) -> Steps[ProduceResponse]:
        """Append the batch of each partition. Each partition has its own error code in the response."""
        response = ProduceResponse()
        for topic, partition_data in _once_each(request.topic_data):
            name: str | None = topic.name
            if api_version >= TOPIC_ID_VERSION:
                known = self._image.topics_by_id.get(topic.topic_id)
                name = None if known is None else known.name
            partition_responses = []
            for data in partition_data:
                partition_responses.append(self._produce_one(request, name, data, now_ms))
                yield
            response.responses.append(
                TopicProduceResponse(name=topic.name, topic_id=topic.topic_id, partition_responses=partition_responses)
            )
        return response

    def _produce_one(
        self, request: ProduceRequest, topic: str | None, data: PartitionProduceData, now_ms: int
    ) -> PartitionProduceResponse:
        if topic is None:
            return rejected_partition(data.index, ErrorCode.UNKNOWN_TOPIC_ID)
        if request.acks not in (-1, 0, 1):
            return rejected_partition(data.index, ErrorCode.INVALID_REQUIRED_ACKS)
        log = self._partitions.locate(topic, data.index)
        if isinstance(log, ErrorCode):
            return rejected_partition(data.index, log)
        if topic in READ_ONLY_TOPICS:
            return rejected_partition(
                data.index, ErrorCode.INVALID_TOPIC_EXCEPTION, f"only the coordinator may write to {topic}"
            )
        try:
            return self._append(log, data, now_ms)
        except (RecordBatchTooLarge, RecordListTooLarge) as problem:
            return rejected_partition(data.index, ErrorCode.MESSAGE_TOO_LARGE, str(problem))
        except MalformedMessage as problem:
            return rejected_partition(data.index, ErrorCode.CORRUPT_MESSAGE, str(problem))
        except (LogAppendError, OSError) as problem:
            return rejected_partition(data.index, ErrorCode.KAFKA_STORAGE_ERROR, str(problem))

    def _append(self, log: PartitionLog, data: PartitionProduceData, now_ms: int) -> PartitionProduceResponse:
        batches = bytearray(data.records or b"")
        headers = batch_headers(batches)
        problem = _check_one_batch(headers, len(batches))
        if problem is not None:
            return rejected_partition(data.index, ErrorCode.INVALID_RECORD, problem)
        header = headers[0]
        try:
            states = self._states_of(log) if header.producer_id != NO_PRODUCER_ID else None
        except (OSError, MalformedMessage) as problem:
            # The log is damaged, not the batch: CORRUPT_MESSAGE would mean that the producer sent a bad batch.
            logger.error(
                "cannot restore the producer state of a log; rejecting the batch", log=log.name, problem=str(problem)
            )
            return rejected_partition(
                data.index, ErrorCode.KAFKA_STORAGE_ERROR, f"cannot read the producer state of {log.name}"
            )
        verdict = ErrorCode.NONE if states is None else states.check(header)
        if isinstance(verdict, AppendedBatch):
            return _appended(data.index, verdict.base_offset, log)
        if verdict is not ErrorCode.NONE:
            return rejected_partition(data.index, verdict)
        base_offset = log.append(batches, LEADER_EPOCH, now_ms).base_offset
        if states is not None:
            states.update(header, base_offset)
        self._notifier.mark_appended(log)
        return _appended(data.index, base_offset, log)

    def _states_of(self, log: PartitionLog) -> ProducerStates:
        """Return the producer states of a log; read them from the log at the first idempotent batch after a start."""
        states = self._states.get(log)
        if states is None:
            states = self._states[log] = ProducerStates(log)
        return states


def _once_each(topics: list[TopicProduceData]) -> Iterable[tuple[TopicProduceData, Iterable[PartitionProduceData]]]:
    """Merge duplicate topics and partitions: of a partition that is listed twice, Kafka appends the last entry.

    A topic without partitions is left out.
    """
    if len(topics) == 1 and len(topics[0].partition_data) == 1:
        return ((topics[0], topics[0].partition_data),)
    by_topic: dict[tuple[str, bytes], tuple[TopicProduceData, dict[int, PartitionProduceData]]] = {}
    for topic in topics:
        _, partitions = by_topic.setdefault((topic.name, topic.topic_id), (topic, {}))
        partitions.update((data.index, data) for data in topic.partition_data)
    return [(topic, partitions.values()) for topic, partitions in by_topic.values() if partitions]


def _check_one_batch(headers: list[BatchHeader], size_bytes: int) -> str | None:
    """Return the problem, or None if the data is one batch of format 2, as Produce v3 and later require."""
    if len(headers) != 1 or headers[0].size_in_bytes != size_bytes:
        return "exactly one whole record batch is expected"
    if headers[0].magic != CURRENT_MAGIC:
        return f"record format {headers[0].magic} is not supported; use format {CURRENT_MAGIC}"
    if headers[0].is_control:
        return "clients may not write control batches"
    return None


def _appended(index: int, base_offset: int, log: PartitionLog) -> PartitionProduceResponse:
    return PartitionProduceResponse(index=index, base_offset=base_offset, log_start_offset=log.log_start_offset)


def rejected_partition(index: int, error: ErrorCode, message: str | None = None) -> PartitionProduceResponse:
    """Return the response for a partition to which nothing is appended."""
    return PartitionProduceResponse(index=index, error_code=error, base_offset=NO_OFFSET, error_message=message)
