"""Produce: append batches to logs."""

from collections.abc import Generator, Iterable, Mapping
from operator import attrgetter
from typing import Any, Final, TypeVar

import msgspec

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
from _wire.records import (
    BATCH_HEADER_BYTES,
    NO_TIMESTAMP,
    BatchHeader,
    CorruptBatch,
    InvalidBatch,
    batch_headers,
    validate_batch,
)
from coordinator.broker.data.append_notifier import AppendNotifier
from coordinator.broker.data.producer_directory import ProducerDirectory
from coordinator.broker.data.producers import AppendedBatch, ProducerStates, Verification, has_producer_id
from coordinator.broker.data.recompression import Recompression
from coordinator.broker.partitions import Partitions
from coordinator.config.key import INT64_MAX
from coordinator.config.server_keys import PRODUCE_MAX_DECOMPRESSED_BYTES
from coordinator.config.settings import Config
from coordinator.internal_topics import READ_ONLY_TOPICS
from coordinator.log.config import LogConfig
from coordinator.log.errors import LogAppendError, RecordListTooLarge
from coordinator.log.partition.partition_log import PartitionLog
from coordinator.metadata.image import MetadataImage
from coordinator.runtime.slices import MERGED_AT_ONCE, Steps, merge

T = TypeVar("T")
ProduceSteps = Generator[Recompression | None, Any, T]
"""Steps of work, which wait where they yield a Recompression; they go on when the time in ms is sent to them."""

BY_INDEX: Final = attrgetter("index")

NO_OFFSET = -1
MAGIC_BYTE: Final = 16
MAGIC_OF_BATCHES: Final = 2
ATTRIBUTES_LOW_BYTE: Final = 22
TRANSACTIONAL_FLAG: Final = 0x10
"""In a record batch (KIP-98)."""
ADDS_PARTITIONS_VERSION: Final = 12
"""From this version on, Produce makes its partitions part of the transaction itself (KIP-890)."""
TOPIC_ID_VERSION = 13
"""From this version on, topics are identified by id only (KIP-516)."""
INT64_MIN = -INT64_MAX - 1


class ToVerify(msgspec.Struct, frozen=True):
    """A batch whose partition the transaction coordinator has to know as part of the producer's transaction.

    With an `error` it is not asked, and nothing was begun.
    """

    topic: str
    partition: int
    producer_id: int
    producer_epoch: int
    log: PartitionLog
    verification: Verification | None
    error: ErrorCode = ErrorCode.NONE


class Verified(msgspec.Struct, frozen=True):
    """The answer of the transaction coordinator about one partition."""

    verification: Verification | None
    error: ErrorCode


