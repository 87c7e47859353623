"""Produce: append batches to logs."""

from collections.abc import Iterable
from typing import NamedTuple

from _wire.errors import ErrorCode
from _wire.messages.produce import (
    BatchIndexAndErrorMessage,
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
    TopicProduceResponse,
)
from _wire.records import NO_TIMESTAMP, BatchHeader, CorruptBatch, InvalidBatch, validate_batch
from coordinator.broker.append_notifier import AppendNotifier
from coordinator.broker.partitions import LEADER_EPOCH, Partitions
from coordinator.broker.producer_directory import ProducerDirectory
from coordinator.broker.producers import AppendedBatch, has_producer_id
from coordinator.broker.slices import Steps
from coordinator.broker.storage_errors import StorageErrors
from coordinator.config import INT64_MAX, PRODUCE_MAX_DECOMPRESSED_BYTES, Config
from coordinator.internal_topics import READ_ONLY_TOPICS
from coordinator.log.errors import LogAppendError, RecordListTooLarge
from coordinator.log.partition_log import PartitionLog
from coordinator.logger import logger
from coordinator.metadata.image import MetadataImage

NO_OFFSET = -1
TOPIC_ID_VERSION = 13
"""From this version on, topics are identified by id only (KIP-516)."""
INT64_MIN = -INT64_MAX - 1


class Sent(NamedTuple):
    """What a request has for one partition."""

    request: ProduceRequest
    api_version: int
    topic: str | None
    data: PartitionProduceData


class ProduceService:
    """Handles Produce requests."""

    def __init__(
        self,
        image: MetadataImage,
        partitions: Partitions,
        notifier: AppendNotifier,
        config: Config,
        producers: ProducerDirectory,
    ) -> None:
        self._image = image
        self._partitions = partitions
        self._notifier = notifier
        self._producers = producers
        self._storage_errors = StorageErrors("cannot append to a log; what is stored is still served")
        self._decompressed_bytes_max = config[PRODUCE_MAX_DECOMPRESSED_BYTES]

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
                partition_responses.append(self._produce_one(Sent(request, api_version, name, data), now_ms))
                yield
            response.responses.append(
                TopicProduceResponse(name=topic.name, topic_id=topic.topic_id, partition_responses=partition_responses)
            )
        return response

    def _produce_one(self, sent: Sent, now_ms: int) -> PartitionProduceResponse:
        index, topic = sent.data.index, sent.topic
        if topic is None:
            return rejected_partition(index, ErrorCode.UNKNOWN_TOPIC_ID)
        if sent.request.acks not in (-1, 0, 1):
            return rejected_partition(index, ErrorCode.INVALID_REQUIRED_ACKS)
        log = self._partitions.locate(topic, index)
        if isinstance(log, ErrorCode):
            return rejected_partition(index, log)
        if topic in READ_ONLY_TOPICS:
            return rejected_partition(
                index, ErrorCode.INVALID_TOPIC_EXCEPTION, f"only the coordinator may write to {topic}"
            )
        try:
            header, batch = self._validate(sent, log, now_ms)
            return self._append(log, index, header, batch, now_ms)
        except InvalidBatch as problem:
            return rejected_partition(index, problem.error, str(problem), problem.record_errors)
        except RecordListTooLarge as problem:
            return rejected_partition(index, ErrorCode.MESSAGE_TOO_LARGE, str(problem))
        except (LogAppendError, OSError, CorruptBatch) as problem:
            self._storage_errors.report(log.name, problem)
            return rejected_partition(index, ErrorCode.KAFKA_STORAGE_ERROR, str(problem))

    def _validate(self, sent: Sent, log: PartitionLog, now_ms: int) -> tuple[BatchHeader, bytearray]:
        """Check the batch of a partition before anything else is done with it.

        Raises:
            InvalidBatch: with the error for the client.
        """
        earliest_ms, latest_ms = INT64_MIN, INT64_MAX
        config = log.config
        if config.message_timestamp_type == "CreateTime":
            earliest_ms = now_ms - config.timestamp_before_max_ms
            latest_ms = min(now_ms + config.timestamp_after_max_ms, INT64_MAX)
        header, batch = validate_batch(
            sent.data.records,
            sent.api_version,
            config.max_message_bytes,
            earliest_ms,
            latest_ms,
            self._decompressed_bytes_max,
            "compact" in config.cleanup_policy,
        )
        if header.is_transactional and sent.request.transactional_id is None:
            raise InvalidBatch(
                ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, "a transactional batch needs a transactional id"
            )
        return header, batch

    def _append(
        self, log: PartitionLog, index: int, header: BatchHeader, batch: bytearray, now_ms: int
    ) -> PartitionProduceResponse:
        states = None
        if has_producer_id(header):
            try:
                states = self._producers.states_of(log, now_ms)
            except OSError as problem:
                logger.error(
                    "cannot restore the producer state of a log; rejecting the batch",
                    log=log.name,
                    problem=str(problem),
                )
                return rejected_partition(
                    index, ErrorCode.KAFKA_STORAGE_ERROR, f"cannot read the producer state of {log.name}"
                )
        verdict = ErrorCode.NONE if states is None else states.check(header)
        if isinstance(verdict, AppendedBatch):
            return _appended(index, verdict.base_offset, log)
        if verdict is not ErrorCode.NONE:
            return rejected_partition(index, verdict)
        appended = log.append(batch, LEADER_EPOCH, now_ms, check_crc=False)
        if states is not None:
            states.update(header, appended.base_offset)
        self._notifier.mark_appended(log)
        return _appended(index, appended.base_offset, log, appended.log_append_time_ms)


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


def _appended(
    index: int, base_offset: int, log: PartitionLog, log_append_time_ms: int = NO_TIMESTAMP
) -> PartitionProduceResponse:
    return PartitionProduceResponse(
        index=index,
        base_offset=base_offset,
        log_append_time_ms=log_append_time_ms,
        log_start_offset=log.log_start_offset,
    )


def rejected_partition(
    index: int, error: ErrorCode, message: str | None = None, record_errors: Iterable[tuple[int, str]] = ()
) -> PartitionProduceResponse:
    """Return the response for a partition to which nothing is appended. `record_errors`: index of a record, and why."""
    return PartitionProduceResponse(
        index=index,
        error_code=error,
        base_offset=NO_OFFSET,
        record_errors=[
            BatchIndexAndErrorMessage(batch_index=record, batch_index_error_message=why)
            for record, why in record_errors
        ],
        error_message=message,
    )
