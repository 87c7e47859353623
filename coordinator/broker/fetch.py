"""Fetch: batches out of logs, at once or when enough have come."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final, NamedTuple, Protocol

import structlog

from _wire.errors import ErrorCode
from _wire.messages.fetch import (
    FetchableTopicResponse,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    PartitionData,
)
from _wire.records import CorruptBatch
from coordinator.broker.append_notifier import AppendNotifier
from coordinator.broker.partitions import Partitions
from coordinator.log.errors import OffsetOutOfRange
from coordinator.log.partition_log import PartitionLog
from coordinator.metadata.image import MetadataImage

TOPIC_ID_VERSION: Final = 13
"""From this version on topics are named by id alone (KIP-516)."""
FETCH_MAX_BYTES: Final = 55 * 1024 * 1024
"""The most an answer carries, whatever the client asks for (Kafka's `fetch.max.bytes`)."""
READ_COMMITTED: Final = 1
FULL_FETCH_EPOCHS: Final = (0, -1)
"""The first fetch of a session, and the last or only one (KIP-227): both name all partitions. Before v7 it is -1."""


class FetchTimeoutKey(NamedTuple):
    """A delayed fetch has waited for `max_wait_ms`."""

    fetch: "DelayedFetch"


class Timers(Protocol):
    """Timers that wake the loop."""

    def start(self, key: object, deadline_ms: int) -> int: ...

    def cancel(self, timer: int) -> bool: ...


@dataclass(eq=False, slots=True)
class DelayedFetch:
    """A fetch that waits for bytes. `answer` is called once."""

    request: FetchRequest
    api_version: int
    logs: list[PartitionLog]
    respond: Callable[[FetchResponse], None]
    timer: int = 0
    listener: Callable[[], None] | None = None


class FetchService:
    """Takes Fetch requests.

    No fetch sessions are kept (KIP-227): the answer's session id 0 tells the client to name all partitions each time.
    """

    def __init__(self, image: MetadataImage, partitions: Partitions, notifier: AppendNotifier, timers: Timers) -> None:
        self._image = image
        self._partitions = partitions
        self._notifier = notifier
        self._timers = timers
        # As on Kafka, a deletion completes the fetches that wait for the topic: they are answered with an error.
        partitions.add_removal_listener(notifier.mark_removed)

    def fetch(
        self, request: FetchRequest, api_version: int, now_ms: int, respond: Callable[[FetchResponse], None]
    ) -> FetchResponse | DelayedFetch:
        """Answer at once, or park the fetch until `min_bytes` have come, `max_wait_ms` are over or it fails.

        A delayed fetch is answered through `answer`; `drop` it when its client is gone.
        """
        response, size_bytes, final = self.read(request, api_version)
        if final or size_bytes >= request.min_bytes or request.max_wait_ms <= 0:
            return response
        delayed = DelayedFetch(request, api_version, self._logs(request, api_version), respond)
        delayed.listener = lambda: self._try_complete(delayed)
        delayed.timer = self._timers.start(FetchTimeoutKey(delayed), now_ms + request.max_wait_ms)
        self._notifier.add_listener(delayed.logs, delayed.listener)
        return delayed

    def expire(self, delayed: DelayedFetch) -> None:
        """Its time is up: answer with what there is."""
        self.cancel(delayed)
        delayed.respond(self.read(delayed.request, delayed.api_version, was_delayed=True)[0])

    def cancel(self, delayed: DelayedFetch) -> None:
        """Wait no longer."""
        assert delayed.listener is not None
        self._timers.cancel(delayed.timer)
        self._notifier.remove_listener(delayed.logs, delayed.listener)

    def _try_complete(self, delayed: DelayedFetch) -> None:
        response, size_bytes, final = self.read(delayed.request, delayed.api_version, was_delayed=True)
        if final or size_bytes >= delayed.request.min_bytes:
            self.cancel(delayed)
            delayed.respond(response)

    def read(
        self, request: FetchRequest, api_version: int, *, was_delayed: bool = False
    ) -> tuple[FetchResponse, int, bool]:
        """The answer as of now, its bytes of records, and whether waiting could not better it (an error in it).

        Any session id with the epoch of a full fetch is a request without a session; with any other epoch it is one of
        a session that is not kept here.
        """
        if request.session_epoch not in FULL_FETCH_EPOCHS:
            return FetchResponse(error_code=ErrorCode.FETCH_SESSION_ID_NOT_FOUND), 0, True
        response = FetchResponse()
        left_bytes = min(request.max_bytes, FETCH_MAX_BYTES)
        size_bytes, failed = 0, not any(topic.partitions for topic in request.topics)
        for topic, partitions in _once_each(request.topics):
            name = self._name(topic, api_version)
            partition_responses = []
            for wanted in partitions:
                log = None if name is None else self._partitions.find(name, wanted.partition)
                if log is None:
                    data = _unknown_partition(name, wanted, was_delayed)
                else:
                    data = _read_one(log, wanted, left_bytes, size_bytes == 0, request.isolation_level)
                taken = len(data.records or b"")
                size_bytes, left_bytes = size_bytes + taken, max(left_bytes - taken, 0)
                failed = failed or data.error_code != ErrorCode.NONE
                partition_responses.append(data)
            response.responses.append(
                FetchableTopicResponse(topic=topic.topic, topic_id=topic.topic_id, partitions=partition_responses)
            )
        return response, size_bytes, failed

    def _logs(self, request: FetchRequest, api_version: int) -> list[PartitionLog]:
        found = (
            self._partitions.find(name, wanted.partition)
            for topic in request.topics
            if (name := self._name(topic, api_version)) is not None
            for wanted in topic.partitions
        )
        return [log for log in found if log is not None]

    def _name(self, topic: FetchTopic, api_version: int) -> str | None:
        if api_version < TOPIC_ID_VERSION:
            return topic.topic
        known = self._image.topics_by_id.get(topic.topic_id)
        return None if known is None else known.name


def _read_one(
    log: PartitionLog, wanted: FetchPartition, left_bytes: int, is_first: bool, isolation_level: int
) -> PartitionData:
    """A partition's batches; the first one that has any comes whole even over the limits (KIP-74)."""
    max_bytes = min(wanted.partition_max_bytes, left_bytes)
    try:
        if max_bytes > 0 or is_first:
            records = log.read(wanted.fetch_offset, max_bytes, at_least_one_batch=is_first)
        else:
            records = b""
    except OffsetOutOfRange:
        return failed_partition(wanted.partition, ErrorCode.OFFSET_OUT_OF_RANGE, was_read=True)
    except (OSError, CorruptBatch) as problem:
        # As on Kafka, whose clients report the first and try again after the second.
        is_corrupt = isinstance(problem, CorruptBatch)
        structlog.get_logger().error("cannot read a log", log=log.name, problem=str(problem))
        error = ErrorCode.CORRUPT_MESSAGE if is_corrupt else ErrorCode.KAFKA_STORAGE_ERROR
        return failed_partition(wanted.partition, error, was_read=True)
    return PartitionData(
        partition_index=wanted.partition,
        high_watermark=log.log_end_offset,
        last_stable_offset=log.log_end_offset,
        log_start_offset=log.log_start_offset,
        aborted_transactions=[] if isolation_level == READ_COMMITTED else None,
        records=records,
    )


def _unknown_partition(name: str | None, wanted: FetchPartition, was_delayed: bool) -> PartitionData:
    """The answer where there is no log; `name` is None where no topic has the id.

    A fetch is delayed only if all its topics exist, so one that is gone afterwards was deleted: then Kafka answers
    UNKNOWN_TOPIC_OR_PARTITION also where the topic is named by its id.
    """
    is_unknown_id = name is None and not was_delayed
    error = ErrorCode.UNKNOWN_TOPIC_ID if is_unknown_id else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    return failed_partition(wanted.partition, error, was_read=was_delayed)


def _once_each(topics: list[FetchTopic]) -> Iterable[tuple[FetchTopic, Iterable[FetchPartition]]]:
    """The topics with their partitions, each once: of a partition that is named twice Kafka reads the last.

    A topic without partitions is left out.
    """
    if len(topics) == 1 and len(topics[0].partitions) == 1:
        return ((topics[0], topics[0].partitions),)
    by_topic: dict[tuple[str, bytes], tuple[FetchTopic, dict[int, FetchPartition]]] = {}
    for topic in topics:
        _, partitions = by_topic.setdefault((topic.topic, topic.topic_id), (topic, {}))
        partitions.update((wanted.partition, wanted) for wanted in topic.partitions)
    return [(topic, partitions.values()) for topic, partitions in by_topic.values() if partitions]


def failed_partition(partition: int, error: ErrorCode, *, was_read: bool = False) -> PartitionData:
    """The answer for a partition that cannot be read: without its offsets, also where they are known.

    As on Kafka, the aborted transactions are null where an attempt to read failed (`was_read`), and empty where the
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