NEEDS_TRANSACTIONAL_ID: Final = "a transactional batch needs a transactional id"
NOTHING_VERIFIED: Final[Mapping[tuple[str, int], Verified]] = {}


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
        self._decompressed_bytes_max = config[PRODUCE_MAX_DECOMPRESSED_BYTES]

    def produce_at_once(
        self, request: ProduceRequest, api_version: int, now_ms: int, client_host: str = ""
    ) -> ProduceResponse | None:
        """As `produce`, for the usual request: a single batch without a transaction.

        None, with nothing done, when it is another one, or when something has to be read or compressed first.
        """
        if len(request.topic_data) != 1 or len(request.topic_data[0].partition_data) != 1:
            return None
        topic = request.topic_data[0]
        data = topic.partition_data[0]
        if request.transactional_id is not None or _is_transactional(data):
            return None
        name = self._name(topic, api_version)
        answer = self._produce_one(request.acks, api_version, name, data, None, now_ms, client_host)
        if not isinstance(answer, PartitionProduceResponse):
            return None
        return ProduceResponse(responses=[_topic_response(topic, [answer])])

    def produce(
        self,
        request: ProduceRequest,
        api_version: int,
        now_ms: int,
        verified: Mapping[tuple[str, int], Verified] = NOTHING_VERIFIED,
        client_host: str = "",
    ) -> ProduceSteps[ProduceResponse]:
        """Append the batch of each partition. Each partition has its own error code in the response.

        A yielded Recompression has to run, in any thread, before the next step, to which the time in ms is then sent.
        There is one at a time.
        `verified` has what the transaction coordinator answered about the partitions of `to_verify`.
        """
        response = ProduceResponse()
        is_unauthorized = request.transactional_id is None and (yield from has_transactional_batch(request))
        for topic, partition_data in (yield from _merge_duplicates(request.topic_data)):
            name = self._name(topic, api_version)
            answers = []
            for data in partition_data:
                if is_unauthorized:
                    error = ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
                    answers.append(rejected_partition(data.index, error, NEEDS_TRANSACTIONAL_ID))
                    yield None
                    continue
                existing = None if name is None else verified.get((name, data.index))
                answer = self._produce_one(request.acks, api_version, name, data, existing, now_ms, client_host)
                recompressed = None
                while not isinstance(answer, PartitionProduceResponse):
                    assert name is not None
                    if isinstance(answer, Recompression):
                        now_ms = yield answer
                        recompressed, answer = answer, self._changed(name, data.index, answer.log)
                    else:
                        answer = yield from self._load_producers(name, data.index, now_ms)
                    answer = answer or self._produce_one(
                        request.acks, api_version, name, data, existing, now_ms, client_host, recompressed
                    )
                answers.append(answer)
                yield None
            response.responses.append(_topic_response(topic, answers))
        return response

    def to_verify(self, request: ProduceRequest, api_version: int, now_ms: int) -> Steps[list[ToVerify]]:
        """The partitions in which a transaction is to begin; `producers.Verification` says why they are asked for.

        Of each, the verification has begun and has to be ended. A batch that cannot be appended anyway is left out.
        """
        found: list[ToVerify] = []
        for topic, partition_data in (yield from _merge_duplicates(request.topic_data)):
            name = self._name(topic, api_version)
            for data in partition_data:
                yield
                header = _first_header(data)
                log = None if name is None else self._partitions.locate(name, data.index)
                if header is None or not has_producer_id(header) or not isinstance(log, PartitionLog):
                    continue
                if not header.is_transactional:
                    continue
                assert name is not None
                try:
                    states = yield from self._producers.load(log, now_ms)
                except OSError:
                    continue  # `produce` says why
                asked = ToVerify(name, data.index, header.producer_id, header.producer_epoch, log, None)
                if states.is_fenced(header):
                    found.append(msgspec.structs.replace(asked, error=ErrorCode.INVALID_PRODUCER_EPOCH))
                elif not states.is_open(header.producer_id, header.producer_epoch):
                    begun = states.begin_verification(header, api_version >= ADDS_PARTITIONS_VERSION)
                    found.append(msgspec.structs.replace(asked, verification=begun))
        return found

    def end_verification(self, asked: ToVerify, *, is_verified: bool) -> None:
        """The answer of the transaction coordinator is there, or nobody waits for it any more."""
        states = asked.log.open_transactions
        if isinstance(states, ProducerStates) and asked.verification is not None:
            states.end_verification(asked.producer_id, asked.verification, is_verified=is_verified)

    def _name(self, topic: TopicProduceData, api_version: int) -> str | None:
        if api_version < TOPIC_ID_VERSION:
            return topic.name
        existing = self._image.topics_by_id.get(topic.topic_id)
        return None if existing is None else existing.name

    def _produce_one(
        self,
        acks: int,
        api_version: int,
        topic: str | None,
        data: PartitionProduceData,
        verified: Verified | None,
        now_ms: int,
        client_host: str,
        recompressed: Recompression | None = None,
    ) -> PartitionProduceResponse | Recompression | None:
        """Append the batch of one partition, or the one that was `recompressed` before.

        A Recompression if that has to run first; None if the producers of the log have to be loaded first.
        """
        index = data.index
        if topic is None:
            return rejected_partition(index, ErrorCode.UNKNOWN_TOPIC_ID)
        log = self._partitions.locate(topic, index)
        if isinstance(log, ErrorCode):
            return rejected_partition(index, log)
        verification = None
        if verified is not None:
            verification = verified.verification
            if verified.error is not ErrorCode.NONE:
                is_old = verified.error is ErrorCode.INVALID_TXN_STATE
                message = "Partition was not added to the transaction" if is_old else None
                return rejected_partition(index, verified.error, message)
        # As `ReplicaManager.appendRecords`: after the transaction, before what the partition checks.
        if acks not in (-1, 0, 1):
            return rejected_partition(index, ErrorCode.INVALID_REQUIRED_ACKS)
        if topic in READ_ONLY_TOPICS:
            return rejected_partition(
                index, ErrorCode.INVALID_TOPIC_EXCEPTION, f"only the coordinator may write to {topic}"
            )
        try:
            if recompressed is not None:
                header, batch = recompressed.result()
            else:
                header, batch = self._validate(data, api_version, log.config, now_ms)
                target = log.config.compression
                if target is not None and target.compression != header.compression:
                    recompression = Recompression(log, header, batch, target, self._decompressed_bytes_max)
                    if not recompression.run_if_small():
                        return recompression
                    header, batch = recompression.result()
            return self._append(log, index, header, batch, verification, now_ms, client_host)
        except InvalidBatch as problem:
            rejected = rejected_partition(index, problem.error, str(problem), problem.record_errors)
            if problem.names_log_start:
                rejected.log_start_offset = log.log_start_offset
            return rejected
        except RecordListTooLarge as problem:
            return rejected_partition(index, ErrorCode.MESSAGE_TOO_LARGE, str(problem))
        except (LogAppendError, OSError, CorruptBatch) as problem:
            self._partitions.cannot_append(log, problem)
            return rejected_partition(index, ErrorCode.KAFKA_STORAGE_ERROR, str(problem))

    def _validate(
        self, data: PartitionProduceData, api_version: int, config: LogConfig, now_ms: int
    ) -> tuple[BatchHeader, bytearray]:
        """Check the batch of a partition before anything else is done with it.

        Raises:
            InvalidBatch: with the error for the client.
        """
        earliest_ms, latest_ms = INT64_MIN, INT64_MAX
        if config.message_timestamp_type == "CreateTime":
            earliest_ms = now_ms - config.timestamp_before_max_ms
            latest_ms = min(now_ms + config.timestamp_after_max_ms, INT64_MAX)
        header, batch = validate_batch(
            data.records,
            api_version,
            config.max_message_bytes,
            earliest_ms,
            latest_ms,
            self._decompressed_bytes_max,
            "compact" in config.cleanup_policy,
        )
        return header, batch

    def _load_producers(self, topic: str, partition: int, now_ms: int) -> Steps[PartitionProduceResponse | None]:
        """Read what is not known yet of the producers of a log; return an answer if nothing may be appended to it."""
        log = self._partitions.locate(topic, partition)
        if isinstance(log, ErrorCode):
            return rejected_partition(partition, log)
        try:
            yield from self._producers.load(log, now_ms)
        except OSError as problem:
            self._partitions.cannot_read(log, problem)
            why = f"cannot read the producer state of {log.name}"
            return rejected_partition(partition, ErrorCode.KAFKA_STORAGE_ERROR, why)
        return self._changed(topic, partition, log)

    def _changed(self, topic: str, partition: int, log: PartitionLog) -> PartitionProduceResponse | None:
        """Return an answer if the log is not that of the partition any more."""
        if self._partitions.locate(topic, partition) is log:
            return None
        # A topic of the same name may have been created meanwhile, which is not the one that was asked for.
        return rejected_partition(partition, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)

    def _append(
        self,
        log: PartitionLog,
        index: int,
        header: BatchHeader,
        batch: bytearray,
        verification: Verification | None,
        now_ms: int,
        client_host: str,
    ) -> PartitionProduceResponse | None:
        """Append a valid batch once and in order; None if the producers of the log have to be loaded first."""
        if has_producer_id(header):
            states = self._producers.current(log)
            if states is None:
                return None
            verdict = states.check(header, verification)
            if isinstance(verdict, AppendedBatch):
                return _appended(index, verdict.base_offset, log)
            if verdict is not ErrorCode.NONE:
                rejected = rejected_partition(index, verdict)
                rejected.log_start_offset = log.log_start_offset
                return rejected
        appended_bytes = log.appended_bytes
        log_append_time_ms = log.append_batch(header, batch, self._image.leader_epoch, now_ms)
        self._producers.appended(log, header, appended_bytes, now_ms, client_host)
        self._notifier.mark_appended(log)
        return _appended(index, header.base_offset, log, log_append_time_ms)


