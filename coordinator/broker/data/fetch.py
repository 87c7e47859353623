"""Fetch: read batches from logs, at once or when enough bytes have been appended (KafkaApis, DelayedFetch)."""

from collections.abc import Callable, Iterable
from functools import partial
from operator import attrgetter
from typing import Final

import msgspec

from _wire.errors import ErrorCode
from _wire.messages.fetch import (
    AbortedTransaction,
    FetchableTopicResponse,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    PartitionData,
)
from _wire.records import CorruptBatch, next_offset_after
from coordinator.broker.data.append_notifier import AppendNotifier, Listener
from coordinator.broker.data.leader_epochs import epoch_error
from coordinator.broker.data.list_offsets import READ_COMMITTED, Load
from coordinator.broker.data.long_reads import PART_BYTES, read_on, read_part
from coordinator.broker.data.producers import ProducerStates
from coordinator.broker.partitions import Partitions
from coordinator.log.errors import OffsetOutOfRange
from coordinator.log.partition.partition_log import PartitionLog
from coordinator.log.recovery.damage import DamagedOffsets
from coordinator.logger import logger
from coordinator.metadata.image import MetadataImage
from coordinator.runtime.slices import MERGED_AT_ONCE, SlicedWork, Slices, Steps, merge
from coordinator.timers.timers import CancellableTimers

TOPIC_ID_VERSION: Final = 13
"""From this version on, topics are identified by id only (KIP-516)."""
FULL_FETCH_EPOCHS: Final = (0, -1)
"""The epochs of a full fetch (KIP-227): it starts a session, or has none. Before v7 the epoch is -1."""


READ_FIRST_BYTES_MAX: Final = 1 << 16
"""A fetch for no more `min_bytes` reads before it counts: nearly always there is enough, or nothing to read again."""


BY_PARTITION: Final = attrgetter("partition")


class FetchTimeoutKey(msgspec.Struct, frozen=True):
    """The timer key of a delayed fetch: `max_wait_ms` have passed."""

    fetch: "DelayedFetch"


class Available(msgspec.Struct):
    """What a delayed fetch would get of one partition."""

    at_most_bytes: int
    """The limit of the partition."""
    skipped_bytes: int
    """The bytes of the log before the position of the fetch, of all that were ever appended to it."""
    is_committed: bool = False
    """Whether only the bytes before the last stable offset count."""
    bytes: int = 0

    def update(self, log: PartitionLog) -> int:
        """Look at the log again; return how many bytes more there are."""
        served_bytes = log.served_bytes
        if self.is_committed and isinstance(states := log.open_transactions, ProducerStates):
            served_bytes = min(served_bytes, states.stable_bytes(log.appended_bytes))
        before, self.bytes = self.bytes, max(min(served_bytes - self.skipped_bytes, self.at_most_bytes), 0)
        return self.bytes - before


class DelayedFetch(msgspec.Struct, eq=False):
    """A fetch that waits for `min_bytes`. `respond` is called once, unless the fetch is cancelled.

    The records are counted while it waits, and read once, at its end.
    """

    request: FetchRequest
    api_version: int
    available: dict[PartitionLog, Available]
    respond: Callable[[FetchResponse], None]
    client_host: str
    available_bytes: int = 0
    timer: int = 0
    listener: Listener | None = None
    reading: SlicedWork | None = None
    """The read at its end, if that takes long."""


