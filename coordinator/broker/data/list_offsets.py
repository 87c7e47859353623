"""ListOffsets: the start offset, the end offset, or the offset for a timestamp."""

from collections.abc import Callable
from functools import partial
from typing import Final

from _wire.errors import ErrorCode, MalformedMessage
from _wire.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from coordinator.broker.data.leader_epochs import epoch_error
from coordinator.broker.partitions import Partitions
from coordinator.log.partition.partition_log import PartitionLog
from coordinator.log.recovery.damage import DamagedOffsets
from coordinator.log.segments.timestamps import max_timestamp, offset_for_timestamp
from coordinator.runtime.pauses import in_steps
from coordinator.runtime.slices import Steps

LATEST: Final = -1
EARLIEST: Final = -2
MAX_TIMESTAMP: Final = -3
"""KIP-734."""
EARLIEST_LOCAL: Final = -4
"""KIP-405: there is no tiered storage here, so this is the same as EARLIEST."""
LATEST_TIERED: Final = -5
EARLIEST_PENDING_UPLOAD: Final = -6
"""KIP-1005 and KIP-1023: without tiered storage there is no such offset."""

FIRST_VERSION_OF: Final = {
    LATEST: 0,
    EARLIEST: 0,
    MAX_TIMESTAMP: 7,
    EARLIEST_LOCAL: 8,
    LATEST_TIERED: 9,
    EARLIEST_PENDING_UPLOAD: 11,
}
"""Negative timestamp → the first version of the request that supports it."""

NOTHING_FOUND: Final = (-1, -1)
READ_COMMITTED: Final = 1
"""The isolation level for which a partition ends at its last stable offset (KIP-98)."""


Load = Callable[[PartitionLog], Steps[object]]
"""Reads what is not known yet of the transactions in a log; may raise OSError."""


def list_offsets(
    request: ListOffsetsRequest, api_version: int, partitions: Partitions, load: Load
) -> Steps[ListOffsetsResponse]:
    """Look up the offset and timestamp for the target timestamp of each partition.

    The response has one entry per topic, none for a topic without partitions. As on Kafka, a partition that is listed
    twice is rejected.
    """
    by_topic: dict[str, dict[int, ListOffsetsPartitionResponse]] = {}
    for topic in request.topics:
        for requested in topic.partitions:
            responses, index = by_topic.setdefault(topic.name, {}), requested.partition_index
            if index in responses:
                responses[index] = rejected_partition(index, ErrorCode.INVALID_REQUEST)
            else:
                is_committed = request.isolation_level == READ_COMMITTED
                log = yield from _located(partitions, topic.name, index, load if is_committed else None)
                answer = yield from _list_one(partitions, log, requested, api_version, is_committed)
                responses[index] = answer
                if answer.offset >= 0:
                    answer.leader_epoch = partitions.leader_epoch
            yield
    return ListOffsetsResponse(
        topics=[
            ListOffsetsTopicResponse(name=name, partitions=list(responses.values()))
            for name, responses in by_topic.items()
        ]
    )


def rejected_partition(index: int, error: ErrorCode) -> ListOffsetsPartitionResponse:
    """Return the response for a partition whose offset is not looked up."""
    return ListOffsetsPartitionResponse(partition_index=index, error_code=error)


def _located(partitions: Partitions, topic: str, index: int, load: Load | None) -> Steps[PartitionLog | ErrorCode]:
    """The log of a partition; with `load`, one whose last stable offset is known."""
    log = partitions.locate(topic, index)
    if load is None or isinstance(log, ErrorCode) or log.last_stable_offset is not None:
        return log
    try:
        yield from load(log)
    except OSError as problem:
        partitions.cannot_read(log, problem)
        return ErrorCode.KAFKA_STORAGE_ERROR
    return partitions.locate(topic, index)


def _list_one(
    partitions: Partitions,
    log: PartitionLog | ErrorCode,
    requested: ListOffsetsPartition,
    api_version: int,
    is_committed: bool,
) -> Steps[ListOffsetsPartitionResponse]:
    if isinstance(log, ErrorCode):
        return rejected_partition(requested.partition_index, log)
    if requested.timestamp < 0 and api_version < FIRST_VERSION_OF.get(requested.timestamp, api_version + 1):
        return rejected_partition(requested.partition_index, ErrorCode.UNSUPPORTED_VERSION)
    error = epoch_error(requested.current_leader_epoch, partitions.leader_epoch)
    if error is not ErrorCode.NONE:
        return rejected_partition(requested.partition_index, error)
    try:
        end_offset = log.last_stable_offset if is_committed else None
        if end_offset is None:
            end_offset = log.high_watermark
        offset, timestamp_ms = yield from _find(log, requested.timestamp, end_offset)
    except (OSError, MalformedMessage) as problem:
        if not isinstance(problem, DamagedOffsets):
            partitions.cannot_read(log, problem)
        is_corrupt = isinstance(problem, MalformedMessage)
        error = ErrorCode.CORRUPT_MESSAGE if is_corrupt else ErrorCode.KAFKA_STORAGE_ERROR
        return rejected_partition(requested.partition_index, error)
    response = ListOffsetsPartitionResponse(
        partition_index=requested.partition_index,
        timestamp=timestamp_ms,
        offset=offset,
    )
    if api_version == 0 and offset >= 0:
        response.old_style_offsets = [offset][: requested.max_num_offsets]
    return response


def _find(log: PartitionLog, timestamp: int, end_offset: int) -> Steps[tuple[int, int]]:
    """Return offset and timestamp; the timestamp is -1 for the start or the end of the log.

    `end_offset` is the end for the isolation level of the request: no record from there on is found.

    Raises:
        MalformedMessage: a batch of the log is damaged.
        OSError: the log cannot be read.
    """
    if timestamp == LATEST:
        return end_offset, -1
    if timestamp in (EARLIEST, EARLIEST_LOCAL):
        return log.log_start_offset, -1
    if timestamp < MAX_TIMESTAMP:
        return NOTHING_FOUND
    search = (
        partial(max_timestamp, log) if timestamp == MAX_TIMESTAMP else partial(offset_for_timestamp, log, timestamp)
    )
    found = yield from in_steps(search)
    return NOTHING_FOUND if found is None or found.offset >= end_offset else (found.offset, found.timestamp_ms)