def _first_header(data: PartitionProduceData) -> BatchHeader | None:
    """The header of a batch that was not validated yet; None if there is no batch."""
    if not data.records or len(data.records) < BATCH_HEADER_BYTES:
        return None
    try:
        headers = batch_headers(data.records, 0, False)
    except CorruptBatch:
        return None
    return headers[0] if headers else None


def has_transactional_batch(request: ProduceRequest) -> Steps[bool]:
    """Whether a partition gets a transactional batch (`RequestUtils.hasTransactionalRecords`).

    Without a transactional id Kafka then rejects the whole request, as not authorized.
    """
    for topic in request.topic_data:
        for data in topic.partition_data:
            if _is_transactional(data):
                return True
            yield
    return False


def _is_transactional(data: PartitionProduceData) -> bool:
    # Each Produce without transactional id is asked this, so nothing more of the batch is read.
    records = data.records or b""
    is_batch = len(records) >= BATCH_HEADER_BYTES and records[MAGIC_BYTE] == MAGIC_OF_BATCHES
    return is_batch and bool(records[ATTRIBUTES_LOW_BYTE] & TRANSACTIONAL_FLAG)


def _merge_duplicates(
    topics: list[TopicProduceData],
) -> Steps[Iterable[tuple[TopicProduceData, Iterable[PartitionProduceData]]]]:
    """Merge duplicate topics and partitions: of a partition that is listed twice, Kafka appends the last entry.

    A topic without partitions is left out.
    """
    if len(topics) == 1 and len(topics[0].partition_data) == 1:
        return ((topics[0], topics[0].partition_data),)
    by_topic: dict[tuple[str, bytes], tuple[TopicProduceData, dict[int, PartitionProduceData]]] = {}
    for number, topic in enumerate(topics, 1):
        _, partitions = by_topic.setdefault((topic.name, topic.topic_id), (topic, {}))
        yield from merge(partitions, topic.partition_data, BY_INDEX)
        if number % MERGED_AT_ONCE == 0:
            yield
    return [(topic, partitions.values()) for topic, partitions in by_topic.values() if partitions]


def _topic_response(topic: TopicProduceData, answers: list[PartitionProduceResponse]) -> TopicProduceResponse:
    return TopicProduceResponse(name=topic.name, topic_id=topic.topic_id, partition_responses=answers)


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