class FetchService:
    """Handles Fetch requests.

    There are no fetch sessions (KIP-227): session id 0 in the response makes the client list all partitions each time.
    """

    def __init__(
        self,
        image: MetadataImage,
        partitions: Partitions,
        notifier: AppendNotifier,
        timers: CancellableTimers,
        slices: Slices,
        *,
        max_bytes: int,
        load: Load,
    ) -> None:
        """A response has at most `max_bytes` of records, also if the client requests more (`fetch.max.bytes`)."""
        self._load = load
        self._max_bytes = max_bytes
        self._image = image
        self._slices = slices
        self._partitions = partitions
        self._notifier = notifier
        self._timers = timers
        # As on Kafka, the deletion of a topic completes the fetches that wait for it, with an error.
        partitions.add_removal_listener(notifier.mark_removed)

    def fetch(
        self,
        request: FetchRequest,
        api_version: int,
        now_ms: int,
        respond: Callable[[FetchResponse], None],
        client_host: str = "",
    ) -> Steps[FetchResponse | DelayedFetch]:
        """Return the response, or a DelayedFetch that waits for `min_bytes`, `max_wait_ms` or an error.

        The response to a delayed fetch is passed to `respond`; its read has the turn of `client_host`. The caller must
        `cancel` it if its client disconnects.
        """
        may_wait = request.max_wait_ms > 0
        if not may_wait or request.min_bytes <= READ_FIRST_BYTES_MAX or request.session_epoch not in FULL_FETCH_EPOCHS:
            response, size_bytes, final = yield from self.read(request, api_version)
            if final or size_bytes >= request.min_bytes or not may_wait:
                return response
        delayed = yield from self._count_available(request, api_version, respond, client_host)
        if delayed is None or delayed.available_bytes >= request.min_bytes:
            return (yield from self.read(request, api_version))[0]
        delayed.timer = self._timers.start(FetchTimeoutKey(delayed), now_ms + request.max_wait_ms)
        delayed.listener = partial(self._log_changed, delayed)
        self._notifier.add_listener(delayed.available, delayed.listener)
        return delayed

    def expire(self, delayed: DelayedFetch) -> None:
        """Complete a delayed fetch after `max_wait_ms`, with the records that are available."""
        self._complete(delayed)

    def cancel(self, delayed: DelayedFetch) -> None:
        """Remove a delayed fetch without a response."""
        assert delayed.listener is not None
        self._timers.cancel(delayed.timer)
        self._notifier.remove_listener(delayed.available, delayed.listener)
        if delayed.reading is not None:
            delayed.reading.cancel()

    def _log_changed(self, delayed: DelayedFetch, log: PartitionLog) -> None:
        """Complete a delayed fetch if there is enough for it now, or if the log has been deleted."""
        delayed.available_bytes += delayed.available[log].update(log)
        is_deleted = self._partitions.locate(log.topic, log.partition) is not log
        if is_deleted or delayed.available_bytes >= delayed.request.min_bytes:
            self._complete(delayed)

    def _complete(self, delayed: DelayedFetch) -> None:
        self.cancel(delayed)

        def failed(problem: Exception) -> None:
            logger.error("unhandled exception in a delayed fetch", problem=repr(problem))
            delayed.respond(FetchResponse(error_code=ErrorCode.UNKNOWN_SERVER_ERROR))

        read = self.read(delayed.request, delayed.api_version, was_delayed=True)
        delayed.reading = self._slices.start(
            read, lambda result: delayed.respond(result[0]), failed, delayed.client_host
        )

    def read(
        self, request: FetchRequest, api_version: int, *, was_delayed: bool = False
    ) -> Steps[tuple[FetchResponse, int, bool]]:
        """Read what is available now.

        The session id is ignored in a full fetch. Any other epoch belongs to a session, which does not exist here.

        Returns:
            The response, its bytes of records, and whether it is final because it contains an error.
        """
        if request.session_epoch not in FULL_FETCH_EPOCHS:
            return FetchResponse(error_code=ErrorCode.FETCH_SESSION_ID_NOT_FOUND), 0, True
        response = FetchResponse()
        left_bytes = min(request.max_bytes, self._max_bytes)
        is_committed = request.isolation_level == READ_COMMITTED
        size_bytes, failed, asks_nothing = 0, False, True
        for topic, partitions in (yield from _merge_duplicates(request.topics)):
            name = self._name(topic, api_version)
            partition_responses = []
            for requested in partitions:
                most_bytes = requested.partition_max_bytes
                yield size_bytes + (left_bytes if most_bytes > left_bytes else most_bytes if most_bytes > 0 else 0)
                log = None if name is None else self._partitions.locate(name, requested.partition)
                if is_committed and isinstance(log, PartitionLog) and log.last_stable_offset is None:
                    yield from self.read_transactions(log)
                    log = self._partitions.locate(log.topic, log.partition)
                if isinstance(log, PartitionLog):
                    data = self._read_one(log, requested, left_bytes, size_bytes == 0, request.isolation_level)
                    if most_bytes > PART_BYTES and data.records:
                        yield from self._read_on(log, requested, data, left_bytes)
                elif log in (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.KAFKA_STORAGE_ERROR):
                    data = failed_partition(requested.partition, log)
                else:
                    data = _unknown_partition(name, requested, was_delayed)
                read_bytes = len(data.records or b"")
                size_bytes, left_bytes = size_bytes + read_bytes, max(left_bytes - read_bytes, 0)
                failed, asks_nothing = failed or data.error_code != ErrorCode.NONE, False
                partition_responses.append(data)
            response.responses.append(
                FetchableTopicResponse(topic=topic.topic, topic_id=topic.topic_id, partitions=partition_responses)
            )
        return response, size_bytes, failed or asks_nothing

    def read_log(
        self, log: PartitionLog, requested: FetchPartition, left_bytes: int, is_first: bool, isolation_level: int
    ) -> Steps[PartitionData]:
        """Read one partition as a fetch does that has read no other: for who fetches in another way.

        `is_first`: the first batch is complete even above the limits.
        """
        if isolation_level == READ_COMMITTED and log.last_stable_offset is None:
            yield from self.read_transactions(log)
        data = self._read_one(log, requested, left_bytes, is_first, isolation_level)
        if requested.partition_max_bytes > PART_BYTES and data.records:
            yield from self._read_on(log, requested, data, left_bytes)
        return data

    def read_transactions(self, log: PartitionLog) -> Steps[None]:
        """Read what is not known yet of the transactions in a log. If that fails, its fetch does, too."""
        try:
            yield from self._load(log)
        except OSError as problem:
            self._partitions.cannot_read(log, problem)

    def _count_available(
        self, request: FetchRequest, api_version: int, respond: Callable[[FetchResponse], None], client_host: str
    ) -> Steps[DelayedFetch | None]:
        """Count what there is for a fetch; None if it has no partitions or one of them has an error."""
        delayed = DelayedFetch(request, api_version, {}, respond, client_host)
        for topic, partitions in (yield from _merge_duplicates(request.topics)):
            name = self._name(topic, api_version)
            for requested in partitions:
                log = None if name is None else self._partitions.locate(name, requested.partition)
                if not isinstance(log, PartitionLog) or self._epoch_error(requested) is not ErrorCode.NONE:
                    return None
                if min(requested.partition_max_bytes, request.max_bytes) < 0:
                    return None
                try:
                    skipped_bytes = log.appended_bytes - log.bytes_from(requested.fetch_offset)
                except (OffsetOutOfRange, OSError, CorruptBatch):
                    return None
                delayed.available[log] = Available(
                    requested.partition_max_bytes, skipped_bytes, request.isolation_level == READ_COMMITTED
                )
                yield
        # Counted after the last step: an append that comes later is told to the listener.
        delayed.available_bytes = sum(available.update(log) for log, available in delayed.available.items())
        return delayed if delayed.available else None

    def _read_one(
        self, log: PartitionLog, requested: FetchPartition, left_bytes: int, is_first: bool, isolation_level: int
    ) -> PartitionData:
        """Read the first batches of one partition, `PART_BYTES` at most.

        The first batch of a response is complete even above the limits (KIP-74).
        """
        current_epoch = self._image.leader_epoch
        claimed = requested.current_leader_epoch
        if (claimed != current_epoch and claimed >= 0) or requested.last_fetched_epoch > current_epoch:
            error = self._epoch_error(requested)
            if error is not ErrorCode.NONE:
                return failed_partition(requested.partition, error, was_read=True)
        max_bytes = min(requested.partition_max_bytes, left_bytes)
        if max_bytes < 0:
            return failed_partition(requested.partition, ErrorCode.UNKNOWN_SERVER_ERROR, was_read=True)
        stable_offset = log.last_stable_offset
        is_committed = isolation_level == READ_COMMITTED
        aborted: list[AbortedTransaction] | None = [] if is_committed else None
        records: bytes | memoryview = b""
        try:
            if is_committed and stable_offset is None:
                raise OSError(f"the transactions of {log.name} are not known")
            if max_bytes > 0 or is_first:
                before_offset = stable_offset if is_committed else None
                read = log.view if max_bytes <= PART_BYTES else partial(read_part, log)
                records = read(
                    requested.fetch_offset, max_bytes, at_least_one_batch=is_first, before_offset=before_offset
                )
            if records and is_committed:
                aborted = _aborted_transactions(log, requested.fetch_offset, records)
        except OffsetOutOfRange:
            return failed_partition(requested.partition, ErrorCode.OFFSET_OUT_OF_RANGE, was_read=True)
        except (OSError, CorruptBatch) as problem:
            # As on Kafka: its clients report CORRUPT_MESSAGE to the application, and retry KAFKA_STORAGE_ERROR.
            is_corrupt = isinstance(problem, CorruptBatch)
            if not isinstance(problem, DamagedOffsets):
                self._partitions.cannot_read(log, problem)
            error = ErrorCode.CORRUPT_MESSAGE if is_corrupt else ErrorCode.KAFKA_STORAGE_ERROR
            return failed_partition(requested.partition, error, was_read=True)
        return PartitionData(
            partition_index=requested.partition,
            high_watermark=log.high_watermark,
            # Who reads uncommitted records does not use it: the log is not read for it.
            last_stable_offset=log.high_watermark if stable_offset is None else stable_offset,
            log_start_offset=log.log_start_offset,
            aborted_transactions=aborted,
            records=records,
        )

    def _read_on(
        self, log: PartitionLog, requested: FetchPartition, data: PartitionData, left_bytes: int
    ) -> Steps[None]:
        """Add to the first batches of a partition the others that were asked for."""
        assert data.records is not None
        is_committed = data.aborted_transactions is not None
        data.records = yield from read_on(
            log,
            data.records,
            min(requested.partition_max_bytes, left_bytes),
            data.last_stable_offset if is_committed else data.high_watermark,
            lambda: self._partitions.locate(log.topic, log.partition) is log,
        )
        if is_committed:
            data.aborted_transactions = _aborted_transactions(log, requested.fetch_offset, data.records)

    def _epoch_error(self, requested: FetchPartition) -> ErrorCode:
        """The error for the leader epochs of a partition. Fetch alone ignores all negative ones, as on Kafka."""
        claimed, current = requested.current_leader_epoch, self._image.leader_epoch
        error = ErrorCode.NONE if claimed == current or claimed < 0 else epoch_error(claimed, current)
        if error is ErrorCode.NONE and requested.last_fetched_epoch > current:
            # The record before the position has an epoch that does not exist (KIP-595).
            return ErrorCode.OFFSET_OUT_OF_RANGE
        return error

    def _name(self, topic: FetchTopic, api_version: int) -> str | None:
        if api_version < TOPIC_ID_VERSION:
            return topic.topic
        existing = self._image.topics_by_id.get(topic.topic_id)
        return None if existing is None else existing.name


def _aborted_transactions(log: PartitionLog, offset: int, records: bytes | memoryview) -> list[AbortedTransaction]:
    """The aborted transactions with records among those of a fetch (UnifiedLog.collectAbortedTransactions)."""
    if not log.segments.has_aborted_transactions(offset):
        return []
    end_offset = next_offset_after(records)
    return [
        AbortedTransaction(producer_id=aborted_transaction.producer_id, first_offset=aborted_transaction.first_offset)
        for aborted_transaction in log.segments.aborted_transactions(offset, end_offset)
    ]


def _unknown_partition(name: str | None, requested: FetchPartition, was_delayed: bool) -> PartitionData:
    """Return the response for a partition without a log; `name` is None if no topic has the id.

    A fetch is delayed only if all its topics exist, so a topic that is unknown afterwards was deleted. Kafka then
    responds UNKNOWN_TOPIC_OR_PARTITION also if the topic was identified by its id.
    """
    is_unknown_id = name is None and not was_delayed
    error = ErrorCode.UNKNOWN_TOPIC_ID if is_unknown_id else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    return failed_partition(requested.partition, error, was_read=was_delayed)


def _merge_duplicates(topics: list[FetchTopic]) -> Steps[Iterable[tuple[FetchTopic, Iterable[FetchPartition]]]]:
    """Merge duplicate topics and partitions: of a partition that is listed twice, Kafka reads the last entry.

    A topic without partitions is left out.
    """
    if len(topics) == 1 and len(topics[0].partitions) == 1:
        return ((topics[0], topics[0].partitions),)
    by_topic: dict[tuple[str, bytes], tuple[FetchTopic, dict[int, FetchPartition]]] = {}
    for number, topic in enumerate(topics, 1):
        _, partitions = by_topic.setdefault((topic.topic, topic.topic_id), (topic, {}))
        yield from merge(partitions, topic.partitions, BY_PARTITION)
        if number % MERGED_AT_ONCE == 0:
            yield
    return [(topic, partitions.values()) for topic, partitions in by_topic.values() if partitions]


def failed_partition(partition: int, error: ErrorCode, *, was_read: bool = False) -> PartitionData:
    """Return the response for a partition that cannot be read, without its offsets.

    As on Kafka, the aborted transactions are null if the attempt to read failed (`was_read`), and empty if the
    partition was rejected before.
    """
    return PartitionData(
        partition_index=partition,
        error_code=error,
        high_watermark=-1,
        last_stable_offset=-1,
        log_start_offset=-1,
        aborted_transactions=None if was_read else [],
    )
